/* Of the file server's questions, those about what is there. */
#include <stdlib.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "store/file_call.h"

/* `below`: the path of its directory, below what was asked for; `file->name` is "" for that itself.
 */
static json_t *describe(const struct file_call *call, const char *below,
			const struct webhdfs_file *file)
{
	json_t *line = json_object();
	struct str path cleanup_str = {0};

	str_append(&path, call->name);
	str_append_format(&path, "%s%s", *below ? "/" : "", below);
	bool is_root = !*call->name || str_ends_with(call->name, "://");
	str_append_format(&path, "%s%s", *file->name || (is_root && !*below) ? "/" : "",
			  file->name);
	json_set_text(line, "path", str_text(&path));
	json_object_set_new(line, "length", json_integer(file->length));
	json_object_set_new(line, "modified_ms", json_integer(file->modified_ms));
	json_object_set_new(line, "directory", json_boolean(file->is_directory));
	return line;
}

/* ---- one file ----------------------------------------------------------------------------- */

static void on_stat(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct file_call *call = data;

	call->call = NULL;
	if (err)
		file_call_fail(call, err);
	else
		file_call_answer_json(call, describe(call, "", result->file));
}

void file_call_stat(struct file_call *call)
{
	call->call = webhdfs_async_stat(call->hdfs, call->path, on_stat, call);
}

static void on_block(void *data, const struct webhdfs_block *block)
{
	const struct file_call *call = data;
	json_t *line = json_object(), *hosts = json_array();

	for (size_t i = 0; i < block->place_count; i++)
		json_array_append_new(hosts, json_string(block->places[i].host));
	json_object_set_new(line, "offset", json_integer(block->offset));
	json_object_set_new(line, "length", json_integer(block->length));
	json_object_set_new(line, "hosts", hosts);
	char *text cleanup_free = json_text(line);
	json_decref(line);
	evbuffer_add_printf(call->ready, "%s%s", evbuffer_get_length(call->ready) > 0 ? "," : "",
			    text);
}

static void on_blocks(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct file_call *call = data;

	call->call = NULL;
	if (err) {
		file_call_fail(call, err);
		return;
	}
	evbuffer_prepend(call->ready, "[", 1);
	evbuffer_add(call->ready, "]", 1);
	file_call_end(call);
}

void file_call_blocks(struct file_call *call)
{
	call->content_type = "application/json";
	call->call = webhdfs_async_blocks(call->hdfs, call->path, on_block, on_blocks, call);
}

/* ---- a list ------------------------------------------------------------------------------- */

static void add_line(struct file_call *call, json_t *line)
{
	char *text cleanup_free = json_text(line);

	json_decref(line);
	evbuffer_add_printf(call->ready, "%s\n", text);
}

static void on_entry(void *data, const struct webhdfs_file *file)
{
	struct file_call *call = data;
	const char *below = call->below;

	add_line(call, describe(call, below, file));
	if (call->is_recursive && file->is_directory)
		str_list_take(&call->waiting,
			      *below ? fs_join(below, file->name) : mem_strdup(file->name));
	file_call_send(call);
}

static void on_listed(void *data, const struct webhdfs_result *result, const struct err *err);

static void list_next(struct file_call *call)
{
	char *below = call->waiting.items[--call->waiting.count];
	char *path cleanup_free = *below ? fs_join(call->path, below) : mem_strdup(call->path);

	mem_replace(&call->below, below);
	call->call = webhdfs_async_list_long(call->hdfs, path, on_entry, on_listed, call);
}

/* Within a list, an error is its last line. */
static void add_error(struct file_call *call, const struct err *err)
{
	json_t *line = json_object();

	json_set_text(line, "error", err_message(err));
	add_line(call, line);
}

static void on_listed(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct file_call *call = data;
	bool is_top = !*call->below;

	call->call = NULL;
	if (err && is_top && !call->stream) {
		file_call_fail(call, err);
		return;
	}
	bool is_removed = err && err->kind == ERR_NOT_FOUND && !is_top; /* meanwhile */
	if (err && !is_removed)
		add_error(call, err);
	if ((err && !is_removed) || call->waiting.count == 0)
		file_call_end(call);
	else
		file_call_send(call); /* goes on from there */
}

void file_call_list(struct file_call *call, bool is_recursive)
{
	call->content_type = "application/x-ndjson";
	call->is_recursive = is_recursive;
	call->go_on = list_next;
	str_list_add(&call->waiting, "");
	list_next(call);
}
