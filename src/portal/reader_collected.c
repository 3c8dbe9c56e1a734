/*
 * Logs of a job that has ended, out of what its cluster has collected. They are read with the
 * portal's rights, and anybody may have written what the history says: so nothing of it says whose
 * logs are read, or where. The place is that of this machine's site files, the application is what
 * the entry is called, and the user is who owns the entry (history/store.h).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/log_reader.h"
#include "portal/reader_internal.h"
#include "scheduler/yarn_logs.h"

#define PART_CAP  ((int64_t)2 << 30) /* bytes of a part whose end is looked for */
#define TIMES_CAP ((size_t)4 << 20)  /* bytes of the index beside a part */
#define FRESH_MS  30000		     /* for which what was read is not read again */
#define BLOCK	  ((size_t)64 << 10)

struct collected_log {
	struct kept_log kept;
	size_t task;
	char *name;
	int64_t read_ms; /* monotonic */
};

/* ---- whose they are ----------------------------------------------------------------------- */

/* Is the entry still the one by which people are let in? */
static int check_entry(struct reader *reader, const char *owner, struct err *err)
{
	struct history_summary summary cleanup_history_summary = {0};

	if (!str_equal(owner, reader->job->user) || !str_equal(owner, reader->user))
		return err_set(err, ERR_DENIED,
			       "this entry of the history was written by %s, and says that the job "
			       "was %s's",
			       owner, reader->job->user);
	if (history_store_summary(reader->store, reader->path, &summary, err) < 0)
		return -1;
	if (!str_equal(summary.view_acl, reader->view_acl))
		return err_set(err, ERR_DENIED,
			       "who may look at it was changed; open the job again later");
	return 0;
}

char *reader_find_owner(struct reader *reader, struct err *err)
{
	char *owner cleanup_free = history_store_owner(reader->store, reader->path, err);

	return owner && check_entry(reader, owner, err) == 0 ? mem_steal(&owner) : NULL;
}

static struct job_logs *open_logs(struct reader *reader, struct err *err)
{
	char *owner cleanup_free = reader_find_owner(reader, err);

	return owner ? yarn_logs_aggregated(fs_basename(reader->path), owner, err) : NULL;
}

/* The last process of the container that the task had; `attempt` 0: its last one. */
static const struct attempt_view *find_attempt(const struct task_view *task, int attempt,
					       struct err *err)
{
	for (size_t i = task->attempt_count; i-- > 0;)
		if (task->attempts[i].container &&
		    task->attempts[i].attempt == (attempt > 0 ? attempt : task->attempt))
			return &task->attempts[i];
	err_set(err, ERR_NOT_FOUND, "it had no container");
	return NULL;
}

/* ---- one ---------------------------------------------------------------------------------- */

static int measure(const struct job_log *log, int64_t *length, struct err *err)
{
	*length = 0;
	for (size_t i = 0; i < log->count; i++) {
		if (log->parts[i].length < 0 || log->parts[i].length > PART_CAP)
			return err_set(err, ERR_INPUT,
				       "it is too long to be read here; `tony logs` reads it");
		*length += log->parts[i].length;
	}
	return 0;
}

/* A part from `offset` on. */
static int read_part(struct job_log *log, size_t part, int64_t offset, struct str *text,
		     struct err *err)
{
	char block[BLOCK];
	ssize_t got;

	while ((got = log->ops->read(log, part, false, offset, block, sizeof(block), err)) > 0 &&
	       text->length + (size_t)got <= KEPT_CAP) {
		str_append_bytes(text, block, (size_t)got);
		offset += got;
	}
	return got < 0 ? -1 : 0;
}

static void read_index(struct job_log *log, size_t part, struct str *text)
{
	char block[BLOCK];
	ssize_t got;

	while (text->length < TIMES_CAP &&
	       (got = log->ops->read(log, part, true, (int64_t)text->length, block, sizeof(block),
				     NULL)) > 0)
		str_append_bytes(text, block, (size_t)got);
}

/* A line "TIME_MS OFFSET"; NULL: it is none, or the last. */
static const char *read_time(const char *line, int64_t *time_ms, int64_t *at)
{
	char *end;

	*time_ms = strtoll(line, &end, 10);
	*at = end > line ? strtoll(end, &end, 10) : -1;
	return *time_ms >= 0 && *at >= 0 && *at <= PART_CAP && *end == '\n' ? end + 1 : NULL;
}

static void add_time(struct str *times, int64_t time_ms, int64_t position)
{
	if (time_ms >= 0)
		str_append_format(times, "%" PRId64 " %" PRId64 "\n", time_ms, position);
}

/* The index of a part whose first byte has `position` in what is read; negative: it is left out. */
static void add_times(struct job_log *log, size_t part, int64_t position, struct str *times)
{
	struct str index cleanup_str = {0};
	int64_t before_ms = -1, time_ms, at; /* before_ms: of what begins before the first byte */

	read_index(log, part, &index);
	for (const char *line = str_text(&index); (line = read_time(line, &time_ms, &at));) {
		if (at + position <= 0) {
			before_ms = time_ms;
			continue;
		}
		add_time(times, before_ms, 0);
		before_ms = -1;
		add_time(times, time_ms, at + position);
	}
	add_time(times, before_ms, 0);
}

