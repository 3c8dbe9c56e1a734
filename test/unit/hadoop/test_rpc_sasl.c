/* Who is at the other end: the handshake, and what is said under its protection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "hadoop/sasl.h"
#include "hadoop/token.h"
#include "rpc_bed.h"
#include "sasl_server.h"

#define NONCE "FxjWfYJkXxOrXNupQ1i0A31cx9VowsnKyBX85VG2"

/* How the one server of these tests behaves. */
static struct {
	struct sasl_server digest;
	char *user, *password;
	const char *qop; /* offered: the first of the offers is TOKEN then */
	bool offers_simple;
	const char *mechanism; /* of TOKEN */
	bool lies;	       /* about what it knows */
	bool is_silent;	       /* about what it knows */
	int initiated;

} server;

static void use_token(struct hadoop_token *token, const char *identifier, const char *password)
{
	token_set(token, identifier, strlen(identifier), password, strlen(password),
		  TOKEN_KIND_AMRM, "");
	free(server.user);
	free(server.password);
	server.user = base64_encode(identifier, strlen(identifier));
	server.password = base64_encode(password, strlen(password));
}

static void offer(struct fake_connection *connection)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;
	Hadoop__SaslAuth token = HADOOP__SASL_AUTH__INIT, simple = HADOOP__SASL_AUTH__INIT;
	Hadoop__SaslAuth *auths[2];
	char *challenge cleanup_free =
		mem_printf("realm=\"default\",nonce=\"" NONCE
			   "\",qop=\"%s\",cipher=\"rc4\",charset=utf-8,algorithm=md5-sess",
			   server.qop ? server.qop : "");

	token.method = "TOKEN";
	token.mechanism = (char *)server.mechanism;
	token.protocol = "";
	token.serverid = "default";
	token.has_challenge = 1;
	token.challenge = (ProtobufCBinaryData){strlen(challenge), (uint8_t *)challenge};
	simple.method = "SIMPLE";
	simple.mechanism = "";
	message.state = HADOOP__SASL_STATE__SASL_NEGOTIATE;
	message.auths = auths;
	if (server.qop)
		auths[message.n_auths++] = &token;
	if (server.offers_simple)
		auths[message.n_auths++] = &simple;
	fake_say_sasl(connection, &message);
}

static void succeed(struct fake_connection *connection, const struct str *proof)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;

	message.state = HADOOP__SASL_STATE__SASL_SUCCESS;
	message.has_token = proof != NULL;
	if (proof)
		message.token = (ProtobufCBinaryData){proof->length, (uint8_t *)proof->text};
	fake_say_sasl(connection, &message);
}

static void check_initiate(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	struct str proof cleanup_str = {0};

	server.initiated++;
	assert_int_equal(message->n_auths, 1);
	assert_false(message->auths[0]->has_challenge);
	if (strcmp(message->auths[0]->method, "SIMPLE") == 0) {
		assert_false(message->has_token);
		return;
	}
	assert_string_equal(message->auths[0]->serverid, "default");
	char *response cleanup_free =
		mem_strndup((const char *)message->token.data, message->token.len);
	server.digest = (struct sasl_server){
		.user = server.user,
		.password = server.password,
		.realm = "default",
		.nonce = NONCE,
		.uri = "/default",
		.qop = server.qop,
		.cipher = strcmp(server.qop, "auth-conf") == 0 ? "rc4" : NULL,
	};
	sasl_server_accept(&server.digest, response, &proof);
	if (server.lies)
		proof.text[proof.length - 1] = proof.text[proof.length - 1] == 'a' ? 'b' : 'a';
	succeed(connection, server.is_silent ? NULL : &proof);
}

static void on_sasl(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	struct str clear cleanup_str = {0};

	switch ((int)message->state) {
	case HADOOP__SASL_STATE__SASL_NEGOTIATE:
		offer(connection);
		break;
	case HADOOP__SASL_STATE__SASL_INITIATE:
		check_initiate(connection, message);
		break;
	case HADOOP__SASL_STATE__SASL_WRAP:
		sasl_server_read(&server.digest, message->token.data, message->token.len, &clear);
		fake_take_clear(connection, &clear);
		break;
	default:
		fail_msg("state %d", (int)message->state);
	}
}

static void on_sasl_succeed(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	succeed(connection, NULL);
}

