/* A port of this machine that leads elsewhere (tunnel.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/local_port.h"
#include "net/socket_owner.h"
#include "net/tunnel.h"
#include "peer.h"
#include "server.h"

#define ASK "GET /echo?text=hello HTTP/1.1\r\n" TEST_AUTHORIZATION "\r\n"

static struct tunnel *dig(struct fixture *fixture, const char *secret, uid_t user)
{
	struct tunnel *tunnel = tunnel_create(
		&(struct tunnel_options){.base = fixture->base,
					 .listen = "127.0.0.1:0",
					 .target = http_server_address(fixture->server),
					 .secret = secret,
					 .user = user},
		NULL);

	assert_non_null(tunnel);
	return tunnel;
}

static void test_leads_through_tls(void **state)
{
	struct fixture fixture;
	struct peer peer;

	fixture_open_sealed(&fixture, NULL);
	struct tunnel *tunnel = dig(&fixture, TEST_TOKEN, geteuid());
	peer_open(&peer, fixture.base, tunnel_address(tunnel));
	peer_send(&peer, ASK);
	peer_expect(&peer, fixture.base, "\r\n\r\nhello");
	peer_forget(&peer);
	peer_send(&peer, "GET /big HTTP/1.1\r\nConnection: close\r\n" TEST_AUTHORIZATION "\r\n");
	peer_expect_end(&peer, fixture.base);
	assert_true(peer.received.length > 8 << 20);
	peer_close(&peer);
	while (http_server_connection_count(fixture.server) > 0)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	tunnel_destroy(tunnel);
	fixture_close(&fixture);
}

static void keep_line(void *data, const char *text)
{
	str_append_format(data, "%s\n", text);
}

static void test_ends_where_the_target_does_not_know_the_secret(void **state)
{
	static const char words[] = "does not prove that it knows the job's token";
	struct str lines cleanup_str = {0};
	struct fixture fixture;
	struct peer peer;

	fixture_open_sealed(&fixture, NULL);
	struct tunnel *tunnel = dig(&fixture, "another", geteuid());
	log_divert(keep_line, &lines);
	for (int i = 0; i < 2; i++) {
		peer_open(&peer, fixture.base, tunnel_address(tunnel));
		peer_send(&peer, ASK);
		peer_expect_end(&peer, fixture.base);
		assert_int_equal(peer.received.length, 0);
		assert_int_equal(fixture.handled, 0);
		peer_close(&peer);
	}
	log_divert(NULL, NULL);
	const char *told = strstr(str_text(&lines), words);
	assert_non_null(told);
	assert_null(strstr(told + 1, words)); /* once */
	tunnel_destroy(tunnel);
	fixture_close(&fixture);
}

/* The target accepts, and says nothing. */
static void test_silent_target_keeps_no_passage(void **state)
{
	struct fixture fixture;
	struct peer peer, silent;
	char *address cleanup_free = NULL;
	int listener = peer_listen(&address);

	fixture_open(&fixture, NULL);
	struct tunnel_options options = {.base = fixture.base,
					 .listen = "127.0.0.1:0",
					 .target = address,
					 .secret = TEST_TOKEN,
					 .user = geteuid(),
					 .dial_ms = 50};
	struct tunnel *tunnel = tunnel_create(&options, NULL);
	peer_open(&peer, fixture.base, tunnel_address(tunnel));
	peer_send(&peer, ASK);
	peer_expect_end(&peer, fixture.base);
	peer_close(&peer);
	tunnel_destroy(tunnel);
	close(accept(listener, NULL, NULL));
	/* A guest that goes takes its passage along: nobody waits an hour for it. */
	options.dial_ms = 3600 * 1000;
	tunnel = tunnel_create(&options, NULL);
	peer_open(&peer, fixture.base, tunnel_address(tunnel));
	peer_send(&peer, ASK);
	run_idle(fixture.base);
	peer_take(&silent, fixture.base, accept(listener, NULL, NULL));
	peer_close(&peer);
	peer_expect_end(&silent, fixture.base);
	peer_close(&silent);
	tunnel_destroy(tunnel);
	close(listener);
	fixture_close(&fixture);
}

