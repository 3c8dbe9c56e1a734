#include "store/file_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { READY_CAP = 1 << 20 };

static void destroy_call(struct file_call *call)
{
	if (call->call)
		webhdfs_call_cancel(call->call);
	evbuffer_free(call->ready);
	str_list_finish(&call->waiting);
	free(call->below);
	free(call->path);
	free(call->name);
	free(call);
}

static void on_closed(void *data)
{
	destroy_call(data);
}

/* "/data" of "/data/", "" of "/" and "hdfs://" of "hdfs:///": a "/" and a name follow. */
static char *without_slash(const char *text)
{
	size_t length = strlen(text);

	while (length > 0 && text[length - 1] == '/' &&
	       !(length > 2 && strncmp(text + length - 3, "://", 3) == 0))
		length--;
	return mem_strndup(text, length);
}

struct file_call *file_call_create(struct http_request *request, struct webhdfs_async *hdfs,
				   const char *path, const char *name)
{
	struct file_call *call = mem_alloc(sizeof(*call));

	*call = (struct file_call){.hdfs = hdfs,
				   .path = str_equal(path, "/") ? mem_strdup(path)
								: without_slash(path),
				   .name = without_slash(name),
				   .request = request,
				   .ready = evbuffer_new()};
	http_request_hold(request, on_closed, call);
	return call;
}

static void fill(void *data, struct http_stream *stream)
{
	struct file_call *call = data;

	http_stream_move(stream, call->ready);
	if (call->call) {
		webhdfs_call_resume(call->call);
	} else if (call->go_on) {
		call->go_on(call);
	} else {
		http_stream_end(stream);
		destroy_call(call);
	}
}

static void begin(struct file_call *call)
{
	const struct http_stream_source source = {fill, on_closed, call};

	call->stream = http_answer_stream(mem_steal(&call->request), call->content_type, &source);
}

void file_call_send(struct file_call *call)
{
	if (call->call && evbuffer_get_length(call->ready) >= READY_CAP)
		webhdfs_call_pause(call->call);
	if (call->stream)
		http_stream_wake(call->stream);
	else
		begin(call);
}

void file_call_end(struct file_call *call)
{
	call->go_on = NULL;
	file_call_send(call);
}

static int status_of(const struct err *err)
{
	switch (err->kind) {
	case ERR_NOT_FOUND:
		return 404;
	case ERR_DENIED:
	case ERR_EXPIRED:
		return 403;
	case ERR_UNREACHABLE:
		return 504;
	default:
		return 502;
	}
}

void file_call_fail(struct file_call *call, const struct err *err)
{
	if (call->stream) {
		log_warning("a program's answer about %s breaks off: %s", call->name,
			    err_message(err));
		http_stream_break(call->stream);
	} else {
		http_answer_error(call->request, status_of(err), "store", "%s", err_message(err));
	}
	destroy_call(call);
}

void file_call_answer_json(struct file_call *call, json_t *body)
{
	http_answer_json(call->request, 200, body);
	destroy_call(call);
}

/* ---- content ------------------------------------------------------------------------------ */

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct file_call *call = data;

	evbuffer_add(call->ready, bytes, length);
	file_call_send(call);
	return true;
}

static void on_read(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct file_call *call = data;

	call->call = NULL;
	if (err)
		file_call_fail(call, err);
	else
		file_call_end(call);
}

void file_call_read(struct file_call *call, int64_t offset, int64_t length)
{
	call->content_type = "application/octet-stream";
	call->call = webhdfs_async_stream(call->hdfs, call->path, offset, length, on_bytes, on_read,
					  call);
}
