/* A message of rsh or host holds where it was said, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "executor/remote_proof.h"

#define TOKEN	   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER	   "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define RSH_NONCE  "1111111111111111111111111111111111111111111111111111111111111111"
#define HOST_NONCE "2222222222222222222222222222222222222222222222222222222222222222"
#define ADDRESS	   "127.0.0.1:4000"

/* Both ends of a conversation. */
struct pair {
	struct remote_session rsh, host;
	char *hello, *welcome;
	int result; /* of the welcome */
	struct err err;
};

static void converse(struct pair *pair, const char *rsh_token, const char *host_token)
{
	*pair = (struct pair){0};
	remote_session_init(&pair->rsh, REMOTE_RSH, rsh_token, ADDRESS, RSH_NONCE);
	remote_session_init(&pair->host, REMOTE_HOST, host_token, NULL, HOST_NONCE);
	pair->hello = remote_hello(&pair->rsh);
	assert_int_equal(
		remote_take_hello(&pair->host, pair->hello, strlen(pair->hello), &pair->err), 0);
	assert_string_equal(pair->host.address, ADDRESS);
	pair->welcome = remote_welcome(&pair->host);
	pair->result =
		remote_take_welcome(&pair->rsh, pair->welcome, strlen(pair->welcome), &pair->err);
}

static void finish(struct pair *pair)
{
	remote_session_finish(&pair->rsh);
	remote_session_finish(&pair->host);
	free(pair->hello);
	free(pair->welcome);
	err_finish(&pair->err);
}

/* The text, or NULL with ERR_DENIED. */
static char *unseal(struct remote_session *session, enum remote_side side, const char *message)
{
	struct err err cleanup_err = {0};
	char *text = remote_unseal(session, side, message, strlen(message), &err);

	assert_int_equal(err.kind, text ? ERR_NONE : ERR_DENIED);
	return text;
}

static void expect_refused(struct remote_session *session, enum remote_side side,
			   const char *message)
{
	char *text cleanup_free = unseal(session, side, message);

	assert_null(text);
}

/* Made by another implementation of HMAC-SHA256: Python's. */
static void test_golden(void **state)
{
	struct pair pair;

	converse(&pair, TOKEN, TOKEN);
	assert_int_equal(pair.result, 0);
	assert_string_equal(pair.hello,
			    "{\"address\":\"" ADDRESS "\",\"nonce\":\"" RSH_NONCE "\"}");
	assert_string_equal(
		pair.welcome,
		"{\"nonce\":\"" HOST_NONCE "\",\"proof\":"
		"\"5ade9f2f52d58556b65c2e597e84ae1740258307d973865853c9d23dfda0c4a1\"}");
	char *question cleanup_free = remote_seal(&pair.rsh, REMOTE_RSH, "Grüße");
	assert_string_equal(
		question,
		"{\"text\":\"Grüße\","
		"\"proof\":\"850eb733634bff9807d1c14c851f6cc40388030f11d9ebd7a4eb010fab728291\"}");
	char *asked cleanup_free = unseal(&pair.host, REMOTE_RSH, question);
	assert_string_equal(asked, "Grüße");
	char *answer cleanup_free = remote_seal(&pair.host, REMOTE_HOST, "");
	assert_string_equal(
		answer,
		"{\"text\":\"\","
		"\"proof\":\"51ca5f910e60454b4c774eec3c0542bd5abdac8b16edce39de9b73cd88512756\"}");
	char *told cleanup_free = unseal(&pair.rsh, REMOTE_HOST, answer);
	assert_string_equal(told, "");
	finish(&pair);
}

/* promise: S32 */
static void test_the_token_is_in_no_message(void **state)
{
	struct pair pair;

	converse(&pair, TOKEN, TOKEN);
	char *question cleanup_free = remote_seal(&pair.rsh, REMOTE_RSH, "true");
	assert_null(strstr(pair.hello, TOKEN));
	assert_null(strstr(pair.welcome, TOKEN));
	assert_null(strstr(question, TOKEN));
	finish(&pair);
}

/* promise: S32 */
static void test_a_host_without_the_token_is_no_host(void **state)
{
	struct pair pair;

	converse(&pair, TOKEN, OTHER);
	assert_int_equal(pair.result, -1);
	assert_int_equal(pair.err.kind, ERR_DENIED);
	finish(&pair);
}

