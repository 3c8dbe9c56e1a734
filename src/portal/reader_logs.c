/*
 * Logs of a job that has ended: as its engine shows them (scheduler_client_ops.logs_shown), whole
 * as long as its folder is on this machine, or as its cluster has collected them; and the ends that
 * a store keeps. Positions in a log of which the end is kept count from where that begins.
 *
 * They are read with the portal's rights, and anybody may have written what the history says: so
 * nothing of it says whose logs are read, or where. The application is what the entry is called,
 * and the user is who owns the entry (history/store.h).
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "history/stored_logs.h"
#include "logs/names.h"
#include "logs/parts.h"
#include "logs/question.h"
#include "logs/send.h"
#include "portal/reader_internal.h"

#define KEPT_CAP ((size_t)16 << 20) /* bytes of a collected log that are read */
#define LOG_CAP	 ((int64_t)2 << 30) /* bytes of one whose end is looked for */
#define FRESH_MS 30000		    /* for which what was read is not read again */

/* The end of a log that the job's cluster has collected. */
struct collected_log {
	struct log_source *text;
	size_t task;
	char *name;
	int64_t read_ms; /* monotonic */
};

/* ---- where they are ----------------------------------------------------------------------- */

static const struct scheduler_client_ops *engine_of(const struct reader *reader)
{
	return scheduler_client_find(reader->job->scheduler);
}

/* A folder is there only for its own user, and says by itself whose it is. */
static struct job_logs *open_engine(struct reader *reader, struct err *err)
{
	const struct scheduler_client_ops *engine = engine_of(reader);

	if (!engine) {
		err_set(err, ERR_NOT_FOUND, "the history has no more of it");
		return NULL;
	}
	char *owner cleanup_free = engine->traits->shares_files
					   ? history_store_owner(reader->store, reader->path, err)
					   : reader_find_owner(reader, err);
	return owner ? engine->logs_shown(reader->job, fs_basename(reader->path), owner, err)
		     : NULL;
}

enum { PLACES = 2 };

/* The place that is asked first, or second: an engine whose files are here has more than a store,
 * one that has to ask its cluster takes longer. */
static struct job_logs *open_place(struct reader *reader, int number, struct err *err)
{
	const struct scheduler_client_ops *engine = engine_of(reader);
	bool is_engine = (number == 0) == (engine && engine->traits->shares_files);

	return is_engine ? open_engine(reader, err)
			 : history_logs(reader->store, &reader->record, NULL, NULL);
}

/* `attempt` 0: the last one. A store has logs of one attempt alone, whichever that is. */
static struct log_place find_place(const struct reader *reader, const struct job_logs *logs,
				   size_t task, int attempt)
{
	const struct task_view *row = &reader->view->tasks[task];
	const struct attempt_view *found = NULL;
	int wanted = attempt == 0 && !logs->has_ends ? row->attempt : attempt;

	for (size_t i = 0; i < row->attempt_count; i++)
		if (row->attempts[i].container && row->attempts[i].attempt == wanted)
			found = &row->attempts[i];
	return (struct log_place){.type = reader->job->types[row->type].name,
				  .index = row->index,
				  .attempt = wanted,
				  .container = found ? found->container : NULL,
				  .host = found ? found->host : NULL};
}

/* ---- which there are ---------------------------------------------------------------------- */

static bool is_collected(const struct job_logs *logs)
{
	return !logs->are_here && !logs->has_ends;
}

static int add_log(struct job_logs *logs, const struct log_place *place, const char *name,
		   json_t *list, struct err *err)
{
	char *file cleanup_free = log_file_name(name);
	struct err problem cleanup_err = {0};
	struct log_source *log = file ? logs->ops->open(logs, place, file, &problem) : NULL;
	int64_t length = log ? log_source_length(log) : 0;
	int64_t shown =
		is_collected(logs) && length > (int64_t)KEPT_CAP ? (int64_t)KEPT_CAP : length;

	if (log && length <= LOG_CAP)
		log_list_add(list, name, log->attempt, shown, log->cut + length - shown);
	log_source_destroy(log);
	return problem.kind == ERR_IO ? err_copy(err, &problem) : 0;
}

