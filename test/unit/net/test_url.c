/* What is promised: paths, queries and addresses are read exactly, or refused; back-off stays
 * within its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/address.h"
#include "net/backoff.h"
#include "net/http_url.h"
#include "net/url.h"

static void test_match(void **state)
{
	static const struct {
		const char *pattern, *target;
		int result;
		const char *value; /* of the parameter "a" */
	} rows[] = {
		{"/v1/job", "/v1/job", 1, NULL},
		{"/v1/job", "/v1/job?x=1", 1, NULL},
		{"/v1/job", "/v1/jobs", 0, NULL},
		{"/v1/job", "/v1/jo", 0, NULL},
		{"/v1/job", "/v1/job/", 0, NULL},
		{"/t/{a}/beat", "/t/worker:0/beat", 1, "worker:0"},
		{"/t/{a}/beat", "/t/worker%3A0/beat", 1, "worker:0"},
		{"/t/{a}/beat", "/t//beat", 0, NULL},
		{"/t/{a}/beat", "/t/a/b/beat", 0, NULL},
		{"/t/{a}", "/t/a?b", 1, "a"},
		{"/t/{a}", "/t/a%2Fb", 1, "a/b"},
		{"/t/{a}", "/t/%", -1, NULL},
		{"/t/{a}", "/t/%4", -1, NULL},
		{"/t/{a}", "/t/%zz", -1, NULL},
		{"/t/{a}", "/t/a%00b", -1, NULL},
		{"/kv/{a*}", "/kv/scope/key?x", 1, "scope/key"},
		{"/kv/{a*}", "/kv/", 0, NULL},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct http_pairs pairs = {0};
		int result = http_url_match(rows[i].pattern, rows[i].target, &pairs);
		if (result != rows[i].result)
			fail_msg("%s %s: %d", rows[i].pattern, rows[i].target, result);
		if (rows[i].value)
			assert_string_equal(http_pairs_find(&pairs, "a"), rows[i].value);
		http_pairs_finish(&pairs);
	}
}

static void test_query(void **state)
{
	struct http_pairs pairs = {0};

	assert_int_equal(http_url_query("/x?since=5&&text=a+b%2Bc&flag&empty=&since=6", &pairs), 0);
	assert_string_equal(http_pairs_find(&pairs, "since"), "5");
	assert_string_equal(http_pairs_find(&pairs, "text"), "a b+c");
	assert_string_equal(http_pairs_find(&pairs, "flag"), "");
	assert_string_equal(http_pairs_find(&pairs, "empty"), "");
	assert_null(http_pairs_find(&pairs, "other"));
	http_pairs_finish(&pairs);
	assert_int_equal(http_url_query("/x", &pairs), 0);
	assert_int_equal(http_url_query("/x?", &pairs), 0);
	assert_int_equal(pairs.count, 0);
	assert_int_equal(http_url_query("/x?a=%0", &pairs), -1);
	assert_int_equal(http_url_query("/x?a=%00", &pairs), -1);
	http_pairs_finish(&pairs);
	assert_int_equal(http_url_query("/x?a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a", &pairs), -1);
	http_pairs_finish(&pairs);
}

static void test_addresses(void **state)
{
	static const struct {
		const char *text, *again;
	} good[] = {
		{"127.0.0.1:0", "127.0.0.1:0"},
		{"[::1]:65535", "[::1]:65535"},
		{"localhost:80", "127.0.0.1:80"},
	};
	static const char *const bad[] = {
		"",	      "127.0.0.1",	 "127.0.0.1:",
		":80",	      "127.0.0.1:65536", "127.0.0.1:-1",
		"::1:80",     "[::1]",		 "[]:80",
		"[::1:80",    "example.org:80",	 "1.2.3:80",
		"[1.2.3.4:5",
	};
	struct net_address address;

	for (size_t i = 0; i < array_length(good); i++) {
		assert_int_equal(net_address_parse(good[i].text, &address, NULL), 0);
		char *text cleanup_free = net_address_text(&address);
		assert_string_equal(text, good[i].again);
	}
	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		if (net_address_parse(bad[i], &address, &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_non_null(strstr(err_message(&err), bad[i]));
	}
}

static void test_backoff(void **state)
{
	struct backoff backoff = {.first_ms = 100, .cap_ms = 1000};
	static const int64_t most[] = {100, 200, 400, 800, 1000, 1000, 1000};

	for (size_t i = 0; i < array_length(most); i++) {
		struct backoff same = backoff;
		int64_t least = backoff_next(&same, 0);
		int64_t any = backoff_next(&backoff, UINT64_MAX / 3 * (i + 1));
		assert_int_equal(least, most[i] / 2);
		assert_in_range(any, most[i] / 2, most[i]);
	}
	backoff_reset(&backoff);
	assert_in_range(backoff_next(&backoff, 50), 50, 100);
	struct backoff endless = {.first_ms = 1, .cap_ms = INT64_MAX, .tries = 1000000};
	assert_true(backoff_next(&endless, 7) >= INT64_MAX / 2);
}

static void test_whole_urls(void **state)
{
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(net_url_parse("https://ada:p%40ss@[::1]:8443/a?b=c", &url, &err), 0);
	assert_string_equal(url.user, "ada:p@ss");
	assert_string_equal(url.host, "::1");
	assert_string_equal(url.target, "/a?b=c");
	assert_true(url.is_tls);
	char *origin cleanup_free = net_url_origin(&url);
	assert_string_equal(origin, "https://[::1]:8443");
	net_url_finish(&url);
	assert_int_equal(net_url_parse("http://a@b:SECRET@h", &url, &err), 0);
	assert_string_equal(url.user, "a@b:SECRET");
	net_url_finish(&url);
	assert_int_equal(net_url_parse("http://h/a", &url, &err), 0);
	assert_null(url.user);
	assert_true(net_url_is_https("HTTPS://h") && !net_url_is_https("http://h"));
}

static void test_what_a_bad_url_holds_is_not_repeated(void **state)
{
	static const char *const bad[] = {
		"http://u:SECRET%zz@h/", "http://u:SECRET@h:0/", "http://u:SECRET@",	 "SECRET",
		"http://h/SECRET#",	 "http://u:SECRET@h h/", "http://u:SECRET@h:x/",
	};

	for (size_t i = 0; i < array_length(bad); i++) {
		struct net_url url cleanup_net_url = {0};
		struct err err cleanup_err = {0};
		assert_int_equal(net_url_parse(bad[i], &url, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_null(strstr(err_message(&err), "SECRET"));
		assert_null(url.user);
	}
}

static void test_no_secret_stays_in_what_is_shown(void **state)
{
	static const char *const shown[][2] = {
		{"s3a://ID:SECRET@bucket/x", "s3a://***@bucket/x"},
		{"u:SECRET@h:80", "***@h:80"},
		{"u:SECRET@http://h", "***@http://h"},
		{"http://h/a:b", "http://h/a:b"},
	};

	for (size_t i = 0; i < array_length(shown); i++) {
		char *masked cleanup_free = net_url_masked(shown[i][0]);
		assert_string_equal(masked, shown[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_whole_urls),
		cmocka_unit_test(test_what_a_bad_url_holds_is_not_repeated),
		cmocka_unit_test(test_no_secret_stays_in_what_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