static void test_rsh_without_the_token_is_not_obeyed(void **state)
{
	struct pair pair, good;

	converse(&pair, OTHER, TOKEN);
	converse(&good, OTHER, OTHER);
	char *question cleanup_free = remote_seal(&good.rsh, REMOTE_RSH, "true");
	expect_refused(&pair.host, REMOTE_RSH, question);
	finish(&pair);
	finish(&good);
}

/* promise: S33 */
static void test_every_byte_of_a_message_counts(void **state)
{
	struct pair pair;

	converse(&pair, TOKEN, TOKEN);
	char *question cleanup_free = remote_seal(&pair.rsh, REMOTE_RSH, "touch x");
	for (size_t i = 0; question[i]; i++) {
		char *changed cleanup_free = mem_strdup(question);
		struct err err cleanup_err = {0};
		changed[i] = (char)(changed[i] ^ 1);
		char *text cleanup_free =
			remote_unseal(&pair.host, REMOTE_RSH, changed, strlen(changed), &err);
		assert_null(text);
	}
	char *text cleanup_free = unseal(&pair.host, REMOTE_RSH, question);
	assert_string_equal(text, "touch x");
	finish(&pair);
}

static void test_a_message_is_good_once_and_in_one_direction(void **state)
{
	struct pair pair;

	converse(&pair, TOKEN, TOKEN);
	char *question cleanup_free = remote_seal(&pair.rsh, REMOTE_RSH, "true");
	expect_refused(&pair.rsh, REMOTE_HOST, question); /* sent back */
	char *text cleanup_free = unseal(&pair.host, REMOTE_RSH, question);
	assert_string_equal(text, "true");
	expect_refused(&pair.host, REMOTE_RSH, question); /* again */
	char *answer cleanup_free = remote_seal(&pair.host, REMOTE_HOST, "0");
	expect_refused(&pair.host, REMOTE_RSH, answer);
	finish(&pair);
}

/* Neither that of another connection, nor of another address. */
static void test_a_message_of_another_conversation_is_refused(void **state)
{
	static const char *const others[][2] = {{ADDRESS, OTHER}, {"127.0.0.1:4001", HOST_NONCE}};

	for (size_t i = 0; i < array_length(others); i++) {
		struct pair pair;
		struct err err cleanup_err = {0};
		struct remote_session rsh, host;
		converse(&pair, TOKEN, TOKEN);
		remote_session_init(&rsh, REMOTE_RSH, TOKEN, others[i][0], RSH_NONCE);
		remote_session_init(&host, REMOTE_HOST, TOKEN, NULL, others[i][1]);
		char *hello cleanup_free = remote_hello(&rsh);
		assert_int_equal(remote_take_hello(&host, hello, strlen(hello), &err), 0);
		char *welcome cleanup_free = remote_welcome(&host);
		assert_int_equal(remote_take_welcome(&rsh, welcome, strlen(welcome), &err), 0);
		char *question cleanup_free = remote_seal(&rsh, REMOTE_RSH, "true");
		expect_refused(&pair.host, REMOTE_RSH, question);
		remote_session_finish(&rsh);
		remote_session_finish(&host);
		finish(&pair);
	}
}

static void test_a_message_before_the_hello_is_refused(void **state)
{
	struct remote_session host;

	remote_session_init(&host, REMOTE_HOST, TOKEN, NULL, HOST_NONCE);
	expect_refused(&host, REMOTE_RSH, "{\"text\": \"\", \"proof\": \"\"}");
	remote_session_finish(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_the_token_is_in_no_message),
		cmocka_unit_test(test_a_host_without_the_token_is_no_host),
		cmocka_unit_test(test_rsh_without_the_token_is_not_obeyed),
		cmocka_unit_test(test_every_byte_of_a_message_counts),
		cmocka_unit_test(test_a_message_is_good_once_and_in_one_direction),
		cmocka_unit_test(test_a_message_of_another_conversation_is_refused),
		cmocka_unit_test(test_a_message_before_the_hello_is_refused),
	};

	return cmocka_run_group_tests_name("remote proof", tests, NULL, NULL);
}
