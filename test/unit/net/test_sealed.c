/* Servers with is_sealed, and their clients (tls.h): nobody without the token is answered or told
 * anything, whatever he sends, and he keeps nobody out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/buffer.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "certificate.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "net/tls_identity.h"
#include "peer.h"
#include "server.h"
#include "tls_door.h"

#define OTHER_TOKEN "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

enum {
	JUNK = 1000,
	BODY_BYTES = 1 << 20,
	ALERT = 0x15, /* the first byte of a record by which TLS says no */
	ALERT_BYTES = 7,
};

struct outcome {
	bool is_done;
	int status; /* -1: no answer */
	struct err err;
	struct str body;
};

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct outcome *outcome = data;

	outcome->is_done = true;
	outcome->status = response ? response->status : -1;
	if (response)
		str_append_bytes(&outcome->body, response->body, response->length);
	else
		err_copy(&outcome->err, err);
}

static void forget(struct outcome *outcome)
{
	err_finish(&outcome->err);
	str_finish(&outcome->body);
}

static struct http_client *connect_to(struct event_base *base, const char *address,
				      const char *token)
{
	const struct http_target target = {address, token, geteuid(), .is_sealed = true};

	return http_client_create_for(base, &target, NULL);
}

static void ask(struct event_base *base, struct http_client *client, const char *method,
		const char *path, const struct str *body, struct outcome *outcome)
{
	*outcome = (struct outcome){0};
	http_client_start(client, &(struct http_question){.method = method,
							  .path = path,
							  .body = body ? body->text : NULL,
							  .body_length = body ? body->length : 0,
							  .done = on_done,
							  .data = outcome});
	run_until(base, &outcome->is_done);
}

/* Asks with a connection of its own. */
static void ask_once(struct fixture *fixture, const char *token, struct outcome *outcome)
{
	struct http_client *client =
		connect_to(fixture->base, http_server_address(fixture->server), token);

	ask(fixture->base, client, "GET", "/echo?text=hello", NULL, outcome);
	http_client_destroy(client);
}

static void assert_serves(struct fixture *fixture)
{
	struct outcome outcome;

	ask_once(fixture, TEST_TOKEN, &outcome);
	assert_string_equal(err_message(&outcome.err), "no error");
	assert_string_equal(str_text(&outcome.body), "hello");
	forget(&outcome);
}

/* Nothing, or TLS's no. */
static void assert_unanswered(const struct peer *peer)
{
	const struct str *received = &peer->received;

	if (received->length > ALERT_BYTES || (received->length > 0 && received->text[0] != ALERT))
		fail_msg("%zu bytes came: %s", received->length, str_text(received));
}

/* ---- who knows the token ------------------------------------------------------------------ */

/* promise: S90 */
static void test_calls_of_one_who_knows_the_token(void **state)
{
	struct fixture fixture;
	struct outcome outcome;
	struct str body cleanup_str = {0};

	for (size_t i = 0; i < BODY_BYTES; i++)
		str_append_char(&body, (char)('a' + i % 23));
	fixture_open_sealed(&fixture, NULL);
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	ask(fixture.base, client, "GET", "/echo?text=hello", NULL, &outcome);
	assert_int_equal(outcome.status, 200);
	assert_string_equal(str_text(&outcome.body), "hello");
	forget(&outcome);
	ask(fixture.base, client, "POST", "/echo", &body, &outcome);
	assert_int_equal(outcome.body.length, body.length);
	assert_memory_equal(outcome.body.text, body.text, body.length);
	forget(&outcome);
	ask(fixture.base, client, "GET", "/big", NULL, &outcome);
	assert_int_equal(outcome.body.length, 8 << 20);
	forget(&outcome);
	ask(fixture.base, client, "GET", "/nowhere", NULL, &outcome);
	assert_int_equal(outcome.status, 404);
	forget(&outcome);
	/* All by one connection. */
	assert_int_equal(http_server_connection_count(fixture.server), 1);
	http_client_destroy(client);
	while (http_server_connection_count(fixture.server) > 0)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	fixture_close(&fixture);
}

