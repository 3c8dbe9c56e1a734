/* DIGEST-MD5: what is said under its protection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "hadoop/sasl_digest.h"

/* Talks with the JDK 17's SaslServer, written down: the user "dXNlcg==" with the password
 * "cGFzcw==" and the cnonce "Y25vbmNl" at "/default". Our tokens are what it read, its own what we
 * read. */
struct talk {
	const char *nonce, *offer;
	unsigned protection;
	const char *response, *proof;
	const char *ours[2], *theirs[2]; /* tokens, in hex */
};

static const struct talk talks[] = {
	{"FxjWfYJkXxOrXNupQ1i0A31cx9VowsnKyBX85VG2",
	 "qop=\"auth-int\"",
	 SASL_INTEGRITY,
	 "f0543a55fae2070fed17a5dd0f7fd667",
	 "rspauth=a10129305efad24a39d28630ce33b6db",
	 {"68656c6c6f153c7a1c61b67f3a9618000100000000",
	  "61207365636f6e64206f6e6547603af83cdca046f47e000100000001"},
	 {"68656c6c6f5df779115e8742dfc15a000100000000",
	  "61207365636f6e64206f6e65d226ca113a2b9627ed76000100000001"}},
	{"I+O7AzzOrcOlmo6VKe5vyvxxJzRWV34HLj9eGi0g",
	 "qop=\"auth-conf\",cipher=\"rc4\"",
	 SASL_PRIVACY,
	 "3fc1bc8109d955f55f77ee348ce84831",
	 "rspauth=d6cedf07bbae03684861a6f989036530",
	 {"b70fd69687e0150a422c507129b33b000100000000",
	  "22469b5bc0c6ff499f27e3f55db3e92e3958c6152911000100000001"},
	 {"cbf2e1803194c21daf53981da4d157000100000000",
	  "6e0393cf2ecc3fa272dcab04876f033de5a8b2745329000100000001"}},
	{"+e6fpvnr419GlYfmqDaC1utG8yuh4vFDW9uokhKo",
	 "qop=\"auth-conf\",cipher=\"3des\"",
	 SASL_PRIVACY,
	 "c2bdff5ee6b06d0d9b1483d81d35e0c2",
	 "rspauth=2e2632180340f8253af2a518ba4802bd",
	 {"caf2bf043dfc26d24ab0efb945f677d6000100000000",
	  "c21dbe8490a094cae8328c7db54b920b4b823919f0a6ebb6000100000001"},
	 {"8dc840abb4b6b7bfbb7643fd0397980e000100000000",
	  "55d52cc917870d36a5125d23f28410dec3e94cdcbc092205000100000001"}},
};
static const char *const messages[2] = {"hello", "a second one"};

static void unhex(struct str *bytes, const char *hex)
{
	str_truncate(bytes, 0);
	for (; *hex; hex += 2) {
		char digits[3] = {hex[0], hex[1], '\0'};
		str_append_char(bytes, (char)strtoul(digits, NULL, 16));
	}
}

/* Up to where both have proved themselves; the caller destroys it. */
static struct sasl *meet(const struct talk *talk)
{
	struct sasl *sasl = sasl_digest_create("dXNlcg==", "cGFzcw==", "/default", talk->protection,
					       "Y25vbmNl");
	char *challenge cleanup_free =
		mem_printf("realm=\"default\",nonce=\"%s\",%s,charset=utf-8,algorithm=md5-sess",
			   talk->nonce, talk->offer);
	char *expected cleanup_free = mem_printf(",response=%s,", talk->response);
	struct str response cleanup_str = {0};
	bool complete;

	assert_int_equal(sasl_step(sasl, challenge, strlen(challenge), &response, &complete, NULL),
			 0);
	assert_non_null(strstr(response.text, expected));
	assert_int_equal(
		sasl_step(sasl, talk->proof, strlen(talk->proof), &response, &complete, NULL), 0);
	assert_true(complete);
	return sasl;
}

