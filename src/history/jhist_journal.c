/* TonY's events as a journal of tony's. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/jhist_internal.h"
#include "history/layout.h"
#include "history/store_internal.h"
#include "job/cause_json.h"
#include "job/journal.h"
#include "job/record.h"

#define TAIL_LINES 20

struct writing {
	const struct job *job;
	struct journal *journal;
	struct task *tasks; /* as far as they are known */
	size_t task_count;
	enum job_state state;
	int epoch;
	int64_t last_ms;
	int64_t failed; /* the first task that did; -1: none */
	bool is_over;	/* TonY said so */
	int64_t finished, failures;
	struct err *err;
};

static int append(struct writing *writing, json_t *record, int64_t time_ms)
{
	writing->last_ms = time_ms > writing->last_ms ? time_ms : writing->last_ms;
	return journal_append(writing->journal, record, time_ms, false, writing->err);
}

static int change_job(struct writing *writing, enum job_state to, int64_t time_ms)
{
	json_t *record = json_object();

	json_set_text(record, "ev", "job");
	json_set_text(record, "from", job_state_name(writing->state));
	json_set_text(record, "to", job_state_name(to));
	json_set_int(record, "epoch", writing->epoch);
	json_set_int(record, "retries", writing->epoch > 0 ? writing->epoch - 1 : 0);
	if (job_state_is_final(to))
		json_set_text(record, "outcome", job_state_name(to));
	if (writing->failed >= 0 && to == JOB_FAILED) {
		const struct task *task = &writing->tasks[writing->failed];
		char *name cleanup_free = job_task_name(writing->job, task->type, task->index);
		cause_set_member(record, &task->cause);
		json_set_text(record, "cause_task", name);
	}
	writing->state = to;
	return append(writing, record, time_ms);
}

/* ---- tasks -------------------------------------------------------------------------------- */

static int change_task(struct writing *writing, struct task *task, enum task_state to,
		       int64_t time_ms)
{
	enum task_state from = task->state;

	task->state = to;
	return append(writing, record_task(writing->job, task, from, to, NULL), time_ms);
}

static int start_task(struct writing *writing, const struct jhist_event *event, struct task *task)
{
	if (writing->state != JOB_RUNNING && change_job(writing, JOB_RUNNING, event->time_ms) < 0)
		return -1;
	task->attempt++;
	task->epoch = writing->epoch;
	task->process_up = true;
	mem_replace(&task->host, mem_strdup(jhist_event_text(event, "host")));
	mem_replace(&task->container, mem_strdup(jhist_event_text(event, "containerID")));
	return change_task(writing, task, TASK_RUNNING, event->time_ms);
}

/* "Exit code: 1", as YARN's diagnostics say it; -1: they do not. */
static int find_exit_code(const char *diagnostics)
{
	const char *found = strcasestr(diagnostics, "exit code");
	int64_t code;

	if (!found)
		found = strcasestr(diagnostics, "exitcode");
	if (!found)
		return -1;
	found += strcspn(found, "0123456789\n");
	char *digits cleanup_free = mem_strndup(found, strspn(found, "0123456789"));
	return str_parse_int(digits, 0, 255, &code) < 0 ? -1 : (int)code;
}

static void set_cause(struct cause *cause, const char *diagnostics)
{
	struct str_list lines cleanup_str_list = {0};
	int code = diagnostics ? find_exit_code(diagnostics) : -1;

	cause_finish(cause);
	cause->kind = CAUSE_EXIT;
	cause->exit_code = code > 0 ? code : 0;
	cause->text = code > 0 ? mem_printf("exited with code %d", code) : mem_strdup("failed");
	str_split(&lines, diagnostics ? diagnostics : "", '\n');
	if (lines.count > 0)
		cause->headline = mem_strdup(lines.items[0]);
	for (size_t i = lines.count > TAIL_LINES ? lines.count - TAIL_LINES : 0; i < lines.count;
	     i++)
		str_list_add(&cause->tail, lines.items[i]);
}

static int finish_task(struct writing *writing, const struct jhist_event *event, struct task *task)
{
	const char *status = jhist_event_text(event, "status");
	enum task_state to = str_equal(status, "SUCCEEDED") ? TASK_SUCCEEDED
			     : str_equal(status, "FAILED")  ? TASK_FAILED
							    : TASK_STOPPED;

	task->process_up = false;
	if (to == TASK_FAILED) {
		set_cause(&task->cause, jhist_event_text(event, "containerDiagnostic"));
		if (writing->failed < 0)
			writing->failed = task - writing->tasks;
	}
	return change_task(writing, task, to, event->time_ms);
}

