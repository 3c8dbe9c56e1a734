/* What is promised: docs/rest.md, "Limits and refusals", and what http_server.h says of requests
 * that are held and answers that stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "peer.h"
#include "server.h"

static void open_peer(struct peer *peer, struct fixture *fixture)
{
	peer_open(peer, fixture->base, http_server_address(fixture->server));
}

/* One request on a connection of its own; the answer must hold both texts. */
static void ask(struct fixture *fixture, const char *request, const char *status, const char *rest)
{
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, request);
	peer_expect(&peer, fixture->base, status);
	peer_expect(&peer, fixture->base, rest);
	peer_close(&peer);
}

static void test_answers(void **state)
{
	ask(*state, "GET /echo?text=a%20b HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n",
	    "HTTP/1.1 200 OK", "\r\n\r\na b");
	ask(*state, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" TEST_AUTHORIZATION "\r\nhello",
	    "Content-Length: 5\r\n", "\r\n\r\nhello");
	ask(*state,
	    "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" TEST_AUTHORIZATION
	    "\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
	    "200 OK", "\r\n\r\nabcde");
	ask(*state, "GET /item/worker%3A0 HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "200 OK",
	    "{\"name\":\"worker:0\",\"count\":7}");
	ask(*state, "\r\nGET /open?text=x HTTP/1.0\r\n\r\n", "Connection: close", "\r\n\r\nx");
}

#define TAKES_GZIP "Accept-Encoding: br, gzip\r\n"

/* The answer for an item of so long a name. The caller frees. */
static char *ask_item(struct fixture *fixture, int length, const char *header)
{
	struct peer peer;
	char *name cleanup_free = mem_alloc((size_t)length + 1);
	memset(name, 'x', (size_t)length);
	char *request cleanup_free = mem_printf(
		"GET /item/%s HTTP/1.1\r\nConnection: close\r\n%s" TEST_AUTHORIZATION "\r\n", name,
		header);

	open_peer(&peer, fixture);
	peer_send(&peer, request);
	peer_expect_end(&peer, fixture->base);
	char *answer = mem_strdup(str_text(&peer.received));
	peer_close(&peer);
	return answer;
}

static void test_long_json_is_compressed_for_clients_that_take_it(void **state)
{
	char *compressed cleanup_free = ask_item(*state, 2000, TAKES_GZIP);
	char *plain cleanup_free = ask_item(*state, 2000, "");
	char *little cleanup_free = ask_item(*state, 20, TAKES_GZIP);

	assert_non_null(strstr(compressed, "\r\nContent-Encoding: gzip\r\n"));
	assert_null(strstr(compressed, "xxxxxxxxxx"));
	assert_null(strstr(plain, "Content-Encoding"));
	assert_non_null(strstr(plain, "xxxxxxxxxx"));
	assert_null(strstr(little, "Content-Encoding"));
}

