/* DIGEST-MD5: the exchange. */
#include "hadoop/sasl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "hadoop/sasl_digest.h"
#include "hadoop/token.h"
#include "sasl_server.h"

#define cleanup_sasl __attribute__((cleanup(finish_sasl)))
static void finish_sasl(struct sasl **sasl)
{
	sasl_destroy(*sasl);
}

static int step(struct sasl *sasl, const char *challenge, struct str *response, bool *complete,
		struct err *err)
{
	return sasl_step(sasl, challenge, strlen(challenge), response, complete, err);
}

static struct sasl *create(unsigned protections)
{
	return sasl_digest_create("dXNlcg==", "cGFzcw==", "/default", protections, "Y25vbmNl");
}

#define REST ",charset=utf-8,algorithm=md5-sess"

/* ---- whole exchanges ---------------------------------------------------------------------- */

/* RFC 2831, 4 */
static void test_rfc(void **state)
{
	struct sasl *sasl cleanup_sasl = sasl_digest_create(
		"chris", "secret", "imap/elwood.innosoft.com", SASL_AUTH, "OA6MHXh6VqTrRk");
	struct str response cleanup_str = {0};
	bool complete;

	assert_int_equal(step(sasl,
			      "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\","
			      "algorithm=md5-sess,charset=utf-8",
			      &response, &complete, NULL),
			 0);
	assert_false(complete);
	assert_non_null(strstr(str_text(&response), ",response=d388dad90d4bbd760a152321f2143af7,"));
	str_truncate(&response, 0);
	assert_int_equal(
		step(sasl, "rspauth=ea40f60335c427b5527b84dbabcdfffd", &response, &complete, NULL),
		0);
	assert_true(complete);
	assert_int_equal(response.length, 0);
	assert_int_equal(sasl_protection(sasl), SASL_AUTH);
}

/* A Hadoop token against a server of our own: what is offered, and what both must take of it. */
struct offer {
	const char *text; /* realm and nonce excluded */
	unsigned wanted;
	const char *qop, *cipher;
	unsigned protection;
};

static const struct offer offers[] = {
	{",qop=\"auth\"" REST, SASL_AUTH, "auth", NULL, SASL_AUTH},
	/* A server that does not say offers authentication. */
	{REST, SASL_AUTH, "auth", NULL, SASL_AUTH},
	{",qop=\"auth-int\"" REST, SASL_INTEGRITY, "auth-int", NULL, SASL_INTEGRITY},
	{",qop=\"auth-conf\",cipher=\"rc4\"" REST, SASL_PRIVACY, "auth-conf", "rc4", SASL_PRIVACY},
	{",qop=\"auth-conf\",cipher=\"3des\"" REST, SASL_PRIVACY, "auth-conf", "3des",
	 SASL_PRIVACY},
	/* As the JDK writes it; the strongest that both want, and the better cipher. */
	{",qop=\"auth,auth-conf,auth-int\",cipher=\"3des,rc4,des,rc4-56,rc4-40\"" REST,
	 SASL_AUTH | SASL_INTEGRITY | SASL_PRIVACY, "auth-conf", "3des", SASL_PRIVACY},
	{",qop=\"auth,auth-conf,auth-int\",cipher=\"3des,rc4,des,rc4-56,rc4-40\"" REST,
	 SASL_AUTH | SASL_INTEGRITY, "auth-int", NULL, SASL_INTEGRITY},
	{",qop=\"auth,auth-conf,auth-int\",cipher=\"3des,rc4,des,rc4-56,rc4-40\"" REST, SASL_AUTH,
	 "auth", NULL, SASL_AUTH},
	/* No cipher in common: what is left of what will do. */
	{",qop=\"auth-conf,auth-int\",cipher=\"des,rc4-40\"" REST, SASL_INTEGRITY | SASL_PRIVACY,
	 "auth-int", NULL, SASL_INTEGRITY},
};

