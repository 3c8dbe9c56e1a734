#include "history/stored_logs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "history/pack.h"
#include "logs/names.h"
#include "logs/parts.h"

struct stored_logs {
	struct job_logs base;
	struct history_store *store; /* that has the job */
	struct history_record record;
	void (*release)(void *held);
	void *held;
};

struct stored_log {
	struct log_parts base;
	struct log_parts_item item; /* the only one */
	int64_t start;		    /* behind the head */
	const struct stored_logs *logs;
	char *files[2]; /* in the history: the log, and its index */
	int fds[2];	/* -1: none, or it rests */
};

static int open_stored(struct stored_log *log, bool times, struct err *err)
{
	log->fds[times] = history_store_open_file(log->logs->store, &log->logs->record,
						  log->files[times], HISTORY_FILE_CAP, err);
	return log->fds[times] < 0 ? -1 : 0;
}

static ssize_t read_log(struct log_parts *base, size_t part, bool times, int64_t offset,
			void *bytes, size_t length, struct err *err)
{
	struct stored_log *log = (struct stored_log *)base;

	if (log->fds[times] < 0 && open_stored(log, times, err) < 0)
		return -1;
	ssize_t got = pread(log->fds[times], bytes, length, offset + (times ? 0 : log->start));
	return got < 0 ? err_set_errno(err, "a kept log") : got;
}

static void rest_log(struct log_parts *base)
{
	struct stored_log *log = (struct stored_log *)base;

	mem_cleanup_close(&log->fds[0]);
	mem_cleanup_close(&log->fds[1]);
}

static void destroy_log(struct log_parts *base)
{
	struct stored_log *log = (struct stored_log *)base;

	rest_log(base);
	free(log->files[0]);
	free(log->files[1]);
	free(log);
}

/* A log of TonY's own jobs has no head: all of it is there. */
static int read_head(struct stored_log *log, int attempt, const char *name, struct err *err)
{
	struct history_log_head head = {0};
	char bytes[HISTORY_HEAD_CAP];
	struct stat status;
	ssize_t got = pread(log->fds[0], bytes, sizeof(bytes), 0);

	if (got < 0 || fstat(log->fds[0], &status) < 0)
		return err_set_errno(err, "%s", name);
	log->start = (int64_t)history_log_head_read(bytes, (size_t)got, &head);
	log->base.base.attempt = head.attempt;
	log->base.base.cut = head.from;
	log->item = (struct log_parts_item){.length = status.st_size - log->start,
					    .has_times = log->fds[1] >= 0};
	history_log_head_finish(&head);
	if (attempt > 0 && log->base.base.attempt != attempt)
		return err_set(err, ERR_NOT_FOUND, "attempt %d alone is kept",
			       log->base.base.attempt);
	return 0;
}

/* The caller frees. */
static char *directory_of(const struct log_place *place)
{
	char *task cleanup_free = history_task_name(place->type, place->index);

	return mem_printf(HISTORY_LOGS "/%s", task);
}

static struct log_source *open_log(struct job_logs *base, const struct log_place *place,
				   const char *name, struct err *err)
{
	static const struct log_parts_ops ops = {
		.read = read_log, .rest = rest_log, .destroy = destroy_log};
	const struct stored_logs *logs = (const struct stored_logs *)base;
	/* In a history a log has the name by which it is asked for. */
	char *log_name cleanup_free = log_name_of_file(name);
	char *directory cleanup_free = directory_of(place);
	struct stored_log *log = mem_alloc(sizeof(*log));
	struct err no_times cleanup_err = {0};

	log->base = (struct log_parts){.ops = &ops, .items = &log->item, .count = 1};
	log_parts_init(&log->base);
	log->logs = logs;
	log->files[0] = mem_printf("%s/%s", directory, log_name ? log_name : name);
	log->files[1] = mem_printf("%s.times", log->files[0]);
	log->fds[0] = log->fds[1] = -1;
	bool is_there = open_stored(log, false, err) == 0;
	/* Lines without a time are better than none, where the index cannot be had. */
	if (is_there && open_stored(log, true, &no_times) < 0 && no_times.kind == ERR_IO) {
		err_copy(err, &no_times);
		is_there = false;
	}
	if (is_there && read_head(log, place->attempt, name, err) == 0)
		return &log->base.base;
	if (!is_there && err && err->kind == ERR_NOT_FOUND) {
		err_finish(err);
		err_set(err, ERR_NOT_FOUND, "the history keeps none");
	}
	/* Of each task the last attempt alone is kept. */
	base->missing = place->attempt < log->base.base.attempt ? LOG_GONE : LOG_NO_SUCH;
	log_source_destroy(&log->base.base);
	return NULL;
}

static struct log_source *open_am(struct job_logs *base, const struct log_place *place,
				  struct err *err)
{
	err_set(err, ERR_NOT_FOUND, "the history has no logs of application masters");
	return NULL;
}

static int list_logs(struct job_logs *base, const struct log_place *place, struct str_list *names,
		     struct err *err)
{
	const struct stored_logs *logs = (const struct stored_logs *)base;
	struct history_entries entries cleanup_history_entries = {0};
	char *directory cleanup_free = directory_of(place);

	if (history_store_list(logs->store, &logs->record, directory, &entries, err) < 0)
		return -1;
	for (size_t i = 0; i < entries.count; i++) {
		const char *name = entries.items[i].name;
		if (!entries.items[i].is_directory && !str_ends_with(name, ".times"))
			str_list_add(names, name);
	}
	return 0;
}

static void destroy_logs(struct job_logs *base)
{
	struct stored_logs *logs = (struct stored_logs *)base;

	if (logs->release)
		logs->release(logs->held);
	history_record_finish(&logs->record);
	free(logs);
}

struct job_logs *history_logs(struct history_store *store, const struct history_record *record,
			      void (*release)(void *held), void *held)
{
	static const struct job_logs_ops ops = {
		.open = open_log, .open_am = open_am, .list = list_logs, .destroy = destroy_logs};
	struct stored_logs *logs = mem_alloc(sizeof(*logs));

	logs->base = (struct job_logs){.ops = &ops, .has_ends = true};
	logs->store = store;
	history_record_copy(record, &logs->record);
	logs->release = release;
	logs->held = held;
	return &logs->base;
}
