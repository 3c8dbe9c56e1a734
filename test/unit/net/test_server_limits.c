/* What is promised: nobody without the token can keep others out or make the server grow, however
 * many connections they open and however slowly they speak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "peer.h"
#include "server.h"

enum { JUNK = 2000 };

/* promise: S6 */
static void test_slow_clients_are_closed(void **state)
{
	static const char *const starts[] = {
		"",
		"GET /echo HTTP/1.1\r\nA",
		"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" TEST_AUTHORIZATION "\r\nhell",
	};
	const struct http_limits limits = {.idle_ms = 50};
	struct fixture fixture;
	struct peer peers[3];

	fixture_open(&fixture, &limits);
	for (size_t i = 0; i < array_length(peers); i++) {
		peer_open(&peers[i], fixture.base, http_server_address(fixture.server));
		peer_send(&peers[i], starts[i]);
	}
	for (size_t i = 0; i < array_length(peers); i++) {
		peer_expect_end(&peers[i], fixture.base);
		assert_int_equal(peers[i].received.length, 0);
		peer_close(&peers[i]);
	}
	assert_int_equal(http_server_connection_count(fixture.server), 0);
	fixture_close(&fixture);
}

/* A byte now and then does not buy time: the limit is on the whole request. */
/* promise: S6 */
static void test_dripping_clients_are_closed(void **state)
{
	const struct http_limits limits = {.idle_ms = 50};
	struct fixture fixture;
	struct peer peer;

	fixture_open(&fixture, &limits);
	peer_open(&peer, fixture.base, http_server_address(fixture.server));
	peer_send(&peer, "GET /echo HTTP/1.1\r\nA: ");
	while (!peer.ended) {
		const struct timeval pause = {.tv_usec = 2000};
		peer_send(&peer, "a");
		event_base_loopexit(fixture.base, &pause); /* patience: between two bytes */
		event_base_dispatch(fixture.base);
	}
	assert_null(strstr(str_text(&peer.received), "431"));
	peer_close(&peer);
	fixture_close(&fixture);
}

static void test_held_requests_and_streams_are_not_slow_clients(void **state)
{
	const struct http_limits limits = {.idle_ms = 20};
	struct fixture fixture;
	struct peer holder, reader, witness;

	fixture_open(&fixture, &limits);
	peer_open(&holder, fixture.base, http_server_address(fixture.server));
	peer_send(&holder, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture.base, &fixture.has_held);
	peer_open(&reader, fixture.base, http_server_address(fixture.server));
	peer_send(&reader, "GET /stream HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&reader, fixture.base, "200 OK");
	/* Three connections in a row that are closed for being idle: time has passed. */
	for (int i = 0; i < 3; i++) {
		peer_open(&witness, fixture.base, http_server_address(fixture.server));
		peer_expect_end(&witness, fixture.base);
		peer_close(&witness);
	}
	assert_int_equal(fixture.closed_count, 0);
	http_answer_bytes(fixture.held[0], 200, "text/plain", "held", 4);
	peer_expect(&holder, fixture.base, "held");
	fixture.line = "streamed";
	http_stream_wake(fixture.stream);
	peer_expect(&reader, fixture.base, "streamed");
	peer_close(&holder);
	peer_close(&reader);
	fixture_close(&fixture);
}

/* Who reads nothing of a large answer loses the connection. */
/* promise: S6 */
static void test_unread_answer_ends_the_connection(void **state)
{
	const struct http_limits limits = {.idle_ms = 50};
	struct fixture fixture;
	struct peer peer;

	fixture_open(&fixture, &limits);
	peer_open(&peer, fixture.base, http_server_address(fixture.server));
	event_del(&peer.event);
	peer_send(&peer, "GET /big HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	while (http_server_connection_count(fixture.server) == 0)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	while (http_server_connection_count(fixture.server) > 0)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	peer_close(&peer);
	fixture_close(&fixture);
}

/* promise: S5 */
static void test_junk_connections_keep_nobody_out(void **state)
{
	const struct http_limits limits = {.connections = 100};
	struct fixture fixture;
	struct peer *junk cleanup_free = mem_alloc_array(JUNK, sizeof(*junk));
	struct peer holder, known;
	size_t most = 0;

	fixture_open(&fixture, &limits);
	peer_open(&holder, fixture.base, http_server_address(fixture.server));
	peer_send(&holder, "GET /hold HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	run_until(fixture.base, &fixture.has_held);
	for (size_t i = 0; i < JUNK; i++) {
		peer_open(&junk[i], fixture.base, http_server_address(fixture.server));
		peer_send(&junk[i], i % 2 ? "GET /x HTTP/1.1\r\nA: b" : "\x16\x03\x01junk");
		event_base_loop(fixture.base, EVLOOP_NONBLOCK);
		size_t count = http_server_connection_count(fixture.server);
		most = count > most ? count : most;
	}
	assert_true(most <= 100);
	/* Who made way was told so. */
	peer_expect(&junk[0], fixture.base, "HTTP/1.1 503 ");
	peer_expect(&junk[0], fixture.base, "\"busy\"");
	peer_expect_end(&junk[0], fixture.base);
	peer_open(&known, fixture.base, http_server_address(fixture.server));
	peer_send(&known, "GET /echo?text=welcome HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&known, fixture.base, "\r\n\r\nwelcome");
	assert_int_equal(fixture.closed_count, 0);
	http_answer_bytes(fixture.held[0], 200, "text/plain", "still here", 10);
	peer_expect(&holder, fixture.base, "still here");
	for (size_t i = 0; i < JUNK; i++)
		peer_close(&junk[i]);
	peer_close(&known);
	peer_close(&holder);
	fixture_close(&fixture);
}

/* promise: S5 */
static void test_full_of_friends(void **state)
{
	const struct http_limits limits = {.connections = 2};
	struct fixture fixture;
	struct peer friends[2], late;

	fixture_open(&fixture, &limits);
	for (size_t i = 0; i < array_length(friends); i++) {
		peer_open(&friends[i], fixture.base, http_server_address(fixture.server));
		peer_send(&friends[i], "GET /echo?text=in HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
		peer_expect(&friends[i], fixture.base, "\r\n\r\nin");
	}
	peer_open(&late, fixture.base, http_server_address(fixture.server));
	peer_expect(&late, fixture.base, "HTTP/1.1 503 ");
	peer_expect_end(&late, fixture.base);
	peer_close(&late);
	peer_close(&friends[0]);
	while (http_server_connection_count(fixture.server) > 1)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	peer_open(&late, fixture.base, http_server_address(fixture.server));
	peer_send(&late, "GET /echo?text=room HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&late, fixture.base, "\r\n\r\nroom");
	peer_close(&late);
	peer_close(&friends[1]);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_clients_are_closed),
		cmocka_unit_test(test_dripping_clients_are_closed),
		cmocka_unit_test(test_held_requests_and_streams_are_not_slow_clients),
		cmocka_unit_test(test_unread_answer_ends_the_connection),
		cmocka_unit_test(test_junk_connections_keep_nobody_out),
		cmocka_unit_test(test_full_of_friends),
	};

	raise_file_limit();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
