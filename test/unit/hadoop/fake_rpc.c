#include "fake_rpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/address.h"
#include "proto/yarn.pb-c.h"

#define LOOPBACK "127.0.0.1:0"

enum { HELLO = 7 };

static size_t take_varint(const unsigned char **at)
{
	size_t value = 0;

	for (int shift = 0;; shift += 7) {
		unsigned char byte = *(*at)++;
		value |= (size_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static void take_context(struct fake_connection *connection, const unsigned char *at)
{
	const size_t length = take_varint(&at);
	Hadoop__IpcConnectionContextProto *context =
		hadoop__ipc_connection_context_proto__unpack(NULL, length, at);

	assert_non_null(context);
	connection->has_context = true;
	connection->user = mem_strdup(context->userinfo ? context->userinfo->effectiveuser : NULL);
	connection->protocol = mem_strdup(context->protocol);
	hadoop__ipc_connection_context_proto__free_unpacked(context, NULL);
}

static void take_sasl(struct fake_connection *connection, const unsigned char *at)
{
	const size_t length = take_varint(&at);
	Hadoop__RpcSaslProto *message = hadoop__rpc_sasl_proto__unpack(NULL, length, at);

	assert_non_null(message);
	if (connection->server->on_sasl)
		connection->server->on_sasl(connection, message);
	hadoop__rpc_sasl_proto__free_unpacked(message, NULL);
}

static void take_call(struct fake_connection *connection,
		      const Hadoop__RpcRequestHeaderProto *header, const unsigned char *at,
		      const unsigned char *end)
{
	const size_t length = take_varint(&at);
	Hadoop__RequestHeaderProto *request =
		hadoop__request_header_proto__unpack(NULL, length, at);
	struct fake_call call = {.id = header->callid, .retries = header->retrycount};

	assert_non_null(request);
	assert_true(connection->has_context);
	assert_int_equal(header->clientid.len, 16);
	assert_string_equal(request->declaringclassprotocolname, connection->protocol);
	snprintf(call.method, sizeof(call.method), "%s", request->methodname);
	hadoop__request_header_proto__free_unpacked(request, NULL);
	at += length;
	call.length = take_varint(&at);
	call.request = at;
	assert_ptr_equal(at + call.length, end);
	connection->server->calls++;
	if (connection->server->on_call)
		connection->server->on_call(connection, &call);
}

static void take_frame(struct fake_connection *connection, const unsigned char *at, size_t length)
{
	const unsigned char *end = at + length;
	const size_t header_length = take_varint(&at);
	Hadoop__RpcRequestHeaderProto *header =
		hadoop__rpc_request_header_proto__unpack(NULL, header_length, at);

	assert_non_null(header);
	at += header_length;
	if (header->callid == -3)
		take_context(connection, at);
	else if (header->callid == -33)
		take_sasl(connection, at);
	else
		take_call(connection, header, at, end);
	hadoop__rpc_request_header_proto__free_unpacked(header, NULL);
}

static void take_frames(struct fake_connection *connection, const struct str *bytes, size_t *read)
{
	while (connection->fd >= 0 && bytes->length - *read >= 4) {
		const unsigned char *at = (const unsigned char *)bytes->text + *read;
		const size_t length = (size_t)at[0] << 24 | (size_t)at[1] << 16 |
				      (size_t)at[2] << 8 | (size_t)at[3];
		if (bytes->length - *read - 4 < length)
			return;
		*read += 4 + length;
		take_frame(connection, at + 4, length);
	}
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	struct fake_connection *connection = data;
	char bytes[65536];
	ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got <= 0) {
		connection->ended = true;
		event_del(&connection->event);
		return;
	}
	str_append_bytes(&connection->received, bytes, (size_t)got);
	if (connection->received.length < HELLO)
		return;
	if (connection->read == 0)
		connection->read = HELLO;
	take_frames(connection, &connection->received, &connection->read);
}

void fake_take_clear(struct fake_connection *connection, const struct str *bytes)
{
	str_append_bytes(&connection->clear, bytes->text, bytes->length);
	take_frames(connection, &connection->clear, &connection->clear_read);
}

static void on_client(evutil_socket_t fd, short what, void *data)
{
	struct fake_server *server = data;
	struct fake_connection *connection = mem_alloc(sizeof(*connection));

	connection->server = server;
	connection->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(connection->fd >= 0);
	connection->next = server->connections;
	server->connections = connection;
	server->accepted++;
	event_assign(&connection->event, server->base, connection->fd, EV_READ | EV_PERSIST,
		     on_readable, connection);
	event_add(&connection->event, NULL);
	if (server->on_connect)
		server->on_connect(connection);
}

static int bind_to(const char *at, char **address)
{
	struct net_address where;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(net_address_parse(at, &where, NULL), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&where.storage, where.length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&where.storage, &where.length), 0);
	*address = net_address_text(&where);
	return fd;
}

/* It stays bound, so that nobody else gets it. */
char *fake_free_address(void)
{
	char *address;

	bind_to(LOOPBACK, &address);
	return address;
}

void fake_server_open(struct fake_server *server, struct event_base *base)
{
	fake_server_open_at(server, base, LOOPBACK);
}

void fake_server_open_at(struct fake_server *server, struct event_base *base, const char *address)
{
	memset(server, 0, sizeof(*server));
	server->base = base;
	server->fd = bind_to(address, &server->address);
	assert_int_equal(listen(server->fd, SOMAXCONN), 0);
	event_assign(&server->event, base, server->fd, EV_READ | EV_PERSIST, on_client, server);
	event_add(&server->event, NULL);
}

void fake_hang_up(struct fake_connection *connection)
{
	if (connection->fd < 0)
		return;
	event_del(&connection->event);
	close(connection->fd);
	connection->fd = -1;
}

void fake_server_close(struct fake_server *server)
{
	while (server->connections) {
		struct fake_connection *connection = server->connections;
		server->connections = connection->next;
		fake_hang_up(connection);
		str_finish(&connection->received);
		str_finish(&connection->clear);
		free(connection->user);
		free(connection->protocol);
		free(connection);
	}
	if (server->fd >= 0) {
		event_del(&server->event);
		close(server->fd);
	}
	free(server->address);
}

void fake_send(struct fake_connection *connection, const void *bytes, size_t length)
{
	assert_int_equal(send(connection->fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

static void add_varint(struct str *out, size_t value)
{
	for (; value > 0x7f; value >>= 7)
		str_append_char(out, (char)(0x80 | (value & 0x7f)));
	str_append_char(out, (char)value);
}

static void add_payload(struct str *out, const Hadoop__RpcResponseHeaderProto *header,
			const void *body, size_t length)
{
	unsigned char *bytes cleanup_free =
		mem_alloc(hadoop__rpc_response_header_proto__get_packed_size(header) + 1);
	const size_t header_length = hadoop__rpc_response_header_proto__pack(header, bytes);
	struct str payload cleanup_str = {0};

	add_varint(&payload, header_length);
	str_append_bytes(&payload, bytes, header_length);
	if (header->status == HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS) {
		add_varint(&payload, length);
		str_append_bytes(&payload, body, length);
	}
	const uint32_t size = htonl((uint32_t)payload.length);
	str_append_bytes(out, &size, sizeof(size));
	str_append_bytes(out, payload.text, payload.length);
}

void fake_add_answer(struct str *out, int32_t id, int status, const void *body, size_t length)
{
	Hadoop__RpcResponseHeaderProto header = HADOOP__RPC_RESPONSE_HEADER_PROTO__INIT;

	header.callid = (uint32_t)id;
	header.status = (Hadoop__RpcStatusProto)status;
	add_payload(out, &header, body, length);
}

void fake_add_error(struct str *out, int32_t id, int status, int detail, const char *class,
		    const char *text)
{
	Hadoop__RpcResponseHeaderProto header = HADOOP__RPC_RESPONSE_HEADER_PROTO__INIT;

	header.callid = (uint32_t)id;
	header.status = (Hadoop__RpcStatusProto)status;
	header.has_errordetail = detail != 0;
	header.errordetail = (Hadoop__RpcErrorCodeProto)detail;
	header.exceptionclassname = (char *)class;
	header.errormsg = (char *)text;
	add_payload(out, &header, NULL, 0);
}

void fake_add_application(struct str *out, int32_t id, int application)
{
	Hadoop__GetNewApplicationResponseProto response =
		HADOOP__GET_NEW_APPLICATION_RESPONSE_PROTO__INIT;
	Hadoop__ApplicationIdProto application_id = HADOOP__APPLICATION_ID_PROTO__INIT;
	unsigned char bytes[64];

	application_id.has_id = 1;
	application_id.id = application;
	response.application_id = &application_id;
	const size_t length = hadoop__get_new_application_response_proto__pack(&response, bytes);
	fake_add_answer(out, id, HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS, bytes, length);
}

void fake_answer(struct fake_connection *connection, int32_t id, int application)
{
	struct str out cleanup_str = {0};

	fake_add_application(&out, id, application);
	fake_send(connection, out.text, out.length);
}

void fake_fail(struct fake_connection *connection, int32_t id, int status, int detail,
	       const char *class, const char *text)
{
	struct str out cleanup_str = {0};

	fake_add_error(&out, id, status, detail, class, text);
	fake_send(connection, out.text, out.length);
}

void fake_say_sasl(struct fake_connection *connection, Hadoop__RpcSaslProto *message)
{
	unsigned char bytes[4096];
	struct str out cleanup_str = {0};

	assert_true(hadoop__rpc_sasl_proto__get_packed_size(message) <= sizeof(bytes));
	const size_t length = hadoop__rpc_sasl_proto__pack(message, bytes);
	fake_add_answer(&out, -33, HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS, bytes, length);
	fake_send(connection, out.text, out.length);
}

void fake_answer_message(struct fake_connection *connection, const struct fake_call *call,
			 const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	uint8_t *body cleanup_free = mem_alloc(length + 1);
	struct str out cleanup_str = {0};

	protobuf_c_message_pack(message, body);
	fake_add_answer(&out, call->id, 0, body, length);
	fake_send(connection, out.text, out.length);
}