static void send_wrapped(struct fake_connection *connection, const void *bytes, size_t length,
			 bool is_altered)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;
	struct str token cleanup_str = {0};

	sasl_server_write(&server.digest, bytes, length, &token);
	if (is_altered)
		token.text[0] ^= 1;
	message.state = HADOOP__SASL_STATE__SASL_WRAP;
	message.has_token = 1;
	message.token = (ProtobufCBinaryData){token.length, (uint8_t *)token.text};
	fake_say_sasl(connection, &message);
}

static struct hadoop_token token;

static int open_sasl_bed(void **state)
{
	bed_open(state);
	struct bed *bed = *state;
	memset(&server, 0, sizeof(server));
	server.qop = "auth";
	server.mechanism = "DIGEST-MD5";
	bed->first.on_sasl = on_sasl;
	use_token(&token, "who", "a secret of 20 bytes");
	bed->options.token = &token;
	bed_use_one(bed);
	return 0;
}

static int close_sasl_bed(void **state)
{
	token_finish(&token);
	free(server.user);
	free(server.password);
	return bed_close(state);
}

/* ---- who ---------------------------------------------------------------------------------- */

static void test_token(void **state)
{
	struct bed *bed = *state;

	bed->options.require_sasl = true;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	/* The token says it; another name beside it would be refused. */
	assert_null(bed->first.connections->user);
	assert_memory_equal(bed->first.connections->received.text, "hrpc\x09\0\xdf", 7);
}

static void test_newer_token_for_the_next_connection(void **state)
{
	struct hadoop_token newer cleanup_token = {0};
	struct bed *bed = *state;

	bed_run(bed, 0);
	use_token(&newer, "who, again", "another secret");
	rpc_client_set_token(bed->client, &newer);
	bed_run(bed, 1);
	assert_int_equal(bed->first.accepted, 1);
	fake_hang_up(bed->first.connections);
	bed_run(bed, 2);
	assert_application(&bed->outcomes[2], 7);
	assert_int_equal(bed->first.accepted, 2);
}

/* promise: S18 */
static void test_server_that_knows_nothing(void **state)
{
	struct bed *bed = *state;

	server.lies = true;
	bed_run(bed, 0);
	assert_true(bed->outcomes[0].is_done);
	assert_int_equal(bed->outcomes[0].kind, RPC_DENIED);
	server.lies = false;
	server.is_silent = true;
	bed_run(bed, 1);
	assert_error(&bed->outcomes[1], RPC_DENIED, NULL, "has not proved who it is");
	assert_int_equal(bed->first.calls, 0);
}

/* promise: S18 */
static void test_no_downgrade(void **state)
{
	struct bed *bed = *state;

	bed->options.require_sasl = true;
	bed->first.on_sasl = on_sasl_succeed;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_DENIED, NULL, "asks for no proof of who we are");
	bed->first.on_sasl = on_sasl;
	server.qop = NULL;
	server.offers_simple = true;
	bed_run(bed, 1);
	assert_error(&bed->outcomes[1], RPC_DENIED, NULL, "asks for no proof of who we are");
	assert_int_equal(bed->first.calls, 0);
	assert_int_equal(server.initiated, 0);
}

static void test_simple_where_that_will_do(void **state)
{
	struct bed *bed = *state;

	bed->first.on_sasl = on_sasl_succeed;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	assert_string_equal(bed->first.connections->user, "alice");

	rpc_client_destroy(mem_steal(&bed->client));
	bed->first.on_sasl = on_sasl;
	server.qop = NULL;
	server.offers_simple = true;
	bed_run(bed, 1);
	assert_application(&bed->outcomes[1], 7);
	assert_string_equal(bed->first.connections->user, "alice");
	assert_int_equal(server.initiated, 1);
}

static void test_nothing_that_we_have(void **state)
{
	struct bed *bed = *state;

	server.mechanism = "SCRAM-SHA-256";
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_DENIED, NULL, "it takes: TOKEN SCRAM-SHA-256; we have");
	rpc_client_destroy(mem_steal(&bed->client));
	server.mechanism = "DIGEST-MD5";
	bed->options.token = NULL;
	bed->options.require_sasl = true;
	bed_run(bed, 1);
	assert_error(&bed->outcomes[1], RPC_DENIED, NULL, "we have no token");
	rpc_client_destroy(mem_steal(&bed->client));
	bed->options.token = &token;
	bed->options.protections = SASL_PRIVACY;
	bed_run(bed, 2);
	assert_true(bed->outcomes[2].is_done);
	assert_int_equal(bed->outcomes[2].kind, RPC_DENIED);
	assert_int_equal(bed->first.calls, 0);
}

