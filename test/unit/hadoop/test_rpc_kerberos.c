/* RPC with Kerberos: a server with a script, and a GSSAPI library of plain texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "fake_gssapi.h"
#include "hadoop/methods.h"
#include "hadoop/rpc_frame.h"
#include "hadoop/sasl_gssapi.h"
#include "hadoop/token.h"
#include "rpc_bed.h"

/* How the one server of these tests behaves. */
static struct {
	struct fake_acceptor acceptor;
	const char *protocol, *server_id; /* what it says it is */
	const char *realm;		  /* and is of */
	unsigned char offer[4];
	size_t offer_length;
	unsigned chosen; /* by the client; 0: nothing yet */
	bool offers_kerberos, offers_simple, offers_token;
	const char *welcome; /* its half of the exchange */
	bool succeeds_early; /* without a proof */
	bool goes_on;	     /* after all is said */
	size_t oversized;    /* the bytes of a frame that it announces in place of its half */
	bool hangs_up;	     /* in the middle of its half */
} server;

static struct sasl *create(const struct sasl_identity *identity, unsigned protections,
			   struct err *err)
{
	return sasl_gssapi_create(&fake_gssapi_library, identity, protections, err);
}

static const struct sasl_mechanism kerberos = {
	.method = "KERBEROS", .name = "GSSAPI", .create = create};

static void say(struct fake_connection *connection, Hadoop__SaslState state, const void *token,
		size_t length)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;

	message.state = state;
	message.has_token = token != NULL;
	message.token = (ProtobufCBinaryData){length, (uint8_t *)token};
	fake_say_sasl(connection, &message);
}

/* ---- the server --------------------------------------------------------------------------- */

static void offer(struct fake_connection *connection)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;
	Hadoop__SaslAuth token = HADOOP__SASL_AUTH__INIT, simple = HADOOP__SASL_AUTH__INIT,
			 own = HADOOP__SASL_AUTH__INIT;
	Hadoop__SaslAuth *auths[3];

	simple.method = "SIMPLE";
	simple.mechanism = "";
	token.method = "TOKEN";
	token.mechanism = "DIGEST-MD5";
	own.method = "KERBEROS";
	own.mechanism = "GSSAPI";
	own.protocol = (char *)server.protocol;
	own.serverid = (char *)server.server_id;
	message.state = HADOOP__SASL_STATE__SASL_NEGOTIATE;
	message.auths = auths;
	if (server.offers_token)
		auths[message.n_auths++] = &token;
	if (server.offers_simple)
		auths[message.n_auths++] = &simple;
	if (server.offers_kerberos)
		auths[message.n_auths++] = &own;
	fake_say_sasl(connection, &message);
}

static void take_initiate(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	char *hello cleanup_free =
		mem_printf(FAKE_HELLO "%s/%s@%s", server.protocol, server.server_id, server.realm);

	assert_int_equal(message->n_auths, 1);
	assert_string_equal(message->auths[0]->method, "KERBEROS");
	assert_string_equal(message->auths[0]->protocol, server.protocol);
	assert_string_equal(message->auths[0]->serverid, server.server_id);
	assert_int_equal(message->token.len, strlen(hello));
	assert_memory_equal(message->token.data, hello, strlen(hello));
	if (server.oversized > 0) {
		const unsigned char head[4] = {(unsigned char)(server.oversized >> 24),
					       (unsigned char)(server.oversized >> 16),
					       (unsigned char)(server.oversized >> 8),
					       (unsigned char)server.oversized};
		fake_send(connection, head, sizeof(head));
	} else if (server.hangs_up) {
		fake_send(connection, "\0\0\0\x40\x08", 5);
		fake_hang_up(connection);
	} else if (server.succeeds_early) {
		say(connection, HADOOP__SASL_STATE__SASL_SUCCESS, NULL, 0);
	} else {
		say(connection, HADOOP__SASL_STATE__SASL_CHALLENGE, server.welcome,
		    strlen(server.welcome));
	}
}

static void take_choice(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	struct str choice cleanup_str = {0};

	fake_acceptor_unwrap(&server.acceptor, false, message->token.data, message->token.len,
			     &choice);
	assert_int_equal(choice.length, 4);
	server.chosen = (unsigned char)choice.text[0];
	assert_memory_equal(choice.text + 1, server.chosen == SASL_AUTH ? "\0\0\0" : "\1\0\0", 3);
	say(connection,
	    server.goes_on ? HADOOP__SASL_STATE__SASL_CHALLENGE : HADOOP__SASL_STATE__SASL_SUCCESS,
	    NULL, 0);
}