static void test_lets_in_nobody_but_its_user(void **state)
{
	const uid_t another = 4711;
	struct fixture fixture;
	struct peer peer;

	if (geteuid() == 0)
		assert_int_equal(setegid(another) || seteuid(another), 0);
	fixture_open(&fixture, NULL);
	struct tunnel *tunnel = dig(&fixture, NULL, geteuid() + 1);
	peer_open(&peer, fixture.base, tunnel_address(tunnel));
	peer_send(&peer, ASK);
	peer_expect_end(&peer, fixture.base);
	assert_int_equal(peer.received.length, 0);
	assert_int_equal(fixture.handled, 0);
	peer_close(&peer);
	tunnel_destroy(tunnel);
	tunnel = dig(&fixture, NULL, SOCKET_OWNER_ANY);
	peer_open(&peer, fixture.base, tunnel_address(tunnel));
	peer_send(&peer, ASK);
	peer_expect(&peer, fixture.base, "\r\n\r\nhello");
	peer_close(&peer);
	tunnel_destroy(tunnel);
	fixture_close(&fixture);
	if (getuid() == 0)
		assert_int_equal(seteuid(0) || setegid(0), 0);
}

static void count(void *data, int fd)
{
	++*(int *)data;
	close(fd);
}

/* The kernel has forgotten whose it was. */
static void test_lets_in_nobody_who_has_closed(void **state)
{
	struct event_base *base = event_base_new();
	struct str lines cleanup_str = {0};
	struct peer peer;

	log_divert(keep_line, &lines);
	for (int lets_unknown = 0; lets_unknown < 2; lets_unknown++) {
		int accepted = 0;
		struct local_port *port =
			local_port_open(&(struct local_port_options){.base = base,
								     .address = "127.0.0.1:0",
								     .user = geteuid(),
								     .lets_unknown = lets_unknown,
								     .accepted = count,
								     .data = &accepted},
					NULL);
		peer_open(&peer, base, local_port_address(port));
		peer_send(&peer, ASK);
		peer_close(&peer);
		run_idle(base);
		assert_int_equal(accepted, lets_unknown);
		assert_non_null(strstr(lines.text, "its user is not known: nobody has it"));
		peer_open(&peer, base, local_port_address(port));
		run_idle(base);
		assert_int_equal(accepted, lets_unknown + 1);
		peer_close(&peer);
		local_port_close(port);
	}
	log_divert(NULL, NULL);
	event_base_free(base);
}

/* It shows no token: it is one of those who make way. */
/* promise: S92 */
static void test_is_a_stranger_without_token(void **state)
{
	enum { GUESTS = 3 };
	struct fixture fixture;
	struct peer guests[GUESTS], owner;

	fixture_open_sealed(&fixture, &(struct http_limits){.connections = GUESTS});
	struct tunnel *tunnel = dig(&fixture, TEST_TOKEN, geteuid());
	for (size_t i = 0; i < GUESTS; i++) {
		peer_open(&guests[i], fixture.base, tunnel_address(tunnel));
		peer_send(&guests[i], "GET /open?text=hello HTTP/1.1\r\n" TEST_HOST "\r\n");
		peer_expect(&guests[i], fixture.base, "\r\n\r\nhello");
	}
	peer_open(&owner, fixture.base, tunnel_address(tunnel));
	peer_send(&owner, ASK);
	peer_expect(&owner, fixture.base, "\r\n\r\nhello");
	peer_expect_end(&guests[0], fixture.base);
	assert_false(guests[1].ended);
	for (size_t i = 0; i < GUESTS; i++)
		peer_close(&guests[i]);
	peer_close(&owner);
	tunnel_destroy(tunnel);
	fixture_close(&fixture);
}

static void test_moves_to_another_target(void **state)
{
	struct fixture first, second;
	struct peer peer;

	fixture_open_sealed(&first, NULL);
	fixture_open_sealed(&second, NULL);
	struct tunnel *tunnel = dig(&first, TEST_TOKEN, geteuid());
	tunnel_move(tunnel, http_server_address(second.server));
	peer_open(&peer, first.base, tunnel_address(tunnel));
	peer_send(&peer, ASK);
	while (!strstr(str_text(&peer.received), "hello")) {
		event_base_loop(first.base, EVLOOP_NONBLOCK);
		event_base_loop(second.base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(first.handled, 0);
	assert_int_equal(second.handled, 1);
	peer_close(&peer);
	tunnel_destroy(tunnel);
	fixture_close(&first);
	fixture_close(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leads_through_tls),
		cmocka_unit_test(test_ends_where_the_target_does_not_know_the_secret),
		cmocka_unit_test(test_silent_target_keeps_no_passage),
		cmocka_unit_test(test_lets_in_nobody_but_its_user),
		cmocka_unit_test(test_lets_in_nobody_who_has_closed),
		cmocka_unit_test(test_is_a_stranger_without_token),
		cmocka_unit_test(test_moves_to_another_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