static void test_held_request_ends_with_its_client(void **state)
{
	struct fixture fixture;
	struct outcome outcome = {0};

	fixture_open_sealed(&fixture, NULL);
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/hold",
							  .done = on_done,
							  .data = &outcome});
	run_until(fixture.base, &fixture.has_held);
	http_client_destroy(client);
	run_until(fixture.base, &fixture.has_closed);
	assert_false(outcome.is_done);
	fixture_close(&fixture);
}

/* The answer is the last one: it is read to its end. */
static void test_last_answer_is_whole(void **state)
{
	struct fixture fixture;
	struct outcome outcome = {0};

	fixture_open_sealed(&fixture, NULL);
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/big",
							  .is_last = true,
							  .done = on_done,
							  .data = &outcome});
	run_until(fixture.base, &outcome.is_done);
	assert_int_equal(outcome.body.length, 8 << 20);
	forget(&outcome);
	while (http_server_connection_count(fixture.server) > 0)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	http_client_destroy(client);
	fixture_close(&fixture);
}

/* ---- who does not ------------------------------------------------------------------------- */

/* `to` takes all that `from` has to send. */
static int pass(struct tls *from, struct tls *to, struct err *err)
{
	struct evbuffer *nothing = evbuffer_new(), *sealed = tls_seal(from, nothing);
	size_t length = evbuffer_get_length(sealed);
	int result =
		length == 0 ? 0 : tls_take(to, evbuffer_pullup(sealed, -1), length, nothing, err);

	evbuffer_drain(sealed, length);
	evbuffer_free(nothing);
	return result;
}