static void talk(struct sasl *sasl, struct sasl_server *server)
{
	static const size_t lengths[] = {1, 5, 6, 7, 8, 14, 16, 1000, 65000, 2};
	char *message cleanup_free = mem_alloc(65000);

	for (size_t i = 0; i < array_length(lengths); i++) {
		struct str token cleanup_str = {0}, plain cleanup_str = {0};
		size_t length = lengths[i];

		memset(message, 'a' + (char)i, length);
		str_append(&token, "before ");
		assert_int_equal(sasl_wrap(sasl, message, length, &token, NULL), 0);
		sasl_server_read(server, token.text + 7, token.length - 7, &plain);
		assert_int_equal(plain.length, length);
		assert_memory_equal(plain.text, message, length);

		str_truncate(&token, 0);
		str_truncate(&plain, 0);
		str_append(&plain, "before ");
		sasl_server_write(server, message, length, &token);
		assert_int_equal(sasl_unwrap(sasl, token.text, token.length, &plain, NULL), 0);
		assert_int_equal(plain.length, 7 + length);
		assert_memory_equal(plain.text + 7, message, length);
	}
}

static void test_offer(void **state)
{
	const struct offer *offer = *state;
	struct sasl_server server = {
		/* base64 of the token's bytes */
		.user = "aWQA/w==",	 .password = "cHcA/nB3", .realm = "default",
		.nonce = "a+/b=",	 .uri = "/default",	 .qop = offer->qop,
		.cipher = offer->cipher,
	};
	struct hadoop_token token cleanup_token = {0};
	struct sasl_identity identity = {.token = &token, .protocol = "", .server_id = "default"};
	struct str response cleanup_str = {0}, proof cleanup_str = {0};
	bool complete;

	token_set(&token, "id\0\xff", 4, "pw\0\xfepw", 6, TOKEN_KIND_AMRM, "");
	struct sasl *sasl cleanup_sasl = sasl_digest_token.create(&identity, offer->wanted, NULL);
	char *challenge cleanup_free =
		mem_printf("realm=\"default\",nonce=\"a+/b=\"%s", offer->text);
	assert_int_equal(step(sasl, challenge, &response, &complete, NULL), 0);
	assert_false(complete);
	sasl_server_accept(&server, str_text(&response), &proof);
	assert_int_equal(step(sasl, str_text(&proof), &response, &complete, NULL), 0);
	assert_true(complete);
	assert_int_equal(sasl_protection(sasl), offer->protection);
	assert_true(sasl_wrap_cap(sasl) >= 65000);
	if (offer->protection != SASL_AUTH)
		talk(sasl, &server);
}

/* Nobody could foresee what two clients say. */
static void test_random(void **state)
{
	struct hadoop_token token cleanup_token = {0};
	struct sasl_identity identity = {.token = &token, .protocol = "", .server_id = "default"};
	struct str texts[2] = {0};
	bool complete;

	token_set(&token, "id", 2, "pw", 2, TOKEN_KIND_NM, "");
	for (int i = 0; i < 2; i++) {
		struct sasl *sasl cleanup_sasl =
			sasl_digest_token.create(&identity, SASL_AUTH, NULL);
		assert_int_equal(step(sasl, "nonce=\"n\"" REST, &texts[i], &complete, NULL), 0);
	}
	assert_string_not_equal(str_text(&texts[0]), str_text(&texts[1]));
	str_finish(&texts[0]);
	str_finish(&texts[1]);
}

/* ---- what is refused ---------------------------------------------------------------------- */