/* An answer without a token is one that is empty: present on the wire all the same. */
static void take_response(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	struct str token cleanup_str = {0};

	assert_true(message->has_token);
	if (message->token.len > 0) {
		take_choice(connection, message);
		return;
	}
	fake_acceptor_wrap(&server.acceptor, false, server.offer, server.offer_length, &token);
	say(connection, HADOOP__SASL_STATE__SASL_CHALLENGE, token.text, token.length);
}

static void on_sasl(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	struct str clear cleanup_str = {0};

	switch ((int)message->state) {
	case HADOOP__SASL_STATE__SASL_NEGOTIATE:
		offer(connection);
		break;
	case HADOOP__SASL_STATE__SASL_INITIATE:
		take_initiate(connection, message);
		break;
	case HADOOP__SASL_STATE__SASL_RESPONSE:
		take_response(connection, message);
		break;
	default:
		assert_int_equal(message->state, HADOOP__SASL_STATE__SASL_WRAP);
		assert_true(server.chosen > SASL_AUTH);
		fake_acceptor_unwrap(&server.acceptor, server.chosen == SASL_PRIVACY,
				     message->token.data, message->token.len, &clear);
		fake_take_clear(connection, &clear);
	}
}

static void wrap_answer(struct fake_connection *connection, bool is_private, int32_t id,
			struct str *token)
{
	struct str answer cleanup_str = {0};

	fake_add_application(&answer, id, 9);
	fake_acceptor_wrap(&server.acceptor, is_private, answer.text, answer.length, token);
}

/* The call came protected, and the answer goes so. */
static void answer_protected(struct fake_connection *connection, const struct fake_call *call)
{
	const unsigned char *clear = (const unsigned char *)str_text(&connection->clear);
	struct str token cleanup_str = {0};

	assert_true(call->request >= clear && call->request <= clear + connection->clear.length);
	wrap_answer(connection, server.chosen == SASL_PRIVACY, call->id, &token);
	say(connection, HADOOP__SASL_STATE__SASL_WRAP, token.text, token.length);
}

/* ---- the bed ------------------------------------------------------------------------------ */

static int open_kerberos_bed(void **state)
{
	bed_open(state);
	struct bed *bed = *state;
	memset(&fake_gssapi, 0, sizeof(fake_gssapi));
	fake_gssapi.user = "bob@TONY.TEST";
	memset(&server, 0, sizeof(server));
	server.protocol = "rm";
	server.server_id = "localhost";
	server.realm = "TONY.TEST";
	server.offers_kerberos = true;
	server.welcome = FAKE_WELCOME;
	memcpy(server.offer, "\7\1\0\0", 4);
	server.offer_length = 4;
	bed->first.on_sasl = on_sasl;
	bed->options.kerberos = &kerberos;
	bed->options.principal = "rm/localhost@TONY.TEST";
	bed->options.require_sasl = true;
	bed_use_one(bed);
	return 0;
}

static int close_kerberos_bed(void **state)
{
	bed_close(state);
	assert_int_equal(fake_gssapi.names, 0);
	assert_int_equal(fake_gssapi.contexts, 0);
	assert_int_equal(fake_gssapi.credentials, 0);
	assert_int_equal(fake_gssapi.buffers, 0);
	return 0;
}

static void protect(struct bed *bed, unsigned wanted)
{
	bed->options.protections = wanted;
	bed->first.on_call = wanted == SASL_AUTH ? answer_seven : answer_protected;
}

/* It ends there, and the server has got no call. */
static void expect_refusal(struct bed *bed, enum rpc_error_kind kind, const char *part)
{
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], kind, NULL, part);
	assert_int_equal(bed->first.calls, 0);
}

/* ---- what goes well ----------------------------------------------------------------------- */

static void test_protections(void **state)
{
	struct bed *bed = *state;

	for (unsigned wanted = SASL_AUTH; wanted <= SASL_PRIVACY; wanted *= 2) {
		server.acceptor = (struct fake_acceptor){0};
		protect(bed, wanted);
		bed_run(bed, 0);
		bed_run(bed, 1);
		assert_application(&bed->outcomes[0], wanted == SASL_AUTH ? 7 : 9);
		assert_application(&bed->outcomes[1], wanted == SASL_AUTH ? 7 : 9);
		assert_int_equal(server.chosen, wanted);
		assert_int_equal(bed->first.connections->clear_read,
				 bed->first.connections->clear.length);
		/* The ticket says it; another name beside it would be refused. */
		assert_null(bed->first.connections->user);
		rpc_client_destroy(mem_steal(&bed->client));
	}
}