/* Such an alert is about a record, and not about the secret. */
static void test_alert_after_agreement_denies_no_secret(void **state)
{
	static const unsigned char junk[] = {0x17, 3,	3,   0,	  19,  'j', 'u', 'n',
					     'k',  'j', 'u', 'n', 'k', 'j', 'u', 'n',
					     'k',  'j', 'u', 'n', 'k', 'j', 'u', 'n'};
	struct err err cleanup_err = {0};
	struct tls_context *context = tls_context_create_shared(TEST_TOKEN);
	struct tls *client = tls_create(context, NULL), *server = tls_accept(context);
	struct evbuffer *input = evbuffer_new();

	while (!tls_is_open(client) || !tls_is_open(server)) {
		assert_int_equal(pass(client, server, NULL), 0);
		assert_int_equal(pass(server, client, NULL), 0);
	}
	assert_int_equal(tls_take(server, junk, sizeof(junk), input, NULL), -1);
	assert_int_equal(pass(server, client, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	assert_null(strstr(err_message(&err), "does not prove"));
	evbuffer_free(input);
	tls_destroy(client);
	tls_destroy(server);
	tls_context_destroy(context);
}

/* promise: S90 */
static void test_another_token(void **state)
{
	struct fixture fixture;
	struct outcome outcome;

	fixture_open_sealed(&fixture, NULL);
	ask_once(&fixture, OTHER_TOKEN, &outcome);
	assert_int_equal(outcome.err.kind, ERR_DENIED);
	assert_non_null(
		strstr(err_message(&outcome.err), "does not prove that it knows the job's token"));
	forget(&outcome);
	assert_int_equal(fixture.handled, 0);
	assert_serves(&fixture);
	fixture_close(&fixture);
}

/* promise: S91 */
static void test_nothing_is_answered_without_tls(void **state)
{
	static const char *const words[] = {
		"GET /open?text=a HTTP/1.1\r\n" TEST_HOST "\r\n",
		"GET /echo?text=a HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n",
		"POST /echo HTTP/1.1\r\nContent-Length: 1\r\n" TEST_AUTHORIZATION "\r\na",
		"PUT /open HTTP/1.1\r\nContent-Length: 1\r\n" TEST_HOST "\r\na",
		"HEAD /open HTTP/1.1\r\n" TEST_HOST "\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\n" TEST_HOST "\r\n",
		"\x80\x2e\x01\x03\x01",		    /* SSL 2 */
		"\x16\x03\x01\x40\x01junkjunkjunk", /* a record that is too long */
		"\x17\x03\x03\x01\x01junkjunkjunk",
		"hrpc\x09 and so on and on",
	};
	struct fixture fixture;

	fixture_open_sealed(&fixture, &(struct http_limits){.idle_ms = 50});
	for (size_t i = 0; i < array_length(words); i++) {
		struct peer peer;
		peer_open(&peer, fixture.base, http_server_address(fixture.server));
		peer_send(&peer, words[i]);
		peer_expect_end(&peer, fixture.base);
		assert_unanswered(&peer);
		peer_close(&peer);
	}
	assert_int_equal(fixture.handled, 0);
	assert_serves(&fixture);
	fixture_close(&fixture);
}

/* A client of TLS without the secret: the server has no certificate to show, so it learns nothing.
 */
/* promise: S91 */
static void test_other_clients_of_tls(void **state)
{
	struct err err cleanup_err = {0};
	struct fixture fixture;
	struct outcome outcome;

	fixture_open_sealed(&fixture, NULL);
	struct tls_context *tls = tls_context_create_client(NULL, "", &err);
	assert_non_null(tls);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	http_client_use_tls(client, tls);
	ask(fixture.base, client, "GET", "/echo?text=a", NULL, &outcome);
	assert_int_equal(outcome.status, -1);
	assert_int_equal(fixture.handled, 0);
	forget(&outcome);
	http_client_destroy(client);
	tls_context_destroy(tls);
	fixture_close(&fixture);
}

/* Its certificate may be as good as it will: it does not know the token. */
/* promise: S90 */
static void test_server_with_a_certificate(void **state)
{
	struct fixture fixture;
	struct outcome outcome;

	fixture_open(&fixture, NULL);
	struct tls_door *door = tls_door_open(http_server_address(fixture.server), NULL);
	struct http_client *client = connect_to(fixture.base, tls_door_address(door), TEST_TOKEN);
	ask(fixture.base, client, "GET", "/echo?text=a", NULL, &outcome);
	assert_int_equal(outcome.err.kind, ERR_DENIED);
	assert_non_null(
		strstr(err_message(&outcome.err), "does not prove that it knows the job's token"));
	assert_int_equal(fixture.handled, 0);
	forget(&outcome);
	http_client_destroy(client);
	tls_door_close(door);
	fixture_close(&fixture);
}

/* promise: S91 */
static void test_client_says_nothing_without_tls(void **state)
{
	struct fixture fixture;
	struct outcome outcome;
	struct peer server;
	char *address cleanup_free = NULL;
	int listener = peer_listen(&address);

	fixture_open(&fixture, NULL);
	struct http_client *client = connect_to(fixture.base, address, TEST_TOKEN);
	outcome = (struct outcome){0};
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/echo",
							  .done = on_done,
							  .data = &outcome});
	run_idle(fixture.base);
	peer_take(&server, fixture.base, accept(listener, NULL, NULL));
	peer_send(&server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	run_until(fixture.base, &outcome.is_done);
	assert_int_equal(outcome.status, -1);
	assert_non_null(strstr(err_message(&outcome.err), "it does not speak TLS"));
	peer_expect_end(&server, fixture.base);
	assert_true(server.received.length > 0);
	for (size_t i = 0; i + 8 <= server.received.length; i++) {
		assert_int_not_equal(memcmp(server.received.text + i, TEST_TOKEN, 8), 0);
		assert_int_not_equal(memcmp(server.received.text + i, "HTTP/1.1", 8), 0);
	}
	forget(&outcome);
	peer_close(&server);
	http_client_destroy(client);
	close(listener);
	fixture_close(&fixture);
}

/* ---- handshakes that are none ------------------------------------------------------------- */

/* The first bytes of a client that knows the token. */
static void greet(const char *token, struct str *greeting)
{
	struct tls_context *context = tls_context_create_shared(token);
	struct tls *tls = tls_create(context, NULL);
	struct evbuffer *nothing = evbuffer_new(), *sealed = tls_seal(tls, nothing);

	str_append_bytes(greeting, (const char *)evbuffer_pullup(sealed, -1),
			 evbuffer_get_length(sealed));
	tls_destroy(tls);
	tls_context_destroy(context);
	evbuffer_free(nothing);
}

/* promise: S92 */
static void test_stalled_handshakes_are_closed(void **state)
{
	struct str greeting cleanup_str = {0};
	struct fixture fixture;

	greet(TEST_TOKEN, &greeting);
	const size_t lengths[] = {0, 1, 5, greeting.length / 2, greeting.length};
	fixture_open_sealed(&fixture, &(struct http_limits){.idle_ms = 50});
	for (size_t i = 0; i < array_length(lengths); i++) {
		struct peer peer;
		peer_open(&peer, fixture.base, http_server_address(fixture.server));
		peer_send_bytes(&peer, greeting.text, lengths[i]);
		peer_expect_end(&peer, fixture.base);
		peer_close(&peer);
	}
	assert_int_equal(http_server_connection_count(fixture.server), 0);
	assert_serves(&fixture);
	fixture_close(&fixture);
}

/* promise: S92 */
static void test_dripping_handshake_buys_no_time(void **state)
{
	struct str greeting cleanup_str = {0};
	struct fixture fixture;
	struct peer peer;

	greet(TEST_TOKEN, &greeting);
	fixture_open_sealed(&fixture, &(struct http_limits){.idle_ms = 50});
	peer_open(&peer, fixture.base, http_server_address(fixture.server));
	for (size_t i = 0; !peer.ended && i < greeting.length - 1; i++) {
		const struct timeval pause = {.tv_usec = 2000};
		peer_send_bytes(&peer, greeting.text + i, 1);
		event_base_loopexit(fixture.base, &pause); /* patience: between two bytes */
		event_base_dispatch(fixture.base);
	}
	assert_true(peer.ended);
	assert_int_equal(peer.received.length, 0);
	peer_close(&peer);
	fixture_close(&fixture);
}

/* Whichever byte of it is wrong: a greeting is answered by no more than a no. */
static void test_spoilt_greetings(void **state)
{
	struct str greeting cleanup_str = {0};
	struct fixture fixture;
	size_t refused = 0;

	greet(TEST_TOKEN, &greeting);
	fixture_open_sealed(&fixture, &(struct http_limits){.idle_ms = 50});
	for (size_t i = 5; i < greeting.length; i++) {
		struct peer peer;
		greeting.text[i] ^= 1;
		peer_open(&peer, fixture.base, http_server_address(fixture.server));
		peer_send_bytes(&peer, greeting.text, greeting.length);
		greeting.text[i] ^= 1;
		shutdown(peer.fd, SHUT_WR);
		peer_expect_end(&peer, fixture.base);
		assert_unanswered(&peer);
		refused += peer.received.length == ALERT_BYTES;
		peer_close(&peer);
	}
	assert_true(refused > greeting.length / 2);
	assert_int_equal(fixture.handled, 0);
	assert_serves(&fixture);
	fixture_close(&fixture);
}

/* Whether the server's end hears `greeting`, and then these bytes, without an error. */
static bool goes_on(struct tls_context *context, const struct str *greeting, const void *bytes,
		    size_t length)
{
	struct tls *tls = tls_accept(context);
	struct evbuffer *input = evbuffer_new();
	const char *rest = bytes;
	int result = tls_take(tls, greeting->text, greeting->length, input, NULL);

	for (size_t i = 0; i < length && result == 0; i++)
		result = tls_take(tls, rest + i, 1, input, NULL);
	evbuffer_free(input);
	tls_destroy(tls);
	return result == 0;
}

/* OpenSSL would make room for 128 KiB after nine bytes, and do so again for a second greeting. */
/* promise: S92 */
static void test_greeting_that_claims_much(void **state)
{
	static const unsigned char greetings[][9] = {
		{0x16, 3, 1, 0x04, 0x00, 1, 2, 1, 0x40}, /* 131,392 bytes */
		{0x16, 3, 1, 0x08, 0x05, 1, 0, 8, 1},	 /* 2,049 */
		{0x16, 3, 1, 0x01, 0x00, 2, 0, 0, 0xfc}, /* another message */
		{0x16, 3, 1, 0x00, 0x06, 1, 0, 0, 0xfa}, /* in several records */
		{0x16, 3, 1, 0x00, 0x02, 1, 2, 0x16, 3}, /* in pieces of two bytes */
		{0x80, 0x2e, 1, 3, 1},			 /* of SSL 2 */
		{0x14, 3, 3, 0x00, 0x01, 1, 0x16, 3, 1}, /* something before it */
	};
	struct tls_context *context = tls_context_create_shared(TEST_TOKEN);
	struct str greeting cleanup_str = {0}, none cleanup_str = {0};

	greet(TEST_TOKEN, &greeting);
	for (size_t i = 0; i < array_length(greetings); i++)
		assert_false(goes_on(context, &none, greetings[i], sizeof(greetings[i])));
	assert_false(goes_on(context, &greeting, greetings[0], sizeof(greetings[0])));
	for (size_t i = 0; i < greeting.length; i += 7)
		assert_true(goes_on(context, &none, greeting.text, i));
	assert_true(goes_on(context, &none, greeting.text, greeting.length));
	tls_context_destroy(context);
}

/* promise: S92 */
static void test_oversized_handshake(void **state)
{
	/* A greeting that says that it has 16 MiB, in records of 16 KiB each. */
	static const unsigned char first[] = {0x16, 0x03, 0x01, 0x40, 0x00, 0x01, 0xff, 0xff, 0xff};
	static const unsigned char next[] = {0x16, 0x03, 0x01, 0x40, 0x00};
	struct fixture fixture;
	struct peer peer;
	char *bytes cleanup_free = mem_alloc(16384);

	fixture_open_sealed(&fixture, NULL);
	peer_open(&peer, fixture.base, http_server_address(fixture.server));
	peer_send_bytes(&peer, first, sizeof(first));
	peer_send_bytes(&peer, bytes, 16384 - 4);
	for (int i = 0; i < 2; i++) {
		peer_send_bytes(&peer, next, sizeof(next));
		peer_send_bytes(&peer, bytes, 16384);
	}
	peer_expect_end(&peer, fixture.base);
	assert_unanswered(&peer);
	peer_close(&peer);
	assert_serves(&fixture);
	fixture_close(&fixture);
}

/* ---- a call that somebody has recorded ---------------------------------------------------- */

static ssize_t take(int from, struct str *record)
{
	char bytes[4096];
	ssize_t got = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got > 0)
		str_append_bytes(record, bytes, (size_t)got);
	return got;
}