static void assert_refused(unsigned wanted, const char *challenge, enum err_kind kind,
			   const char *says)
{
	struct sasl *sasl cleanup_sasl = create(wanted);
	struct str response cleanup_str = {0};
	struct err err cleanup_err = {0};
	bool complete = true;

	assert_int_equal(step(sasl, challenge, &response, &complete, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_non_null(strstr(err_message(&err), says));
	assert_false(complete);
	assert_int_equal(response.length, 0);
	/* and it stays so */
	assert_int_equal(step(sasl, "nonce=\"n\"" REST, &response, &complete, NULL), -1);
	assert_false(complete);
}

static void test_no_protection_in_common(void **state)
{
	assert_refused(SASL_PRIVACY, "nonce=\"n\",qop=\"auth,auth-int\"" REST, ERR_DENIED,
		       "hadoop.rpc.protection");
	assert_refused(SASL_AUTH, "nonce=\"n\",qop=\"auth-conf\",cipher=\"rc4\"" REST, ERR_DENIED,
		       "hadoop.rpc.protection");
	assert_refused(SASL_INTEGRITY, "nonce=\"n\"" REST, ERR_DENIED, "hadoop.rpc.protection");
	assert_refused(SASL_AUTH, "nonce=\"n\",qop=\"auth-new\"" REST, ERR_DENIED,
		       "hadoop.rpc.protection");
	assert_refused(SASL_PRIVACY, "nonce=\"n\",qop=\"auth-conf\",cipher=\"des,rc4-56\"" REST,
		       ERR_DENIED, "3des");
	assert_refused(SASL_PRIVACY, "nonce=\"n\",qop=\"auth-conf\"" REST, ERR_DENIED, "3des");
}

static void test_no_challenge(void **state)
{
	static const char *const challenges[] = {
		"",
		",,",
		"realm=\"default\"" REST,
		"nonce=\"\"" REST,
		"nonce=\"n\",charset=utf-8",
		"nonce=\"n\",algorithm=md5",
		"nonce=\"n\",nonce=\"n\"" REST,
		"nonce=\"n\",algorithm=md5-sess" REST,
		"nonce=\"n\",charset=latin-1,algorithm=md5-sess",
		"nonce=\"n\",maxbuf=26" REST,
		"nonce=\"n\",maxbuf=16777216" REST,
		"nonce=\"n\",maxbuf=many" REST,
		"nonce=\"n\",qop=\"auth\",qop=\"auth\"" REST,
		"nonce=\"n" REST,
		"nonce=\"n\\",
		"nonce=\"n\" \"n\"" REST,
		"nonce" REST,
		"nonce=" REST,
		"=\"n\"" REST,
		"\"nonce\"=n" REST,
		"nonce=\"n\"; algorithm=md5-sess",
	};

	for (size_t i = 0; i < array_length(challenges); i++)
		assert_refused(SASL_AUTH, challenges[i], ERR_INPUT, "DIGEST-MD5 challenge");

	struct str large cleanup_str = {0};
	str_append(&large, "nonce=\"n\"" REST ",more=\"");
	while (large.length < DIGEST_CHALLENGE_CAP)
		str_append_char(&large, 'x');
	str_append_char(&large, '\"');
	assert_refused(SASL_AUTH, large.text, ERR_INPUT, "2049 bytes");
}

/* promise: S18 */
static void test_server_proof(void **state)
{
	static const struct {
		const char *text;
		enum err_kind kind;
	} cases[] = {
		{"rspauth=ea40f60335c427b5527b84dbabcdfffe", ERR_DENIED},
		{"rspauth=EA40", ERR_DENIED},
		{"rspauth=\"\"", ERR_DENIED},
		{"", ERR_INPUT},
		{"maxbuf=1", ERR_INPUT},
		{"rspauth", ERR_INPUT},
		/* the right one, in what is no list */
		{"rspauth=ea40f60335c427b5527b84dbabcdfffd,,=", ERR_INPUT},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct sasl *sasl cleanup_sasl = sasl_digest_create(
			"chris", "secret", "imap/elwood.innosoft.com", SASL_AUTH, "OA6MHXh6VqTrRk");
		struct str response cleanup_str = {0};
		struct err err cleanup_err = {0};
		bool complete;

		assert_int_equal(step(sasl,
				      "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\"" REST,
				      &response, &complete, NULL),
				 0);
		complete = true;
		assert_int_equal(step(sasl, cases[i].text, &response, &complete, &err), -1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_false(complete);
		/* There is no second try. */
		assert_int_equal(step(sasl, "rspauth=ea40f60335c427b5527b84dbabcdfffd", &response,
				      &complete, NULL),
				 -1);
		assert_false(complete);
	}
}

static void test_no_token(void **state)
{
	struct sasl_identity identity = {.protocol = "", .server_id = "default"};
	struct err err cleanup_err = {0};

	assert_null(sasl_digest_token.create(&identity, SASL_AUTH, &err));
	assert_int_equal(err.kind, ERR_DENIED);
}

/* ---- how a challenge may be written ------------------------------------------------------- */

static void test_challenge(void **state)
{
	static const char text[] =
		" ,, Realm = \"a \\\"b\\\\, c=d\" ,\trealm=\"second\",nonce=\"\\\\n\\\"\" ,"
		"qop=\"auth , AUTH-CONF,auth-new\",stale=true,maxbuf=1000,"
		"cipher=\"rc4-40, RC4\" , charset=UTF-8,algorithm=\"MD5-sess\" ,x-y=\"\",";
	struct digest_challenge challenge cleanup_digest_challenge = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(digest_challenge_parse(text, strlen(text), &challenge, &err), 0);
	assert_string_equal(challenge.realm, "a \"b\\, c=d");
	assert_string_equal(challenge.nonce, "\\n\"");
	assert_int_equal(challenge.protections, SASL_AUTH | SASL_PRIVACY);
	assert_int_equal(challenge.ciphers, DIGEST_RC4);
	assert_int_equal(challenge.buffer, 1000);
	assert_true(challenge.utf8);
}

/* What has to be quoted comes back quoted, and is hashed as it is. */
static void test_escapes(void **state)
{
	struct sasl_server server = {
		.user = "dXNlcg==",
		.password = "cGFzcw==",
		.realm = "re\"al\\m",
		.nonce = "no,\"nce\\",
		.uri = "/default",
		.qop = "auth",
	};
	struct sasl *sasl cleanup_sasl =
		sasl_digest_create("dXNlcg==", "cGFzcw==", "/default", SASL_AUTH, "cnonce\\\"x");
	struct str response cleanup_str = {0}, proof cleanup_str = {0};
	bool complete;

	assert_int_equal(step(sasl, "realm=\"re\\\"al\\\\m\",nonce=\"no,\\\"nce\\\\\"" REST,
			      &response, &complete, NULL),
			 0);
	sasl_server_accept(&server, str_text(&response), &proof);
	assert_int_equal(step(sasl, str_text(&proof), &response, &complete, NULL), 0);
	assert_true(complete);
}

static void test_nul(void **state)
{
	static const char text[] = "nonce=\"n\0n\"" REST;
	struct digest_challenge challenge cleanup_digest_challenge = {0};

	assert_int_equal(digest_challenge_parse(text, sizeof(text) - 1, &challenge, NULL), -1);
}

static void test_wrap_cap(void **state)
{
	struct sasl *sasl cleanup_sasl = create(SASL_INTEGRITY);
	struct str response cleanup_str = {0};
	bool complete;

	assert_int_equal(step(sasl, "nonce=\"n\",maxbuf=100,qop=\"auth-int\"" REST, &response,
			      &complete, NULL),
			 0);
	assert_int_equal(sasl_wrap_cap(sasl), 100 - 26);
}

int main(void)
{
	struct CMUnitTest tests[32] = {
		cmocka_unit_test(test_rfc),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_no_protection_in_common),
		cmocka_unit_test(test_no_challenge),
		cmocka_unit_test(test_server_proof),
		cmocka_unit_test(test_no_token),
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_wrap_cap),
	};
	size_t count = 10;

	for (size_t i = 0; i < array_length(offers); i++)
		tests[count++] = (struct CMUnitTest){.name = offers[i].text,
						     .test_func = test_offer,
						     .initial_state = (void *)&offers[i]};
	return _cmocka_run_group_tests("hadoop sasl", tests, count, NULL, NULL);
}