/* ---- the application ---------------------------------------------------------------------- */

/* With each retry it says so again. */
static int init(struct writing *writing, const struct jhist_event *event)
{
	writing->epoch++;
	if (writing->epoch == 1)
		return change_job(writing, JOB_FORMING, event->time_ms);
	return change_job(writing, JOB_REFORMING, event->time_ms);
}

static void finish(struct writing *writing, const struct jhist_event *event)
{
	writing->is_over = true;
	writing->finished = json_integer_value(json_object_get(event->body, "finishedTasks"));
	writing->failures = json_integer_value(json_object_get(event->body, "failedTasks"));
}

static int write_event(struct writing *writing, const struct jhist_event *event)
{
	int64_t number = jhist_event_task(writing->job, event);
	struct task *task = number < 0 ? NULL : &writing->tasks[number];

	if (str_equal(event->kind, "APPLICATION_INITED"))
		return init(writing, event);
	if (str_equal(event->kind, "APPLICATION_FINISHED"))
		finish(writing, event);
	else if (task && str_equal(event->kind, "TASK_STARTED"))
		return start_task(writing, event, task);
	else if (task && str_equal(event->kind, "TASK_FINISHED"))
		return finish_task(writing, event, task);
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static char *final_message(const struct writing *writing, enum job_state state)
{
	if (state == JOB_FAILED && writing->failed >= 0) {
		const struct task *task = &writing->tasks[writing->failed];
		char *name cleanup_free = job_task_name(writing->job, task->type, task->index);
		return mem_printf("%s on %s %s", name, task->host ? task->host : "no host",
				  task->cause.text);
	}
	if (state == JOB_FAILED && writing->failures > 0)
		return mem_printf("%lld task%s failed, %lld did not", (long long)writing->failures,
				  str_plural(writing->failures), (long long)writing->finished);
	return mem_printf("the job %s", job_state_name(state));
}

static int write_end(struct writing *writing, const struct jhist_name *name, enum job_state *state)
{
	int64_t time_ms = name->completed_ms > 0 ? name->completed_ms : writing->last_ms;

	if (*state == JOB_RUNNING && writing->is_over)
		*state = writing->failures > 0 ? JOB_FAILED : JOB_SUCCEEDED;
	if (!job_state_is_final(*state))
		return 0;
	char *message cleanup_free = final_message(writing, *state);
	if (change_job(writing, *state, time_ms) < 0)
		return -1;
	return append(writing, record_final(*state, message, NULL), time_ms);
}

static int write_all(struct writing *writing, const struct jhist_name *name, const json_t *records,
		     enum job_state *state)
{
	const json_t *record;
	size_t i;

	if (append(writing, record_am(1, 0, NULL, NULL), name->started_ms) < 0)
		return -1;
	json_array_foreach(records, i, record)
	{
		struct jhist_event event;
		if (jhist_event_of(record, &event) && write_event(writing, &event) < 0)
			return -1;
	}
	return write_end(writing, name, state);
}

static void make_tasks(struct writing *writing)
{
	size_t next = 0;

	writing->task_count = job_task_count(writing->job);
	writing->tasks = mem_alloc_array(writing->task_count, sizeof(*writing->tasks));
	for (size_t i = 0; i < writing->job->type_count; i++)
		for (int k = 0; k < job_type_slots(&writing->job->types[i]); k++)
			writing->tasks[next++] = (struct task){.type = i, .index = k};
}

static void free_tasks(struct writing *writing)
{
	for (size_t i = 0; i < writing->task_count; i++) {
		free(writing->tasks[i].host);
		free(writing->tasks[i].container);
		cause_finish(&writing->tasks[i].cause);
	}
	free(writing->tasks);
}

int jhist_journal(const struct job *job, const struct jhist_name *name, const json_t *records,
		  enum job_state *state, struct err *err)
{
	int fd cleanup_close = store_make_file(err);
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", fd);
	struct writing writing = {.job = job, .failed = -1, .err = err};

	writing.journal = fd < 0 ? NULL : journal_open(path, err);
	if (!writing.journal)
		return fd < 0 ? -1 : err_rename(err, path, HISTORY_EVENTS);
	make_tasks(&writing);
	int result = write_all(&writing, name, records, state);
	free_tasks(&writing);
	journal_close(writing.journal);
	if (result < 0)
		return err_wrap(err, "its events");
	return mem_steal_fd(&fd);
}
