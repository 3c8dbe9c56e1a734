#include "hadoop/rpc_connection.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/rpc_handshake.h"
#include "hadoop/sasl.h"
#include "net/address.h"
#include "net/dial.h"
#include "net/wire.h"

enum {
	LOOK = 128 << 10,	  /* of what was received, to see what it is */
	HANDSHAKE_CAP = 64 << 10, /* of a frame, until both know who they are */
	READ_AT_ONCE = 32 << 10,
};

struct rpc_connection {
	struct event_base *base;
	const struct rpc_options *options;
	const unsigned char *client_id;
	const struct rpc_connection_events *events;
	void *data;

	char *host;	   /* of its address */
	struct dial *dial; /* NULL: not connecting */
	bool has_wire;
	struct wire wire;
	struct event timer; /* until it is ready, and to tell of `flaw` */
	char *flaw;	    /* why what was to be sent could not be protected; NULL: nothing */
	bool is_ready;
	bool uses_sasl;
	struct rpc_handshake handshake;
	struct str unwrapped; /* what the protection gave, whole frames or not */

	int in_use; /* functions of this file on the stack, which look at it again */
	bool is_closed;
};

static void free_connection(struct rpc_connection *connection)
{
	event_del(&connection->timer);
	if (connection->dial)
		dial_cancel(connection->dial);
	if (connection->has_wire)
		wire_finish(&connection->wire);
	rpc_handshake_finish(&connection->handshake);
	str_finish(&connection->unwrapped);
	free(connection->flaw);
	free(connection->host);
	free(connection);
}

void rpc_connection_close(struct rpc_connection *connection)
{
	connection->is_closed = true;
	if (connection->in_use == 0)
		free_connection(connection);
}

static void enter(struct rpc_connection *connection)
{
	connection->in_use++;
}

static void leave(struct rpc_connection *connection)
{
	if (--connection->in_use == 0 && connection->is_closed)
		free_connection(connection);
}

static void end(struct rpc_connection *connection, enum rpc_error_kind kind, const char *class,
		const char *text)
{
	if (connection->is_closed)
		return;
	connection->is_closed = true;
	connection->events->on_end(connection->data, kind, class, text);
}

static enum rpc_error_kind kind_of(enum err_kind kind)
{
	switch (kind) {
	case ERR_DENIED:
		return RPC_DENIED;
	case ERR_EXPIRED:
		return RPC_EXPIRED;
	case ERR_UNREACHABLE: /* a key distribution centre */
	case ERR_INTERRUPTED: /* the wait for one; rpc_call_wait() ends */
		return RPC_UNREACHABLE;
	default:
		return RPC_PROTOCOL;
	}
}

static void end_with(struct rpc_connection *connection, const struct err *err)
{
	end(connection, kind_of(err->kind), NULL, err_message(err));
}

static bool is_protected(const struct rpc_connection *connection)
{
	return connection->handshake.sasl && connection->is_ready &&
	       sasl_protection(connection->handshake.sasl) != SASL_AUTH;
}

/* What is sent in one go is one token, or several if that is more than the server takes. */
static int wrap(struct rpc_connection *connection, const struct str *frame, struct err *err)
{
	const size_t cap = sasl_wrap_cap(connection->handshake.sasl);

	for (size_t at = 0; at < frame->length;) {
		const size_t some = frame->length - at < cap ? frame->length - at : cap;
		Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;
		struct str token cleanup_str = {0};
		struct str out cleanup_str = {0};

		if (sasl_wrap(connection->handshake.sasl, frame->text + at, some, &token, err) < 0)
			return -1;
		message.state = HADOOP__SASL_STATE__SASL_WRAP;
		message.has_token = 1;
		message.token = (ProtobufCBinaryData){token.length, (uint8_t *)str_text(&token)};
		rpc_frame_add_sasl(&out, &message);
		evbuffer_add(connection->wire.output, out.text, out.length);
		at += some;
	}
	return 0;
}

