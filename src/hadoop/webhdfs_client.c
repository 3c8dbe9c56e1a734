#include "hadoop/webhdfs_client.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/webhdfs_async.h"
#include "net/interrupt.h"

struct webhdfs_client {
	struct event_base *base;
	struct webhdfs_async *async;
};

struct webhdfs_client *webhdfs_client_create(const struct webhdfs_options *options, struct err *err)
{
	struct webhdfs_client *client = mem_alloc(sizeof(*client));

	client->base = event_base_new();
	if (client->base)
		client->async = webhdfs_async_create(client->base, options, err);
	else
		err_set_errno(err, "cannot make an event loop");
	if (client->async)
		return client;
	webhdfs_client_destroy(client);
	return NULL;
}

void webhdfs_client_destroy(struct webhdfs_client *client)
{
	if (!client)
		return;
	webhdfs_async_destroy(client->async);
	if (client->base) {
		/* Cancelled calls end here. */
		event_base_loop(client->base, EVLOOP_NONBLOCK);
		event_base_free(client->base);
	}
	free(client);
}

/* A call, and what its caller wants of it. */
struct wait {
	struct webhdfs_client *client;
	int result;
	struct err *err;
	struct webhdfs_file *file; /* NULL: not wanted */
	void (*visit)(void *data, const struct webhdfs_file *file);
	void (*on_block)(void *data, const struct webhdfs_block *block);
	bool (*on_bytes)(void *data, const char *bytes, size_t length);
	void *data;
};

static void on_done(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct wait *wait = data;

	event_base_loopbreak(wait->client->base);
	if (err) {
		wait->result = err_copy(wait->err, err);
	} else if (wait->file) {
		*wait->file = *result->file;
		wait->file->name = mem_strdup(result->file->name);
		wait->file->owner = mem_strdup(result->file->owner);
		wait->file->group = mem_strdup(result->file->group);
	}
}

static void on_file(void *data, const struct webhdfs_file *file)
{
	const struct wait *wait = data;

	wait->visit(wait->data, file);
}

static void on_block(void *data, const struct webhdfs_block *block)
{
	const struct wait *wait = data;

	wait->on_block(wait->data, block);
}

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	const struct wait *wait = data;

	return wait->on_bytes(wait->data, bytes, length);
}

static int run(struct wait *wait, struct webhdfs_call *call)
{
	if (interrupt_dispatch(wait->client->base))
		return wait->result;
	webhdfs_call_cancel(call);
	return interrupt_set(wait->err, webhdfs_async_address(wait->client->async));
}

/* ---- metadata ----------------------------------------------------------------------------- */

int webhdfs_stat(struct webhdfs_client *client, const char *path, struct webhdfs_file *file,
		 struct err *err)
{
	struct wait wait = {.client = client, .err = err, .file = file};

	return run(&wait, webhdfs_async_stat(client->async, path, on_done, &wait));
}

int webhdfs_list(struct webhdfs_client *client, const char *path,
		 void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		 struct err *err)
{
	struct wait wait = {.client = client, .err = err, .visit = visit, .data = data};

	return run(&wait, webhdfs_async_list(client->async, path, on_file, on_done, &wait));
}

int webhdfs_blocks(struct webhdfs_client *client, const char *path,
		   void (*visit)(void *data, const struct webhdfs_block *block), void *data,
		   struct err *err)
{
	struct wait wait = {.client = client, .err = err, .on_block = visit, .data = data};

	return run(&wait, webhdfs_async_blocks(client->async, path, on_block, on_done, &wait));
}

/* ---- content ------------------------------------------------------------------------------ */

int webhdfs_read(struct webhdfs_client *client, const char *path, int64_t offset, int64_t length,
		 bool (*on_piece)(void *data, const char *bytes, size_t length), void *data,
		 struct err *err)
{
	struct wait wait = {.client = client, .err = err, .on_bytes = on_piece, .data = data};

	return run(&wait, webhdfs_async_stream(client->async, path, offset, length, on_bytes,
					       on_done, &wait));
}
