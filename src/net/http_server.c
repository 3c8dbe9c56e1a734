#include "net/http_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "net/address.h"
#include "net/http_internal.h"
#include "net/listen.h"
#include "net/tls.h"

enum {
	HEAD_BYTES = 16 * 1024,
	BODY_BYTES = 1024 * 1024,
	CONNECTIONS = 1024,
	STRANGER_BYTES = 4 * 1024 * 1024,
	IDLE_MS = 30 * 1000,
	TLS_BYTES = 16 * 1024, /* of a connection that is agreed on */
	FDS_LEFT = 64,	       /* for the rest of the process */
	ACCEPT_PAUSE_MS = 100,
	CROWD_PATIENCE_MS = 1000,
	ACCEPTED_IN_TURN = 64,
};

static void set_limits(struct http_limits *limits)
{
	struct rlimit files;

	limits->head_bytes = limits->head_bytes ? limits->head_bytes : HEAD_BYTES;
	limits->body_bytes = limits->body_bytes ? limits->body_bytes : BODY_BYTES;
	limits->connections = limits->connections ? limits->connections : CONNECTIONS;
	limits->idle_ms = limits->idle_ms ? limits->idle_ms : IDLE_MS;
	limits->stranger_bytes = limits->stranger_bytes ? limits->stranger_bytes : STRANGER_BYTES;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY)
		return;
	size_t room = files.rlim_cur > FDS_LEFT * 2 ? files.rlim_cur - FDS_LEFT : FDS_LEFT;
	if (limits->connections > room) {
		log_warning("%zu connections instead of %zu: the limit of open files is %zu", room,
			    limits->connections, (size_t)files.rlim_cur);
		limits->connections = room;
	}
}

/* Says no on a socket that is closed right away. What was received is read first: closing over
 * unread bytes would reset the connection and take the answer with it. With TLS there is no way to
 * say it. */
