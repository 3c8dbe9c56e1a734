/* What is promised by gzip.h: parts and pieces are one gzip file to zlib's own reader, and what is
 * none, or not whole, is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/gzip.h"

/* `front`, so many bytes that hardly repeat, `rear`; all that twice. */
static void compose(struct str *plain, struct str *packed, size_t length)
{
	struct evbuffer *out = evbuffer_new();
	char *middle cleanup_free = mem_alloc(length + 1);
	struct gzip_body body;
	uint32_t random = 1;

	for (size_t i = 0; i < length; i++) {
		random = random * 1664525 + 1013904223;
		middle[i] = (char)('0' + (random >> 24) % 10);
	}
	struct gzip_part *part = gzip_part_create(middle, length);
	gzip_begin(&body, out);
	for (int i = 0; i < 2; i++) {
		gzip_add_plain(&body, "front", 5);
		gzip_add_part(&body, part);
		gzip_add_plain(&body, "", 0);
		gzip_add_plain(&body, middle, length);
		str_append_format(plain, "front%s%s", middle, middle);
	}
	gzip_end(&body);
	gzip_part_destroy(part); /* what was added keeps its bytes */
	str_append_bytes(packed, (const char *)evbuffer_pullup(out, -1), evbuffer_get_length(out));
	evbuffer_free(out);
}

static const size_t lengths[] = {0, 1, 16383, 16384, 65535, 65536, 300000};

static void test_zlib_reads_it(void **state)
{
	for (size_t i = 0; i < array_length(lengths); i++) {
		struct str plain cleanup_str = {0}, packed cleanup_str = {0};
		compose(&plain, &packed, lengths[i]);
		char *out cleanup_free = mem_alloc(plain.length + 1);
		z_stream stream = {.next_in = (Bytef *)packed.text,
				   .avail_in = (uInt)packed.length,
				   .next_out = (Bytef *)out,
				   .avail_out = (uInt)plain.length + 1};
		assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
		assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
		assert_int_equal(stream.avail_in, 0);
		assert_int_equal(stream.total_out, plain.length);
		assert_memory_equal(out, plain.text, plain.length);
		inflateEnd(&stream);
	}
}

static bool take(void *data, const char *bytes, size_t length)
{
	assert_true(length > 0 && length <= 16384);
	str_append_bytes(data, bytes, length);
	return true;
}

static void test_it_is_read_in_any_pieces(void **state)
{
	static const size_t pieces[] = {1, 7, 4096, 1 << 30};
	struct str plain cleanup_str = {0}, packed cleanup_str = {0};

	compose(&plain, &packed, 20000);
	for (size_t i = 0; i < array_length(pieces); i++) {
		struct gunzip *gunzip = gunzip_create();
		struct str got cleanup_str = {0};
		for (size_t at = 0; at < packed.length; at += pieces[i]) {
			size_t left = packed.length - at;
			assert_false(gunzip_is_whole(gunzip));
			assert_int_equal(gunzip_add(gunzip, packed.text + at,
						    left < pieces[i] ? left : pieces[i], take, &got,
						    NULL),
					 0);
		}
		assert_true(gunzip_is_whole(gunzip));
		assert_int_equal(got.length, plain.length);
		assert_memory_equal(got.text, plain.text, plain.length);
		gunzip_destroy(gunzip);
	}
}

static int read_all(const struct str *packed, struct str *got, struct err *err, bool *is_whole)
{
	struct gunzip *gunzip = gunzip_create();
	int result = gunzip_add(gunzip, packed->text, packed->length, take, got, err);

	*is_whole = gunzip_is_whole(gunzip);
	gunzip_destroy(gunzip);
	return result;
}

/* Each byte of the head, of the checksum and of the length, and of what lies between, is needed. */
static void test_what_is_damaged_is_told(void **state)
{
	struct str plain cleanup_str = {0}, packed cleanup_str = {0};
	bool is_whole;

	compose(&plain, &packed, 100);
	for (size_t at = 0; at < packed.length; at++) {
		struct err err cleanup_err = {0};
		struct str got cleanup_str = {0};
		char before = packed.text[at];
		if (at >= 4 && at < 10) /* a time, and what wrote it */
			continue;
		packed.text[at] = (char)~before;
		int result = read_all(&packed, &got, &err, &is_whole);
		if (result == 0 && is_whole)
			fail_msg("byte %zu of %zu is of no use", at, packed.length);
		packed.text[at] = before;
	}
	for (size_t length = 0; length < packed.length; length++) {
		struct str part = {.text = packed.text, .length = length}, got cleanup_str = {0};
		assert_int_equal(read_all(&part, &got, NULL, &is_whole), 0);
		assert_false(is_whole);
	}
}

static void test_nothing_follows_the_end(void **state)
{
	struct err err cleanup_err = {0};
	struct str plain cleanup_str = {0}, packed cleanup_str = {0}, got cleanup_str = {0};
	bool is_whole;

	compose(&plain, &packed, 10);
	str_append(&packed, "x");
	assert_int_equal(read_all(&packed, &got, &err, &is_whole), -1);
	assert_int_equal(err.kind, ERR_INPUT);
}

static bool refuse(void *data, const char *bytes, size_t length)
{
	++*(int *)data;
	return false;
}

static void test_who_refuses_a_piece_gets_no_more(void **state)
{
	struct str plain cleanup_str = {0}, packed cleanup_str = {0};
	struct gunzip *gunzip = gunzip_create();
	int pieces = 0;

	compose(&plain, &packed, 100000);
	assert_int_equal(gunzip_add(gunzip, packed.text, packed.length, refuse, &pieces, NULL), 1);
	assert_int_equal(pieces, 1);
	gunzip_destroy(gunzip);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zlib_reads_it),
		cmocka_unit_test(test_it_is_read_in_any_pieces),
		cmocka_unit_test(test_what_is_damaged_is_told),
		cmocka_unit_test(test_nothing_follows_the_end),
		cmocka_unit_test(test_who_refuses_a_piece_gets_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
