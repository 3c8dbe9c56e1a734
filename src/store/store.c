#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/webhdfs_async.h"
#include "net/interrupt.h"
#include "store/access.h"
#include "store/location.h"
#include "store/s3.h"
#include "store/store_internal.h"

#define DEPTH_CAP 100 /* directories within each other */

/* ---- life --------------------------------------------------------------------------------- */

struct event_base *store_loop(struct store *store)
{
	if (!store->base) {
		store->base = event_base_new();
		store->has_own_base = true;
	}
	return store->base;
}

static int open_hdfs(struct store *store, const struct store_access *access,
		     const struct store_location *location, int64_t wait_ms, struct err *err)
{
	if (!access || !access->has_hdfs)
		return err_set(err, ERR_CONFIG,
			       "%s: no Hadoop configuration says how to reach it; set "
			       "HADOOP_CONF_DIR",
			       store->location);
	char *url cleanup_free = store_location_url(location, location->path);
	char *full cleanup_free = hdfs_access_resolve(&access->hdfs, url);
	if (!full)
		return err_set(err, ERR_CONFIG, "%s is not in this cluster's file system, %s",
			       store->location, hdfs_access_name(&access->hdfs));
	struct webhdfs_options options = hdfs_access_webhdfs_of(&access->hdfs, full);
	options.max_wait_ms = wait_ms ? wait_ms : options.max_wait_ms;
	mem_replace(&store->root, mem_strdup(strchr(strstr(full, "://") + 3, '/')));
	options.tells_waits = !store->base && wait_ms == 0;
	store->user = mem_strdup(access->hdfs.user);
	store->hdfs = webhdfs_async_create(store_loop(store), &options, err);
	return store->hdfs ? 0 : -1;
}

static int open_s3(struct store *store, const struct store_access *access, const char *bucket,
		   int64_t wait_ms, struct err *err)
{
	if (!access || !access->has_s3)
		return err_set(err, ERR_CONFIG, "%s: no key says how to reach it", store->location);
	store->s3 =
		s3_client_create(store_loop(store), &access->s3, bucket, store->root, wait_ms, err);
	return store->s3 ? 0 : -1;
}

static int open_kind(struct store *store, const struct store_location *location,
		     const struct store_access *access, int64_t wait_ms, struct err *err)
{
	switch (location->kind) {
	case STORE_PATH:
	case STORE_FILE:
		store->ops = &store_directory_ops;
		return 0;
	case STORE_HDFS:
		store->ops = &store_hdfs_ops;
		return open_hdfs(store, access, location, wait_ms, err);
	case STORE_S3:
		store->ops = &store_s3_ops;
		return open_s3(store, access, location->authority, wait_ms, err);
	}
	BUG("location of kind %d", location->kind);
}

struct store *store_open(const char *location, const struct store_access *access, int64_t wait_ms,
			 struct event_base *base, struct err *err)
{
	struct store_location parsed cleanup_store_location = {0};

	if (store_location_parse(location, &parsed, err) < 0)
		return NULL;
	struct store *store = mem_alloc(sizeof(*store));
	*store = (struct store){
		.location = mem_strdup(location),
		.root = mem_strdup(parsed.path),
		.base = base,
	};
	LIST_INIT(&store->calls);
	if (open_kind(store, &parsed, access, wait_ms, err) == 0)
		return store;
	store_close(store);
	return NULL;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	while (!LIST_EMPTY(&store->calls))
		store_cancel(LIST_FIRST(&store->calls));
	webhdfs_async_destroy(store->hdfs);
	s3_client_destroy(store->s3);
	if (store->has_own_base)
		event_base_free(store->base);
	free(store->location);
	free(store->root);
	free(store->user);
	free(store);
}

const struct store_traits *store_traits(const struct store *store)
{
	return &store->ops->traits;
}

const char *store_location(const struct store *store)
{
	return store->location;
}

const char *store_root(const struct store *store)
{
	return store->root;
}

const char *store_user(const struct store *store)
{
	return store->user;
}

const char *store_server(const struct store *store)
{
	return store->hdfs ? webhdfs_async_address(store->hdfs) : NULL;
}

/* ---- asynchronous ------------------------------------------------------------------------- */

