/* A store in HDFS. Notes are extended attributes, "user.tony.NAME". */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/webhdfs_async.h"
#include "store/store_internal.h"

#define NOTE_PREFIX "user.tony."

static char *full_path(const struct store *store, const char *path)
{
	return *path ? fs_join(store->root, path) : mem_strdup(store->root);
}

/* Borrows from `file`. */
static struct store_item item_of(const struct webhdfs_file *file)
{
	return (struct store_item){.name = file->name,
				   .is_directory = file->is_directory,
				   .is_file = !file->is_directory,
				   .length = file->length,
				   .modified_ms = file->modified_ms,
				   .accessed_ms = file->accessed_ms,
				   .permission = file->permission,
				   .others_may_write = fs_others_may_write(file->permission),
				   .others_may_replace = fs_others_may_replace(file->permission),
				   .owner = file->owner,
				   .inode = file->inode};
}

static void on_file(void *data, const struct webhdfs_file *file)
{
	const struct store_call *call = data;
	const struct store_item item = item_of(file);

	if (*file->name) /* else it is no directory */
		call->request.visit(call->request.data, &item);
}

static void on_attribute(void *data, const char *name, const char *value)
{
	const struct store_call *call = data;
	struct str bytes cleanup_str = {0};

	if (str_starts_with(name, NOTE_PREFIX) && webhdfs_attribute_decode(value, &bytes))
		call->request.visit_note(call->request.data, name + strlen(NOTE_PREFIX),
					 str_text(&bytes), bytes.length);
}

static void on_done(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct store_call *call = data;
	struct err large cleanup_err = {0};

	if (err) {
		store_tell(call, NULL, err);
		return;
	}
	if (call->request.verb == STORE_READ && (int64_t)result->length > call->request.length) {
		err_set(&large, ERR_INPUT, "%s: is larger than %lld bytes", call->store->location,
			(long long)call->request.length);
		store_tell(call, NULL, &large);
		return;
	}
	const struct store_item item =
		result->file ? item_of(result->file) : (struct store_item){0};
	store_tell(call,
		   &(struct store_answer){.item = result->file ? &item : NULL,
					  .bytes = result->bytes,
					  .length = result->length},
		   NULL);
}

static struct webhdfs_call *set_note(struct store_call *call, const char *path)
{
	char *name cleanup_free = mem_printf(NOTE_PREFIX "%s", call->request.to);
	char *value cleanup_free =
		webhdfs_attribute_encode(call->request.bytes, (size_t)call->request.length);

	return webhdfs_async_set_attribute(call->store->hdfs, path, name, value, on_done, call);
}

static struct webhdfs_call *rename_path(struct store_call *call, const char *path)
{
	char *to cleanup_free = full_path(call->store, call->request.to);

	return webhdfs_async_rename(call->store->hdfs, path, to, !call->request.keeps, on_done,
				    call);
}

static const struct webhdfs_progress *progress_of(struct store_call *call)
{
	const struct store_progress *progress = call->request.progress;

	if (!progress)
		return NULL;
	call->progress = (struct webhdfs_progress){progress->tell, progress->data};
	return &call->progress;
}

static struct webhdfs_call *ask(struct store_call *call, const char *path)
{
	const struct store_request *request = &call->request;
	const struct webhdfs_create create = {.permission = request->permission, .overwrite = true};
	struct webhdfs_async *hdfs = call->store->hdfs;

	switch (request->verb) {
	case STORE_STAT:
		return webhdfs_async_stat(hdfs, path, on_done, call);
	case STORE_LIST:
		return webhdfs_async_list(hdfs, path, on_file, on_done, call);
	case STORE_READ:
		return webhdfs_async_read(hdfs, path, on_done, call);
	case STORE_DOWNLOAD:
		return webhdfs_async_download(hdfs, path, request->fd, request->offset,
					      request->length, progress_of(call), on_done, call);
	case STORE_UPLOAD:
		return webhdfs_async_upload(hdfs, path, &create, request->fd, request->length,
					    progress_of(call), on_done, call);
	case STORE_APPEND:
		return webhdfs_async_append(hdfs, path, request->bytes, (size_t)request->length,
					    on_done, call);
	case STORE_RENAME:
		return rename_path(call, path);
	case STORE_REMOVE:
		return webhdfs_async_remove(hdfs, path, on_done, call);
	case STORE_MAKE_DIRECTORIES:
		return webhdfs_async_make_directories(hdfs, path, request->permission, on_done,
						      call);
	case STORE_SET_TIME:
		return webhdfs_async_set_times(hdfs, path, request->modified_ms,
					       request->accessed_ms, on_done, call);
	case STORE_NOTES:
		return webhdfs_async_attributes(hdfs, path, on_attribute, on_done, call);
	case STORE_SET_NOTE:
		return set_note(call, path);
	}
	BUG("verb %d of a store", request->verb);
}

static void start(struct store_call *call)
{
	char *path cleanup_free = full_path(call->store, call->request.path);

	call->hdfs = ask(call, path);
}

static void cancel(struct store_call *call)
{
	webhdfs_call_cancel(call->hdfs);
}

const struct store_ops store_hdfs_ops = {
	.traits = {.has_notes = true},
	.start = start,
	.cancel = cancel,
};
