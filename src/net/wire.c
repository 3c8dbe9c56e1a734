#include "net/wire.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"

enum {
	READ_AT_ONCE = 32 * 1024,
	SEND_PARTS = 16,
};

static bool is_full(const struct wire *wire)
{
	return evbuffer_get_length(wire->input) >= wire->input_cap;
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	struct wire *wire = data;
	/* Read here and copied: a buffer grown for the read would stay large on idle connections.
	 */
	char bytes[READ_AT_ONCE];

	if (is_full(wire)) {
		event_del(&wire->read_event);
		return;
	}
	ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
	if (got > 0) {
		evbuffer_add(wire->input, bytes, (size_t)got);
		wire->on_input(wire->data);
	} else if (got == 0) {
		wire->on_end(wire->data, wire->error);
	} else if (errno != EAGAIN && errno != EINTR) {
		wire->on_end(wire->data, errno);
	}
}

/* Bytes sent; 0: the socket takes none now; -1 and errno. */
static ssize_t send_some(struct wire *wire)
{
	struct evbuffer_iovec parts[SEND_PARTS];
	int count = evbuffer_peek(wire->output, -1, NULL, parts, SEND_PARTS);
	struct msghdr message = {.msg_iov = parts};

	message.msg_iovlen = (size_t)(count > SEND_PARTS ? SEND_PARTS : count);
	ssize_t sent = sendmsg(wire->fd, &message, MSG_NOSIGNAL);
	if (sent > 0)
		evbuffer_drain(wire->output, (size_t)sent);
	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return sent;
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
	struct wire *wire = data;

	if (!wire->error && evbuffer_get_length(wire->output) > 0 && send_some(wire) < 0)
		wire->error = errno;
	if (wire->error) {
		wire->on_end(wire->data, wire->error);
		return;
	}
	if (evbuffer_get_length(wire->output) > 0)
		event_add(&wire->write_event, NULL);
	wire->on_output(wire->data);
}

/* Small messages must not wait for the acknowledgement of the last, and a peer that vanished
 * without a word must be noticed. */
static void tune(int fd)
{
	const int on = 1, idle_s = 15, interval_s = 5, probes = 3;

	evutil_make_socket_nonblocking(fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

void wire_init(struct wire *wire, struct event_base *base, int fd)
{
	tune(fd);
	wire->fd = fd;
	wire->input = evbuffer_new();
	wire->output = evbuffer_new();
	event_assign(&wire->read_event, base, fd, EV_READ | EV_PERSIST, on_readable, wire);
	event_assign(&wire->write_event, base, fd, EV_WRITE, on_writable, wire);
	event_add(&wire->read_event, NULL);
}

void wire_finish(struct wire *wire)
{
	event_del(&wire->read_event);
	event_del(&wire->write_event);
	evbuffer_free(wire->input);
	evbuffer_free(wire->output);
	close(wire->fd);
}

void wire_flush(struct wire *wire)
{
	if (evbuffer_get_length(wire->output) == 0 ||
	    event_pending(&wire->write_event, EV_WRITE, NULL))
		return;
	while (evbuffer_get_length(wire->output) > 0) {
		ssize_t sent = send_some(wire);
		if (sent > 0)
			continue;
		event_add(&wire->write_event, NULL);
		if (sent < 0) {
			/* The kernel tells an error once: it is kept for the loop to tell. */
			wire->error = errno;
			event_active(&wire->write_event, EV_WRITE, 0);
		}
		return;
	}
}

void wire_resume(struct wire *wire)
{
	if (!event_pending(&wire->read_event, EV_READ, NULL) && !is_full(wire))
		event_add(&wire->read_event, NULL);
}

void wire_stop_reading(struct wire *wire)
{
	/* A full input is never resumed. */
	wire->input_cap = 0;
	event_del(&wire->read_event);
}