void store_cancel(struct store_call *call)
{
	if (!call->store->ops->traits.is_at_once)
		call->store->ops->cancel(call);
	store_call_free(call);
}

static void on_turn(evutil_socket_t fd, short what, void *data)
{
	struct store_call *call = data;
	struct store_item item cleanup_store_item = {0};
	struct str bytes cleanup_str = {0};
	struct err err cleanup_err = {0};

	if (call->store->ops->run(call->store, &call->request, &item, &bytes, &err) < 0)
		store_tell(call, NULL, &err);
	else
		store_tell(call,
			   &(struct store_answer){.item = &item,
						  .bytes = str_text(&bytes),
						  .length = bytes.length},
			   NULL);
}

static void start_turn(struct store_call *call)
{
	struct store_request *request = &call->request;

	request->path = call->path = mem_strdup(request->path);
	request->to = call->to = mem_strdup(request->to);
	if (request->bytes) {
		str_append_bytes(&call->bytes, request->bytes, (size_t)request->length);
		request->bytes = str_text(&call->bytes);
	}
	timer_start(&call->timer, 0);
}

struct store_call *store_start(struct store *store, struct store_request request, store_done *done,
			       void *data)
{
	struct store_call *call = mem_alloc(sizeof(*call));

	*call = (struct store_call){.store = store, .request = request, .done = done, .data = data};
	event_assign(&call->timer, store_loop(store), -1, 0, on_turn, call);
	LIST_INSERT_HEAD(&store->calls, call, link);
	if (store->ops->traits.is_at_once)
		start_turn(call);
	else
		store->ops->start(call);
	return call;
}

/* ---- waiting ------------------------------------------------------------------------------ */

struct waiting {
	struct event_base *base;
	struct store_item *item;
	struct str *bytes;
	struct err *err;
	int result;
};

static void on_waited(void *data, const struct store_answer *answer, const struct err *err)
{
	struct waiting *waiting = data;

	waiting->result = err ? err_copy(waiting->err, err) : 0;
	if (answer && answer->item) {
		*waiting->item = *answer->item;
		waiting->item->name = mem_strdup(answer->item->name);
		waiting->item->owner = mem_strdup(answer->item->owner);
	}
	if (answer && answer->bytes)
		str_append_bytes(waiting->bytes, answer->bytes, answer->length);
	event_base_loopbreak(waiting->base);
}

static int run(struct store *store, const struct store_request *request, struct store_item *item,
	       struct str *bytes, struct err *err)
{
	struct waiting waiting = {store->base, item, bytes, err, 0};

	if (store->ops->traits.is_at_once)
		return store->ops->run(store, request, item, bytes, err);
	struct store_call *call = store_start(store, *request, on_waited, &waiting);
	if (interrupt_dispatch(store->base))
		return waiting.result;
	store_cancel(call);
	return interrupt_set(err, store->location);
}

int store_run(struct store *store, struct store_request request, struct err *err)
{
	struct store_item item cleanup_store_item = {0};
	struct str bytes cleanup_str = {0};

	return run(store, &request, &item, &bytes, err);
}

int store_look(struct store *store, const char *path, struct store_item *item, struct err *err)
{
	struct store_request request = store_stat(path);

	struct str bytes cleanup_str = {0};

	*item = (struct store_item){0};
	return run(store, &request, item, &bytes, err);
}

int store_read_bytes(struct store *store, const char *path, int64_t cap, struct str *bytes,
		     struct err *err)
{
	struct store_request request = store_read(path, cap);
	struct store_item item cleanup_store_item = {0};

	return run(store, &request, &item, bytes, err);
}

int store_make_file(struct err *err)
{
	const char *directory = getenv("TMPDIR");
	char *pattern cleanup_free =
		mem_printf("%s/tony-XXXXXX", directory && *directory == '/' ? directory : "/tmp");
	int fd = mkostemp(pattern, O_CLOEXEC);

	if (fd < 0)
		return err_set_errno(err, "%s", pattern);
	unlink(pattern);
	return fd;
}

/* A look and the bytes are a request each, and a bucket has thousands of small files. */
static int fetch_small(struct store *store, const char *path, int64_t cap, int fd, struct err *err)
{
	struct str bytes cleanup_str = {0};

	if (store_read_bytes(store, path, cap, &bytes, err) < 0)
		return -1;
	return fs_write_all(fd, str_text(&bytes), bytes.length, err);
}