/* Stands between a client and the server, and hears all that both say. */
static void record_call(struct fixture *fixture, struct str *said, struct str *answered)
{
	struct outcome outcome = {0};
	struct peer server;
	char *address cleanup_free = NULL;
	int listener = peer_listen(&address), client_fd = -1;
	struct http_client *client = connect_to(fixture->base, address, TEST_TOKEN);

	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/echo?text=hello",
							  .done = on_done,
							  .data = &outcome});
	run_idle(fixture->base);
	client_fd = accept(listener, NULL, NULL);
	peer_open(&server, fixture->base, http_server_address(fixture->server));
	while (!outcome.is_done) {
		size_t before = said->length;
		if (take(client_fd, said) > 0)
			peer_send_bytes(&server, said->text + before, said->length - before);
		event_base_loop(fixture->base, EVLOOP_NONBLOCK);
		str_append_bytes(answered, server.received.text, server.received.length);
		send(client_fd, server.received.text, server.received.length, MSG_NOSIGNAL);
		peer_forget(&server);
	}
	assert_int_equal(outcome.status, 200);
	forget(&outcome);
	http_client_destroy(client);
	peer_close(&server);
	close(client_fd);
	close(listener);
}

static bool contains(const struct str *record, const char *text)
{
	return memmem(record->text, record->length, text, strlen(text)) != NULL;
}

