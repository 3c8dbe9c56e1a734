/* Tokens, and the files that carry them. */
#include "hadoop/credentials.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/writable.h"

/* ---- Writable ----------------------------------------------------------------------------- */

/* What WritableUtils.writeVLong() makes of them. */
static const struct {
	int64_t value;
	size_t length;
	const char *bytes;
} numbers[] = {
	{0, 1, "\x00"},
	{127, 1, "\x7f"},
	{-1, 1, "\xff"},
	{-112, 1, "\x90"},
	{-113, 2, "\x87\x70"},
	{128, 2, "\x8f\x80"},
	{255, 2, "\x8f\xff"},
	{256, 3, "\x8e\x01\x00"},
	{-256, 2, "\x87\xff"},
	{-257, 3, "\x86\x01\x00"},
	{INT32_MAX, 5, "\x8c\x7f\xff\xff\xff"},
	{(int64_t)INT32_MAX + 1, 5, "\x8c\x80\x00\x00\x00"},
	{INT64_MAX, 9, "\x88\x7f\xff\xff\xff\xff\xff\xff\xff"},
	{INT64_MIN, 9, "\x80\x7f\xff\xff\xff\xff\xff\xff\xff"},
};

static void test_numbers(void **state)
{
	for (size_t i = 0; i < array_length(numbers); i++) {
		struct str out cleanup_str = {0};
		int64_t value = 42;

		writable_put_number(&out, numbers[i].value);
		assert_int_equal(out.length, numbers[i].length);
		assert_memory_equal(out.text, numbers[i].bytes, out.length);

		struct writable from = {(unsigned char *)out.text, out.length};
		assert_true(writable_take_number(&from, &value));
		assert_int_equal(value, numbers[i].value);
		assert_int_equal(from.left, 0);
		for (size_t cut = 0; cut < out.length; cut++) {
			from = (struct writable){(unsigned char *)out.text, cut};
			assert_false(writable_take_number(&from, &value));
			assert_int_equal(from.left, cut);
		}
	}
}

static void test_lengths(void **state)
{
	struct writable from = {(const unsigned char *)"\x05"
						       "abcd",
				5};
	const unsigned char *bytes;
	size_t length;
	char *text;

	/* longer than what is there, and negative */
	assert_false(writable_take_bytes(&from, &bytes, &length));
	from = (struct writable){(const unsigned char *)"\xff", 1};
	assert_false(writable_take_bytes(&from, &bytes, &length));
	from = (struct writable){(const unsigned char *)"\x02\xc3\xa4z", 4};
	assert_true(writable_take_text(&from, &text));
	assert_string_equal(text, "\xc3\xa4");
	assert_int_equal(from.left, 1);
	free(text);
	/* neither NUL nor what is no UTF-8 is text */
	from = (struct writable){(const unsigned char *)"\x02z\0", 3};
	assert_false(writable_take_text(&from, &text));
	from = (struct writable){(const unsigned char *)"\x02\xc3z", 3};
	assert_false(writable_take_text(&from, &text));
}

/* ---- tokens ------------------------------------------------------------------------------- */

static void test_url_string(void **state)
{
	struct hadoop_token token cleanup_token = {0}, copy cleanup_token = {0};

	token_set(&token, "id", 2, "\xfb\xff\xfe", 3, "HDFS_DELEGATION_TOKEN", "127.0.0.1:8020");
	char *text cleanup_free = token_url_string(&token);
	/* Token.encodeToUrlString() of Hadoop 3.4.2 */
	assert_string_equal(text, "AmlkA_v__hVIREZTX0RFTEVHQVRJT05fVE9LRU4OMTI3LjAuMC4xOjgwMjA");
	token_copy(&copy, &token);
	char *same cleanup_free = token_url_string(&copy);
	assert_string_equal(text, same);
}