static void test_strongest_protection(void **state)
{
	struct bed *bed = *state;

	protect(bed, SASL_AUTH | SASL_INTEGRITY | SASL_PRIVACY);
	server.offer[0] = SASL_AUTH | SASL_INTEGRITY;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 9);
	assert_int_equal(server.chosen, SASL_INTEGRITY);
}

static void test_message_that_cannot_be_protected(void **state)
{
	struct bed *bed = *state;

	protect(bed, SASL_PRIVACY);
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 9);
	fake_gssapi.cannot_wrap = true;
	bed_run(bed, 1);
	assert_error(&bed->outcomes[1], RPC_DENIED, NULL, "A token was invalid");
	/* Nor the first one. */
	rpc_client_destroy(mem_steal(&bed->client));
	server.acceptor = (struct fake_acceptor){0};
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_DENIED, NULL, "A token was invalid");
}

/* More than one exchange of tokens, and a server that takes small ones. */
static void test_small_tokens(void **state)
{
	struct bed *bed = *state;

	protect(bed, SASL_PRIVACY);
	memcpy(server.offer, "\4\0\0\x20", 4);
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 9);
	assert_true(server.acceptor.in > 5);
}

static void test_kerberos_beside_others(void **state)
{
	struct bed *bed = *state;

	server.offers_token = true;
	server.offers_simple = true;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	assert_int_equal(server.chosen, SASL_AUTH);
}

/* ---- servers that offer less -------------------------------------------------------------- */

/* promise: S64 */
static void test_no_downgrade(void **state)
{
	struct bed *bed = *state;

	server.offers_kerberos = false;
	server.offers_simple = true;
	expect_refusal(bed, RPC_DENIED, "asks for no proof of who we are");
	server.offers_simple = false;
	server.offers_token = true;
	expect_refusal(bed, RPC_DENIED, "a proof that we cannot give");
}

static void test_no_weaker_protection(void **state)
{
	struct bed *bed = *state;

	protect(bed, SASL_PRIVACY);
	server.offer[0] = SASL_AUTH | SASL_INTEGRITY;
	expect_refusal(
		bed, RPC_DENIED,
		"hadoop.rpc.protection is privacy here, and the server offers integrity at most");
}

/* promise: S64 */
static void test_server_that_proves_nothing(void **state)
{
	struct bed *bed = *state;

	server.succeeds_early = true;
	expect_refusal(bed, RPC_DENIED, "has not proved who it is");
	server.succeeds_early = false;
	server.welcome = "trust me";
	expect_refusal(bed, RPC_DENIED, "A token was invalid");
	server.welcome = FAKE_WELCOME;
	fake_gssapi.withheld = GSS_MUTUAL;
	expect_refusal(bed, RPC_DENIED, "does not prove who it is");
}

static void test_nonsense(void **state)
{
	struct bed *bed = *state;

	server.goes_on = true;
	expect_refusal(bed, RPC_PROTOCOL, "goes on with SASL that is complete");
	server.goes_on = false;
	server.acceptor = (struct fake_acceptor){0};
	server.offer_length = 3;
	expect_refusal(bed, RPC_PROTOCOL, "offer has 3 bytes");
	server.acceptor = (struct fake_acceptor){0};
	server.offer_length = 4;
	memcpy(server.offer, "\7\0\0\1", 4);
	rpc_client_destroy(mem_steal(&bed->client));
	protect(bed, SASL_INTEGRITY);
	expect_refusal(bed, RPC_PROTOCOL, "in which nothing has room");
	server.oversized = 65537;
	expect_refusal(bed, RPC_PROTOCOL, "a frame of 65537 bytes before it has said who it is");
	server.oversized = 0x7fffffff;
	expect_refusal(bed, RPC_PROTOCOL, "it sends a frame of 2147483647 bytes");
	rpc_client_destroy(mem_steal(&bed->client));
	bed->options.max_wait_ms = 0;
	server.oversized = 0;
	server.hangs_up = true;
	expect_refusal(bed, RPC_UNREACHABLE, "closed the connection");
}

/* ---- who the server is -------------------------------------------------------------------- */