/* Its end, where it is longer than is kept. */
static int read_log(struct job_log *log, struct kept_log *kept, struct err *err)
{
	struct str text cleanup_str = {0};
	struct str times cleanup_str = {0};
	int64_t length, position;

	if (measure(log, &length, err) < 0)
		return -1;
	position = length > (int64_t)KEPT_CAP ? (int64_t)KEPT_CAP - length : 0;
	for (size_t i = 0; i < log->count; position += log->parts[i++].length) {
		if (position < 0 && position + log->parts[i].length <= 0)
			continue;
		if (log->parts[i].has_times)
			add_times(log, i, position, &times);
		if (read_part(log, i, position < 0 ? -position : 0, &text, err) < 0)
			return -1;
	}
	kept->length = text.length;
	kept->bytes = str_steal(&text);
	kept->text = kept->bytes;
	kept->times = str_steal(&times);
	return 0;
}

static void forget(struct reader *reader)
{
	struct collected_log *collected = mem_steal(&reader->collected);

	if (!collected)
		return;
	free(collected->kept.bytes);
	free(collected->kept.times);
	free(collected->name);
	free(collected);
}

static bool is_fresh(const struct collected_log *collected, size_t task, int attempt,
		     const char *name)
{
	return collected && collected->task == task && collected->kept.attempt == attempt &&
	       str_equal(collected->name, name) &&
	       clock_monotonic_ms() - collected->read_ms < FRESH_MS;
}

/* TonY's executor of version 0.5 writes a program's output to files of another name. A job of
 * tony's own always says how its cluster is reached. */
static struct job_log *open_log(const struct reader *reader, struct job_logs *logs,
				const struct attempt_view *attempt, const char *name,
				struct err *err)
{
	static const struct {
		const char *name, *of_tony;
	} files[] = {{"stdout", "execution.out"}, {"stderr", "execution.err"}};
	struct job_log *log = NULL;

	for (size_t i = 0; !reader->job->engine && i < array_length(files); i++)
		if (str_equal(name, files[i].name))
			log = logs->ops->open(logs, attempt->container, attempt->host,
					      files[i].of_tony, NULL);
	return log ? log : logs->ops->open(logs, attempt->container, attempt->host, name, err);
}

static int read_collected(struct reader *reader, const struct attempt_view *attempt,
			  const char *name, struct kept_log *kept, struct err *err)
{
	struct job_logs *logs = open_logs(reader, err);
	struct job_log *log = logs ? open_log(reader, logs, attempt, name, err) : NULL;
	int result = log ? read_log(log, kept, err) : -1;

	kept->attempt = attempt->attempt;
	job_log_destroy(log);
	job_logs_destroy(logs);
	return result;
}

const struct kept_log *reader_collected_read(struct reader *reader, size_t task, int attempt,
					     const char *name, struct err *err)
{
	const struct attempt_view *found = find_attempt(&reader->view->tasks[task], attempt, err);

	if (!found)
		return NULL;
	if (is_fresh(reader->collected, task, found->attempt, name))
		return &reader->collected->kept;
	forget(reader);
	reader->collected = mem_alloc(sizeof(*reader->collected));
	*reader->collected = (struct collected_log){.task = task, .name = mem_strdup(name)};
	if (read_collected(reader, found, name, &reader->collected->kept, err) < 0) {
		forget(reader);
		return NULL;
	}
	reader->collected->read_ms = clock_monotonic_ms();
	return &reader->collected->kept;
}

/* ---- which there are ---------------------------------------------------------------------- */

static void add_log(const struct reader *reader, struct job_logs *logs,
		    const struct attempt_view *attempt, const char *name, json_t *list)
{
	char *file cleanup_free = log_file_name(name);
	struct job_log *log = open_log(reader, logs, attempt, file, NULL);
	int64_t length;

	if (log && measure(log, &length, NULL) == 0) {
		json_t *object = json_object();
		json_set_text(object, "log", name);
		json_set_int(object, "bytes",
			     length < (int64_t)KEPT_CAP ? length : (int64_t)KEPT_CAP);
		json_set_int(object, "attempt", attempt->attempt);
		if (length > (int64_t)KEPT_CAP)
			json_set_int(object, "cut_bytes", length - (int64_t)KEPT_CAP);
		json_array_append_new(list, object);
	}
	job_log_destroy(log);
}

int reader_collected_list(struct reader *reader, size_t task, json_t *list, struct err *err)
{
	static const char *const streams[] = {"stdout", "stderr"};
	const struct task_view *view = &reader->view->tasks[task];
	const struct attempt_view *attempt = find_attempt(view, 0, err);
	struct job_logs *logs = attempt ? open_logs(reader, err) : NULL;

	if (!logs)
		return -1;
	for (size_t i = 0; i < array_length(streams); i++) {
		add_log(reader, logs, attempt, streams[i], list);
		for (int k = 1; k < reader->job->types[view->type].processes; k++) {
			char *name cleanup_free = mem_printf("%s-%d", streams[i], k);
			add_log(reader, logs, attempt, name, list);
		}
	}
	add_log(reader, logs, attempt, "executor", list);
	job_logs_destroy(logs);
	return 0;
}