static void test_from_url_string(void **state)
{
	static const char *const bad[] = {
		"",
		"A",
		"AmlkA_v__hVIREZTX0RFTEVHQVRJT05fVE9LRU4OMTI3LjAuMC4xOjgwMj",	/* cut */
		"AmlkA_v__hVIREZTX0RFTEVHQVRJT05fVE9LRU4OMTI3LjAuMC4xOjgwMjAA", /* and more */
		"AmlkA_v__gAA",							/* of no kind */
		"AmlkA v",
	};
	struct hadoop_token token cleanup_token = {0}, none cleanup_token = {0};

	assert_int_equal(token_from_url_string(&token,
					       "AmlkA_v__hVIREZTX0RFTEVHQVRJT05fVE9LRU4OMTI3LjAuMC"
					       "4xOjgwMjA",
					       NULL),
			 0);
	assert_int_equal(token.identifier_length, 2);
	assert_memory_equal(token.identifier, "id", 2);
	assert_int_equal(token.password_length, 3);
	assert_memory_equal(token.password, "\xfb\xff\xfe", 3);
	assert_string_equal(token.kind, "HDFS_DELEGATION_TOKEN");
	assert_string_equal(token.service, "127.0.0.1:8020");
	for (size_t i = 0; i < array_length(bad); i++)
		assert_int_equal(token_from_url_string(&none, bad[i], NULL), -1);
}

/* Identifiers of Hadoop 3.4.2. */
static void test_owner(void **state)
{
#define WRITABLE                                                                                   \
	"\x00\x0eroot@TONY."                                                                       \
	"TEST\x04yarn\x00\x8a\x01\xa2\x17\xe0\x53\x4e\x8a\x01\xa2\x17\xe1\x3d\xae\x01\x02"
#define PROTOBUF                                                                                   \
	"\x0a\x0eroot@TONY."                                                                       \
	"TEST\x12\x04yarn\x20\xce\xa6\x81\xbf\xa1\x34\x28\x80\x80\x01\x30\x01\x38\x02"
	static const struct {
		const char *kind, *identifier;
		size_t length;
		const char *owner;
	} cases[] = {
		{TOKEN_KIND_HDFS, WRITABLE, sizeof(WRITABLE) - 1, "root@TONY.TEST"},
		{TOKEN_KIND_SWEBHDFS, WRITABLE, sizeof(WRITABLE) - 1, "root@TONY.TEST"},
		{TOKEN_KIND_RM, PROTOBUF, sizeof(PROTOBUF) - 1, "root@TONY.TEST"},
		{TOKEN_KIND_AMRM, PROTOBUF, sizeof(PROTOBUF) - 1, NULL},
		{TOKEN_KIND_HDFS, PROTOBUF, sizeof(PROTOBUF) - 1, NULL},
		{TOKEN_KIND_RM, WRITABLE, sizeof(WRITABLE) - 1, NULL},
		{TOKEN_KIND_HDFS, WRITABLE, 15, NULL},
		{TOKEN_KIND_RM, PROTOBUF, 15, NULL},
		{TOKEN_KIND_HDFS, "\x00\x00", 2, NULL},
		{TOKEN_KIND_RM, "", 0, NULL},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct hadoop_token token cleanup_token = {0};
		token_set(&token, cases[i].identifier, cases[i].length, "p", 1, cases[i].kind, "");
		char *owner cleanup_free = token_owner(&token);
		assert_string_equal(owner ? owner : "none",
				    cases[i].owner ? cases[i].owner : "none");
	}
}

static void expect_times(const char *kind, const char *identifier, size_t length, int64_t issued_ms,
			 int64_t ends_ms)
{
	struct hadoop_token token cleanup_token = {0};
	int64_t issued = -1, end = -1;

	token_set(&token, identifier, length, "p", 1, kind, "");
	assert_int_equal(token_times(&token, &issued, &end), ends_ms > 0);
	if (ends_ms > 0) {
		assert_int_equal(issued, issued_ms);
		assert_int_equal(end, ends_ms);
	}
}

static void test_times(void **state)
{
	expect_times(TOKEN_KIND_HDFS, WRITABLE, sizeof(WRITABLE) - 1, 0x01a217e0534e,
		     0x01a217e13dae);
	expect_times(TOKEN_KIND_KMS, WRITABLE, sizeof(WRITABLE) - 1, 0x01a217e0534e,
		     0x01a217e13dae);
	expect_times(TOKEN_KIND_TIMELINE, PROTOBUF, sizeof(PROTOBUF) - 1, 1795696907086, 16384);
	expect_times(TOKEN_KIND_RM, PROTOBUF, sizeof(PROTOBUF) - 1, 0, 0);
	expect_times(TOKEN_KIND_HDFS, WRITABLE, sizeof(WRITABLE) - 4, 0, 0);
	expect_times(TOKEN_KIND_HDFS, "", 0, 0, 0);
}