/* The caller has more to send, and is told from the loop. */
static void fail_later(struct rpc_connection *connection, const struct err *err)
{
	mem_replace(&connection->flaw, mem_strdup(err_message(err)));
	timer_start(&connection->timer, 0);
}

void rpc_connection_send(struct rpc_connection *connection, const struct str *frame)
{
	struct err err cleanup_err = {0};

	if (!is_protected(connection))
		evbuffer_add(connection->wire.output, frame->text, frame->length);
	else if (wrap(connection, frame, &err) < 0)
		fail_later(connection, &err);
	if (!connection->flaw)
		wire_flush(&connection->wire);
}

/* The context and the calls of on_ready leave in one piece where nothing is protected. */
static void become_ready(struct rpc_connection *connection)
{
	const struct rpc_options *options = connection->options;
	const struct sasl *sasl = connection->handshake.sasl;
	/* A proof says whose it is; another name beside a token's would be refused. */
	const char *user = !sasl ? options->user
			   : str_equal(sasl->mechanism->method, "KERBEROS")
				   ? options->effective_user
				   : NULL;
	struct err err cleanup_err = {0};
	struct str context cleanup_str = {0};

	event_del(&connection->timer);
	connection->is_ready = true;
	rpc_frame_add_context(&context, connection->client_id, user, options->service->protocol);
	if (!is_protected(connection)) {
		evbuffer_add(connection->wire.output, context.text, context.length);
	} else if (wrap(connection, &context, &err) < 0) {
		end_with(connection, &err);
		return;
	}
	connection->events->on_ready(connection->data);
	if (!connection->is_closed)
		wire_flush(&connection->wire);
}

/* ---- what comes --------------------------------------------------------------------------- */

static const char *remedy_of(const struct rpc_connection *connection,
			     const struct rpc_answer *answer)
{
	if (!connection->uses_sasl && strstr(answer->text, "KERBEROS"))
		return "; this cluster uses Kerberos: set hadoop.security.authentication to "
		       "kerberos in the core-site.xml that is read here, or copy the cluster's own "
		       "files";
	if (strstr(answer->text, "is not allowed to impersonate"))
		return "; the cluster's administrator allows that by hadoop.proxyuser keys, or "
		       "unset HADOOP_PROXY_USER";
	return "";
}

/* The server tells about the connection as a whole, and closes it. */
static void take_refusal(struct rpc_connection *connection, const struct rpc_answer *answer)
{
	enum rpc_error_kind kind = RPC_REMOTE;

	if (answer->detail == HADOOP__RPC_ERROR_CODE_PROTO__FATAL_UNAUTHORIZED)
		kind = RPC_DENIED;
	if (answer->detail == HADOOP__RPC_ERROR_CODE_PROTO__FATAL_VERSION_MISMATCH)
		kind = RPC_PROTOCOL;
	/* Said by a standby to whoever shows a token, which it cannot know. */
	if (str_equal(answer->class, "StandbyException"))
		kind = RPC_REMOTE;
	char *text cleanup_free = mem_printf("%s%s", answer->text, remedy_of(connection, answer));
	end(connection, kind, answer->class, text);
}

static void take_frames(struct rpc_connection *connection, struct str *bytes);

static void take_wrapped(struct rpc_connection *connection, const Hadoop__RpcSaslProto *message)
{
	struct err err cleanup_err = {0};

	if (message->state != HADOOP__SASL_STATE__SASL_WRAP || !is_protected(connection)) {
		end(connection, RPC_PROTOCOL, NULL, "it goes on with SASL after SASL");
		return;
	}
	if (sasl_unwrap(connection->handshake.sasl, message->token.data, message->token.len,
			&connection->unwrapped, &err) < 0)
		end_with(connection, &err);
	else
		take_frames(connection, &connection->unwrapped);
}