static int fetch_large(struct store *store, const char *path, int64_t cap, int fd, struct err *err)
{
	struct store_item item cleanup_store_item = {0};

	if (store_look(store, path, &item, err) < 0)
		return -1;
	if (!item.is_file)
		return err_set(err, ERR_NOT_FOUND, "%s/%s: is not a file", store->root, path);
	if (item.length > cap)
		return err_set(err, ERR_INPUT, "%s/%s: is larger than %lld bytes", store->root,
			       path, (long long)cap);
	return item.length > 0
		       ? store_run(store, store_download(path, NULL, fd, 0, item.length), err)
		       : 0;
}

static int fetch(struct store *store, const char *path, int64_t cap, struct err *err)
{
	bool is_small = store->ops->traits.holds_objects && cap <= STORE_READ_CAP;
	int fd cleanup_close = store_make_file(err);

	if (fd < 0 || (is_small ? fetch_small(store, path, cap, fd, err)
				: fetch_large(store, path, cap, fd, err)) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set_errno(err, "%s/%s", store->root, path);
	return mem_steal_fd(&fd);
}

/* A router has no paths of inodes, or leads by them to another namespace. Asked of the location,
 * which no user of it can exchange. */
static int find_inodes(struct store *store, struct err *err)
{
	struct store_item top cleanup_store_item = {0}, same cleanup_store_item = {0};
	struct err why cleanup_err = {0};

	if (store_look(store, "", &top, err) < 0)
		return -1;
	char *path cleanup_free = mem_printf(WEBHDFS_INODES "%lld", (long long)top.inode);
	bool is_there = top.inode > 0 && store_look(store, path, &same, &why) == 0;
	if (why.kind == ERR_UNREACHABLE || why.kind == ERR_EXPIRED)
		return err_copy(err, &why);
	bool is_same = is_there && same.inode == top.inode && str_equal(same.owner, top.owner) &&
		       same.permission == top.permission && same.modified_ms >= top.modified_ms;
	store->inodes = is_same ? STORE_INODES_LEAD : STORE_INODES_NONE;
	return 0;
}

int store_hold(struct store *store, const char *path, char **held, char **owner, struct err *err)
{
	struct store_item item cleanup_store_item = {0};

	*held = *owner = NULL;
	if (store->hdfs && store->inodes == STORE_INODES_UNKNOWN && find_inodes(store, err) < 0)
		return -1;
	if (store->inodes != STORE_INODES_LEAD) {
		*held = mem_strdup(path);
		return 0;
	}
	if (store_look(store, path, &item, err) < 0)
		return -1;
	*held = mem_printf(WEBHDFS_INODES "%lld", (long long)item.inode);
	*owner = mem_steal(&item.owner);
	return 0;
}

static int fetch_held(struct store *store, const char *path, int64_t cap, char **keeper,
		      struct err *err)
{
	char *directory cleanup_free = strchr(path, '/') ? fs_dirname(path) : mem_strdup("");
	char *held cleanup_free = NULL, *owner cleanup_free = NULL;

	if (store_hold(store, directory, &held, &owner, err) < 0)
		return -1;
	char *there cleanup_free = fs_join(held, fs_basename(path));
	int fd = fetch(store, owner ? there : path, cap, err);
	if (fd < 0 && owner)
		return err_rename(err, there, path);
	*keeper = mem_steal(&owner);
	return fd;
}

int store_open_file(struct store *store, const char *path, int64_t cap, char **keeper,
		    struct err *err)
{
	if (store->ops->traits.is_at_once)
		return store->ops->open_file(store, path, cap, keeper, err);
	return keeper ? fetch_held(store, path, cap, keeper, err) : fetch(store, path, cap, err);
}

int store_check_depth(const char *path, struct err *err)
{
	size_t depth = 1;

	for (const char *slash = path; (slash = strchr(slash, '/')); slash++)
		depth++;
	return depth <= DEPTH_CAP ? 0
				  : err_set(err, ERR_INPUT,
					    "%.256s: more than %d directories within each other",
					    path, DEPTH_CAP);
}
