/* What is promised: a head is taken apart exactly or refused; a chunked body comes out the same
 * however the network cuts it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/http_message.h"

static void test_request(void **state)
{
	static const char text[] = "POST /v1/x?a=1 HTTP/1.1\r\nHost: h\r\nContent-Length:  7 \r\n"
				   "X-Empty:\r\nExpect: 100-Continue\r\n\r\nGET ";
	struct http_head head;
	size_t length = http_head_length(text, strlen(text), 0);

	assert_int_equal(length, strlen(text) - 4);
	assert_int_equal(http_head_parse_request(&head, text, length, NULL), 0);
	assert_string_equal(head.method, "POST");
	assert_string_equal(head.target, "/v1/x?a=1");
	assert_int_equal(head.content_length, 7);
	assert_true(head.keep_alive);
	assert_true(head.expects_continue);
	assert_string_equal(http_head_find(&head, "host"), "h");
	assert_string_equal(http_head_find(&head, "x-empty"), "");
	assert_null(http_head_find(&head, "Authorization"));
	http_head_finish(&head);
}

static void test_head_comes_in_pieces(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
	size_t looked = 0;

	for (size_t have = 0; have < strlen(text); have++) {
		assert_int_equal(http_head_length(text, have, looked), 0);
		looked = have;
	}
	assert_int_equal(http_head_length(text, strlen(text), looked), strlen(text));
}

static void test_bare_line_feed_ends_the_wait(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} rows[] = {
		{"GET / HTTP/1.1\n", 15},
		{"GET / HTTP/1.1\r\nHost: h\nA: b", 24},
		{"GET / HTTP/1.1\r\nHost: h\r\n\n", 26},
		{"\n", 1},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct http_head head;
		struct err err cleanup_err = {0};
		const char *text = rows[i].text;
		assert_int_equal(http_head_length(text, strlen(text), 0), rows[i].length);
		assert_int_equal(http_head_parse_request(&head, text, rows[i].length, &err), -1);
		assert_non_null(strstr(err_message(&err), "LF"));
	}
}

static void test_keep_alive(void **state)
{
	static const struct {
		const char *text;
		bool keep;
	} rows[] = {
		{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", true},
		{"GET / HTTP/1.0\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, Close\r\n\r\n", false},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct http_head head;
		assert_int_equal(
			http_head_parse_request(&head, rows[i].text, strlen(rows[i].text), NULL),
			0);
		assert_int_equal(head.keep_alive, rows[i].keep);
		http_head_finish(&head);
	}
}

static void test_bad_requests(void **state)
{
	static const char *const rows[] = {
		"\r\n\r\n",
		"GET /\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET x HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.1 \r\nHost: h\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.10\r\nHost: h\r\n\r\n",
		" GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"G\x01T / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /\x80 HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n",
		"ABCDEFGHIJKLMNOPQ / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nA: b\nB: c\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1 1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: "
		"chunked\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\nTransfer-Encoding: "
		"chunked\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: h\r\nHost: g\r\n\r\n",
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct http_head head;
		struct err err cleanup_err = {0};
		if (http_head_parse_request(&head, rows[i], strlen(rows[i]), &err) == 0)
			fail_msg("taken: %s", rows[i]);
		assert_int_equal(err.kind, ERR_INPUT);
	}
}

static void test_nul_is_refused(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n";
	struct http_head head;

	assert_int_equal(http_head_parse_request(&head, text, sizeof(text) - 1, NULL), -1);
}

static void test_number_of_headers_is_capped(void **state)
{
	struct str text cleanup_str = {0};
	struct http_head head;

	str_append(&text, "GET / HTTP/1.1\r\nHost: h\r\n");
	for (int i = 0; i < HTTP_HEADERS_MAX - 1; i++)
		str_append_format(&text, "A%d: b\r\n", i);
	size_t most = text.length;
	str_append(&text, "\r\n");
	assert_int_equal(http_head_parse_request(&head, text.text, text.length, NULL), 0);
	assert_string_equal(http_head_find(&head, "A98"), "b");
	http_head_finish(&head);
	str_truncate(&text, most);
	str_append(&text, "B: c\r\n\r\n");
	assert_int_equal(http_head_parse_request(&head, text.text, text.length, NULL), -1);
}

static void test_response(void **state)
{
	static const char *const bad[] = {
		"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n",
		"HTTP/1.1\r\n\r\n",	  "ICY 200 OK\r\n\r\n",
	};
	static const char good[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n";
	struct http_head head;

	assert_int_equal(http_head_parse_response(&head, good, strlen(good), NULL), 0);
	assert_int_equal(head.status, 404);
	assert_int_equal(head.content_length, 3);
	http_head_finish(&head);
	for (size_t i = 0; i < array_length(bad); i++)
		assert_int_equal(http_head_parse_response(&head, bad[i], strlen(bad[i]), NULL), -1);
}

/* Feeds `text` in pieces of `piece` bytes. 0 and the body, or -1. */
static int unchunk(const char *text, size_t piece, struct str *body, size_t *used)
{
	struct http_chunks chunks = {0};
	size_t length = strlen(text), at = 0;

	while (at < length && chunks.state != CHUNKS_DONE) {
		const char *data;
		size_t data_length;
		size_t some = length - at < piece ? length - at : piece;
		ssize_t taken = http_chunks_next(&chunks, text + at, some, &data, &data_length);
		if (taken < 0)
			return -1;
		assert_true(taken > 0);
		str_append_bytes(body, data, data_length);
		at += (size_t)taken;
	}
	*used = at;
	return chunks.state == CHUNKS_DONE ? 0 : 1;
}