static void take_handshake(struct rpc_connection *connection, const Hadoop__RpcSaslProto *message)
{
	struct err err cleanup_err = {0};
	struct str out cleanup_str = {0};
	const int result = rpc_handshake_take(&connection->handshake, message, &out, &err);

	if (result < 0) {
		end_with(connection, &err);
		return;
	}
	evbuffer_add(connection->wire.output, out.text, out.length);
	if (result > 0)
		become_ready(connection);
	else
		wire_flush(&connection->wire);
}

static void take_sasl(struct rpc_connection *connection, const struct rpc_answer *answer)
{
	Hadoop__RpcSaslProto *message =
		hadoop__rpc_sasl_proto__unpack(NULL, answer->length, answer->message);

	if (!message)
		end(connection, RPC_PROTOCOL, NULL, "it sends SASL that cannot be read");
	else if (!connection->uses_sasl)
		end(connection, RPC_PROTOCOL, NULL, "it sends SASL without being asked");
	else if (connection->is_ready)
		take_wrapped(connection, message);
	else
		take_handshake(connection, message);
	if (message)
		hadoop__rpc_sasl_proto__free_unpacked(message, NULL);
}

static void take_payload(struct rpc_connection *connection, const void *payload, size_t length,
			 bool was_wrapped)
{
	struct err err cleanup_err = {0};
	struct rpc_answer answer cleanup_rpc_answer = {0};

	if (rpc_answer_parse(payload, length, &answer, &err) < 0)
		end_with(connection, &err);
	else if (answer.id == RPC_ID_SASL && !was_wrapped &&
		 answer.status == HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS)
		take_sasl(connection, &answer);
	else if (is_protected(connection) && !was_wrapped)
		end(connection, RPC_PROTOCOL, NULL,
		    "it sends without protection, though protection was agreed on");
	else if (answer.id < 0 && answer.status != HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS)
		take_refusal(connection, &answer);
	else if (answer.id < 0 || !connection->is_ready)
		end(connection, RPC_PROTOCOL, NULL, "it answers what was not asked");
	else
		connection->events->on_answer(connection->data, &answer);
}

/* Those that are whole, of what the protection gave. */
static void take_frames(struct rpc_connection *connection, struct str *bytes)
{
	struct err err cleanup_err = {0};
	size_t at = 0, payload;
	int found = 0;

	while (!connection->is_closed &&
	       (found = rpc_frame_look(str_text(bytes) + at, bytes->length - at, &payload, &err)) >
		       0) {
		take_payload(connection, bytes->text + at + RPC_FRAME_HEAD, payload, true);
		at += RPC_FRAME_HEAD + payload;
	}
	if (found < 0)
		end_with(connection, &err);
	if (at == 0)
		return;
	memmove(bytes->text, bytes->text + at, bytes->length - at);
	str_truncate(bytes, bytes->length - at);
}

static void refuse_size(struct rpc_connection *connection, size_t payload)
{
	char *text cleanup_free = mem_printf(
		"it sends a frame of %zu bytes before it has said who it is; %d are enough",
		payload, HANDSHAKE_CAP);

	end(connection, RPC_PROTOCOL, NULL, text);
}

/* True: there may be more to take. */
static bool take_frame(struct rpc_connection *connection)
{
	struct evbuffer *input = connection->wire.input;
	const size_t have = evbuffer_get_length(input);
	struct err err cleanup_err = {0};
	size_t payload = 0;

	if (have < RPC_FRAME_HEAD)
		return false;
	const size_t look = have < LOOK ? have : LOOK;
	const int found =
		rpc_frame_look(evbuffer_pullup(input, (ev_ssize_t)look), look, &payload, &err);
	if (found < 0) {
		end_with(connection, &err);
		return false;
	}
	if (payload > HANDSHAKE_CAP && !connection->is_ready) {
		refuse_size(connection, payload);
		return false;
	}
	if (payload == 0 || have < RPC_FRAME_HEAD + payload)
		return false;
	const unsigned char *bytes = evbuffer_pullup(input, (ev_ssize_t)(RPC_FRAME_HEAD + payload));
	take_payload(connection, bytes + RPC_FRAME_HEAD, payload, false);
	evbuffer_drain(input, RPC_FRAME_HEAD + payload);
	return !connection->is_closed;
}