/* ---- files -------------------------------------------------------------------------------- */

static const char empty[] = "HDTS\0\0";

/* As a NodeManager of Hadoop 3.4.2 writes it for an ApplicationMaster, but for the identifier's
 * and password's bytes; and a secret of the client's. */
static const char am_file[] = "HDTS\0"
			      "\x01\x00"
			      "\x15"
			      "0123456789abcdefghijk"
			      "\x14"
			      "password\0with\xff\x80"
			      "bytes"
			      "\x10YARN_AM_RM_TOKEN"
			      "\x00"
			      "\x01\x0atony.token\x04s\0\xfft";

static void test_am_file(void **state)
{
	struct credentials credentials cleanup_credentials = {0};
	struct str out cleanup_str = {0};
	struct err err = {0};
	size_t length;

	assert_int_equal(credentials_parse(am_file, sizeof(am_file) - 1, &credentials, &err), 0);
	assert_int_equal(credentials.token_count, 1);
	assert_string_equal(credentials.tokens[0].alias, "");
	const struct hadoop_token *token = credentials_find_kind(&credentials, TOKEN_KIND_AMRM);
	assert_ptr_equal(token, &credentials.tokens[0].token);
	assert_int_equal(token->identifier_length, 21);
	assert_memory_equal(token->identifier, "0123456789abcdefghijk", 21);
	assert_int_equal(token->password_length, 20);
	assert_memory_equal(token->password,
			    "password\0with\xff\x80"
			    "bytes",
			    20);
	assert_string_equal(token->service, "");
	assert_null(credentials_find_kind(&credentials, TOKEN_KIND_HDFS));

	const unsigned char *secret = credentials_find_secret(&credentials, "tony.token", &length);
	assert_int_equal(length, 4);
	assert_memory_equal(secret, "s\0\xfft", 4);
	assert_null(credentials_find_secret(&credentials, "tony", &length));

	credentials_write(&credentials, &out);
	assert_int_equal(out.length, sizeof(am_file) - 1);
	assert_memory_equal(out.text, am_file, out.length);
}

static void test_empty(void **state)
{
	struct credentials credentials cleanup_credentials = {0};
	struct str out cleanup_str = {0};

	credentials_write(&credentials, &out);
	assert_int_equal(out.length, sizeof(empty));
	assert_memory_equal(out.text, empty, sizeof(empty));
	assert_int_equal(credentials_parse(empty, sizeof(empty), &credentials, NULL), 0);
	assert_int_equal(credentials.token_count + credentials.secret_count, 0);
}

/* Credentials.writeTokenStorageToStream(.., SerializedFormat.PROTOBUF) */
static void test_protobuf(void **state)
{
	static const char file[] = "HDTS\x01"
				   "\x29"
				   "\x0a\x17"
				   "\x0a\x03"
				   "rm1"
				   "\x12\x10"
				   "\x0a\x02id"
				   "\x12\x02pw"
				   "\x1a\x04KIND"
				   "\x22\x00"
				   "\x12\x0e"
				   "\x0a\x06secret"
				   "\x1a\x04s\0\xfft"
				   "what follows is of no interest";
	struct credentials credentials cleanup_credentials = {0};
	struct err err = {0};
	size_t length;

	assert_int_equal(credentials_parse(file, sizeof(file), &credentials, &err), 0);
	const struct hadoop_token *token = credentials_find_kind(&credentials, "KIND");
	assert_non_null(token);
	assert_string_equal(credentials.tokens[0].alias, "rm1");
	assert_memory_equal(token->identifier, "id", 2);
	assert_int_equal(token->password_length, 2);
	const unsigned char *secret = credentials_find_secret(&credentials, "secret", &length);
	assert_int_equal(length, 4);
	assert_memory_equal(secret, "s\0\xfft", 4);
	credentials_finish(&credentials);

	/* cut short anywhere, it is none */
	for (size_t cut = 0; cut < 6 + 0x29; cut++) {
		assert_int_equal(credentials_parse(file, cut, &credentials, NULL), -1);
		assert_null(credentials.tokens);
	}
}

/* Five tokens and two secrets, written by Credentials.writeTokenStorageToStream() of Hadoop 3.4.2
 * in both of its formats, with bytes 7i+n for those that are n long. Lengths of 128 and more are
 * where Hadoop's numbers and protobuf's part. */