/* 1: what this place has is all. */
static int list_place(struct reader *reader, int number, size_t task, json_t *list, struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	struct job_logs *logs = open_place(reader, number, err);
	int result = logs ? 0 : -1;

	if (logs) {
		const struct log_place place = find_place(reader, logs, task, 0);
		const struct task_view *row = &reader->view->tasks[task];
		if (logs->ops->list) {
			result = logs->ops->list(logs, &place, &names, err);
		} else {
			log_names_add(&names, NULL, reader->job->types[row->type].processes);
			str_list_add(&names, "executor");
		}
		for (size_t i = 0; i < names.count && result == 0; i++)
			result = add_log(logs, &place, names.items[i], list, err);
		if (result == 0 && (logs->are_here || json_array_size(list) > 0))
			result = 1;
	}
	job_logs_destroy(logs);
	return result;
}

/* Why there are none is told when one is asked for; that a store cannot be read, at once. */
void reader_handle_log_names(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct err err cleanup_err = {0};
	int64_t task = reader_open(reader, request) ? reader_find_task(reader, request) : -1;

	if (task < 0)
		return;
	json_t *list = json_array();
	for (int i = 0; i < PLACES; i++) {
		struct err why cleanup_err = {0};
		if (list_place(reader, i, (size_t)task, list, &why) > 0)
			break;
		if (why.kind != ERR_NONE && why.kind != ERR_NOT_FOUND && why.kind != ERR_DENIED)
			err_copy(&err, &why);
	}
	if (json_array_size(list) > 0 || err.kind == ERR_NONE) {
		http_answer_json(request, 200, list);
		return;
	}
	json_decref(list);
	reader_answer_failure(request, &err);
}

/* ---- one ---------------------------------------------------------------------------------- */

static void forget(struct reader *reader)
{
	struct collected_log *collected = mem_steal(&reader->collected);

	if (!collected)
		return;
	log_source_destroy(collected->text);
	free(collected->name);
	free(collected);
}

static struct log_source *find_fresh(const struct reader *reader, size_t task,
				     const struct log_question *question)
{
	const struct collected_log *collected = reader->collected;
	int attempt = question->attempt > 0 ? question->attempt : reader->view->tasks[task].attempt;

	return collected && collected->task == task && collected->text->attempt == attempt &&
			       str_equal(collected->name, question->file) &&
			       clock_monotonic_ms() - collected->read_ms < FRESH_MS
		       ? log_text_share(collected->text)
		       : NULL;
}

/* A log that is packed in a cluster's files is read once, however many pieces are asked for. */
static struct log_source *keep(struct reader *reader, size_t task, const char *name,
			       struct log_source *log, struct err *err)
{
	if (log_source_length(log) > LOG_CAP) {
		err_set(err, ERR_INPUT, "it is too long to be read here; `tony logs` reads it");
		return NULL;
	}
	struct log_source *text = log_keep_end(log, KEPT_CAP, err);
	if (!text)
		return NULL;
	forget(reader);
	reader->collected = mem_alloc(sizeof(*reader->collected));
	*reader->collected = (struct collected_log){.text = text,
						    .task = task,
						    .name = mem_strdup(name),
						    .read_ms = clock_monotonic_ms()};
	return log_text_share(text);
}

static struct log_source *open_log(struct reader *reader, int number, size_t task,
				   const struct log_question *question, enum log_answer *answer,
				   struct err *err)
{
	struct job_logs *logs = open_place(reader, number, err);

	*answer = LOG_NO_SUCH;
	if (!logs)
		return NULL;
	const struct log_place place = find_place(reader, logs, task, question->attempt);
	struct log_source *log = logs->ops->open(logs, &place, question->file, err);
	*answer = logs->missing;
	if (log && is_collected(logs)) {
		struct log_source *text = keep(reader, task, question->file, log, err);
		log_source_destroy(log);
		log = text;
	}
	job_logs_destroy(logs);
	return log;
}

void reader_handle_log(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct log_question question cleanup_log_question = {0};
	enum log_answer answer = LOG_NO_SUCH;
	struct err err cleanup_err = {0};

	if (log_question_read(request, &question) < 0)
		return;
	int64_t task = reader_open(reader, request) ? reader_find_task(reader, request) : -1;
	if (task < 0)
		return;
	struct log_source *log = question.file ? find_fresh(reader, (size_t)task, &question) : NULL;
	for (int i = 0; question.file && !log && i < PLACES; i++) {
		err_finish(&err);
		log = open_log(reader, i, (size_t)task, &question, &answer, &err);
	}
	if (!question.file)
		err_set(&err, ERR_NOT_FOUND, "no task has a log of that name");
	if (log)
		log_send(request, &question, log);
	else
		log_question_refuse(request, &question, answer, &err);
}