static void test_chunks(void **state)
{
	static const char text[] = "5\r\nhello\r\n00a;x=\"y\"\r\n, big worl\r\n1 \r\nd\r\n0\r\n"
				   "Trailer: x\r\n\r\nNEXT";

	for (size_t piece = 1; piece <= strlen(text); piece++) {
		struct str body cleanup_str = {0};
		size_t used;
		assert_int_equal(unchunk(text, piece, &body, &used), 0);
		assert_string_equal(body.text, "hello, big world");
		assert_string_equal(text + used, "NEXT");
	}
}

static void test_bad_chunks(void **state)
{
	static const char *const rows[] = {
		"\r\n",
		"x\r\n",
		"-1\r\n",
		"5\n",
		"5\rx",
		"1\r\naXX",
		";x\r\n",
		"1\r\na\n",
		"5\r\r\n",
		"0x5\r\n",
		"fffffffffffffffff\r\n",
		"0\r\nA: b\nC: d\r\n\r\n",
		"0\r\nA: b\r",
		" 5\r\nhello\r\n",
	};
	size_t used;

	for (size_t i = 0; i < array_length(rows); i++) {
		struct str body cleanup_str = {0};
		/* One is only unfinished: it must never be done. */
		if (unchunk(rows[i], 1, &body, &used) == 0)
			fail_msg("taken: %s", rows[i]);
		if (strcmp(rows[i], "0\r\nA: b\r") != 0)
			assert_int_equal(unchunk(rows[i], 64, &body, &used), -1);
	}
}

static void test_endless_trailer_is_refused(void **state)
{
	struct str text cleanup_str = {0};
	struct str body cleanup_str = {0};
	size_t used;

	str_append(&text, "0\r\n");
	for (int i = 0; i < 4096; i++)
		str_append(&text, "Abc: d\r\n");
	assert_int_equal(unchunk(text.text, 1000, &body, &used), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_head_comes_in_pieces),
		cmocka_unit_test(test_bare_line_feed_ends_the_wait),
		cmocka_unit_test(test_keep_alive),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_nul_is_refused),
		cmocka_unit_test(test_number_of_headers_is_capped),
		cmocka_unit_test(test_response),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_bad_chunks),
		cmocka_unit_test(test_endless_trailer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
