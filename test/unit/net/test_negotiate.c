/* The challenges and cookies that http_negotiate.h finds in heads. The exchanges that follow from
 * them are in hadoop/test_spnego.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/http_message.h"
#include "net/http_negotiate.h"

static void parse(struct http_head *head, const char *lines)
{
	char *text cleanup_free = mem_printf("HTTP/1.1 401 X\r\n%s\r\n", lines);

	assert_int_equal(http_head_parse_response(head, text, strlen(text), NULL), 0);
}

static void expect_challenge(const char *lines, bool is_negotiate, const char *token,
			     const char *others)
{
	struct http_challenge challenge = {0};
	struct http_head head;

	parse(&head, lines);
	assert_int_equal(http_challenge_read(&challenge, &head, NULL), 0);
	assert_int_equal(challenge.is_negotiate, is_negotiate);
	assert_int_equal(challenge.length, token ? strlen(token) : 0);
	if (token)
		assert_memory_equal(challenge.token, token, strlen(token));
	else
		assert_null(challenge.token);
	char *names cleanup_free = str_list_join(&challenge.others, " ");
	assert_string_equal(names, others);
	http_challenge_finish(&challenge);
	http_head_finish(&head);
}

#define WWW "WWW-Authenticate: "

static void test_challenges(void **state)
{
	expect_challenge("", false, NULL, "");
	expect_challenge(WWW "Negotiate\r\n", true, NULL, "");
	expect_challenge("www-authenticate: NEGOTIATE  d2VsY29tZQ== \r\n", true, "welcome", "");
	expect_challenge(WWW "Basic realm=\"a, Negotiate b\"\r\n", false, NULL, "Basic");
	expect_challenge(WWW "Basic realm=\"\\\", Negotiate\"\r\n", false, NULL, "Basic");
	expect_challenge(WWW "Digest realm=\"a\", qop=auth, Basic realm = \"b\", realm = \"c\"\r\n",
			 false, NULL, "Digest Basic");
	expect_challenge(WWW "Basic\r\n" WWW "Negotiate\r\n" WWW "basic x\r\n", true, NULL,
			 "Basic basic");
	expect_challenge(WWW ", ,Negotiate , PseudoAuth\r\n", true, NULL, "PseudoAuth");
	expect_challenge(WWW "Negotiated\r\n", false, NULL, "Negotiated");
	expect_challenge(WWW "Negotiate=x\r\n", false, NULL, "");
	expect_challenge(WWW "\"Negotiate\r\n", false, NULL, "");
}

static void test_tokens_that_are_none(void **state)
{
	static const char *const lines[] = {
		WWW "Negotiate d2V\r\n",
		WWW "Negotiate d2Vs d2Vs\r\n",
		WWW "Negotiate ====\r\n",
		WWW "Negotiate realm=\"a\"\r\n",
		WWW "Negotiate d2Vs\r\n" WWW "Negotiate d2Vs\r\n",
	};

	for (size_t i = 0; i < array_length(lines); i++) {
		struct http_challenge challenge = {0};
		struct err err cleanup_err = {0};
		struct http_head head;
		parse(&head, lines[i]);
		assert_int_equal(http_challenge_read(&challenge, &head, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		http_challenge_finish(&challenge);
		http_head_finish(&head);
	}
}

static void expect_cookie(const char *lines, bool is_there, const char *expected)
{
	struct http_head head;
	char *value;

	parse(&head, lines);
	assert_int_equal(http_cookie_read(&head, "name", &value), is_there);
	if (expected)
		assert_string_equal(value, expected);
	else
		assert_null(value);
	free(value);
	http_head_finish(&head);
}

#define SET "Set-Cookie: "

static void test_cookies(void **state)
{
	expect_cookie("", false, NULL);
	expect_cookie(SET "names=1\r\n" SET "nom=2\r\n" SET "Name=3\r\n", false, NULL);
	expect_cookie(SET "name=a=b&c\r\n", true, "a=b&c");
	expect_cookie("set-cookie: name=\"a&b=\"; Secure; HttpOnly\r\n", true, "\"a&b=\"");
	expect_cookie(SET "name=a ;Path=/\r\n", true, "a");
	expect_cookie(SET "name=; Path=/\r\n", true, NULL);
	expect_cookie(SET "name=\"\"; Path=/\r\n", true, NULL);
	expect_cookie(SET "name=a b\r\n", true, NULL);
	expect_cookie(SET "name=a,b\r\n", true, NULL);
	expect_cookie(SET "name=a\xc3\xa4\r\n", true, NULL);
	expect_cookie(SET "name=a\r\n" SET "name=b\r\n", true, "b");
	char *longest cleanup_free = mem_printf("%04096d", 0);
	char *line cleanup_free = mem_printf(SET "name=%s\r\n", longest);
	expect_cookie(line, true, longest);
	char *longer cleanup_free = mem_printf(SET "name=0%s\r\n", longest);
	expect_cookie(longer, true, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_challenges),
		cmocka_unit_test(test_tokens_that_are_none),
		cmocka_unit_test(test_cookies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
