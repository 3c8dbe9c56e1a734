/* What http_server.h promises of callers that may do less than the token's holder, and of handlers
 * that take the connection over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "peer.h"
#include "server.h"

#define READER TEST_HOST "X-Access: read\r\n"

static void open_peer(struct peer *peer, struct fixture *fixture, const char *request)
{
	peer_open(peer, fixture->base, http_server_address(fixture->server));
	peer_send(peer, request);
}

static void ask(struct fixture *fixture, const char *request, const char *status, const char *rest)
{
	struct peer peer;

	open_peer(&peer, fixture, request);
	peer_expect(&peer, fixture->base, status);
	peer_expect(&peer, fixture->base, rest);
	peer_close(&peer);
}

static void test_readers_read(void **state)
{
	static const struct {
		const char *request, *status, *rest;
	} rows[] = {
		{"GET /look?text=a HTTP/1.1\r\n" READER "\r\n", "200 OK", "\r\n\r\na"},
		{"GET /look?text=a HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n", "200 OK", "\r\n\r\na"},
		{"GET /look HTTP/1.1\r\n" TEST_HOST "\r\n", "401 Unauthorized", "unauthorized"},
		{"GET /look HTTP/1.1\r\n" TEST_HOST "X-Access: all\r\n\r\n", "401 Unauthorized",
		 "unauthorized"},
		/* What they may not do, and what is not there. */
		{"GET /echo HTTP/1.1\r\n" READER "\r\n", "401 Unauthorized", "unauthorized"},
		{"POST /echo HTTP/1.1\r\nContent-Length: 0\r\n" READER "\r\n", "401 Unauthorized",
		 "unauthorized"},
		{"GET /nowhere HTTP/1.1\r\n" READER "\r\n", "404 Not Found", "not-found"},
		{"DELETE /look HTTP/1.1\r\n" READER "\r\n", "405 Method Not Allowed", "Allow: GET"},
		/* Another's scheme is not ours to judge. */
		{"GET /look?text=b HTTP/1.1\r\nAuthorization: token x\r\n" READER "\r\n", "200 OK",
		 "\r\n\r\nb"},
	};

	for (size_t i = 0; i < array_length(rows); i++)
		ask(*state, rows[i].request, rows[i].status, rows[i].rest);
}

/* "node-7:PORT" with the port of the fixture's server in place of PORT. The caller frees. */
static char *host_of(const struct fixture *fixture, const char *text)
{
	const char *address = http_server_address(fixture->server);
	const char *port = strstr(text, ":PORT");

	return port ? mem_printf("%.*s%s%s", (int)(port - text), text, strchr(address, ':'),
				 port + strlen(":PORT"))
		    : mem_strdup(text);
}

static void ask_host(struct fixture *fixture, const char *host, const char *status,
		     const char *rest)
{
	char *named cleanup_free = host_of(fixture, host);
	char *request cleanup_free = mem_printf(
		"GET /look?text=a HTTP/1.1\r\nHost: %s\r\nX-Access: read\r\n\r\n", named);

	ask(fixture, request, status, rest);
}

/* promise: S50 */
static void test_names_of_the_server(void **state)
{
	char own[HOST_NAME_MAX + 1] = "", port[HOST_NAME_MAX + 8];
	/* Another port only where a tunnel may be, and where the server was told of the name. */
	const char *const names[] = {"localhost",
				     "LOCALHOST:4000",
				     "localhost:PORT",
				     "127.0.0.1",
				     "127.0.0.1:4000",
				     "127.0.0.1:PORT",
				     "[::1]:4000",
				     "[::1]:PORT",
				     "10.1.2.3",
				     "10.1.2.3:PORT",
				     "[fe80::1]",
				     "[fe80::1]:PORT",
				     "known.example:80",
				     "known.example:PORT",
				     "known.example",
				     "own.example",
				     "OWN.example:PORT",
				     own,
				     port};

	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	snprintf(port, sizeof(port), "%.*s:PORT", (int)strcspn(own, "."), own);
	for (size_t i = 0; i < array_length(names); i++)
		ask_host(*state, names[i], "200 OK", "\r\n\r\na");
	ask(*state, "GET /open?text=old HTTP/1.0\r\n\r\n", "200 OK", "\r\n\r\nold");
}

/* promise: S50 */
static void test_other_names(void **state)
{
	char own[HOST_NAME_MAX + 1] = "", other_port[HOST_NAME_MAX + 8];
	const char *const others[] = {
		"", "evil.example", "evil.example:4000", "evil.example:PORT",
		"localhost.evil.example", "127.0.0.1.evil.example", "[evil.example]", ":4000",
		":PORT",
		/* Another server's port. */
		"10.1.2.3:80", "[fe80::1]:80", "own.example:80", other_port,
		/* Neither a host nor a host and a port. */
		"127.0.0.1:PORT@evil.example", "127.0.0.1:1@evil", "127.0.0.1@evil.example",
		"evil.example@127.0.0.1:PORT", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1",
		"127.0.0.1:65536", "127.0.0.1:80:80", "127.0.0.1:80/", "127.0.0.1/",
		"127.0.0.1,evil.example", "127.0.0.1 evil.example", "[::1]evil.example",
		"[::1]:", "[::1", "::1", "[127.0.0.1]", "http://127.0.0.1:PORT", "known.example:x",
		"localhost:80@evil", "localhost/"};

	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	snprintf(other_port, sizeof(other_port), "%s:4000", own);
	for (size_t i = 0; i < array_length(others); i++) {
		char *host cleanup_free = host_of(*state, others[i]);
		char *open cleanup_free =
			mem_printf("GET /open HTTP/1.1\r\nHost: %s\r\n\r\n", host);
		char *token cleanup_free =
			mem_printf("GET /echo?text=b HTTP/1.1\r\nHost: %s\r\n"
				   "Authorization: Bearer " TEST_TOKEN "\r\n\r\n",
				   host);
		ask_host(*state, others[i], "400 Bad Request", "bad-host");
		ask(*state, open, "400 Bad Request", "bad-host");
		ask(*state, token, "200 OK", "\r\n\r\nb");
	}
}