/* promise: S3 */
static void test_refusals(void **state)
{
	static const struct {
		const char *request, *status, *rest;
	} rows[] = {
		{"GET /echo HTTP/1.1\r\n" TEST_HOST "\r\n", "401 Unauthorized",
		 "{\"error\":{\"code\":\"unauthorized\","},
		{"GET /echo HTTP/1.1\r\n" TEST_HOST "Authorization: Bearer x\r\n\r\n",
		 "401 Unauthorized", "WWW-Authenticate: Bearer"},
		{"GET /echo HTTP/1.1\r\n" TEST_HOST "Authorization: Bearer "
		 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF\r\n\r\n",
		 "401 Unauthorized", "unauthorized"},
		/* The beginning of the token, and more than the token. */
		{"GET /echo HTTP/1.1\r\n" TEST_HOST "Authorization: Bearer 0\r\n\r\n",
		 "401 Unauthorized", "unauthorized"},
		{"GET /echo HTTP/1.1\r\n" TEST_HOST "Authorization: Bearer " TEST_TOKEN "0\r\n\r\n",
		 "401 Unauthorized", "unauthorized"},
		{"GET /echo HTTP/1.1\r\n" TEST_HOST "Authorization: Basic " TEST_TOKEN "\r\n\r\n",
		 "401 Unauthorized", "unauthorized"},
		/* A stranger does not learn which paths there are. */
		{"GET /none HTTP/1.1\r\n" TEST_HOST "\r\n", "401 Unauthorized", "unauthorized"},
		{"GET /none HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "404 Not Found",
		 "{\"error\":{\"code\":\"not-found\","},
		{"GET /item/a/b HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "404 Not Found",
		 "not-found"},
		{"DELETE /echo HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "405 Method Not Allowed",
		 "Allow: GET, POST\r\n"},
		{"GET /item/%00 HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "400 Bad Request",
		 "bad-request"},
		{"GET /item/a?b=%2 HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "400 Bad Request",
		 "bad-request"},
		{"GET /item/a?count=11 HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "400 Bad Request",
		 "count: is not a whole number between 1 and 10"},
		{"nonsense\r\n\r\n", "400 Bad Request", "bad-request"},
		{"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" TEST_AUTHORIZATION
		 "\r\nzz\r\n",
		 "400 Bad Request", "bad-request"},
		{"POST /echo HTTP/1.1\r\nContent-Length: 1048577\r\n" TEST_AUTHORIZATION "\r\n",
		 "413 Content Too Large", "{\"error\":{\"code\":\"too-large\","},
	};

	for (size_t i = 0; i < array_length(rows); i++)
		ask(*state, rows[i].request, rows[i].status, rows[i].rest);
}

/* promise: S4 */
static void test_bare_line_feeds_are_refused_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, "GET /echo HTTP/1.1\nHost: h\n\n");
	peer_expect(&peer, fixture->base, "HTTP/1.1 400 ");
	peer_expect_end(&peer, fixture->base);
	peer_close(&peer);
}

static void test_headers_too_large(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;
	char *filler cleanup_free = mem_alloc(16 * 1024 + 1);

	memset(filler, 'a', 16 * 1024);
	open_peer(&peer, fixture);
	peer_send(&peer, "GET /echo HTTP/1.1\r\nA: ");
	peer_send(&peer, filler);
	peer_expect(&peer, fixture->base, "HTTP/1.1 431 ");
	peer_expect(&peer, fixture->base, "\"too-large\"");
	peer_expect_end(&peer, fixture->base);
	peer_close(&peer);
}

static void test_headers_of_just_the_size(void **state)
{
	struct fixture *fixture = *state;
	static const char first[] = "GET /echo?text=whole HTTP/1.1\r\n" TEST_AUTHORIZATION "A: ";
	struct str text cleanup_str = {0};
	struct peer peer;

	str_append(&text, first);
	while (text.length < 16 * 1024 - 4)
		str_append_char(&text, 'a');
	str_append(&text, "\r\n\r\n");
	open_peer(&peer, fixture);
	peer_send(&peer, text.text);
	peer_expect(&peer, fixture->base, "\r\n\r\nwhole");
	peer_close(&peer);
}

/* The refusal must arrive although the client is still sending. */
/* promise: S4 */
static void test_big_bodies(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;
	char *filler cleanup_free = mem_alloc((2 << 20) + 1);

	memset(filler, 'a', 2 << 20);
	open_peer(&peer, fixture);
	peer_send(&peer,
		  "POST /echo HTTP/1.1\r\nContent-Length: 2097152\r\n" TEST_AUTHORIZATION "\r\n");
	peer_send(&peer, filler);
	peer_expect(&peer, fixture->base, "HTTP/1.1 413 ");
	peer_close(&peer);

	open_peer(&peer, fixture);
	peer_send(&peer, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" TEST_AUTHORIZATION
			 "\r\n200000\r\n");
	peer_send(&peer, filler);
	peer_expect(&peer, fixture->base, "HTTP/1.1 413 ");
	peer_close(&peer);

	open_peer(&peer, fixture);
	filler[1 << 20] = '\0';
	peer_send(&peer,
		  "POST /echo HTTP/1.1\r\nContent-Length: 1048576\r\n" TEST_AUTHORIZATION "\r\n");
	peer_send(&peer, filler);
	peer_expect(&peer, fixture->base, "HTTP/1.1 200 ");
	while (peer.received.length < 1 << 20)
		event_base_loop(fixture->base, EVLOOP_ONCE);
	peer_close(&peer);
	assert_int_equal(fixture->handled, 1);
}