/* promise: S90 */
static void test_recorded_call_is_sealed_and_of_no_use(void **state)
{
	struct str said cleanup_str = {0}, answered cleanup_str = {0};
	struct fixture fixture;
	struct peer peer;

	fixture_open_sealed(&fixture, &(struct http_limits){.idle_ms = 200});
	record_call(&fixture, &said, &answered);
	for (size_t i = 0; i < 2; i++) {
		const struct str *record = i == 0 ? &said : &answered;
		assert_true(record->length > 100);
		assert_false(contains(record, "HTTP/1.1"));
		assert_false(contains(record, "hello"));
		assert_false(contains(record, "0123456789abcdef"));
	}
	assert_int_equal(fixture.handled, 1);
	peer_open(&peer, fixture.base, http_server_address(fixture.server));
	peer_send_bytes(&peer, said.text, said.length);
	peer_expect_end(&peer, fixture.base);
	assert_int_equal(fixture.handled, 1);
	peer_close(&peer);
	assert_serves(&fixture);
	fixture_close(&fixture);
}

/* ---- many --------------------------------------------------------------------------------- */

/* As the executors of a large job do, they come at once: more than may agree on TLS at a time. */
static void test_crowd_gets_through(void **state)
{
	enum { CROWD = 60 };
	const struct http_limits limits = {.stranger_bytes = 4 * HTTP_HANDSHAKE_BYTES};
	struct http_client *clients[CROWD];
	struct outcome outcomes[CROWD] = {0};
	struct fixture fixture;

	fixture_open_sealed(&fixture, &limits);
	for (size_t i = 0; i < CROWD; i++) {
		clients[i] =
			connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
		http_client_start(clients[i], &(struct http_question){.method = "GET",
								      .path = "/echo?text=hello",
								      .done = on_done,
								      .data = &outcomes[i]});
	}
	for (size_t i = 0; i < CROWD; i++) {
		run_until(fixture.base, &outcomes[i].is_done);
		assert_int_equal(outcomes[i].status, 200);
		forget(&outcomes[i]);
		http_client_destroy(clients[i]);
	}
	fixture_close(&fixture);
}