/* promise: S64 */
static void test_principal(void **state)
{
	struct bed *bed = *state;

	server.protocol = "evil";
	expect_refusal(
		bed, RPC_DENIED,
		"says that it is evil/localhost@TONY.TEST, and yarn.resourcemanager.principal "
		"is rm/localhost@TONY.TEST");
	server.protocol = "rm";
	server.server_id = "elsewhere";
	expect_refusal(bed, RPC_DENIED, "says that it is rm/elsewhere@TONY.TEST");
	rpc_client_destroy(mem_steal(&bed->client));
	bed->options.principal = "rm/_HOST@TONY.TEST";
	expect_refusal(bed, RPC_DENIED, "is reached under another name");
	rpc_client_destroy(mem_steal(&bed->client));
	bed->options.principal = NULL;
	expect_refusal(bed, RPC_DENIED, "yarn.resourcemanager.principal is not set");
}

static void test_pattern(void **state)
{
	struct bed *bed = *state;

	bed->options.principal = "other/_HOST@TONY.TEST";
	bed->options.principal_pattern = "{dn,rm}/*host@TONY.TEST";
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	rpc_client_destroy(mem_steal(&bed->client));
	bed->first.calls = 0;
	bed->options.principal_pattern = "nn/*";
	expect_refusal(bed, RPC_DENIED,
		       "yarn.resourcemanager.principal.pattern, nn/*, does not have");
}

/* As krb5.conf has it under [domain_realm], where the configuration leaves it open. */
static void test_realm_of_the_servers_host(void **state)
{
	static const char *const patterns[] = {"rm/*", "*/localhost@*", NULL};
	struct bed *bed = *state;

	fake_gssapi.realm = server.realm = "OTHER.TEST";
	for (size_t i = 0; i < array_length(patterns); i++) {
		server.acceptor = (struct fake_acceptor){0};
		bed->options.principal = patterns[i] ? "rm/_HOST@TONY.TEST" : "rm/localhost";
		bed->options.principal_pattern = patterns[i];
		bed_run(bed, 0);
		assert_application(&bed->outcomes[0], 7);
		rpc_client_destroy(mem_steal(&bed->client));
	}
	bed->options.principal_pattern = "rm/*@TONY.TEST";
	server.acceptor = (struct fake_acceptor){0};
	server.realm = "TONY.TEST";
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
}

/* ---- tickets ------------------------------------------------------------------------------ */

/* A ticket cache may have tickets of several principals. */
static void test_proof_is_of_the_principal_that_the_job_is_of(void **state)
{
	struct bed *bed = *state;

	bed->options.user_principal = "alice@TONY.TEST";
	fake_gssapi.other = "alice@TONY.TEST";
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	assert_string_equal(fake_gssapi.proof, "alice@TONY.TEST");
	/* An administrator's, say. */
	rpc_client_destroy(mem_steal(&bed->client));
	server.acceptor = (struct fake_acceptor){0};
	fake_gssapi.other = NULL;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	assert_string_equal(fake_gssapi.proof, "bob@TONY.TEST");
}

static void test_failures_have_remedies(void **state)
{
	static const struct {
		const char *cause, *remedy;
		enum rpc_error_kind kind;
	} rows[] = {
		{"No Kerberos credentials available (default cache: FILE:/tmp/krb5cc_0)", "kinit",
		 RPC_EXPIRED},
		{"Ticket expired", "kinit", RPC_EXPIRED},
		{"The referenced credentials have expired", "kinit", RPC_EXPIRED},
		{"Clock skew too great", "timedatectl", RPC_DENIED},
		{"Cannot find KDC for realm \"TONY.TEST\"", "[realms]", RPC_DENIED},
		{"Server rm/localhost@TONY.TEST not found in Kerberos database", "yarn-site.xml",
		 RPC_DENIED},
		/* It may come back, as a server may. */
		{"Cannot contact any KDC for realm 'TONY.TEST'", "firewall", RPC_UNREACHABLE},
		{"Cannot resolve servers for KDC in realm \"TONY.TEST\"", "/etc/resolv.conf",
		 RPC_UNREACHABLE},
	};
	struct bed *bed = *state;

	bed->options.max_wait_ms = 0;
	for (size_t i = 0; i < array_length(rows); i++) {
		fake_gssapi.failure = rows[i].cause;
		expect_refusal(bed, rows[i].kind, rows[i].cause);
		assert_non_null(strstr(bed->outcomes[0].text, rows[i].remedy));
	}
}

/* MIT Kerberos gives two codes, and says "Success" of the one that is to have the cause. */
static void a_ticket_that_has_ended_is_told(void **state)
{
	struct bed *bed = *state;

	bed->options.max_wait_ms = 0;
	fake_gssapi.failure = "Success";
	expect_refusal(bed, RPC_EXPIRED,
		       "The referenced credential has expired; get a new ticket with kinit");
}