static void test_expect_continue(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\n"
			 "Content-Length: 2\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&peer, fixture->base, "HTTP/1.1 100 Continue\r\n\r\n");
	peer_send(&peer, "ok");
	peer_expect(&peer, fixture->base, "\r\n\r\nok");
	peer_close(&peer);
}

static void test_keep_alive_byte_by_byte(void **state)
{
	struct fixture *fixture = *state;
	static const char request[] = "GET /echo?text=again HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n";
	struct peer peer;

	open_peer(&peer, fixture);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(request) - 1; i++) {
			peer_send_bytes(&peer, request + i, 1);
			run_idle(fixture->base);
		}
		peer_expect(&peer, fixture->base, "\r\n\r\nagain");
		peer_forget(&peer);
	}
	assert_int_equal(fixture->handled, 3);
	peer_close(&peer);
}

static void test_pipelining(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, "GET /echo?text=one HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n"
			 "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n"
			 "GET /echo?text=three HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture->base, &fixture->has_held);
	peer_expect(&peer, fixture->base, "\r\n\r\none");
	run_idle(fixture->base);
	/* Answers come in the order of the requests. */
	assert_null(strstr(peer.received.text, "three"));
	http_answer_bytes(fixture->held[0], 200, "text/plain", "two", 3);
	peer_expect(&peer, fixture->base, "\r\n\r\ntwo");
	peer_expect(&peer, fixture->base, "\r\n\r\nthree");
	peer_close(&peer);
}

/* Pipelined requests whose answers nobody reads must not pile up answers. */
static void test_unread_answers_do_not_pile_up(void **state)
{
	struct fixture *fixture = *state;
	static const char request[] = "GET /big HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n";
	struct peer peer;

	open_peer(&peer, fixture);
	event_del(&peer.event);
	for (int i = 0; i < 20; i++)
		peer_send(&peer, request);
	while (fixture->handled == 0)
		event_base_loop(fixture->base, EVLOOP_ONCE);
	run_idle(fixture->base);
	assert_in_range(fixture->handled, 1, 2);
	event_add(&peer.event, NULL);
	while (peer.received.length < (size_t)20 << 23)
		event_base_loop(fixture->base, EVLOOP_ONCE);
	peer_close(&peer);
}

static void test_held_client_goes_away(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture->base, &fixture->has_held);
	run_idle(fixture->base);
	assert_int_equal(fixture->closed_count, 0);
	peer_close(&peer);
	run_until(fixture->base, &fixture->has_closed);
	assert_int_equal(fixture->closed_count, 1);
	assert_int_equal(http_server_connection_count(fixture->server), 0);
}

static void test_held_client_resets(void **state)
{
	struct fixture *fixture = *state;
	struct linger at_once = {.l_onoff = 1};
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture->base, &fixture->has_held);
	setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	peer_close(&peer);
	run_until(fixture->base, &fixture->has_closed);
	assert_int_equal(fixture->closed_count, 1);
}

static void test_held_is_answered_once_and_not_told(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture->base, &fixture->has_held);
	http_answer_error(fixture->held[0], 409, "stale", "attempt %d", 2);
	peer_expect(&peer, fixture->base,
		    "{\"error\":{\"code\":\"stale\",\"message\":\"attempt 2\"}}");
	peer_close(&peer);
	run_idle(fixture->base);
	assert_int_equal(fixture->closed_count, 0);
}

