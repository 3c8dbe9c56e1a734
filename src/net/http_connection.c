#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"
#include "net/http_internal.h"
#include "net/tls.h"

enum {
	INPUT_CAP = 64 * 1024,
	OUTPUT_CAP = 256 * 1024, /* more unread answers than this, and no request is looked at */
	LINGER_MS = 2000,
	STREAM_FILLS = 4, /* of a stream at one turn */
};

/* -1: none */
static void set_deadline(struct http_connection *connection, int64_t ms)
{
	if (ms < 0)
		event_del(&connection->timer);
	else
		timer_start(&connection->timer, ms);
}

void http_connection_wake(struct http_connection *connection)
{
	event_active(&connection->wake, EV_TIMEOUT, 0);
}

/* By a timer: an event that makes itself active comes again before the kernel is asked what else
 * there is. */
void http_connection_yield(struct http_connection *connection)
{
	struct http_server *server = connection->server;

	if (connection->is_queued)
		return;
	connection->is_queued = true;
	TAILQ_INSERT_TAIL(&server->streams, connection, turn_link);
	timer_start(&server->turn, 0);
}

static void leave_queue(struct http_connection *connection)
{
	if (connection->is_queued)
		TAILQ_REMOVE(&connection->server->streams, connection, turn_link);
	connection->is_queued = false;
}

/* A request that cannot be parsed has no head: the answer closes the connection. */
static void refuse_head(struct http_connection *connection, int status, const char *code,
			const char *message)
{
	connection->phase = PHASE_REQUEST;
	http_answer_refusal(connection->request, status, code, message);
}

/* Lets a client send its body that waits for a word. */
static void expect_body(struct http_connection *connection)
{
	if (!connection->request->head.expects_continue ||
	    evbuffer_get_length(connection->wire.input) > 0)
		return;
	evbuffer_add_printf(connection->wire.output, "HTTP/1.1 100 Continue\r\n\r\n");
	wire_flush(&connection->wire);
}

static void begin_body(struct http_connection *connection)
{
	connection->phase = PHASE_BODY;
	connection->chunks = (struct http_chunks){0};
	expect_body(connection);
}

static void dispatch(struct http_connection *connection)
{
	struct http_server *server = connection->server;
	struct http_request *request = connection->request;

	connection->phase = PHASE_REQUEST;
	set_deadline(connection, -1);
	if (server->draining) {
		http_answer_refusal(request, 503, "busy", "the job is ending");
		return;
	}
	request->route->handle(request->route->data ? request->route->data : server->config.data,
			       request);
	if (connection->request && !connection->request->is_held)
		BUG("%s was neither answered nor held", request->route->pattern);
}

static void admit(struct http_connection *connection)
{
	struct http_request *request = connection->request;

	connection->phase = PHASE_REQUEST;
	int result = http_request_admit(request);
	if (result > 0) {
		connection->phase = PHASE_ADMIT;
		connection->asks_again = false;
		set_deadline(connection, connection->server->config.limits.idle_ms);
	} else if (result == 0 && request->route->raw) {
		connection->close_after = true; /* who knows how much of the body is taken */
		dispatch(connection);
	} else if (result == 0) {
		begin_body(connection);
	}
}

/* True: there is more to do. */
static bool admit_again(struct http_connection *connection)
{
	if (!connection->asks_again)
		return false;
	admit(connection);
	return connection->phase != PHASE_ADMIT;
}

static void begin_request(struct http_connection *connection, const char *bytes, size_t length)
{
	struct err err cleanup_err = {0};
	struct http_request *request = mem_alloc(sizeof(*request));

	request->connection = connection;
	connection->request = request;
	connection->looked = 0;
	if (!bytes) {
		refuse_head(connection, 431, "too-large", "the headers are too large");
		return;
	}
	if (http_head_parse_request(&request->head, bytes, length, &err) < 0) {
		refuse_head(connection, 400, "bad-request", err_message(&err));
		return;
	}
	evbuffer_drain(connection->wire.input, length);
	request->head_bytes = length;
	admit(connection);
}

/* An empty line in front of a request is what careless clients send behind a body. */
static void skip_empty_line(struct evbuffer *input)
{
	char start[2];

	if (evbuffer_copyout(input, start, 2) == 2 && memcmp(start, "\r\n", 2) == 0)
		evbuffer_drain(input, 2);
}