static void on_input(void *data)
{
	struct rpc_connection *connection = data;

	enter(connection);
	while (take_frame(connection))
		continue;
	leave(connection);
}

static void on_output(void *data)
{
}

/* A server that refuses us says so and closes before it has read what we send: then sending fails
 * first, and what it said lies unread. */
static void take_rest(struct rpc_connection *connection)
{
	char bytes[READ_AT_ONCE];
	ssize_t got;

	while ((got = recv(connection->wire.fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0 &&
	       evbuffer_get_length(connection->wire.input) < RPC_FRAME_CAP)
		evbuffer_add(connection->wire.input, bytes, (size_t)got);
	while (take_frame(connection))
		continue;
}

static void on_wire_end(void *data, int error)
{
	struct rpc_connection *connection = data;

	enter(connection);
	if (error)
		take_rest(connection);
	end(connection, RPC_UNREACHABLE, NULL,
	    error ? strerror(error) : "the server closed the connection");
	leave(connection);
}

/* ---- the way there ------------------------------------------------------------------------ */

static void on_dialed(void *data, int fd, const struct err *err)
{
	struct rpc_connection *connection = data;
	struct str hello cleanup_str = {0};

	enter(connection);
	connection->dial = NULL;
	if (fd < 0) {
		end(connection, RPC_UNREACHABLE, NULL, err_message(err));
		leave(connection);
		return;
	}
	connection->wire = (struct wire){
		.input_cap = RPC_FRAME_CAP + RPC_FRAME_HEAD,
		.on_input = on_input,
		.on_output = on_output,
		.on_end = on_wire_end,
		.data = connection,
	};
	wire_init(&connection->wire, connection->base, fd);
	connection->has_wire = true;
	rpc_frame_add_hello(&hello, connection->uses_sasl);
	if (connection->uses_sasl)
		rpc_handshake_begin(&hello);
	evbuffer_add(connection->wire.output, hello.text, hello.length);
	if (connection->uses_sasl)
		wire_flush(&connection->wire);
	else
		become_ready(connection);
	leave(connection);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct rpc_connection *connection = data;
	char *waited cleanup_free = str_format_duration(connection->options->connect_timeout_ms);
	char *text cleanup_free = mem_printf(
		"%s within %s",
		connection->has_wire ? "it did not say whether it accepts us" : "no connection",
		waited);

	enter(connection);
	end(connection, connection->flaw ? RPC_DENIED : RPC_UNREACHABLE, NULL,
	    connection->flaw ? connection->flaw : text);
	leave(connection);
}

struct rpc_connection *rpc_connection_open(struct event_base *base, const char *address,
					   const struct rpc_options *options,
					   const unsigned char *client_id,
					   const struct rpc_connection_events *events, void *data)
{
	struct rpc_connection *connection = mem_alloc(sizeof(*connection));
	const int64_t timeout_ms = options->connect_timeout_ms;
	int port;

	connection->base = base;
	connection->options = options;
	connection->client_id = client_id;
	connection->events = events;
	connection->data = data;
	net_address_split(address, &connection->host, &port, NULL);
	connection->uses_sasl = options->token || options->require_sasl;
	connection->handshake = (struct rpc_handshake){
		.token = options->token,
		.kerberos = options->kerberos,
		.principal = options->user_principal,
		.keytab = options->user_keytab,
		.peer = {.key = options->service->principal_key,
			 .name = options->principal,
			 .pattern = options->principal_pattern,
			 .host = connection->host},
		.protections = options->protections ? options->protections : SASL_AUTH,
		.require_sasl = options->require_sasl,
	};
	event_assign(&connection->timer, base, -1, 0, on_timer, connection);
	timer_start(&connection->timer, timeout_ms);
	connection->dial = dial_start(base, address, timeout_ms, on_dialed, connection, NULL);
	return connection;
}
