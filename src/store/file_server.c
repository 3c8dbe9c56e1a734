#include "store/file_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "store/access.h"
#include "store/file_call.h"

enum {
	PATIENCE_MS = 120000, /* a program that waits is better than one that fails */
	SILENCE_MS = 30000,
};

/* One of the file systems. */
struct part {
	SLIST_ENTRY(part) link;
	char *fs; /* "hdfs://nameservice" */
	struct webhdfs_async *hdfs;
};

struct file_server {
	struct event_base *base;
	char *path;
	struct store_access access;
	struct http_server *http;
	SLIST_HEAD(, part) parts; /* that were asked so far */
};

bool file_server_is_wanted(const json_t *stores)
{
	return json_object_get(stores, "hdfs") != NULL;
}

/* `url`: as hdfs_access_resolve() has made it; its path is behind `length` bytes. */
static struct webhdfs_async *find_part(struct file_server *server, const char *url, size_t length,
				       struct err *err)
{
	struct part *part;

	SLIST_FOREACH(part, &server->parts, link)
	if (strlen(part->fs) == length && strncmp(part->fs, url, length) == 0)
		return part->hdfs;
	struct webhdfs_options options = hdfs_access_webhdfs_of(&server->access.hdfs, url);
	options.max_wait_ms = PATIENCE_MS;
	options.silence_timeout_ms = SILENCE_MS;
	struct webhdfs_async *hdfs = webhdfs_async_create(server->base, &options, err);
	if (!hdfs)
		return NULL;
	part = mem_alloc(sizeof(*part));
	*part = (struct part){.fs = mem_strndup(url, length), .hdfs = hdfs};
	SLIST_INSERT_HEAD(&server->parts, part, link);
	return hdfs;
}

/* Reads what the request asks about. NULL: it is answered. */
static struct file_call *take_call(struct file_server *server, struct http_request *request)
{
	const char *name = http_request_query(request, "path");
	struct err err cleanup_err = {0};

	if (!name || !*name) {
		http_answer_error(request, 400, "bad-request",
				  "path: is missing; add ?path=hdfs:///data/part-0");
		return NULL;
	}
	char *full cleanup_free = mem_printf("%s%s", *name == '/' ? "hdfs:" : "", name);
	char *url cleanup_free = hdfs_access_resolve(&server->access.hdfs, full);
	if (!url) {
		char *shown cleanup_free = str_printable(name, strlen(name));
		http_answer_error(request, 403, "denied",
				  "%s is in none of the job's file systems, which are %s and those "
				  "of tony.other.namenodes",
				  shown, hdfs_access_name(&server->access.hdfs));
		return NULL;
	}
	const char *path = strchr(strstr(url, "://") + 3, '/');
	if (webhdfs_path_check(path, &err) < 0) {
		http_answer_error(request, 400, "bad-request", "%s", err_message(&err));
		return NULL;
	}
	struct webhdfs_async *hdfs = find_part(server, url, (size_t)(path - url), &err);
	if (hdfs)
		return file_call_create(request, hdfs, path, name);
	http_answer_error(request, 502, "store", "%s", err_message(&err));
	return NULL;
}

static void on_stat(void *data, struct http_request *request)
{
	struct file_call *call = take_call(data, request);

	if (call)
		file_call_stat(call);
}

static void on_blocks(void *data, struct http_request *request)
{
	struct file_call *call = take_call(data, request);

	if (call)
		file_call_blocks(call);
}

static void on_list(void *data, struct http_request *request)
{
	int64_t is_recursive = 0;

	if (http_request_query_int(request, "recursive", 0, 1, &is_recursive) < 0)
		return;
	struct file_call *call = take_call(data, request);
	if (call)
		file_call_list(call, is_recursive);
}

static void on_read(void *data, struct http_request *request)
{
	int64_t offset = 0, length = INT64_MAX;

	if (http_request_query_int(request, "offset", 0, INT64_MAX, &offset) < 0 ||
	    http_request_query_int(request, "length", 0, INT64_MAX, &length) < 0)
		return;
	struct file_call *call = take_call(data, request);
	if (call)
		file_call_read(call, offset, length);
}

static bool answer_failure(struct http_request *request, int status, const char *message)
{
	json_t *body = json_object();

	json_set_text(body, "error", message);
	http_answer_json(request, status, body);
	return true;
}

static int serve(struct file_server *server, struct err *err)
{
	static const struct http_route routes[] = {
		{.method = "GET", .pattern = "/v1/files/stat", .handle = on_stat},
		{.method = "GET", .pattern = "/v1/files/blocks", .handle = on_blocks},
		{.method = "GET", .pattern = "/v1/files/list", .handle = on_list},
		{.method = "GET", .pattern = "/v1/files/read", .handle = on_read},
	};
	int listener cleanup_close = net_listen_path(server->path, err);
	const struct http_server_config config = {
		.listener = listener,
		.routes = routes,
		.route_count = array_length(routes),
		.data = server,
		.any_host = true,
		.answer_failure = answer_failure,
	};

	server->http = listener < 0 ? NULL : http_server_create(server->base, &config, err);
	return server->http ? 0 : -1;
}

struct file_server *file_server_open(struct event_base *base, const char *path,
				     const json_t *stores, struct err *err)
{
	struct file_server *server = mem_alloc(sizeof(*server));

	server->base = base;
	server->path = mem_strdup(path);
	SLIST_INIT(&server->parts);
	if (store_access_from_json(stores, &server->access, err) == 0 && serve(server, err) == 0)
		return server;
	file_server_close(server);
	return NULL;
}

void file_server_close(struct file_server *server)
{
	struct part *part;

	if (!server)
		return;
	if (server->http)
		unlink(server->path);
	http_server_destroy(server->http);
	while ((part = SLIST_FIRST(&server->parts))) {
		SLIST_REMOVE_HEAD(&server->parts, link);
		webhdfs_async_destroy(part->hdfs);
		free(part->fs);
		free(part);
	}
	store_access_finish(&server->access);
	free(server->path);
	free(server);
}