static void test_java_files(void **state)
{
	static const struct {
		const char *kind, *service, *alias;
		size_t identifier_length, password_length;
	} tokens[] = {
		{"YARN_AM_RM_TOKEN", "", "", 26, 20},
		{"kms-dt", "kms://https@localhost:9600/kms", "kms", 127, 0},
		{"HDFS_DELEGATION_TOKEN", "127.0.0.1:8020", "127.0.0.1:8020", 38, 20},
		{"RM_DELEGATION_TOKEN", "127.0.0.1:8032,127.0.1.2:8032", "rm", 300, 20},
		{"HDFS_DELEGATION_TOKEN", "ha-hdfs:ns", "ha-hdfs:ns", 128, 20},
	};
	struct str written[2] = {{0}, {0}};
	static const char *const files[] = {"credentials.writable", "credentials.protobuf"};

	for (size_t f = 0; f < array_length(files); f++) {
		char *path cleanup_free = mem_printf(TEST_DATA "/%s", files[f]);
		struct credentials credentials cleanup_credentials = {0};
		struct err err cleanup_err = {0};
		size_t found = 0, length;

		assert_int_equal(credentials_read_file(path, &credentials, &err), 0);
		assert_int_equal(credentials.token_count, array_length(tokens));
		for (size_t i = 0; i < array_length(tokens); i++) {
			for (size_t j = 0; j < credentials.token_count; j++) {
				const struct hadoop_token *token = &credentials.tokens[j].token;
				if (strcmp(credentials.tokens[j].alias, tokens[i].alias) != 0)
					continue;
				found++;
				assert_string_equal(token->kind, tokens[i].kind);
				assert_string_equal(token->service, tokens[i].service);
				assert_int_equal(token->password_length, tokens[i].password_length);
				assert_int_equal(token->identifier_length,
						 tokens[i].identifier_length);
				for (size_t b = 0; b < token->identifier_length; b++)
					assert_int_equal(
						token->identifier[b],
						(unsigned char)(b * 7 + token->identifier_length));
			}
		}
		assert_int_equal(found, array_length(tokens));
		assert_non_null(credentials_find_secret(&credentials, "zw\xc3\xb6lf", &length));
		assert_int_equal(length, 300);
		assert_non_null(credentials_find_secret(&credentials, "empty", &length));
		assert_int_equal(length, 0);
		credentials_write(&credentials, &written[f]);
	}
	/* Version 0 is written as Java writes it. */
	size_t length;
	char *java cleanup_free =
		fs_read_file(TEST_DATA "/credentials.writable", CREDENTIALS_CAP, &length, NULL);
	for (size_t f = 0; f < array_length(files); f++) {
		assert_int_equal(written[f].length, length);
		assert_memory_equal(written[f].text, java, length);
		str_finish(&written[f]);
	}
}

/* By kind and service, as Hadoop's clients find it; a pair's token is for each of the two. */
static void test_find(void **state)
{
	static const struct {
		const char *kind, *service;
		size_t identifier_length; /* 0: there is none */
	} cases[] = {
		{TOKEN_KIND_HDFS, "127.0.0.1:8020", 38}, {TOKEN_KIND_HDFS, "ha-hdfs:ns", 128},
		{TOKEN_KIND_HDFS, "ha-hdfs:n", 0},	 {TOKEN_KIND_HDFS, "127.0.0.1:802", 0},
		{TOKEN_KIND_RM, "127.0.0.1:8032", 300},	 {TOKEN_KIND_RM, "127.0.1.2:8032", 300},
		{TOKEN_KIND_RM, "127.0.0.1:8020", 0},	 {TOKEN_KIND_AMRM, "127.0.0.1:8032", 0},
	};
	struct credentials credentials cleanup_credentials = {0};

	assert_int_equal(
		credentials_read_file(TEST_DATA "/credentials.writable", &credentials, NULL), 0);
	for (size_t i = 0; i < array_length(cases); i++) {
		struct str_list services cleanup_str_list = {0};
		str_list_add(&services, "elsewhere:1");
		str_list_add(&services, cases[i].service);
		const struct hadoop_token *token =
			credentials_find(&credentials, cases[i].kind, &services);
		assert_int_equal(token ? token->identifier_length : 0, cases[i].identifier_length);
	}
}

