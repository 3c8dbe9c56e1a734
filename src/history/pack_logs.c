/* The ends of a job's logs. Files that a user's program may still write, or has replaced: what is
 * no regular file is passed over, and what changes meanwhile is kept as it was met. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/pack_internal.h"
#include "logs/file.h"
#include "logs/names.h"

struct packing {
	const struct history_pack *pack;
	const struct job_view *view;
	const char *directory;
	int64_t left;	   /* bytes that may still be kept */
	int64_t logs_left; /* that are to share them */
	struct err *err;
};

struct log {
	size_t task;
	const char *name;
	struct log_source *source;
	int64_t bytes; /* of all that is there */
	int64_t keep;  /* of these, the last ones */
};

int pack_create(const char *directory, const char *name, struct err *err)
{
	char *path cleanup_free = fs_join(directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? err_set_errno(err, "%s", path) : fd;
}

/* ---- copying ------------------------------------------------------------------------------ */

static int write_head(const struct packing *packing, const struct log *log, int to)
{
	const struct task_view *task = &packing->view->tasks[log->task];
	char *name cleanup_free = job_task_name(packing->pack->job, task->type, task->index);
	json_t *object cleanup_json = json_object();

	json_set_text(object, "task", name);
	json_set_int(object, "attempt", task->attempt);
	json_set_text(object, "log", log->name);
	json_set_int(object, "bytes", log->source->cut + log->bytes);
	json_set_int(object, "from", log->source->cut + log->bytes - log->keep);
	char *text cleanup_free = json_text(object);
	char *line cleanup_free = mem_printf("%s\n", text);
	return fs_write_all(to, line, strlen(line), packing->err);
}

/* Less than is wanted, if it was truncated. */
static int copy_end(const struct packing *packing, const struct log *log, int to, FILE *times)
{
	const struct log_position last = {.kind = LOG_AT_LAST, .number = log->keep};
	int64_t position = 0, time_ms = 0;
	struct log_span span;

	log_source_go(log->source, &last);
	while (position < log->keep &&
	       log_source_next(log->source, (size_t)(log->keep - position), &span)) {
		if (span.time_ms != time_ms)
			fprintf(times, "%lld %lld\n", (long long)span.time_ms, (long long)position);
		time_ms = span.time_ms;
		if (fs_write_all(to, span.bytes, span.length, packing->err) < 0)
			return -1;
		position += (int64_t)span.length;
	}
	return log->source->problem ? err_set(packing->err, ERR_IO, "%s", log->source->problem) : 0;
}

static int make_directory(const struct packing *packing, const struct log *log, char **directory)
{
	const struct task_view *task = &packing->view->tasks[log->task];
	const struct job_type *type = &packing->pack->job->types[task->type];
	char *name cleanup_free = history_task_name(type->name, task->index);

	*directory = mem_printf("%s/" HISTORY_LOGS "/%s", packing->directory, name);
	return fs_make_directories(*directory, 0700, packing->err);
}

static int write_log(const struct packing *packing, const struct log *log)
{
	char *directory cleanup_free = NULL;
	char *index cleanup_free = mem_printf("%s.times", log->name);

	if (make_directory(packing, log, &directory) < 0)
		return -1;
	int to cleanup_close = pack_create(directory, log->name, packing->err);
	int times = to < 0 ? -1 : pack_create(directory, index, packing->err);
	FILE *stream cleanup_file = times < 0 ? NULL : fdopen(times, "w");
	if (!stream || write_head(packing, log, to) < 0 || copy_end(packing, log, to, stream) < 0)
		return -1;
	if (ftell(stream) == 0) { /* no time is known */
		char *path cleanup_free = fs_join(directory, index);
		unlink(path);
	}
	return 0;
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* What this log may take of what is left: a failed task's as much as is wanted of any, the others
 * an equal share. */
static int64_t share_of(const struct packing *packing, bool failed)
{
	int64_t share = failed ? HISTORY_LOG_CAP : packing->left / packing->logs_left;

	share = share < HISTORY_LOG_CAP ? share : HISTORY_LOG_CAP;
	share = share < packing->left ? share : packing->left;
	return share < HISTORY_LOG_LEAST ? 0 : share;
}

static struct log_source *open_log(const struct packing *packing, size_t task, const char *name)
{
	char *file cleanup_free = log_file_name(name);
	char *path cleanup_free = packing->pack->log_path(packing->pack->data, task,
							  packing->view->tasks[task].attempt, file);

	return path ? log_file_open(path) : NULL;
}

static int add_log(struct packing *packing, size_t task, const char *name, bool failed)
{
	struct log log = {.task = task, .name = name};
	int64_t share = share_of(packing, failed);
	int result = 0;

	packing->logs_left--;
	log.source = share > 0 ? open_log(packing, task, name) : NULL;
	if (!log.source)
		return 0;
	log.bytes = log_source_length(log.source);
	log.keep = log.bytes < share ? log.bytes : share;
	if (log.keep > 0)
		result = write_log(packing, &log);
	packing->left -= log.keep;
	log_source_destroy(log.source);
	return result;
}

static bool has_failed(const struct task_view *task)
{
	return task->cause.kind != CAUSE_NONE;
}

/* Of the task's processes and, where it failed, of its executor. */
static void name_logs(const struct packing *packing, size_t task, struct str_list *names)
{
	const struct task_view *view = &packing->view->tasks[task];

	log_names_add(names, NULL, packing->pack->job->types[view->type].processes);
	if (has_failed(view))
		str_list_add(names, "executor");
}

static int add_task(struct packing *packing, size_t task)
{
	struct str_list names cleanup_str_list = {0};
	bool failed = has_failed(&packing->view->tasks[task]);

	name_logs(packing, task, &names);
	for (size_t i = 0; i < names.count; i++)
		if (add_log(packing, task, names.items[i], failed) < 0)
			return -1;
	return 0;
}

static int64_t count_logs(const struct packing *packing)
{
	int64_t count = 0;

	for (size_t i = 0; i < packing->view->task_count; i++) {
		struct str_list names cleanup_str_list = {0};
		name_logs(packing, i, &names);
		count += (int64_t)names.count;
	}
	return count;
}

int pack_logs(const struct history_pack *pack, const struct job_view *view, const char *directory,
	      struct err *err)
{
	struct packing packing = {.pack = pack,
				  .view = view,
				  .directory = directory,
				  .left = HISTORY_LOGS_CAP,
				  .err = err};

	packing.logs_left = count_logs(&packing);
	for (int failed = 1; pack->log_path && failed >= 0; failed--)
		for (size_t i = 0; i < view->task_count; i++)
			if (has_failed(&view->tasks[i]) == failed && add_task(&packing, i) < 0)
				return -1;
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

void history_log_head_finish(struct history_log_head *head)
{
	free(head->task);
	free(head->log);
	*head = (struct history_log_head){0};
}

static bool read_head(const json_t *object, struct history_log_head *head)
{
	int64_t attempt = 0;

	if (json_need_text(object, "task", &head->task, NULL) < 0 ||
	    json_need_text(object, "log", &head->log, NULL) < 0 ||
	    json_need_int(object, "attempt", 0, INT32_MAX, &attempt, NULL) < 0 ||
	    json_need_int(object, "bytes", 0, INT64_MAX, &head->bytes, NULL) < 0 ||
	    json_need_int(object, "from", 0, head->bytes, &head->from, NULL) < 0)
		return false;
	head->attempt = (int)attempt;
	return true;
}

size_t history_log_head_read(const char *bytes, size_t length, struct history_log_head *head)
{
	const char *end =
		memchr(bytes, '\n', length < HISTORY_HEAD_CAP ? length : HISTORY_HEAD_CAP);
	json_t *object cleanup_json = end ? json_parse(bytes, (size_t)(end - bytes), NULL) : NULL;

	*head = (struct history_log_head){0};
	if (object && read_head(object, head))
		return (size_t)(end - bytes) + 1;
	history_log_head_finish(head);
	return 0;
}