/* Some strangers leave, and others take their places: who knows the token need not wait until the
 * last of them has come. */
static void test_junk_that_comes_and_goes_keeps_nobody_out(void **state)
{
	const struct http_limits limits = {.stranger_bytes = 8 * HTTP_HANDSHAKE_BYTES};
	const struct timeval pause = {.tv_usec = 100000};
	struct peer *junk cleanup_free = mem_alloc_array(JUNK, sizeof(*junk));
	struct outcome outcome = {0};
	struct fixture fixture;
	size_t gone = 0;

	fixture_open_sealed(&fixture, &limits);
	for (size_t i = 0; i < JUNK; i++)
		peer_open(&junk[i], fixture.base, http_server_address(fixture.server));
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/echo?text=hello",
							  .done = on_done,
							  .data = &outcome});
	while (!outcome.is_done) {
		assert_in_range(gone, 0, JUNK / 2);
		peer_close(&junk[gone++]);
		event_base_loopexit(fixture.base, &pause); /* patience: they leave so slowly */
		event_base_dispatch(fixture.base);
	}
	assert_int_equal(outcome.status, 200);
	while (gone < JUNK)
		peer_close(&junk[gone++]);
	forget(&outcome);
	http_client_destroy(client);
	fixture_close(&fixture);
}

/* promise: S92 */
static void test_junk_keeps_nobody_out(void **state)
{
	const struct http_limits limits = {.connections = 100,
					   .stranger_bytes = 50 * HTTP_HANDSHAKE_BYTES};
	struct str greeting cleanup_str = {0}, other cleanup_str = {0};
	struct fixture fixture;
	struct peer *junk cleanup_free = mem_alloc_array(JUNK, sizeof(*junk));
	struct outcome held = {0};
	size_t most = 0;

	greet(TEST_TOKEN, &greeting);
	greet(OTHER_TOKEN, &other);
	fixture_open_sealed(&fixture, &limits);
	struct http_client *holder =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	http_client_start(
		holder, &(struct http_question){
				.method = "GET", .path = "/hold", .done = on_done, .data = &held});
	run_until(fixture.base, &fixture.has_held);
	for (size_t i = 0; i < JUNK; i++) {
		const char *words[] = {greeting.text, other.text, "GET / HTTP/1.1\r\n", "\x16\x03"};
		const size_t lengths[] = {greeting.length / (1 + i % 3), other.length, 16, 2};
		peer_open(&junk[i], fixture.base, http_server_address(fixture.server));
		peer_send_bytes(&junk[i], words[i % 4], lengths[i % 4]);
		event_base_loop(fixture.base, EVLOOP_NONBLOCK);
		size_t count = http_server_connection_count(fixture.server);
		most = count > most ? count : most;
	}
	assert_in_range(most, 40, 51);
	assert_serves(&fixture);
	assert_int_equal(fixture.closed_count, 0);
	http_answer_bytes(fixture.held[0], 200, "text/plain", "still here", 10);
	run_until(fixture.base, &held.is_done);
	assert_string_equal(str_text(&held.body), "still here");
	for (size_t i = 0; i < JUNK; i++)
		peer_close(&junk[i]);
	forget(&held);
	http_client_destroy(holder);
	fixture_close(&fixture);
}

