/*
 * Logs of a job that has ended on this machine, as long as its folder is there: all of them, where
 * the history has their ends. The folder is that of the portal's own user, so it is read for the
 * jobs of that user alone: those whose entry in the history this user has written, which says by
 * whom the job may be looked at (history/store.h).
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/user.h"
#include "job/log_frame.h"
#include "portal/reader_internal.h"
#include "scheduler/local_job.h"
#include "scheduler/state_dir.h"

/* The job's folder; NULL: it is another user's, is gone, or has lost its logs. The caller frees. */
static char *find_folder(struct reader *reader)
{
	const char *id = fs_basename(reader->path);
	char *own cleanup_free = user_name_of(geteuid());
	char *owner cleanup_free = history_store_owner(reader->store, reader->path, NULL);
	char *state cleanup_free = str_equal(owner, own) ? state_dir_find(NULL) : NULL;
	char *folder cleanup_free =
		state && state_dir_is_job_id(id) ? state_dir_job(state, id) : NULL;

	return folder && local_job_is_there(folder) && !state_dir_is_cleared(folder, false)
		       ? mem_steal(&folder)
		       : NULL;
}

/* `attempt` 0: the last one. The caller frees; NULL: it is not here. */
static char *find_container(struct reader *reader, size_t task, int attempt)
{
	const struct task_view *row = &reader->view->tasks[task];
	char *folder cleanup_free = find_folder(reader);

	if (!folder)
		return NULL;
	return mem_printf("%s/containers/%s-%d-%d", folder, reader->job->types[row->type].name,
			  row->index, attempt > 0 ? attempt : row->attempt);
}

static bool is_file(const char *path, struct stat *info)
{
	return lstat(path, info) == 0 && S_ISREG(info->st_mode);
}

/* ---- which there are ---------------------------------------------------------------------- */

/* The log in this file ("executor.log", not "stdout.times"); NULL: none. The caller frees. */
static char *log_of_file(const char *name)
{
	char *log cleanup_free = mem_strndup(name, strcspn(name, "."));
	char *file cleanup_free = log_file_name(log);

	return str_equal(file, name) ? mem_steal(&log) : NULL;
}

bool reader_here_list(struct reader *reader, size_t task, json_t *list)
{
	char *container cleanup_free = find_container(reader, task, 0);
	DIR *directory cleanup_dir = container ? opendir(container) : NULL;
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *path cleanup_free = fs_join(container, entry->d_name);
		char *log cleanup_free = log_of_file(entry->d_name);
		struct stat info;
		if (log && is_file(path, &info))
			json_array_append_new(list,
					      json_pack("{s:s, s:I, s:i}", "log", log, "bytes",
							(json_int_t)info.st_size, "attempt",
							reader->view->tasks[task].attempt));
	}
	return directory != NULL;
}

/* ---- one ---------------------------------------------------------------------------------- */

struct sending {
	struct log_reader *log;
	int64_t left;
	bool is_framed;
};

static void finish(struct sending *sending)
{
	log_reader_destroy(sending->log);
	free(sending);
}

static void on_closed(void *data)
{
	finish(data);
}

static void send_span(struct sending *sending, struct http_stream *stream,
		      const struct log_span *span)
{
	struct str head cleanup_str = {0};

	if (sending->is_framed) {
		log_frame_append_head(&head, span);
		http_stream_write(stream, head.text, head.length);
	}
	if (span)
		http_stream_write(stream, span->bytes, span->length);
}

static void on_room(void *data, struct http_stream *stream)
{
	struct sending *sending = data;
	size_t most = sending->left < HTTP_STREAM_CHUNK ? (size_t)sending->left : HTTP_STREAM_CHUNK;
	struct log_span span;

	if (most > 0 && log_reader_next(sending->log, most, &span)) {
		sending->left -= (int64_t)span.length;
		send_span(sending, stream, &span);
		return;
	}
	if (most > 0)
		send_span(sending, stream, NULL);
	finish(sending);
	http_stream_end(stream);
}

bool reader_here_answer(struct reader *reader, struct http_request *request, size_t task,
			const struct log_question *question)
{
	char *container cleanup_free = find_container(reader, task, (int)question->attempt);
	char *path cleanup_free = container ? fs_join(container, question->file) : NULL;
	char *from cleanup_free = question->from
					  ? mem_strdup(question->from)
					  : mem_printf("offset:%lld", (long long)question->offset);
	struct stat info;

	if (!path || !is_file(path, &info))
		return false;
	struct sending *sending = mem_alloc(sizeof(*sending));
	*sending = (struct sending){.log = log_reader_create(path),
				    .left = question->limit,
				    .is_framed = question->frames};
	log_reader_seek(sending->log, from);
	http_answer_stream(
		request, sending->is_framed ? "application/x-tony-log" : "application/octet-stream",
		&(struct http_stream_source){
			.fill = on_room, .closed = on_closed, .data = sending});
	return true;
}