static void test_jdk(void **state)
{
	for (size_t i = 0; i < array_length(talks); i++) {
		struct sasl *sasl = meet(&talks[i]);

		for (int k = 0; k < 2; k++) {
			struct str token cleanup_str = {0}, out cleanup_str = {0};

			assert_int_equal(
				sasl_wrap(sasl, messages[k], strlen(messages[k]), &out, NULL), 0);
			unhex(&token, talks[i].ours[k]);
			assert_int_equal(out.length, token.length);
			assert_memory_equal(out.text, token.text, out.length);

			str_truncate(&out, 0);
			unhex(&token, talks[i].theirs[k]);
			assert_int_equal(sasl_unwrap(sasl, token.text, token.length, &out, NULL),
					 0);
			assert_string_equal(str_text(&out), messages[k]);
		}
		sasl_destroy(sasl);
	}
}

static void assert_not_taken(const struct talk *talk, const void *token, size_t length)
{
	struct sasl *sasl = meet(talk);
	struct str out cleanup_str = {0};
	struct err err cleanup_err = {0};
	/* A copy, so that a sanitizer sees what is read behind the end. */
	char *bytes cleanup_free = mem_alloc(length + !length);

	memcpy(bytes, token, length);
	str_append(&out, "before");
	assert_int_equal(sasl_unwrap(sasl, bytes, length, &out, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_string_equal(out.text, "before");
	sasl_destroy(sasl);
}

/* promise: S19 */
static void test_altered(void **state)
{
	for (size_t i = 0; i < array_length(talks); i++) {
		struct str token cleanup_str = {0};

		unhex(&token, talks[i].theirs[0]);
		for (size_t bit = 0; bit < token.length * 8; bit++) {
			token.text[bit / 8] = (char)(token.text[bit / 8] ^ 1 << bit % 8);
			assert_not_taken(&talks[i], token.text, token.length);
			token.text[bit / 8] = (char)(token.text[bit / 8] ^ 1 << bit % 8);
		}
	}
}

static void test_truncated(void **state)
{
	for (size_t i = 0; i < array_length(talks); i++) {
		struct str token cleanup_str = {0};

		unhex(&token, talks[i].theirs[0]);
		for (size_t cut = 0; cut < token.length; cut++) {
			assert_not_taken(&talks[i], token.text, cut);
			if (cut > 0)
				assert_not_taken(&talks[i], token.text + cut, token.length - cut);
		}
		str_append_char(&token, '\0');
		assert_not_taken(&talks[i], token.text, token.length);
	}
}

/* The second message first, or the first one twice. */
static void test_sequence(void **state)
{
	for (size_t i = 0; i < array_length(talks); i++) {
		struct str first cleanup_str = {0}, second cleanup_str = {0}, out cleanup_str = {0};
		struct err err cleanup_err = {0};
		struct sasl *sasl = meet(&talks[i]);

		unhex(&first, talks[i].theirs[0]);
		unhex(&second, talks[i].theirs[1]);
		assert_not_taken(&talks[i], second.text, second.length);
		assert_int_equal(sasl_unwrap(sasl, first.text, first.length, &out, NULL), 0);
		assert_int_equal(sasl_unwrap(sasl, first.text, first.length, &out, &err), -1);
		assert_int_equal(err.kind, ERR_DENIED);
		assert_non_null(strstr(err.message, "number 1"));
		assert_string_equal(str_text(&out), messages[0]);
		sasl_destroy(sasl);
	}
}

/* Protection that was not agreed on is not believed. */
static void test_no_layer(void **state)
{
	struct sasl *sasl = sasl_digest_create("chris", "secret", "imap/elwood.innosoft.com",
					       SASL_AUTH, "OA6MHXh6VqTrRk");
	static const char challenge[] = "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\","
					"charset=utf-8,algorithm=md5-sess",
			  proof[] = "rspauth=ea40f60335c427b5527b84dbabcdfffd";
	struct str out cleanup_str = {0};
	bool complete;

	assert_int_equal(sasl_step(sasl, challenge, strlen(challenge), &out, &complete, NULL), 0);
	assert_int_equal(sasl_step(sasl, proof, strlen(proof), &out, &complete, NULL), 0);
	str_truncate(&out, 0);
	assert_int_equal(sasl_unwrap(sasl, "0123456789012345678901", 22, &out, NULL), -1);
	assert_int_equal(out.length, 0);
	sasl_destroy(sasl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jdk),	  cmocka_unit_test(test_altered),
		cmocka_unit_test(test_truncated), cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_no_layer),
	};

	return cmocka_run_group_tests_name("hadoop sasl layer", tests, NULL, NULL);
}