static void test_truncated(void **state)
{
	for (size_t cut = 0; cut < sizeof(am_file) - 1; cut++) {
		struct credentials credentials = {0};
		struct err err cleanup_err = {0};
		/* A copy, so that a sanitizer sees what is read behind the end. */
		char *bytes cleanup_free = mem_alloc(cut + !cut);

		memcpy(bytes, am_file, cut);
		assert_int_equal(credentials_parse(bytes, cut, &credentials, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_null(credentials.tokens);
		assert_null(credentials.secrets);
	}
}

static void test_not_credentials(void **state)
{
	static const struct {
		const char *bytes, *says;
	} cases[] = {
		{"", "HDTS"},
		{"HDTX\x01\x01\x01", "HDTS"},
		{"HDTS\x02\x01\x01", "version 2"},
		{"HDTS\x01\x02\x0a\x7f", "message"},
		{"HDTS\x01\xff\xff\xff\xff\xff\x01", "ends early"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct credentials credentials = {0};
		struct err err cleanup_err = {0};

		assert_int_equal(credentials_parse(cases[i].bytes, strlen(cases[i].bytes),
						   &credentials, &err),
				 -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_non_null(strstr(err.message, cases[i].says));
	}
	char *large cleanup_free = mem_alloc(CREDENTIALS_CAP + 1);
	memcpy(large, empty, sizeof(empty));
	assert_int_equal(credentials_parse(large, CREDENTIALS_CAP, &(struct credentials){0}, NULL),
			 0);
	assert_int_equal(
		credentials_parse(large, CREDENTIALS_CAP + 1, &(struct credentials){0}, NULL), -1);
	/* more tokens than anybody has; a negative number of them */
	assert_int_equal(
		credentials_parse("HDTS\0\x8c\x7f\xff\xff\xff", 10, &(struct credentials){0}, NULL),
		-1);
	assert_int_equal(credentials_parse("HDTS\0\xff\0", 7, &(struct credentials){0}, NULL), -1);
}

/* What is added replaces what had its name; in a file, a later one hides an earlier one. */
static void test_add(void **state)
{
	struct credentials credentials cleanup_credentials = {0}, read cleanup_credentials = {0};
	struct hadoop_token first cleanup_token = {0}, second cleanup_token = {0};
	struct str out cleanup_str = {0};
	size_t length;

	token_set(&first, "1", 1, "p", 1, TOKEN_KIND_HDFS, "ha-hdfs:a");
	token_set(&second, "2", 1, "p", 1, TOKEN_KIND_HDFS, "ha-hdfs:b");
	credentials_add_token(&credentials, "a", &first);
	credentials_add_token(&credentials, "a", &second);
	assert_int_equal(credentials.token_count, 1);
	credentials_add_token(&credentials, "a", &credentials.tokens[0].token);
	credentials_add_token(&credentials, "b", &first);
	assert_int_equal(credentials.token_count, 2);
	assert_string_equal(credentials_find_kind(&credentials, TOKEN_KIND_HDFS)->service,
			    "ha-hdfs:a");
	credentials_add_secret(&credentials, "s", "old", 3);
	credentials_add_secret(&credentials, "s", "", 0);
	assert_int_equal(credentials.secret_count, 1);
	assert_non_null(credentials_find_secret(&credentials, "s", &length));
	assert_int_equal(length, 0);

	credentials_write(&credentials, &out);
	assert_int_equal(credentials_parse(out.text, out.length, &read, NULL), 0);
	assert_int_equal(read.token_count, 2);
	assert_memory_equal(read.tokens[0].token.identifier, "2", 1);

	static const char twice[] = "HDTS\0\0\x02\x01s\x01"
				    "1\x01s\x01"
				    "2";
	credentials_finish(&read);
	assert_int_equal(credentials_parse(twice, sizeof(twice) - 1, &read, NULL), 0);
	assert_memory_equal(credentials_find_secret(&read, "s", &length), "2", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_url_string),
		cmocka_unit_test(test_from_url_string),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_am_file),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_protobuf),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_not_credentials),
		cmocka_unit_test(test_java_files),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_add),
	};

	return cmocka_run_group_tests_name("hadoop credentials", tests, NULL, NULL);
}
