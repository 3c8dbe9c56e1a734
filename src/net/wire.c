#include "net/wire.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/tls.h"

enum {
	READ_AT_ONCE = 32 * 1024,
	SEND_PARTS = 16,
};

/* TLS has ended, in peace or not: the socket may have nothing more to say about it. */
static bool is_over(const struct wire *wire)
{
	return wire->tls && (wire->flaw.message || tls_has_ended(wire->tls));
}

static bool is_full(const struct wire *wire)
{
	return evbuffer_get_length(wire->input) >= wire->input_cap;
}

/* What the socket is to take next. */
static struct evbuffer *to_send(struct wire *wire)
{
	return wire->tls ? tls_seal(wire->tls, wire->output) : wire->output;
}

/* Bytes sent; 0: the socket takes none now; -1 and errno. */
static ssize_t send_some(struct wire *wire, struct evbuffer *bytes)
{
	struct evbuffer_iovec parts[SEND_PARTS];
	int count = evbuffer_peek(bytes, -1, NULL, parts, SEND_PARTS);
	struct msghdr message = {.msg_iov = parts};

	message.msg_iovlen = (size_t)(count > SEND_PARTS ? SEND_PARTS : count);
	ssize_t sent = sendmsg(wire->fd, &message, MSG_NOSIGNAL);
	if (sent > 0)
		evbuffer_drain(bytes, (size_t)sent);
	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return sent;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* What ends without TLS's own word for it may have been cut off by anybody. */
static int end_of(struct wire *wire)
{
	if (wire->tls && !is_over(wire))
		err_set(&wire->flaw, ERR_UNREACHABLE, "the connection was %s",
			tls_is_open(wire->tls) ? "cut off" : "closed before TLS was agreed on");
	return wire->flaw.message ? EPROTO : wire->error;
}

/* False: the connection is of no use any more, which the peer is told. */
static bool take_sealed(struct wire *wire, const char *bytes, size_t length)
{
	size_t before = evbuffer_get_length(wire->input);
	int result = tls_take(wire->tls, bytes, length, wire->input, &wire->flaw);
	struct evbuffer *answer = to_send(wire);

	if (result < 0) {
		if (evbuffer_get_length(answer) > 0)
			send_some(wire, answer);
		wire->on_end(wire->data, EPROTO);
		return false;
	}
	if (evbuffer_get_length(answer) > 0)
		event_active(&wire->write_event, EV_WRITE, 0);
	if (is_over(wire)) /* which is told after what came before it */
		event_active(&wire->read_event, EV_READ, 0);
	return evbuffer_get_length(wire->input) > before;
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	struct wire *wire = data;
	/* Read here and copied: a buffer grown for the read would stay large on idle connections.
	 */
	char bytes[READ_AT_ONCE];

	if (is_full(wire)) {
		event_del(&wire->read_event);
		if (wire->error)
			wire->on_end(wire->data, wire->error);
		return;
	}
	if (is_over(wire)) {
		wire->on_end(wire->data, end_of(wire));
		return;
	}
	ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
	if (got > 0) {
		if (!wire->tls)
			evbuffer_add(wire->input, bytes, (size_t)got);
		else if (!take_sealed(wire, bytes, (size_t)got))
			return;
		wire->on_input(wire->data);
	} else if (got == 0) {
		wire->on_end(wire->data, end_of(wire));
	} else if (wire->error) {
		wire->on_end(wire->data, wire->error);
	} else if (errno != EAGAIN && errno != EINTR) {
		wire->error = errno; /* which the kernel tells once, and the user may want twice */
		wire->on_end(wire->data, wire->error);
	}
}

/* ---- writing ------------------------------------------------------------------------------ */

static void on_writable(evutil_socket_t fd, short what, void *data)
{
	struct wire *wire = data;
	struct evbuffer *bytes = to_send(wire);

	if (!wire->error && evbuffer_get_length(bytes) > 0 && send_some(wire, bytes) < 0)
		wire->error = errno;
	if (wire->error) {
		/* The peer may have said why it hung up, before it did. */
		if (event_pending(&wire->read_event, EV_READ, NULL))
			event_active(&wire->read_event, EV_READ, 0);
		else
			wire->on_end(wire->data, wire->error);
		return;
	}
	if (evbuffer_get_length(to_send(wire)) > 0)
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
	if (wire->tls && !wire->error)
		send_some(wire, tls_close(wire->tls));
	event_del(&wire->read_event);
	event_del(&wire->write_event);
	evbuffer_free(wire->input);
	evbuffer_free(wire->output);
	tls_destroy(wire->tls);
	err_finish(&wire->flaw);
	close(wire->fd);
}

void wire_flush(struct wire *wire)
{
	struct evbuffer *bytes;

	if (event_pending(&wire->write_event, EV_WRITE, NULL))
		return;
	while (evbuffer_get_length(bytes = to_send(wire)) > 0) {
		ssize_t sent = send_some(wire, bytes);
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

void wire_end_output(struct wire *wire)
{
	if (wire->tls)
		send_some(wire, tls_close(wire->tls));
	shutdown(wire->fd, SHUT_WR);
}

bool wire_is_sending(const struct wire *wire)
{
	return evbuffer_get_length(wire->output) > 0 || (wire->tls && tls_is_sending(wire->tls));
}

void wire_err(const struct wire *wire, int error, struct err *err)
{
	if (wire->flaw.message)
		err_set(err, wire->flaw.kind, "%s", wire->flaw.message);
	else
		err_set(err, ERR_UNREACHABLE, "%s",
			error ? strerror(error) : "the connection was closed");
}

void wire_resume(struct wire *wire)
{
	if (!event_pending(&wire->read_event, EV_READ, NULL) && !is_full(wire))
		wire_read_on(wire);
}

void wire_read_on(struct wire *wire)
{
	event_add(&wire->read_event, NULL);
	if (is_over(wire))
		event_active(&wire->read_event, EV_READ, 0);
}

void wire_stop_reading(struct wire *wire)
{
	/* A full input is never resumed. */
	wire->input_cap = 0;
	event_del(&wire->read_event);
}
