#include "peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <event2/util.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/address.h"

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	struct peer *peer = data;
	char bytes[65536];
	ssize_t got = recv(fd, bytes, sizeof(bytes), 0);

	if (got > 0) {
		str_append_bytes(&peer->received, bytes, (size_t)got);
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		peer->ended = true;
		event_del(&peer->event);
	}
}

void peer_take(struct peer *peer, struct event_base *base, int fd)
{
	memset(peer, 0, sizeof(*peer));
	peer->fd = fd;
	evutil_make_socket_nonblocking(fd);
	event_assign(&peer->event, base, fd, EV_READ | EV_PERSIST, on_readable, peer);
	event_add(&peer->event, NULL);
}

void peer_open(struct peer *peer, struct event_base *base, const char *address)
{
	struct net_address to;

	assert_int_equal(net_address_parse(address, &to, NULL), 0);
	int fd = socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to.storage, to.length), 0);
	peer_take(peer, base, fd);
}

void peer_close(struct peer *peer)
{
	if (peer->fd < 0)
		return;
	event_del(&peer->event);
	close(peer->fd);
	peer->fd = -1;
	str_finish(&peer->received);
}

void peer_send(struct peer *peer, const char *text)
{
	peer_send_bytes(peer, text, strlen(text));
}

void peer_send_bytes(struct peer *peer, const void *bytes, size_t length)
{
	struct event_base *base = event_get_base(&peer->event);
	const char *rest = bytes;

	while (length > 0) {
		ssize_t sent = send(peer->fd, rest, length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN) {
			event_base_loop(base, EVLOOP_ONCE);
			continue;
		}
		if (sent < 0)
			return;
		rest += sent;
		length -= (size_t)sent;
	}
}

void peer_expect(struct peer *peer, struct event_base *base, const char *text)
{
	while (!strstr(str_text(&peer->received), text)) {
		if (peer->ended)
			fail_msg("ended without \"%s\" after: %s", text, str_text(&peer->received));
		event_base_loop(base, EVLOOP_ONCE);
	}
}

void peer_expect_end(struct peer *peer, struct event_base *base)
{
	run_until(base, &peer->ended);
}

void peer_forget(struct peer *peer)
{
	str_truncate(&peer->received, 0);
}

int peer_listen(char **address)
{
	struct net_address any;

	assert_int_equal(net_address_parse("127.0.0.1:0", &any, NULL), 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any.storage, any.length), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&any.storage, &any.length), 0);
	*address = net_address_text(&any);
	return fd;
}

void run_until(struct event_base *base, const bool *flag)
{
	while (!*flag)
		event_base_loop(base, EVLOOP_ONCE);
}

void run_idle(struct event_base *base)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

void raise_file_limit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