static bool take_head(struct http_connection *connection)
{
	struct evbuffer *input = connection->wire.input;
	size_t cap = connection->server->config.limits.head_bytes;

	if (connection->close_after || evbuffer_get_length(connection->wire.output) > OUTPUT_CAP)
		return false;
	if (connection->looked == 0)
		skip_empty_line(input);
	size_t have = evbuffer_get_length(input);
	size_t some = have < cap ? have : cap;
	if (some == 0)
		return false;
	const char *bytes = (const char *)evbuffer_pullup(input, (ssize_t)some);
	size_t length = http_head_length(bytes, some, connection->looked);
	if (length == 0 && some < cap) {
		connection->looked = some;
		return false;
	}
	begin_request(connection, length ? bytes : NULL, length);
	return true;
}

/* Moves up to `count` bytes of the input into the body. */
static void take_plain(struct http_connection *connection, size_t count)
{
	struct evbuffer *input = connection->wire.input;
	struct evbuffer_iovec part;

	while (count > 0 && evbuffer_peek(input, -1, NULL, &part, 1) > 0) {
		size_t some = part.iov_len < count ? part.iov_len : count;
		str_append_bytes(&connection->request->body, part.iov_base, some);
		evbuffer_drain(input, some);
		count -= some;
	}
}

/* -1: malformed or too large, and refused. */
static int take_chunked(struct http_connection *connection)
{
	struct evbuffer *input = connection->wire.input;
	struct str *body = &connection->request->body;
	size_t data_length;
	struct evbuffer_iovec part;
	const char *data;

	while (connection->chunks.state != CHUNKS_DONE &&
	       evbuffer_peek(input, -1, NULL, &part, 1) > 0) {
		ssize_t used = http_chunks_next(&connection->chunks, part.iov_base, part.iov_len,
						&data, &data_length);
		if (used < 0) {
			refuse_head(connection, 400, "bad-request", "the body is badly chunked");
			return -1;
		}
		if (body->length + data_length > connection->request->body_cap) {
			http_request_refuse_body(connection->request);
			return -1;
		}
		str_append_bytes(body, data, data_length);
		evbuffer_drain(input, (size_t)used);
	}
	return 0;
}

static bool take_body(struct http_connection *connection)
{
	struct http_request *request = connection->request;
	bool is_whole;

	if (request->head.chunked) {
		if (take_chunked(connection) < 0)
			return true;
		is_whole = connection->chunks.state == CHUNKS_DONE;
	} else {
		size_t length =
			request->head.content_length > 0 ? (size_t)request->head.content_length : 0;
		take_plain(connection, length - request->body.length);
		is_whole = request->body.length == length;
	}
	if (is_whole)
		dispatch(connection);
	return is_whole;
}

/* Lets the stream's source write while there is room. True: there is more to do. */
static bool pump(struct http_connection *connection)
{
	struct http_stream *stream = connection->stream;

	if (!connection->has_turn) {
		http_connection_yield(connection);
		return false;
	}
	for (int fill = 0; fill < STREAM_FILLS && !connection->is_queued; fill++) {
		if (evbuffer_get_length(connection->wire.output) >= HTTP_STREAM_CHUNK)
			return false;
		connection->stream_wrote = false;
		stream->source.fill(stream->source.data, stream);
		wire_flush(&connection->wire);
		if (connection->phase != PHASE_STREAM)
			return true;
		if (!connection->stream_wrote)
			return false;
	}
	http_connection_yield(connection);
	return false;
}

static bool advance_once(struct http_connection *connection)
{
	switch (connection->phase) {
	case PHASE_HEAD:
		return take_head(connection);
	case PHASE_BODY:
		return take_body(connection);
	case PHASE_ADMIT:
		return admit_again(connection);
	case PHASE_STREAM:
		return pump(connection);
	case PHASE_RAW:
		connection->request->changed(connection->request->closed_data);
		return connection->phase != PHASE_RAW;
	case PHASE_REQUEST:
	case PHASE_LINGER:
		break;
	}
	return false;
}

/* Everything is said: waits until the peer has read it, because closing over bytes that it still
 * sends would reset the connection and take the answer away. */
static void linger(struct http_connection *connection)
{
	struct evbuffer *input = connection->wire.input;

	connection->phase = PHASE_LINGER;
	wire_end_output(&connection->wire);
	evbuffer_drain(input, evbuffer_get_length(input));
	wire_resume(&connection->wire);
	set_deadline(connection, LINGER_MS);
}