static void refuse_busy(const struct http_server *server, int fd, const char *message)
{
	if (server->tls)
		return;
	char *body cleanup_free = http_error_body("busy", message);
	struct str answer cleanup_str = {0};
	char scratch[4096];

	while (recv(fd, scratch, sizeof(scratch), MSG_DONTWAIT) == (ssize_t)sizeof(scratch))
		continue;
	str_append_format(&answer,
			  "HTTP/1.1 503 %s\r\nContent-Type: application/json\r\n"
			  "Content-Length: %zu\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s",
			  http_status_reason(503), strlen(body), body);
	/* Nothing was sent on it before, so the kernel takes it or the peer is gone. */
	send(fd, answer.text, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void push_out(struct http_connection *connection, const char *message)
{
	/* Within an answer it would be taken for a part of that. */
	if (connection->phase < PHASE_STREAM && evbuffer_get_length(connection->wire.output) == 0)
		refuse_busy(connection->server, connection->wire.fd, message);
	http_connection_free(connection);
}

/* Room for one more: the oldest of those who have shown least makes way, so that a flood of
 * strangers does not keep those out who belong here, nor do those who only look keep the others
 * out. */
static bool make_room(struct http_server *server)
{
	if (server->connection_count < server->config.limits.connections)
		return true;
	for (size_t i = 0; i < HTTP_KNOWN; i++) {
		struct http_connection *oldest = TAILQ_FIRST(&server->connections[i]);
		if (!oldest)
			continue;
		push_out(oldest, "too many connections");
		return true;
	}
	return false;
}

/* ---- a crowd ------------------------------------------------------------------------------ */

static bool has_no_room(const struct http_server *server)
{
	return server->config.is_sealed &&
	       server->stranger_bytes + HTTP_HANDSHAKE_BYTES > server->config.limits.stranger_bytes;
}

/* The first words of those who have just come are heard before the next ones push them out. */
static void pause_for_a_turn(struct http_server *server)
{
	evconnlistener_disable(server->listener);
	timer_start(&server->resume, 0);
}

/* All executors of a large job come at once: if each new one pushed out another, few would ever get
 * through. So the kernel keeps those who come meanwhile. */
static void pause_if_crowded(struct http_server *server)
{
	if (!has_no_room(server) || server->draining)
		return;
	if (server->is_stuck) {
		if (++server->accepted % ACCEPTED_IN_TURN == 0)
			pause_for_a_turn(server);
		return;
	}
	server->is_crowded = true;
	evconnlistener_disable(server->listener);
	if (!event_pending(&server->patience, EV_TIMEOUT, NULL))
		timer_start(&server->patience, CROWD_PATIENCE_MS);
}

static void end_crowd(struct http_server *server)
{
	server->is_crowded = false;
	if (!server->draining)
		evconnlistener_enable(server->listener);
}

/* Nobody has shown the token since it began: those of the crowd do not know it, or they or we have
 * much to do. The next ones push out the oldest of them, until one gets through. */
static void on_patience_over(evutil_socket_t fd, short what, void *data)
{
	struct http_server *server = data;

	if (!server->is_crowded)
		return;
	server->is_stuck = true;
	end_crowd(server);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
		      int peer_length, void *data)
{
	struct http_server *server = data;

	if (!make_room(server)) {
		refuse_busy(server, fd, "too many connections");
		close(fd);
		return;
	}
	http_connection_open(server, fd);
	pause_if_crowded(server);
}

/* Out of descriptors or memory: the listener would stay readable and spin. */
static void on_accept_error(struct evconnlistener *listener, void *data)
{
	struct http_server *server = data;

	log_warning("cannot accept a connection: %s",
		    evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
	evconnlistener_disable(listener);
	timer_start(&server->resume, ACCEPT_PAUSE_MS);
}

static void on_resume(evutil_socket_t fd, short what, void *data)
{
	struct http_server *server = data;

	if (!server->draining && !server->is_crowded)
		evconnlistener_enable(server->listener);
}

static void on_turn(evutil_socket_t fd, short what, void *data)
{
	struct http_server *server = data;
	struct http_connection *first = TAILQ_FIRST(&server->streams);

	if (!first)
		return;
	if (TAILQ_NEXT(first, turn_link))
		timer_start(&server->turn, 0);
	http_connection_take_turn(first);
}

static void free_answered(struct http_server *server)
{
	while (!SLIST_EMPTY(&server->answered)) {
		struct http_request *request = SLIST_FIRST(&server->answered);
		SLIST_REMOVE_HEAD(&server->answered, answered_link);
		http_request_free(request);
	}
}

static void on_sweep(evutil_socket_t fd, short what, void *data)
{
	free_answered(data);
}

static void on_drain_timer(evutil_socket_t fd, short what, void *data)
{
	struct http_server *server = data;
	void (*drained)(void *data) = mem_steal(&server->drained);

	if (drained)
		drained(server->drained_data);
}

/* `fd` is the listener's from then on. */
static int accept_at(struct http_server *server, int fd, struct err *err)
{
	struct net_address address = {.length = sizeof(address.storage)};

	server->listener = evconnlistener_new(server->base, on_accept, server,
					      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!server->listener)
		close(fd);
	if (!server->listener ||
	    getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0)
		return err_set_errno(err, "cannot listen");
	evconnlistener_set_error_cb(server->listener, on_accept_error);
	server->address = net_address_text(&address);
	server->port = net_address_port(&address);
	return 0;
}

static int start_listening(struct http_server *server, struct err *err)
{
	int held = server->config.listener;
	int fd = held > 0 ? fcntl(held, F_DUPFD_CLOEXEC, 0)
			  : net_listen(server->config.address, server->config.shares_port, err);

	if (held > 0 && fd < 0)
		err_set_errno(err, "cannot listen");
	return fd < 0 ? -1 : accept_at(server, fd, err);
}

struct http_server *http_server_create(struct event_base *base,
				       const struct http_server_config *config, struct err *err)
{
	struct http_server *server = mem_alloc(sizeof(*server));

	server->base = base;
	server->config = *config;
	server->token = mem_strdup(config->token);
	if (config->is_sealed) {
		server->tls = tls_context_create_shared(config->token);
		tls_context_admit(server->tls, &config->people);
	} else if (config->tls) {
		server->tls = tls_context_share(config->tls);
	}
	server->host_name = net_host_name();
	server->host = mem_strdup(config->host);
	set_limits(&server->config.limits);
	for (size_t i = 0; i < HTTP_STANDINGS; i++)
		TAILQ_INIT(&server->connections[i]);
	TAILQ_INIT(&server->streams);
	SLIST_INIT(&server->answered);
	event_assign(&server->sweep, base, -1, 0, on_sweep, server);
	event_assign(&server->turn, base, -1, 0, on_turn, server);
	event_assign(&server->resume, base, -1, 0, on_resume, server);
	event_assign(&server->patience, base, -1, 0, on_patience_over, server);
	event_assign(&server->drain_timer, base, -1, 0, on_drain_timer, server);
	if (start_listening(server, err) < 0) {
		http_server_destroy(server);
		return NULL;
	}
	return server;
}

const char *http_server_address(const struct http_server *server)
{
	return server->address;
}

size_t http_server_connection_count(const struct http_server *server)
{
	return server->connection_count;
}

/* A greeting that was heard before may be repeated by who does not know the secret, and goes no
 * further. */
static bool is_silent(const struct http_connection *connection)
{
	const struct tls *tls = connection->wire.tls;

	return tls && !tls_is_open(tls) &&
	       (!tls_is_answered(tls) ||
		clock_monotonic_ms() - connection->opened_ms >= CROWD_PATIENCE_MS);
}

/* Where a token is needed to agree on TLS, those who have are of us. With a certificate everybody
 * can: who has long been there and shown nothing makes way for who comes. */
static bool makes_way(const struct http_connection *connection)
{
	return connection->server->config.tls || is_silent(connection);
}

/* The oldest; not the one that has just come. NULL: there is none. */
static struct http_connection *find_first_to_go(const struct http_server *server)
{
	struct http_connection *connection;

	TAILQ_FOREACH(connection, &server->connections[HTTP_STRANGER], link)
	if (TAILQ_NEXT(connection, link) && makes_way(connection))
		return connection;
	return NULL;
}

static struct http_connection *find_heaviest(const struct http_server *server)
{
	struct http_connection *connection,
		*heaviest = TAILQ_FIRST(&server->connections[HTTP_STRANGER]);

	TAILQ_FOREACH(connection, &server->connections[HTTP_STRANGER], link)
	{
		if (connection->weight > heaviest->weight)
			heaviest = connection;
	}
	if (heaviest->weight >= 2 * HTTP_HANDSHAKE_BYTES) /* it has said much, of whatever kind */
		return heaviest;
	connection = find_first_to_go(server);
	return connection ? connection : heaviest;
}

static void set_weight(struct http_server *server, struct http_connection *connection,
		       size_t weight)
{
	server->stranger_bytes += weight - connection->weight;
	connection->weight = weight;
	if (server->is_crowded && !has_no_room(server))
		end_crowd(server);
}

void http_server_weigh(struct http_server *server, struct http_connection *connection)
{
	const struct http_request *request = connection->request;
	const struct wire *wire = &connection->wire;
	size_t of_request = request ? request->head_bytes + request->body.length : 0;
	size_t of_tls = !wire->tls ? 0 : tls_is_open(wire->tls) ? TLS_BYTES : HTTP_HANDSHAKE_BYTES;

	if (connection->standing != HTTP_STRANGER)
		return;
	set_weight(server, connection,
		   of_request + of_tls + evbuffer_get_length(wire->input) +
			   evbuffer_get_length(wire->output));
	while (server->stranger_bytes > server->config.limits.stranger_bytes)
		push_out(find_heaviest(server), "too much is held for callers without the token");
}

static struct http_connection_list *list_of(const struct http_connection *connection)
{
	return &connection->server->connections[connection->standing];
}

void http_server_know(struct http_server *server, struct http_connection *connection,
		      enum http_standing standing)
{
	if (connection->standing >= standing)
		return;
	set_weight(server, connection, 0);
	server->is_stuck = false;
	event_del(&server->patience);
	if (server->is_crowded)
		timer_start(&server->patience, CROWD_PATIENCE_MS);
	TAILQ_REMOVE(list_of(connection), connection, link);
	connection->standing = standing;
	TAILQ_INSERT_TAIL(list_of(connection), connection, link);
}

void http_server_forget(struct http_server *server, struct http_connection *connection)
{
	set_weight(server, connection, 0);
	TAILQ_REMOVE(list_of(connection), connection, link);
	server->connection_count--;
	if (server->draining && server->connection_count == 0)
		event_active(&server->drain_timer, EV_TIMEOUT, 0);
}

static void close_idle(struct http_connection_list *list)
{
	struct http_connection *connection = TAILQ_FIRST(list);

	while (connection) {
		struct http_connection *next = TAILQ_NEXT(connection, link);
		http_connection_close_idle(connection);
		connection = next;
	}
}

static void admit_again(struct http_connection_list *list)
{
	struct http_connection *connection;

	TAILQ_FOREACH(connection, list, link)
	{
		if (connection->phase != PHASE_ADMIT)
			continue;
		connection->asks_again = true;
		http_connection_wake(connection);
	}
}

void http_server_admit_again(struct http_server *server)
{
	for (size_t i = 0; i < HTTP_STANDINGS; i++)
		admit_again(&server->connections[i]);
}

void http_server_drain(struct http_server *server, int64_t timeout_ms, void (*done)(void *data),
		       void *data)
{
	server->draining = true;
	server->drained = done;
	server->drained_data = data;
	evconnlistener_disable(server->listener);
	timer_start(&server->drain_timer, timeout_ms);
	for (size_t i = 0; i < HTTP_STANDINGS; i++)
		close_idle(&server->connections[i]);
	if (server->connection_count == 0)
		event_active(&server->drain_timer, EV_TIMEOUT, 0);
}

void http_server_destroy(struct http_server *server)
{
	if (!server)
		return;
	/* Nobody wants to hear that it has drained any more. */
	server->draining = false;
	for (size_t i = 0; i < HTTP_STANDINGS; i++)
		while (!TAILQ_EMPTY(&server->connections[i]))
			http_connection_free(TAILQ_FIRST(&server->connections[i]));
	event_del(&server->resume);
	event_del(&server->patience);
	event_del(&server->turn);
	event_del(&server->sweep);
	event_del(&server->drain_timer);
	free_answered(server);
	if (server->listener)
		evconnlistener_free(server->listener);
	tls_context_destroy(server->tls);
	free(server->address);
	mem_free_secret(server->token);
	free(server->host_name);
	free(server->host);
	free(server);
}