/* One end of TLS without a socket: what it has written goes to the other end. */
static int pass_on(SSL *client, struct tls *server, struct evbuffer *input, struct err *err)
{
	char bytes[16384];
	int length = BIO_read(SSL_get_wbio(client), bytes, sizeof(bytes));
	int result = length > 0 ? tls_take(server, bytes, (size_t)length, input, err) : 0;
	struct evbuffer *answer = tls_seal(server, input); /* nothing is in it */

	while ((length = evbuffer_remove(answer, bytes, sizeof(bytes))) > 0)
		BIO_write(SSL_get_rbio(client), bytes, length);
	return result;
}

/* Each of its messages is answered, though it asks nothing and may read nothing. */
/* promise: S47 */
static void test_keys_are_not_changed_without_end(void **state)
{
	struct tls_identity identity = {.key = EVP_EC_gen("P-256")};
	struct err err cleanup_err = {0};
	struct evbuffer *input = evbuffer_new();
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *client = SSL_new(context);
	int changes = 0;

	identity.certificate = certificate_create("server", identity.key, 1);
	certificate_sign(identity.certificate, identity.certificate, identity.key);
	struct tls_context *server = tls_context_create_server(&identity, NULL);
	struct tls *tls = tls_accept(server);
	SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	SSL_set_connect_state(client);
	while (SSL_do_handshake(client) != 1 || !tls_is_open(tls))
		assert_int_equal(pass_on(client, tls, input, &err), 0);
	while (pass_on(client, tls, input, &err) == 0) {
		assert_int_equal(SSL_key_update(client, SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(SSL_do_handshake(client), 1);
		SSL_read(client, (char[1]){0}, 1); /* the answer to the last */
		changes++;
	}
	assert_in_range(changes, 16, 64);
	assert_string_equal(err_message(&err), "TLS: the peer changes its keys too often");
	SSL_free(client);
	SSL_CTX_free(context);
	tls_destroy(tls);
	tls_context_destroy(server);
	tls_identity_finish(&identity);
	evbuffer_free(input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_are_not_changed_without_end),
		cmocka_unit_test(test_calls_of_one_who_knows_the_token),
		cmocka_unit_test(test_held_request_ends_with_its_client),
		cmocka_unit_test(test_last_answer_is_whole),
		cmocka_unit_test(test_alert_after_agreement_denies_no_secret),
		cmocka_unit_test(test_another_token),
		cmocka_unit_test(test_nothing_is_answered_without_tls),
		cmocka_unit_test(test_other_clients_of_tls),
		cmocka_unit_test(test_server_with_a_certificate),
		cmocka_unit_test(test_client_says_nothing_without_tls),
		cmocka_unit_test(test_stalled_handshakes_are_closed),
		cmocka_unit_test(test_dripping_handshake_buys_no_time),
		cmocka_unit_test(test_spoilt_greetings),
		cmocka_unit_test(test_greeting_that_claims_much),
		cmocka_unit_test(test_oversized_handshake),
		cmocka_unit_test(test_recorded_call_is_sealed_and_of_no_use),
		cmocka_unit_test(test_crowd_gets_through),
		cmocka_unit_test(test_junk_that_comes_and_goes_keeps_nobody_out),
		cmocka_unit_test(test_junk_keeps_nobody_out),
	};

	raise_file_limit();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