/* Does what the bytes at hand allow. The connection may be gone afterwards. */
static void go_on(struct http_connection *connection)
{
	connection->advancing = true;
	while (advance_once(connection))
		continue;
	connection->advancing = connection->has_turn = false;
	wire_resume(&connection->wire);
	bool has_said_all = !wire_is_sending(&connection->wire);
	bool is_between = connection->phase == PHASE_HEAD;
	if (has_said_all && connection->peer_ended &&
	    (is_between || connection->phase == PHASE_BODY)) {
		http_connection_free(connection);
		return;
	}
	if (has_said_all && is_between && connection->close_after)
		linger(connection);
	http_server_weigh(connection->server, connection);
}

void http_connection_begin_raw(struct http_connection *connection)
{
	connection->phase = PHASE_RAW;
	set_deadline(connection, -1);
	expect_body(connection);
	http_connection_wake(connection);
}

static void on_input(void *data)
{
	struct http_connection *connection = data;
	struct evbuffer *input = connection->wire.input;

	if (connection->phase == PHASE_LINGER)
		evbuffer_drain(input, evbuffer_get_length(input));
	else
		go_on(connection);
}

static void on_output(void *data)
{
	struct http_connection *connection = data;

	const struct tls *tls = connection->wire.tls;

	/* A slow reader is fine as long as it reads; answers in a handshake buy no time. */
	if (connection->phase == PHASE_HEAD && !(tls && !tls_is_open(tls)))
		set_deadline(connection, connection->server->config.limits.idle_ms);
	if (connection->phase != PHASE_LINGER)
		go_on(connection);
}

/* A browser that was told "http://". */
static void tell_of_https(const struct http_connection *connection)
{
	static const char answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
				     "Connection: close\r\n\r\nThis port speaks HTTPS: write "
				     "https:// in place of http://.\n";

	send(connection->wire.fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void on_end(void *data, int error)
{
	struct http_connection *connection = data;

	if (error == EPROTO && connection->server->config.tls &&
	    !tls_is_answered(connection->wire.tls))
		tell_of_https(connection);

	connection->peer_ended = true;
	if (error || connection->phase > PHASE_BODY) {
		http_connection_free(connection);
		return;
	}
	wire_stop_reading(&connection->wire);
	go_on(connection);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	http_connection_free(data);
}

static void on_wake(evutil_socket_t fd, short what, void *data)
{
	go_on(data);
}

void http_connection_take_turn(struct http_connection *connection)
{
	leave_queue(connection);
	connection->has_turn = true;
	go_on(connection);
}

void http_connection_open(struct http_server *server, int fd)
{
	struct http_connection *connection = mem_alloc(sizeof(*connection));

	connection->server = server;
	connection->opened_ms = clock_monotonic_ms();
	connection->wire.input_cap = INPUT_CAP;
	if (connection->wire.input_cap < server->config.limits.head_bytes)
		connection->wire.input_cap = server->config.limits.head_bytes;
	connection->wire.on_input = on_input;
	connection->wire.on_output = on_output;
	connection->wire.on_end = on_end;
	connection->wire.data = connection;
	connection->wire.tls = server->tls ? tls_accept(server->tls) : NULL;
	wire_init(&connection->wire, server->base, fd);
	event_assign(&connection->timer, server->base, -1, 0, on_timer, connection);
	event_assign(&connection->wake, server->base, -1, 0, on_wake, connection);
	set_deadline(connection, server->config.limits.idle_ms);
	TAILQ_INSERT_TAIL(&server->connections[HTTP_STRANGER], connection, link);
	server->connection_count++;
	http_server_weigh(server, connection);
}

void http_connection_free(struct http_connection *connection)
{
	struct http_request *request = connection->request;
	struct http_stream *stream = connection->stream;

	http_server_forget(connection->server, connection);
	event_del(&connection->timer);
	event_del(&connection->wake);
	leave_queue(connection);
	wire_finish(&connection->wire);
	if (connection->note)
		connection->forget(connection->note);
	free(connection);
	if (stream)
		stream->source.closed(stream->source.data);
	free(stream);
	if (request && request->is_held)
		request->closed(request->closed_data);
	if (request)
		http_request_free(request);
}

void http_connection_close_idle(struct http_connection *connection)
{
	if (connection->phase != PHASE_HEAD)
		return;
	if (!wire_is_sending(&connection->wire))
		http_connection_free(connection);
	else
		connection->close_after = true;
}

void http_connection_answered(struct http_connection *connection)
{
	connection->phase = PHASE_HEAD;
	set_deadline(connection, connection->server->config.limits.idle_ms);
	wire_flush(&connection->wire);
	if (!connection->advancing)
		http_connection_wake(connection);
}
