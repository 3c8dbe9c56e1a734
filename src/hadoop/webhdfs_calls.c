/* Each of the calls: what it asks for, and what it brings along. */
#include "base/err.h"
#include "base/mem.h"
#include "hadoop/webhdfs_call.h"

struct webhdfs_call *webhdfs_async_make_directories(struct webhdfs_async *client, const char *path,
						    unsigned permission, webhdfs_done *done,
						    void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_MKDIRS, path, done, data);

	str_append_format(&call->parameters, "&permission=%o", permission);
	return call;
}

struct webhdfs_call *webhdfs_async_stat(struct webhdfs_async *client, const char *path,
					webhdfs_done *done, void *data)
{
	return webhdfs_call_start(client, WEBHDFS_GETFILESTATUS, path, done, data);
}

static void take_bytes(struct webhdfs_call *call, const void *bytes, size_t length)
{
	call->length = length;
	if (length <= WEBHDFS_BODY_CAP)
		str_append_bytes(&call->body, bytes, length);
	else if (!call->flaw.message)
		err_set(&call->flaw, ERR_INPUT, "more than %u bytes", WEBHDFS_BODY_CAP);
}

static struct webhdfs_call *start_create(struct webhdfs_async *client, const char *path,
					 const struct webhdfs_create *create, webhdfs_done *done,
					 void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_CREATE, path, done, data);

	call->tries.is_harmless = create->overwrite;
	str_append_format(&call->parameters, "&overwrite=%s&permission=%o",
			  create->overwrite ? "true" : "false",
			  create->permission ? create->permission : 0644);
	return call;
}

struct webhdfs_call *webhdfs_async_write(struct webhdfs_async *client, const char *path,
					 const struct webhdfs_create *create, const void *bytes,
					 size_t length, webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = start_create(client, path, create, done, data);

	take_bytes(call, bytes, length);
	return call;
}

struct webhdfs_call *webhdfs_async_append(struct webhdfs_async *client, const char *path,
					  const void *bytes, size_t length, webhdfs_done *done,
					  void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_APPEND, path, done, data);

	call->tries.is_harmless = false;
	take_bytes(call, bytes, length);
	return call;
}

struct webhdfs_call *webhdfs_async_upload(struct webhdfs_async *client, const char *path,
					  const struct webhdfs_create *create, int fd,
					  int64_t length, const struct webhdfs_progress *progress,
					  webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = start_create(client, path, create, done, data);

	call->fd = fd;
	call->progress = progress;
	call->length = (size_t)length;
	return call;
}

struct webhdfs_call *webhdfs_async_read(struct webhdfs_async *client, const char *path,
					webhdfs_done *done, void *data)
{
	return webhdfs_call_start(client, WEBHDFS_OPEN, path, done, data);
}

struct webhdfs_call *webhdfs_async_download(struct webhdfs_async *client, const char *path, int fd,
					    int64_t offset, int64_t length,
					    const struct webhdfs_progress *progress,
					    webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_OPEN, path, done, data);

	str_append_format(&call->parameters, "&offset=%lld&length=%lld", (long long)offset,
			  (long long)length);
	call->fd = fd;
	call->progress = progress;
	call->offset = offset;
	call->length = (size_t)length;
	return call;
}

struct webhdfs_call *
webhdfs_async_stream(struct webhdfs_async *client, const char *path, int64_t offset, int64_t length,
		     bool (*on_bytes)(void *data, const char *bytes, size_t length),
		     webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_OPEN, path, done, data);

	call->on_bytes = on_bytes;
	call->offset = offset;
	call->left = length;
	return call;
}

struct webhdfs_call *webhdfs_async_list(struct webhdfs_async *client, const char *path,
					void (*visit)(void *data, const struct webhdfs_file *file),
					webhdfs_done *done, void *data)
{
	struct webhdfs_call *call =
		webhdfs_call_start(client, WEBHDFS_LISTSTATUS, path, done, data);

	call->visit = visit;
	return call;
}

struct webhdfs_call *webhdfs_async_list_long(struct webhdfs_async *client, const char *path,
					     void (*visit)(void *data,
							   const struct webhdfs_file *file),
					     webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(
		client, client->lists_whole ? WEBHDFS_LISTSTATUS : WEBHDFS_LISTSTATUS_BATCH, path,
		done, data);

	call->visit = visit;
	return call;
}

struct webhdfs_call *webhdfs_async_blocks(struct webhdfs_async *client, const char *path,
					  void (*visit)(void *data,
							const struct webhdfs_block *block),
					  webhdfs_done *done, void *data)
{
	struct webhdfs_call *call =
		webhdfs_call_start(client,
				   client->options.http_fs ? WEBHDFS_GETFILEBLOCKLOCATIONS
							   : WEBHDFS_GET_BLOCK_LOCATIONS,
				   path, done, data);

	call->visit_block = visit;
	return call;
}

struct webhdfs_call *webhdfs_async_set_times(struct webhdfs_async *client, const char *path,
					     int64_t modified_ms, int64_t accessed_ms,
					     webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_SETTIMES, path, done, data);

	str_append_format(&call->parameters, "&modificationtime=%lld&accesstime=%lld",
			  (long long)modified_ms, (long long)accessed_ms);
	return call;
}

struct webhdfs_call *webhdfs_async_set_attribute(struct webhdfs_async *client, const char *path,
						 const char *name, const char *value,
						 webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_SETXATTR, path, done, data);

	webhdfs_target_add(&call->parameters, "xattr.name", name);
	webhdfs_target_add(&call->parameters, "xattr.value", value);
	webhdfs_target_add(&call->parameters, "flag", "CREATE,REPLACE");
	return call;
}

struct webhdfs_call *webhdfs_async_attributes(struct webhdfs_async *client, const char *path,
					      void (*visit)(void *data, const char *name,
							    const char *value),
					      webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_GETXATTRS, path, done, data);

	str_append(&call->parameters, WEBHDFS_IN_HEX);
	call->visit_attribute = visit;
	return call;
}

struct webhdfs_call *webhdfs_async_remove(struct webhdfs_async *client, const char *path,
					  webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_DELETE, path, done, data);

	str_append(&call->parameters, "&recursive=true");
	return call;
}

struct webhdfs_call *webhdfs_async_rename(struct webhdfs_async *client, const char *from,
					  const char *to, bool overwrite, webhdfs_done *done,
					  void *data)
{
	struct webhdfs_call *call = webhdfs_call_start(client, WEBHDFS_RENAME, from, done, data);

	call->to = mem_strdup(to);
	call->overwrite = overwrite;
	if (!call->flaw.message)
		webhdfs_path_check(to, &call->flaw);
	webhdfs_target_add(&call->parameters, "destination", to);
	if (!client->options.http_fs)
		webhdfs_target_add(&call->parameters, "renameoptions",
				   overwrite ? "OVERWRITE" : "NONE");
	return call;
}