static void test_half_closed_client_still_gets_its_answer(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	peer_send(&peer, "GET /echo?text=last HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	shutdown(peer.fd, SHUT_WR);
	peer_expect(&peer, fixture->base, "\r\n\r\nlast");
	peer_expect_end(&peer, fixture->base);
	peer_close(&peer);
}

static void test_stream(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	fixture->line = "first";
	peer_send(&peer, "GET /stream HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&peer, fixture->base, "Transfer-Encoding: chunked\r\n");
	peer_expect(&peer, fixture->base, "5\r\nfirst\r\n");
	fixture->line = "second";
	run_idle(fixture->base);
	assert_null(strstr(peer.received.text, "second"));
	http_stream_wake(fixture->stream);
	peer_expect(&peer, fixture->base, "6\r\nsecond\r\n");
	fixture->end_stream = true;
	http_stream_wake(fixture->stream);
	peer_expect(&peer, fixture->base, "0\r\n\r\n");
	peer_forget(&peer);
	/* The connection is good for more. */
	peer_send(&peer, "GET /echo?text=more HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&peer, fixture->base, "\r\n\r\nmore");
	peer_close(&peer);
}

static void test_stream_waits_for_its_reader(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture);
	fixture->fill_bytes = HTTP_STREAM_CHUNK;
	peer_send(&peer, "GET /stream HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	event_del(&peer.event);
	/* The kernel's buffers take some megabytes; then it must stop asking for more. */
	size_t before;
	do {
		before = fixture->filled;
		for (int i = 0; i < 100; i++)
			event_base_loop(fixture->base, EVLOOP_NONBLOCK);
	} while (fixture->filled > before);
	assert_true(fixture->filled < 64 << 20);
	event_add(&peer.event, NULL);
	while (fixture->filled < before + (16 << 20))
		event_base_loop(fixture->base, EVLOOP_ONCE);
	peer_close(&peer);
	run_until(fixture->base, &fixture->has_closed);
	assert_int_equal(fixture->closed_count, 1);
}

/* Of a stream that could go on for ever, only a little is written before others have their turn. */
static void test_stream_lets_others_in(void **state)
{
	struct fixture *fixture = *state;
	struct peer reader, other;

	open_peer(&reader, fixture);
	open_peer(&other, fixture);
	fixture->fill_bytes = 1;
	peer_send(&reader, "GET /stream HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&reader, fixture->base, "\r\n1\r\nx");
	peer_send(&other, "GET /echo?text=here HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&other, fixture->base, "\r\n\r\nhere");
	assert_true(fixture->filled < 1000);
	peer_close(&reader);
	peer_close(&other);
}

/* However many streams have much to do, one of them does some of it each time around the loop. */
static void test_streams_have_their_turns_one_by_one(void **state)
{
	struct fixture *fixture = *state;
	struct http_stream *streams[5];
	struct peer peers[5];

	for (size_t i = 0; i < array_length(peers); i++) {
		open_peer(&peers[i], fixture);
		peer_send(&peers[i], "GET /stream HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
		peer_expect(&peers[i], fixture->base, "chunked\r\n");
		streams[i] = fixture->stream;
	}
	/* Also when all of them are woken at once. */
	fixture->fills = 0;
	for (size_t i = 0; i < array_length(streams); i++)
		http_stream_wake(streams[i]);
	for (size_t round = 0; round <= array_length(streams); round++) {
		event_base_loop(fixture->base, EVLOOP_ONCE);
		assert_int_equal(fixture->fills, round);
	}
	fixture->yields = true;
	for (size_t i = 0; i < array_length(streams); i++)
		http_stream_wake(streams[i]);
	event_base_loop(fixture->base, EVLOOP_ONCE);
	for (int round = 0; round < 20; round++) {
		fixture->fills = 0;
		event_base_loop(fixture->base, EVLOOP_ONCE);
		assert_int_equal(fixture->fills, 1);
	}
	/* They go in the order in which they came: each has had one of the last five turns. */
	fixture->yields = false;
	fixture->fill_bytes = 40000;
	fixture->end_stream = true;
	for (size_t i = 0; i < array_length(peers); i++)
		event_base_loop(fixture->base, EVLOOP_ONCE);
	assert_int_equal(fixture->filled, array_length(peers) * 40000);
	for (size_t i = 0; i < array_length(peers); i++)
		peer_close(&peers[i]);
}

static void on_drained(void *data)
{
	struct fixture *fixture = data;

	fixture->drained = true;
}

static void test_drain_delivers_what_is_promised(void **state)
{
	struct fixture *fixture = *state;
	struct peer idle, holder;

	open_peer(&idle, fixture);
	open_peer(&holder, fixture);
	peer_send(&holder, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture->base, &fixture->has_held);
	http_server_drain(fixture->server, 60 * 1000, on_drained, fixture);
	peer_expect_end(&idle, fixture->base);
	run_idle(fixture->base);
	assert_false(fixture->drained);
	http_answer_bytes(fixture->held[0], 200, "text/plain", "bye", 3);
	peer_expect(&holder, fixture->base, "\r\n\r\nbye");
	peer_expect_end(&holder, fixture->base);
	peer_close(&holder);
	run_until(fixture->base, &fixture->drained);
	peer_close(&idle);
}

static void test_drain_ends_after_its_time(void **state)
{
	struct fixture *fixture = *state;
	struct peer holder;

	open_peer(&holder, fixture);
	peer_send(&holder, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture->base, &fixture->has_held);
	http_server_drain(fixture->server, 20, on_drained, fixture);
	run_until(fixture->base, &fixture->drained);
	assert_int_equal(fixture->closed_count, 0);
	peer_close(&holder);
}

static void test_destroy_tells_holders(void **state)
{
	struct fixture fixture;
	struct peer peer;

	fixture_open(&fixture, NULL);
	peer_open(&peer, fixture.base, http_server_address(fixture.server));
	peer_send(&peer, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture.base, &fixture.has_held);
	http_server_destroy(fixture.server);
	fixture.server = NULL;
	assert_int_equal(fixture.closed_count, 1);
	peer_close(&peer);
	fixture_close(&fixture);
}

static void test_address_in_use(void **state)
{
	struct fixture *fixture = *state;
	struct err err cleanup_err = {0};
	struct http_server_config config = {.address = http_server_address(fixture->server),
					    .token = "x"};

	assert_null(http_server_create(fixture->base, &config, &err));
	assert_non_null(strstr(err_message(&err), config.address));
}

#define on_server(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_server(test_answers),
		on_server(test_long_json_is_compressed_for_clients_that_take_it),
		on_server(test_refusals),
		on_server(test_bare_line_feeds_are_refused_at_once),
		on_server(test_headers_too_large),
		on_server(test_headers_of_just_the_size),
		on_server(test_big_bodies),
		on_server(test_expect_continue),
		on_server(test_keep_alive_byte_by_byte),
		on_server(test_pipelining),
		on_server(test_unread_answers_do_not_pile_up),
		on_server(test_held_client_goes_away),
		on_server(test_held_client_resets),
		on_server(test_held_is_answered_once_and_not_told),
		on_server(test_half_closed_client_still_gets_its_answer),
		on_server(test_stream),
		on_server(test_stream_waits_for_its_reader),
		on_server(test_stream_lets_others_in),
		on_server(test_streams_have_their_turns_one_by_one),
		on_server(test_drain_delivers_what_is_promised),
		on_server(test_drain_ends_after_its_time),
		on_server(test_destroy_tells_holders),
		on_server(test_address_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
