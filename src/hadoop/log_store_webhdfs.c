/* Aggregated logs in HDFS. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/aggregated.h"
#include "hadoop/webhdfs_client.h"

struct webhdfs_store {
	struct log_store base;
	struct webhdfs_client *client;
};

static struct webhdfs_client *client_of(struct log_store *store)
{
	return ((struct webhdfs_store *)store)->client;
}

struct listing {
	void (*visit)(void *data, const struct log_store_entry *entry);
	void *data;
};

static void visit_file(void *data, const struct webhdfs_file *file)
{
	const struct listing *listing = data;

	listing->visit(listing->data, &(struct log_store_entry){.name = file->name,
								.is_directory = file->is_directory,
								.length = file->length,
								.modified_ms = file->modified_ms});
}

static int list(struct log_store *store, const char *path,
		void (*visit)(void *data, const struct log_store_entry *entry), void *data,
		struct err *err)
{
	struct listing listing = {.visit = visit, .data = data};

	return webhdfs_list(client_of(store), path, visit_file, &listing, err);
}

struct range {
	char *next;
	size_t left;
};

static bool take_bytes(void *data, const char *bytes, size_t length)
{
	struct range *range = data;

	if (length > range->left)
		length = range->left;
	memcpy(range->next, bytes, length);
	range->next += length;
	range->left -= length;
	return range->left > 0;
}

static int read_range(struct log_store *store, const char *path, int64_t offset, void *bytes,
		      size_t length, struct err *err)
{
	struct range range = {.next = bytes, .left = length};

	if (webhdfs_read(client_of(store), path, offset, (int64_t)length, take_bytes, &range, err) <
	    0)
		return -1;
	if (range.left > 0)
		return err_set(err, ERR_IO, "%s ends at byte %" PRId64, path,
			       offset + (int64_t)(length - range.left));
	return 0;
}

static void destroy(struct log_store *store)
{
	webhdfs_client_destroy(client_of(store));
	free(store);
}

struct log_store *log_store_webhdfs(struct webhdfs_client *client)
{
	static const struct log_store_ops ops = {
		.list = list, .read = read_range, .destroy = destroy};
	struct webhdfs_store *store = mem_alloc(sizeof(*store));

	store->base.ops = &ops;
	store->client = client;
	return &store->base;
}