static void test_connection_is_taken_over(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	/* The body is the handler's, whatever its size; so is all that follows. */
	open_peer(&peer, fixture,
		  "PATCH /raw HTTP/1.1\r\nContent-Length: 9999999\r\n" READER "\r\nabc");
	peer_expect(&peer, fixture->base, "abc");
	peer_send(&peer, "GET / HTTP/1.1\r\n" TEST_HOST "\r\n");
	peer_expect(&peer, fixture->base, "abcGET / HTTP/1");
	peer_expect_end(&peer, fixture->base);
	assert_string_equal(str_text(&peer.received), "abcGET / HTTP/1.1\r\n" TEST_HOST "\r\n");
	assert_int_equal(fixture->closed_count, 0);
	peer_close(&peer);
}

static void test_client_waits_for_a_word(void **state)
{
	ask(*state,
	    "POST /raw HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n" READER "\r\n",
	    "HTTP/1.1 100 Continue\r\n\r\n", "");
}

static void test_handler_may_answer_instead(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture,
		  "PUT /raw?refuse=1 HTTP/1.1\r\nContent-Length: 4\r\n" READER "\r\nabcd"
		  "GET /open?text=next HTTP/1.1\r\n" TEST_HOST "\r\n");
	peer_expect(&peer, fixture->base, "502 Bad Gateway");
	peer_expect_end(&peer, fixture->base);
	assert_non_null(strstr(peer.received.text, "Connection: close\r\n"));
	/* A body that nobody took is no request. */
	assert_null(strstr(peer.received.text, "next"));
	peer_close(&peer);
}

static void test_taken_over_client_goes_away(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	open_peer(&peer, fixture, "GET /raw HTTP/1.1\r\n" READER "\r\nabc");
	peer_expect(&peer, fixture->base, "abc");
	peer_close(&peer);
	run_until(fixture->base, &fixture->has_closed);
	assert_int_equal(http_server_connection_count(fixture->server), 0);
}

#define ASKED TEST_HOST "X-Access: ask\r\n"

static void ask_later(struct fixture *fixture, struct peer *peer, const char *request)
{
	size_t asked = fixture->asked;

	open_peer(peer, fixture, request);
	while (fixture->asked == asked)
		event_base_loop(fixture->base, EVLOOP_ONCE);
	run_idle(fixture->base);
	assert_int_equal(peer->received.length, 0);
}

static void test_access_may_be_known_later(void **state)
{
	struct fixture *fixture = *state;
	struct peer reader, stranger;

	ask_later(fixture, &reader,
		  "GET /look?text=a HTTP/1.1\r\n" ASKED "\r\n"
		  "GET /look?text=b HTTP/1.1\r\n" READER "\r\n");
	http_server_admit_again(fixture->server);
	run_idle(fixture->base);
	assert_int_equal(fixture->asked, 2);
	assert_int_equal(reader.received.length, 0);
	fixture->access = "read";
	http_server_admit_again(fixture->server);
	peer_expect(&reader, fixture->base, "\r\n\r\na");
	peer_expect(&reader, fixture->base, "\r\n\r\nb");
	fixture->access = NULL;
	ask_later(fixture, &stranger, "GET /look?text=a HTTP/1.1\r\n" ASKED "\r\n");
	fixture->access = "none";
	http_server_admit_again(fixture->server);
	peer_expect(&stranger, fixture->base, "401 Unauthorized");
	peer_close(&stranger);
	peer_close(&reader);
}

static void test_what_is_for_everybody_does_not_wait(void **state)
{
	ask(*state, "GET /open?text=a HTTP/1.1\r\n" ASKED "\r\n", "200 OK", "\r\n\r\na");
}

static void test_who_waits_may_leave(void **state)
{
	struct fixture *fixture = *state;
	struct peer peer;

	ask_later(fixture, &peer, "PUT /raw HTTP/1.1\r\nContent-Length: 3\r\n" ASKED "\r\nabc");
	peer_close(&peer);
	while (http_server_connection_count(fixture->server) > 0)
		event_base_loop(fixture->base, EVLOOP_ONCE);
	http_server_admit_again(fixture->server);
	run_idle(fixture->base);
	assert_int_equal(fixture->asked, 1);
}

#define on_server(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_server(test_readers_read),
		on_server(test_names_of_the_server),
		on_server(test_other_names),
		on_server(test_connection_is_taken_over),
		on_server(test_client_waits_for_a_word),
		on_server(test_handler_may_answer_instead),
		on_server(test_taken_over_client_goes_away),
		on_server(test_access_may_be_known_later),
		on_server(test_what_is_for_everybody_does_not_wait),
		on_server(test_who_waits_may_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
