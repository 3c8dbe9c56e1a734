#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

static void expect_bytes(const char *text, const char *bytes, size_t length)
{
	size_t decoded_length = SIZE_MAX;
	void *decoded cleanup_free = base64_decode(text, strlen(text), &decoded_length);

	assert_non_null(decoded);
	assert_int_equal(decoded_length, length);
	assert_memory_equal(decoded, bytes, length);
}

static void encodes_and_decodes(void **state)
{
	static const struct {
		const char *bytes, *padded, *url;
	} cases[] = {
		/* RFC 4648, 10 */
		{"", "", ""},
		{"f", "Zg==", "Zg"},
		{"fo", "Zm8=", "Zm8"},
		{"foo", "Zm9v", "Zm9v"},
		{"foob", "Zm9vYg==", "Zm9vYg"},
		{"fooba", "Zm9vYmE=", "Zm9vYmE"},
		{"foobar", "Zm9vYmFy", "Zm9vYmFy"},
		{"\xfb\xff\xfe", "+//+", "-__-"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		size_t length = strlen(cases[i].bytes);
		char *padded cleanup_free = base64_encode(cases[i].bytes, length);
		char *url cleanup_free = base64_encode_url(cases[i].bytes, length);

		assert_string_equal(padded, cases[i].padded);
		assert_string_equal(url, cases[i].url);
		expect_bytes(cases[i].padded, cases[i].bytes, length);
	}
	char *zeros cleanup_free = base64_encode("\0\0\0\0", 4);
	assert_string_equal(zeros, "AAAAAA==");
	expect_bytes(zeros, "\0\0\0\0", 4);
}

static void refuses_everything_else(void **state)
{
	static const char *const others[] = {
		"Z",	 "Zg",	  "Zg=",    "Zg==Zg==", "=",	"====",	      "Zg= =",
		" Zg==", "Zg== ", "Zg==\n", "Zm9vYg",	"-__-", "Z\xc3\xa4=", "Zm9v\tYg=",
	};

	for (size_t i = 0; i < array_length(others); i++) {
		size_t length;
		if (base64_decode(others[i], strlen(others[i]), &length))
			fail_msg("\"%s\" is taken", others[i]);
	}
	size_t length;
	assert_null(base64_decode("Zm9v\0A==", 8, &length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_and_decodes),
		cmocka_unit_test(refuses_everything_else),
	};

	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