static void on_sasl_respond(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	Hadoop__RpcSaslProto answer = HADOOP__RPC_SASL_PROTO__INIT;

	answer.state = message->state == HADOOP__SASL_STATE__SASL_NEGOTIATE
			       ? HADOOP__SASL_STATE__SASL_CHALLENGE
			       : HADOOP__SASL_STATE__SASL_RESPONSE;
	fake_say_sasl(connection, &answer);
}

static void test_handshake_without_sense(void **state)
{
	struct bed *bed = *state;

	bed->first.on_sasl = on_sasl_respond;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_PROTOCOL, NULL, "where it has no meaning");
}

/* ---- protection --------------------------------------------------------------------------- */

static void answer_protected(struct fake_connection *connection, const struct fake_call *call)
{
	struct str out cleanup_str = {0};

	fake_add_application(&out, call->id, 9);
	send_wrapped(connection, out.text, out.length, false);
}

static void protect(struct bed *bed, const char *qop)
{
	server.qop = qop;
	bed->options.protections = SASL_AUTH | SASL_INTEGRITY | SASL_PRIVACY;
	bed->first.on_call = answer_protected;
}

/* promise: S19 */
static void test_protected(void **state)
{
	static const char *const qops[] = {"auth-int", "auth-conf"};
	struct bed *bed = *state;

	for (size_t i = 0; i < array_length(qops); i++) {
		protect(bed, qops[i]);
		bed_run(bed, 0);
		bed_run(bed, 1);
		assert_application(&bed->outcomes[0], 9);
		assert_application(&bed->outcomes[1], 9);
		/* Context and calls: nothing went in clear. */
		const struct fake_connection *connection = bed->first.connections;
		assert_int_equal(connection->clear_read, connection->clear.length);
		assert_string_equal(connection->protocol, RM_CLIENT.protocol);
		assert_int_equal(bed->first.calls, 2 * ((int)i + 1));
		rpc_client_destroy(mem_steal(&bed->client));
	}
}

/* Three answers in two tokens, cut in the middle of the second. */
static void answer_as_a_stream(struct fake_connection *connection, const struct fake_call *call)
{
	struct str out cleanup_str = {0};

	if (call->id < 2)
		return;
	for (int32_t id = 0; id < 3; id++)
		fake_add_application(&out, id, 200 + id);
	send_wrapped(connection, out.text, out.length / 2, false);
	send_wrapped(connection, out.text + out.length / 2, out.length - out.length / 2, false);
}

static void test_protected_stream(void **state)
{
	struct bed *bed = *state;

	protect(bed, "auth-conf");
	bed->first.on_call = answer_as_a_stream;
	for (int i = 0; i < 3; i++)
		bed_call(bed, i);
	for (int i = 0; i < 3; i++) {
		bed_wait(bed, i);
		assert_application(&bed->outcomes[i], 200 + i);
	}
}

static void answer_altered(struct fake_connection *connection, const struct fake_call *call)
{
	struct str out cleanup_str = {0};

	fake_add_application(&out, call->id, 9);
	send_wrapped(connection, out.text, out.length, true);
}

/* promise: S19 */
static void test_protection_is_insisted_on(void **state)
{
	struct bed *bed = *state;

	protect(bed, "auth-int");
	bed->first.on_call = answer_altered;
	bed_run(bed, 0);
	assert_true(bed->outcomes[0].is_done);
	assert_int_equal(bed->outcomes[0].kind, RPC_DENIED);
	bed->first.on_call = answer_seven; /* in clear */
	bed_run(bed, 1);
	assert_error(&bed->outcomes[1], RPC_PROTOCOL, NULL, "without protection");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_sasl_bed, close_sasl_bed)
	const struct CMUnitTest tests[] = {
		TEST(test_token),
		TEST(test_newer_token_for_the_next_connection),
		TEST(test_server_that_knows_nothing),
		TEST(test_no_downgrade),
		TEST(test_simple_where_that_will_do),
		TEST(test_nothing_that_we_have),
		TEST(test_handshake_without_sense),
		TEST(test_protected),
		TEST(test_protected_stream),
		TEST(test_protection_is_insisted_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
