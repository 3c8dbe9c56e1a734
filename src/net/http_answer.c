#include <event2/buffer.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/gzip.h"
#include "net/http_internal.h"

enum { COMPRESSED_MIN = 1024, COMPRESSED_MAX = 1024 * 1024 };

const char *http_status_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{200, "OK"},
		{204, "No Content"},
		{303, "See Other"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{409, "Conflict"},
		{410, "Gone"},
		{413, "Content Too Large"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
	};

	for (size_t i = 0; i < array_length(reasons); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "Status";
}

char *http_error_body(const char *code, const char *message)
{
	json_t *body cleanup_json = json_object();
	json_t *error = json_object();

	json_set_text(error, "code", code);
	json_set_text(error, "message", message);
	json_object_set_new(body, "error", error);
	return json_text(body);
}

/* "GET, PUT" for a path that does not know the request's method. */
static void add_allow(struct evbuffer *output, const struct http_request *request)
{
	const struct http_server_config *config = &request->connection->server->config;
	const char *separator = "Allow: ";

	for (size_t i = 0; i < config->route_count; i++) {
		if (!http_url_match(config->routes[i].pattern, request->head.target, NULL))
			continue;
		evbuffer_add_printf(output, "%s%s", separator, config->routes[i].method);
		separator = ", ";
	}
	evbuffer_add_printf(output, "\r\n");
}

void http_answer_header(struct http_request *request, const char *name, const char *value)
{
	str_append_format(&request->answer_headers, "%s: %s\r\n", name, value);
	if (strcmp(name, "Cache-Control") == 0)
		request->has_cache_control = true;
}

/* Start line and headers, but for the empty line at the end. */
static void add_head(struct http_request *request, int status, const char *content_type)
{
	struct http_connection *connection = request->connection;
	struct evbuffer *output = connection->wire.output;

	if (!request->head.keep_alive || connection->server->draining)
		connection->close_after = true;
	evbuffer_add_printf(output,
			    "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n"
			    "X-Content-Type-Options: nosniff\r\n%s%s",
			    status, http_status_reason(status), content_type,
			    request->has_cache_control ? "" : "Cache-Control: no-store\r\n",
			    str_text(&request->answer_headers));
	if (connection->close_after)
		evbuffer_add_printf(output, "Connection: close\r\n");
	if (status == 401)
		evbuffer_add_printf(output, "WWW-Authenticate: Bearer\r\n");
	if (status == 405)
		add_allow(output, request);
}

/* A handler may have read it only half, and learn of the answer from whom it asked for something
 * else: the request is freed once the handler has returned. */
static void release(struct http_request *request)
{
	struct http_server *server = request->connection->server;

	request->connection->request = NULL;
	request->connection = NULL; /* another answer is an error that is seen at once */
	SLIST_INSERT_HEAD(&server->answered, request, answered_link);
	event_active(&server->sweep, EV_TIMEOUT, 0);
}

void http_raw_end(struct http_request *request)
{
	struct http_connection *connection = request->connection;

	release(request);
	http_connection_answered(connection);
}

void http_answer_buffer(struct http_request *request, int status, const char *content_type,
			struct evbuffer *body)
{
	struct http_connection *connection = request->connection;
	struct evbuffer *output = connection->wire.output;

	add_head(request, status, content_type);
	if (status != 304)
		evbuffer_add_printf(output, "Content-Length: %zu\r\n", evbuffer_get_length(body));
	evbuffer_add_printf(output, "\r\n");
	if (status == 304 || str_equal(request->head.method, "HEAD"))
		evbuffer_drain(body, evbuffer_get_length(body));
	evbuffer_add_buffer(output, body);
	release(request);
	http_connection_answered(connection);
}

void http_answer_bytes(struct http_request *request, int status, const char *content_type,
		       const void *bytes, size_t length)
{
	struct evbuffer *body = evbuffer_new();

	evbuffer_add(body, bytes, length);
	http_answer_buffer(request, status, content_type, body);
	evbuffer_free(body);
}

/* A short text is one packet either way; a long one would keep the server's loop for too long. */
static bool is_worth_compressing(const struct http_request *request, size_t length)
{
	return length >= COMPRESSED_MIN && length <= COMPRESSED_MAX &&
	       http_request_takes_gzip(request);
}

void http_answer_json_text(struct http_request *request, int status, const char *text,
			   size_t length)
{
	struct gzip_body file;

	if (!is_worth_compressing(request, length)) {
		http_answer_bytes(request, status, "application/json", text, length);
		return;
	}
	struct evbuffer *body = evbuffer_new();
	struct gzip_part *part = gzip_part_create(text, length);
	gzip_begin(&file, body);
	gzip_add_part(&file, part);
	gzip_end(&file);
	http_answer_header(request, "Content-Encoding", "gzip");
	http_answer_buffer(request, status, "application/json", body);
	gzip_part_destroy(part);
	evbuffer_free(body);
}

void http_answer_json(struct http_request *request, int status, json_t *body)
{
	char *text cleanup_free = json_text(body);

	json_decref(body);
	http_answer_json_text(request, status, text, strlen(text));
}

void http_answer_error(struct http_request *request, int status, const char *code,
		       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *message cleanup_free = mem_vprintf(format, args);
	va_end(args);
	const struct http_server_config *config = &request->connection->server->config;
	if (config->answer_failure && config->answer_failure(request, status, message))
		return;
	char *body cleanup_free = http_error_body(code, message);
	http_answer_bytes(request, status, "application/json", body, strlen(body));
}

void http_answer_refusal(struct http_request *request, int status, const char *code,
			 const char *message)
{
	request->connection->close_after = true;
	http_answer_error(request, status, code, "%s", message);
}

struct http_stream *http_answer_stream(struct http_request *request, const char *content_type,
				       const struct http_stream_source *source)
{
	struct http_connection *connection = request->connection;
	struct http_stream *stream = mem_alloc(sizeof(*stream));

	stream->connection = connection;
	stream->source = *source;
	stream->is_chunked = request->head.minor_version == 1;
	if (!stream->is_chunked)
		connection->close_after = true;
	add_head(request, 200, content_type);
	evbuffer_add_printf(connection->wire.output, "%s\r\n",
			    stream->is_chunked ? "Transfer-Encoding: chunked\r\n" : "");
	release(request);
	connection->stream = stream;
	connection->phase = PHASE_STREAM;
	http_connection_wake(connection);
	return stream;
}

void http_stream_write(struct http_stream *stream, const void *bytes, size_t length)
{
	struct evbuffer *output = stream->connection->wire.output;

	/* An empty chunk would end the answer. */
	if (length == 0)
		return;
	stream->connection->stream_wrote = true;
	if (stream->is_chunked)
		evbuffer_add_printf(output, "%zx\r\n", length);
	evbuffer_add(output, bytes, length);
	if (stream->is_chunked)
		evbuffer_add(output, "\r\n", 2);
}

void http_stream_move(struct http_stream *stream, struct evbuffer *bytes)
{
	struct evbuffer *output = stream->connection->wire.output;
	size_t length = evbuffer_get_length(bytes);

	if (length == 0)
		return;
	stream->connection->stream_wrote = true;
	if (stream->is_chunked)
		evbuffer_add_printf(output, "%zx\r\n", length);
	evbuffer_add_buffer(output, bytes);
	if (stream->is_chunked)
		evbuffer_add(output, "\r\n", 2);
}

void http_stream_wake(struct http_stream *stream)
{
	http_connection_wake(stream->connection);
}

void http_stream_yield(struct http_stream *stream)
{
	http_connection_yield(stream->connection);
}

void http_stream_break(struct http_stream *stream)
{
	struct http_connection *connection = stream->connection;

	connection->stream = NULL;
	free(stream);
	http_connection_free(connection);
}

void http_stream_end(struct http_stream *stream)
{
	struct http_connection *connection = stream->connection;

	if (stream->is_chunked)
		evbuffer_add_printf(connection->wire.output, "0\r\n\r\n");
	connection->stream = NULL;
	free(stream);
	http_connection_answered(connection);
}
