/* What is promised: nobody without the token can keep others out or make the server grow, however
 * many connections they open and however slowly they speak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "peer.h"
#include "server.h"

enum { JUNK = 2000 };

/* Refused each time, with an answer that is longer. */
#define ASK	   "GET /x HTTP/1.1\r\n" TEST_HOST "\r\n"
#define CHUNK	   "a\r\n0123456789\r\n"
#define TEN_CHUNKS CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK
#define ASK_ALL	   ASK ASK ASK ASK ASK ASK ASK ASK

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

/* promise: S99 */
static void test_who_only_looks_makes_way(void **state)
{
	const struct http_limits limits = {.connections = 3};
	struct fixture fixture;
	struct peer owner, lookers[2], late[3];

	fixture_open(&fixture, &limits);
	peer_open(&owner, fixture.base, http_server_address(fixture.server));
	peer_send(&owner, "GET /echo?text=in HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect(&owner, fixture.base, "\r\n\r\nin");
	for (size_t i = 0; i < array_length(lookers); i++) {
		peer_open(&lookers[i], fixture.base, http_server_address(fixture.server));
		peer_send(&lookers[i],
			  "GET /look?text=on HTTP/1.1\r\n" TEST_HOST "X-Access: read\r\n\r\n");
		peer_expect(&lookers[i], fixture.base, "\r\n\r\non");
	}
	for (size_t i = 0; i < array_length(late); i++) {
		peer_open(&late[i], fixture.base, http_server_address(fixture.server));
		if (i < array_length(lookers)) {
			peer_expect_end(&lookers[i], fixture.base);
			peer_send(&late[i],
				  "GET /echo?text=room HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n");
			peer_expect(&late[i], fixture.base, "\r\n\r\nroom");
		} else {
			peer_expect(&late[i], fixture.base, "HTTP/1.1 503 ");
		}
	}
	for (size_t i = 0; i < array_length(late); i++)
		peer_close(&late[i]);
	for (size_t i = 0; i < array_length(lookers); i++)
		peer_close(&lookers[i]);
	peer_close(&owner);
	fixture_close(&fixture);
}

/* promise: S47 */
static void test_no_body_is_read_from_strangers(void **state)
{
	static const struct {
		const char *request, *status;
	} rows[] = {
		{"GET /open HTTP/1.1\r\n" TEST_HOST "Content-Length: 1\r\n\r\n", "413 "},
		{"GET /open HTTP/1.1\r\n" TEST_HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nx",
		 "413 "},
		{"POST /echo HTTP/1.1\r\n" TEST_HOST "Content-Length: 1000\r\n\r\n", "401 "},
		{"PUT /open HTTP/1.1\r\n" TEST_HOST "Content-Length: 101\r\n\r\n", "413 "},
		{"PUT /open HTTP/1.1\r\n" TEST_HOST "Transfer-Encoding: chunked\r\n\r\n" TEN_CHUNKS
		 "1\r\nx",
		 "413 "},
		{"PUT /open HTTP/1.1\r\n" TEST_HOST "Content-Length: 101\r\nX-Access: read\r\n\r\n",
		 ""},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct fixture *fixture = *state;
		struct peer peer;
		peer_open(&peer, fixture->base, http_server_address(fixture->server));
		peer_send(&peer, rows[i].request);
		if (*rows[i].status) {
			peer_expect(&peer, fixture->base, rows[i].status);
			peer_expect_end(&peer, fixture->base);
		} else {
			run_idle(fixture->base);
			assert_int_equal(peer.received.length, 0);
		}
		peer_close(&peer);
	}
}

/* promise: S47 */
static void test_strangers_hold_little_together(void **state)
{
	const struct http_limits limits = {.stranger_bytes = 100 * 1000, .body_bytes = 1 << 20};
	char half[4001], *body cleanup_free = mem_alloc(1 << 20);
	struct fixture fixture;
	struct peer small, strangers[50], known;
	size_t told = 0;

	memset(half, 'a', sizeof(half) - 1);
	half[sizeof(half) - 1] = '\0';
	fixture_open(&fixture, &limits);
	peer_open(&known, fixture.base, http_server_address(fixture.server));
	peer_send(&known,
		  "POST /echo HTTP/1.1\r\nContent-Length: 1048576\r\n" TEST_AUTHORIZATION "\r\n");
	peer_send_bytes(&known, body, (1 << 20) - 1);
	peer_open(&small, fixture.base, http_server_address(fixture.server));
	peer_send(&small, "GET /open?text=small HTTP/1.1\r\n" TEST_HOST);
	for (size_t i = 0; i < array_length(strangers); i++) {
		peer_open(&strangers[i], fixture.base, http_server_address(fixture.server));
		peer_send(&strangers[i], "GET /open HTTP/1.1\r\nA: ");
		peer_send(&strangers[i], half);
		run_idle(fixture.base);
	}
	/* 25 of them are too much: each one more makes one of them go, and neither of the others.
	 */
	for (size_t i = 0; i < array_length(strangers); i++) {
		told += strstr(str_text(&strangers[i].received), "HTTP/1.1 503 ") != NULL;
		assert_int_equal(strangers[i].received.length > 0, strangers[i].ended);
	}
	assert_in_range(told, 26, 27);
	assert_int_equal(http_server_connection_count(fixture.server), 2 + 50 - told);
	peer_send(&small, "\r\n");
	peer_expect(&small, fixture.base, "\r\n\r\nsmall");
	peer_send(&known, "x");
	peer_expect(&known, fixture.base, "200 OK");
	for (size_t i = 0; i < array_length(strangers); i++)
		peer_close(&strangers[i]);
	peer_close(&small);
	peer_close(&known);
	fixture_close(&fixture);
}

/* promise: S47 */
static void test_answers_that_strangers_do_not_read_count(void **state)
{
	const struct http_limits limits = {.stranger_bytes = 50 * 1000, .idle_ms = 1 << 30};
	struct fixture fixture;
	struct peer peer;

	fixture_open(&fixture, &limits);
	peer_open(&peer, fixture.base, http_server_address(fixture.server));
	event_del(&peer.event);
	while (http_server_connection_count(fixture.server) == 0)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	while (http_server_connection_count(fixture.server) > 0) {
		send(peer.fd, ASK_ALL, strlen(ASK_ALL), MSG_DONTWAIT | MSG_NOSIGNAL);
		event_base_loop(fixture.base, EVLOOP_NONBLOCK);
	}
	peer_close(&peer);
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
		cmocka_unit_test(test_who_only_looks_makes_way),
		cmocka_unit_test_setup_teardown(test_no_body_is_read_from_strangers, fixture_set_up,
						fixture_tear_down),
		cmocka_unit_test(test_strangers_hold_little_together),
		cmocka_unit_test(test_answers_that_strangers_do_not_read_count),
	};

	raise_file_limit();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