/* ---- what is said once all is agreed on ----------------------------------------------------- */

static void answer_in_clear(struct fake_connection *connection, const struct fake_call *call)
{
	fake_answer(connection, call->id, 9);
}

static void answer_without_privacy(struct fake_connection *connection, const struct fake_call *call)
{
	struct str token cleanup_str = {0};

	wrap_answer(connection, false, call->id, &token);
	say(connection, HADOOP__SASL_STATE__SASL_WRAP, token.text, token.length);
}

static void answer_truncated(struct fake_connection *connection, const struct fake_call *call)
{
	struct str token cleanup_str = {0};

	wrap_answer(connection, true, call->id, &token);
	say(connection, HADOOP__SASL_STATE__SASL_WRAP, token.text, token.length - 1);
}

static void answer_altered(struct fake_connection *connection, const struct fake_call *call)
{
	struct str token cleanup_str = {0};

	wrap_answer(connection, true, call->id, &token);
	token.text[token.length / 2] ^= 1;
	say(connection, HADOOP__SASL_STATE__SASL_WRAP, token.text, token.length);
}

static void answer_out_of_order(struct fake_connection *connection, const struct fake_call *call)
{
	struct str skipped cleanup_str = {0};

	wrap_answer(connection, true, call->id, &skipped);
	answer_protected(connection, call);
}

static void answer_with_frame_cap(struct fake_connection *connection, const struct fake_call *call)
{
	struct str token cleanup_str = {0};

	fake_acceptor_wrap(&server.acceptor, true, "\x7f\xff\xff\xff", 4, &token);
	say(connection, HADOOP__SASL_STATE__SASL_WRAP, token.text, token.length);
}

/* promise: S65 */
static void test_protection_is_insisted_on(void **state)
{
	static const struct {
		void (*answer)(struct fake_connection *connection, const struct fake_call *call);
		enum rpc_error_kind kind;
		const char *part;
	} rows[] = {
		{answer_in_clear, RPC_PROTOCOL, "without protection"},
		{answer_without_privacy, RPC_DENIED, "sends in clear, though privacy"},
		{answer_truncated, RPC_DENIED, "A token was invalid"},
		{answer_altered, RPC_DENIED, "A token was invalid"},
		{answer_out_of_order, RPC_DENIED, "repeated, left out or moved"},
		{answer_with_frame_cap, RPC_PROTOCOL, "it sends a frame of 2147483647 bytes"},
	};
	struct bed *bed = *state;

	protect(bed, SASL_PRIVACY);
	for (size_t i = 0; i < array_length(rows); i++) {
		server.acceptor = (struct fake_acceptor){0};
		bed->first.on_call = rows[i].answer;
		bed_run(bed, 0);
		assert_error(&bed->outcomes[0], rows[i].kind, NULL, rows[i].part);
	}
}

static void answer_twice(struct fake_connection *connection, const struct fake_call *call)
{
	struct str token cleanup_str = {0};

	wrap_answer(connection, true, call->id, &token);
	say(connection, HADOOP__SASL_STATE__SASL_WRAP, token.text, token.length);
	say(connection, HADOOP__SASL_STATE__SASL_WRAP, token.text, token.length);
}

/* promise: S65 */
static void test_replayed_answer(void **state)
{
	struct bed *bed = *state;

	protect(bed, SASL_PRIVACY);
	bed->first.on_call = answer_twice;
	bed_call(bed, 0);
	bed_call(bed, 1);
	bed_wait(bed, 0);
	bed_wait(bed, 1);
	assert_application(&bed->outcomes[0], 9);
	assert_error(&bed->outcomes[1], RPC_DENIED, NULL, "repeated, left out or moved");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_kerberos_bed, close_kerberos_bed)
	const struct CMUnitTest tests[] = {
		TEST(test_protections),
		TEST(test_strongest_protection),
		TEST(test_small_tokens),
		TEST(test_kerberos_beside_others),
		TEST(test_no_downgrade),
		TEST(test_no_weaker_protection),
		TEST(test_server_that_proves_nothing),
		TEST(test_nonsense),
		TEST(test_principal),
		TEST(test_pattern),
		TEST(test_realm_of_the_servers_host),
		TEST(test_message_that_cannot_be_protected),
		TEST(test_proof_is_of_the_principal_that_the_job_is_of),
		TEST(test_failures_have_remedies),
		TEST(a_ticket_that_has_ended_is_told),
		TEST(test_protection_is_insisted_on),
		TEST(test_replayed_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
