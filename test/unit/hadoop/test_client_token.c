/* Tokens by which users prove to an AM who they are (hadoop/client_token.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/client_token.h"

/* As a ResourceManager of Hadoop 3.4.2 gave it to bob@TONY.TEST, and its HMAC-SHA1 under KEY as
 * Python's hmac makes it. */
#define IDENTITY "Cg0KCQgBEJWE3OihNBABEg1ib2JAVE9OWS5URVNU"
#define KEY	 "12345678"
#define PASSWORD "j2443gvKt9im8Uj8uBa/9U3qwNg="

static const ProtobufCBinaryData key = {sizeof(KEY) - 1, (uint8_t *)KEY};

static void test_the_key_proves_the_user(void **state)
{
	char *user cleanup_free = NULL;
	char *password cleanup_free = client_token_find(&key, IDENTITY, &user);

	assert_string_equal(password, PASSWORD);
	assert_string_equal(user, "bob@TONY.TEST");
}

static void test_both_ends_write_the_same_texts(void **state)
{
	Hadoop__TokenProto token = HADOOP__TOKEN_PROTO__INIT;
	static uint8_t identifier[] = "\n\r\n\t\x08\x01\x10\x95\x84\xdc\xe8\xa1\x34\x10\x01\x12"
				      "\rbob@TONY.TEST";
	static uint8_t password[] = {0, 1, 255};

	token.identifier = (ProtobufCBinaryData){sizeof(identifier) - 1, identifier};
	token.password = (ProtobufCBinaryData){sizeof(password), password};
	char *identity cleanup_free = client_token_identity(&token);
	char *secret cleanup_free = client_token_password(&token);
	assert_string_equal(identity, IDENTITY);
	assert_string_equal(secret, "AAH/");
}

static void expect_nobody(const ProtobufCBinaryData *by, const char *identity)
{
	char *user cleanup_free = NULL;

	assert_null(client_token_find(by, identity, &user));
}

static void test_what_names_nobody(void **state)
{
	static const ProtobufCBinaryData none = {0};
	char *longest cleanup_free = mem_alloc(1001);

	memset(longest, 'A', 1000);
	expect_nobody(&none, IDENTITY);
	expect_nobody(&key, "");
	expect_nobody(&key, "tony");
	expect_nobody(&key, "not base64");
	expect_nobody(&key, "Cg0KCQgBEJWE3OihNBAB"); /* no name */
	expect_nobody(&key, "EgA=");		     /* an empty one */
	expect_nobody(&key, "EgL//w==");	     /* no UTF-8 */
	expect_nobody(&key, longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_key_proves_the_user),
		cmocka_unit_test(test_both_ends_write_the_same_texts),
		cmocka_unit_test(test_what_names_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
