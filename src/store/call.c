/* Requests, and the calls that they become. */
#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/store_internal.h"

void store_item_finish(struct store_item *item)
{
	free(item->name);
	free(item->owner);
	*item = (struct store_item){0};
}

/* ---- requests ----------------------------------------------------------------------------- */

struct store_request store_stat(const char *path)
{
	return (struct store_request){.verb = STORE_STAT, .path = path};
}

struct store_request store_list(const char *path, const char *owner, store_visit *visit, void *data)
{
	return (struct store_request){
		.verb = STORE_LIST, .path = path, .owner = owner, .visit = visit, .data = data};
}

struct store_request store_read(const char *path, int64_t cap)
{
	return (struct store_request){.verb = STORE_READ, .path = path, .length = cap};
}

struct store_request store_download(const char *path, const char *owner, int fd, int64_t offset,
				    int64_t length)
{
	return (struct store_request){.verb = STORE_DOWNLOAD,
				      .path = path,
				      .owner = owner,
				      .fd = fd,
				      .offset = offset,
				      .length = length};
}

struct store_request store_upload(const char *path, unsigned permission, int fd, int64_t length)
{
	return (struct store_request){.verb = STORE_UPLOAD,
				      .path = path,
				      .permission = permission,
				      .fd = fd,
				      .length = length};
}

struct store_request store_append(const char *path, const void *bytes, size_t length)
{
	return (struct store_request){
		.verb = STORE_APPEND, .path = path, .bytes = bytes, .length = (int64_t)length};
}

struct store_request store_rename(const char *from, const char *to)
{
	return (struct store_request){.verb = STORE_RENAME, .path = from, .to = to};
}

struct store_request store_rename_keeping(const char *from, const char *to)
{
	return (struct store_request){.verb = STORE_RENAME, .path = from, .to = to, .keeps = true};
}

struct store_request store_remove(const char *path)
{
	return (struct store_request){.verb = STORE_REMOVE, .path = path};
}

struct store_request store_remove_owned(const char *path, const char *owner, const char *name,
					const char *bytes, size_t length)
{
	return (struct store_request){.verb = STORE_REMOVE,
				      .path = path,
				      .owner = owner,
				      .to = name,
				      .bytes = bytes,
				      .length = (int64_t)length};
}

struct store_request store_remove_empty(const char *path)
{
	return (struct store_request){.verb = STORE_REMOVE, .path = path, .keeps = true};
}

struct store_request store_make_directories(const char *path, unsigned permission)
{
	return (struct store_request){
		.verb = STORE_MAKE_DIRECTORIES, .path = path, .permission = permission};
}

struct store_request store_set_time(const char *path, int64_t modified_ms)
{
	return (struct store_request){.verb = STORE_SET_TIME,
				      .path = path,
				      .modified_ms = modified_ms,
				      .accessed_ms = -1};
}

struct store_request store_set_accessed(const char *path, int64_t accessed_ms)
{
	return (struct store_request){.verb = STORE_SET_TIME,
				      .path = path,
				      .modified_ms = -1,
				      .accessed_ms = accessed_ms};
}

struct store_request store_notes(const char *path, store_visit_note *visit, void *data)
{
	return (struct store_request){
		.verb = STORE_NOTES, .path = path, .visit_note = visit, .data = data};
}

struct store_request store_set_note(const char *path, const char *name, const void *bytes,
				    size_t length)
{
	return (struct store_request){.verb = STORE_SET_NOTE,
				      .path = path,
				      .to = name,
				      .bytes = bytes,
				      .length = (int64_t)length};
}

/* ---- calls ------------------------------------------------------------------------------- */

void store_call_free(struct store_call *call)
{
	LIST_REMOVE(call, link);
	event_del(&call->timer);
	str_finish(&call->bytes);
	free(call->path);
	free(call->to);
	free(call);
}

void store_tell(struct store_call *call, const struct store_answer *answer, const struct err *err)
{
	store_done *done = call->done;
	void *data = call->data;

	store_call_free(call);
	done(data, answer, err);
}
