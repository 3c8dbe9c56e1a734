/* The published examples of Signature Version 4 (Amazon S3 API Reference, "Examples: Signature
 * Calculations"). */
#include "../base/test.h"

#include "base/mem.h"
#include "net/http_url.h"
#include "store/sigv4.h"

#define NOW_MS	1369353600000 /* 2013-05-24T00:00:00Z */
#define TIME	"20130524T000000Z"
#define NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HELLO	"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
#define HOST	"examplebucket.s3.amazonaws.com"
#define SIGNED_WITH                                                                                \
	"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"

static const struct sigv4_key key = {"AKIAIOSFODNN7EXAMPLE",
				     "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1"};

static void check(const struct sigv4_request *request, const char *names, const char *signature)
{
	char *expected cleanup_free =
		mem_printf(SIGNED_WITH "SignedHeaders=%s,Signature=%s", names, signature);
	char *made cleanup_free = sigv4_authorization(&key, request, NOW_MS);

	assert_string_equal(made, expected);
}

static void signs_a_get_of_an_object(void **state)
{
	const struct sigv4_header headers[] = {{"host", HOST},
					       {"range", "bytes=0-9"},
					       {"x-amz-content-sha256", NOTHING},
					       {"x-amz-date", TIME}};

	check(&(struct sigv4_request){"GET", "/test.txt", "", headers, 4, NOTHING},
	      "host;range;x-amz-content-sha256;x-amz-date",
	      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

static void signs_a_put_of_an_object(void **state)
{
	const struct sigv4_header headers[] = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
					       {"host", HOST},
					       {"x-amz-content-sha256", HELLO},
					       {"x-amz-date", TIME},
					       {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
	struct str path cleanup_str = {0};

	http_url_encode(&path, "/test$file.text", "/");
	check(&(struct sigv4_request){"PUT", path.text, "", headers, 5, HELLO},
	      "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
	      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

static const struct sigv4_header plain[] = {
	{"host", HOST}, {"x-amz-content-sha256", NOTHING}, {"x-amz-date", TIME}};

static void signs_a_query_without_a_value(void **state)
{
	check(&(struct sigv4_request){"GET", "/", "lifecycle", plain, 3, NOTHING},
	      "host;x-amz-content-sha256;x-amz-date",
	      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

static void signs_a_list_whatever_the_order_of_its_query(void **state)
{
	static const char *const queries[] = {"max-keys=2&prefix=J", "prefix=J&max-keys=2"};

	for (size_t i = 0; i < array_length(queries); i++)
		check(&(struct sigv4_request){"GET", "/", queries[i], plain, 3, NOTHING},
		      "host;x-amz-content-sha256;x-amz-date",
		      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static void encodes_all_but_unreserved_characters(void **state)
{
	struct str text cleanup_str = {0};

	http_url_encode(&text, "a/B 1+~-._\xc3\xa9%", "/");
	http_url_encode(&text, "/", "");
	assert_string_equal(text.text, "a/B%201%2B~-._%C3%A9%25%2F");
}

static void hashes_a_payload(void **state)
{
	char *nothing cleanup_free = sigv4_hash("", 0);
	char *hello cleanup_free = sigv4_hash("Welcome to Amazon S3.", 21);

	assert_string_equal(nothing, NOTHING);
	assert_string_equal(hello, HELLO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_a_get_of_an_object),
		cmocka_unit_test(signs_a_put_of_an_object),
		cmocka_unit_test(signs_a_query_without_a_value),
		cmocka_unit_test(signs_a_list_whatever_the_order_of_its_query),
		cmocka_unit_test(encodes_all_but_unreserved_characters),
		cmocka_unit_test(hashes_a_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
