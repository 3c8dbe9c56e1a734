#include "job/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"
#include "job/view_attempts.h"
#include "job/view_record.h"

static bool is_dormant(const struct job_view *view, const struct task_view *task)
{
	return task->index >= view->types[task->type].wanted &&
	       (task->state == TASK_WAITING || task->state == TASK_STOPPED);
}

static void count_tasks(struct job_view *view)
{
	memset(view->tasks_in, 0, sizeof(view->tasks_in));
	for (size_t i = 0; i < view->task_count; i++) {
		struct task_view *task = &view->tasks[i];
		task->dormant = is_dormant(view, task);
		view->tasks_in[task->state] += !task->dormant;
	}
}

static void move_task(struct job_view *view, struct task_view *task, enum task_state to)
{
	view->tasks_in[task->state] -= !task->dormant;
	task->state = to;
	task->dormant = is_dormant(view, task);
	view->tasks_in[to] += !task->dormant;
}

struct job_view *job_view_create(const struct job *job)
{
	struct job_view *view = mem_alloc(sizeof(*view));
	size_t next = 0;

	view->job = job;
	view->cause_task = -1;
	view->types = mem_alloc_array(job->type_count, sizeof(*view->types));
	view->task_count = job_task_count(job);
	view->tasks = mem_alloc_array(view->task_count, sizeof(*view->tasks));
	for (size_t i = 0; i < job->type_count; i++) {
		view->types[i].wanted = job->types[i].instances;
		for (int k = 0; k < job_type_slots(&job->types[i]); k++)
			view->tasks[next++] = (struct task_view){.type = i, .index = k};
	}
	count_tasks(view);
	return view;
}

void job_view_destroy(struct job_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->task_count; i++) {
		free(view->tasks[i].container);
		free(view->tasks[i].host);
		free(view->tasks[i].log_dir);
		free(view->tasks[i].blamed);
		free(view->tasks[i].lost.text);
		free(view->tasks[i].checkpoint_trouble);
		cause_finish(&view->tasks[i].cause);
		view_attempts_finish(&view->tasks[i]);
	}
	free(view->tasks);
	free(view->types);
	free(view->am_address);
	cause_finish(&view->cause);
	free(view->waiting);
	free(view->tracking_run);
	free(view->tracking_page);
	str_list_finish(&view->met);
	free(view->note);
	free(view->store_trouble);
	free(view->message);
	free(view->history_trouble);
	json_decref(view->notices);
	str_list_finish(&view->avoided);
	free(view);
}

/* ---- members ------------------------------------------------------------------------------ */

static int read_number(const struct view_record *record, const char *name, int *value,
		       struct err *err)
{
	int64_t number = *value;

	if (view_record_read_int(record, name, 0, INT32_MAX, &number, err) < 0)
		return -1;
	*value = (int)number;
	return 0;
}

/* What `parse` makes of the member's text. */
static int need_state(const struct view_record *record, const char *name,
		      int (*parse)(const char *name), int *state, struct err *err)
{
	char *text cleanup_free = NULL;

	if (view_record_need_text(record, name, &text, err) < 0)
		return -1;
	*state = parse(text);
	if (*state < 0)
		return err_set(err, ERR_INPUT, "%s: \"%.64s\" is not a state", name, text);
	return 0;
}

/* Absent: NULL. */
static int read_text(const struct view_record *record, const char *name, char **value,
		     struct err *err)
{
	mem_replace(value, NULL);
	return view_record_read_text(record, name, value, err);
}

/* Absent: -1. */
static int read_task_name(const struct job_view *view, const struct view_record *record,
			  const char *member, int64_t *task, struct err *err)
{
	char *name cleanup_free = NULL;

	*task = -1;
	if (view_record_read_text(record, member, &name, err) < 0)
		return -1;
	if (name && (*task = job_find_task(view->job, name)) < 0)
		return err_set(err, ERR_INPUT, "%s: the job has no task \"%.128s\"", member, name);
	return 0;
}

/* ---- one fold per kind of record ---------------------------------------------------------- */

static int fold_am(struct job_view *view, const struct view_record *record, int64_t time_ms,
		   struct err *err)
{
	if (read_number(record, "attempt", &view->am_attempt, err) < 0 ||
	    view_record_read_int(record, "pid", 0, INT32_MAX, &view->am_pid, err) < 0)
		return -1;
	return read_text(record, "address", &view->am_address, err);
}

static int fold_cause(struct job_view *view, const struct view_record *record, struct err *err)
{
	const json_t *cause = view_record_get(record, "cause");

	view->cause_epoch = view->epoch;
	if (read_task_name(view, record, "cause_task", &view->cause_task, err) < 0 ||
	    read_number(record, "cause_epoch", &view->cause_epoch, err) < 0)
		return -1;
	if (cause)
		return cause_from_json(cause, &view->cause, err);
	cause_finish(&view->cause);
	return 0;
}

/* Absent: none. */
static int read_exempt(struct job_view *view, const struct view_record *record, struct err *err)
{
	struct str_list names cleanup_str_list = {0};

	if (view_record_read_list(record, "exempt", &names, err) < 0)
		return -1;
	for (size_t i = 0; i < view->job->type_count; i++)
		view->types[i].exempt = str_list_has(&names, view->job->types[i].name);
	return 0;
}

/* {"worker": 8}; of a type that is not named as many are wanted as at the start. */
static int read_wanted(struct job_view *view, const struct view_record *record, bool *changed,
		       struct err *err)
{
	const json_t *wanted = view_record_get(record, "wanted");

	for (size_t i = 0; i < view->job->type_count; i++) {
		const struct job_type *type = &view->job->types[i];
		int64_t count = type->instances;
		if (wanted && json_read_int(wanted, type->name, job_type_minimum(type),
					    job_type_slots(type), &count, err) < 0)
			return err_wrap(err, "wanted");
		*changed = *changed || view->types[i].wanted != count;
		view->types[i].wanted = (int)count;
	}
	if (*changed)
		count_tasks(view);
	return 0;
}

static int64_t count_charges(const struct job_view *view)
{
	return (int64_t)view->retries + view->infrastructure_retries + view->preemptions;
}

static int read_budgets(struct job_view *view, const struct view_record *record, int64_t time_ms,
			struct err *err)
{
	int64_t pause = 0;
	int64_t charges = count_charges(view);
	int epoch = view->epoch, streak = view->streak;

	view->streak = 0;
	if (read_number(record, "epoch", &view->epoch, err) < 0 ||
	    read_number(record, "retries", &view->retries, err) < 0 ||
	    read_number(record, "infrastructure_retries", &view->infrastructure_retries, err) < 0 ||
	    read_number(record, "preemptions", &view->preemptions, err) < 0 ||
	    read_number(record, "streak", &view->streak, err) < 0 ||
	    view_record_read_int(record, "pause", 0, INT32_MAX, &pause, err) < 0)
		return -1;
	view->paused_at_ms = time_ms;
	view->pause_ms = pause;
	bool scaled = false;
	if (read_exempt(view, record, err) < 0 || read_wanted(view, record, &scaled, err) < 0)
		return -1;
	if (count_charges(view) != charges || view->epoch != epoch || view->streak > streak ||
	    scaled)
		view->formation_ms = time_ms + pause;
	return 0;
}

static int fold_job(struct job_view *view, const struct view_record *record, int64_t time_ms,
		    struct err *err)
{
	int state, outcome = JOB_SUBMITTED;

	if (need_state(record, "to", job_state_parse, &state, err) < 0 ||
	    (view_record_has(record, "outcome") &&
	     need_state(record, "outcome", job_state_parse, &outcome, err) < 0) ||
	    read_budgets(view, record, time_ms, err) < 0)
		return -1;
	if (view->state != (enum job_state)state || view->state_since_ms == 0)
		view->state_since_ms = time_ms;
	view->state = (enum job_state)state;
	view->outcome = (enum job_state)outcome;
	if (view->state == JOB_FORMING && view->forming_ms == 0)
		view->forming_ms = time_ms;
	if (view->state == JOB_RUNNING && view->running_ms == 0)
		view->running_ms = time_ms;
	if (job_state_is_final(view->state))
		view->ended_ms = time_ms;
	return fold_cause(view, record, err);
}

static int read_use(const struct view_record *record, struct program_use *use, struct err *err)
{
	*use = (struct program_use){0};
	if (view_record_read_int(record, "used_ms", 1, INT64_MAX, &use->ms, err) < 0 ||
	    view_record_read_int(record, "used_cpu_ms", 0, INT64_MAX, &use->cpu_ms, err) < 0)
		return -1;
	return view_record_read_int(record, "used_rss_bytes", 0, INT64_MAX, &use->max_rss_bytes,
				    err) < 0
		       ? -1
		       : view_record_read_int(record, "used_pss_bytes", 0, INT64_MAX,
					      &use->max_pss_bytes, err);
}

static int read_task_members(struct task_view *task, const struct view_record *record,
			     struct err *err)
{
	const json_t *cause = view_record_get(record, "cause");
	int64_t pause = 0;

	task->port = 0;
	task->ui_port = 0;
	task->door = 0;
	task->misses = task->ports_lost = 0;
	task->up = task->blames_peer = task->moved = false;
	task->port_missed = task->port_open = false;
	task->rejoin = task->restarting = false;
	task->is_well = !cause;
	if (read_number(record, "attempt", &task->attempt, err) < 0 ||
	    read_number(record, "epoch", &task->epoch, err) < 0 ||
	    read_number(record, "restart", &task->restart, err) < 0 ||
	    read_number(record, "restarts_used", &task->restarts_used, err) < 0 ||
	    read_number(record, "port", &task->port, err) < 0 ||
	    read_number(record, "ui_port", &task->ui_port, err) < 0 ||
	    read_number(record, "door", &task->door, err) < 0 ||
	    read_number(record, "misses", &task->misses, err) < 0 ||
	    read_number(record, "ports_lost", &task->ports_lost, err) < 0 ||
	    view_record_read_bool(record, "up", &task->up, err) < 0 ||
	    view_record_read_bool(record, "blames_peer", &task->blames_peer, err) < 0 ||
	    view_record_read_bool(record, "moved", &task->moved, err) < 0 ||
	    view_record_read_bool(record, "port_missed", &task->port_missed, err) < 0 ||
	    view_record_read_bool(record, "port_open", &task->port_open, err) < 0 ||
	    view_record_read_bool(record, "rejoin", &task->rejoin, err) < 0 ||
	    view_record_read_bool(record, "restarting", &task->restarting, err) < 0 ||
	    view_record_read_int(record, "pause", 0, INT32_MAX, &pause, err) < 0 ||
	    read_text(record, "container", &task->container, err) < 0 ||
	    read_text(record, "host", &task->host, err) < 0 ||
	    read_text(record, "blamed", &task->blamed, err) < 0 ||
	    read_text(record, "log_dir", &task->log_dir, err) < 0)
		return -1;
	task->pause_ms = pause;
	return cause ? cause_from_json(cause, &task->cause, err) : 0;
}

static bool has_ended(enum task_state state)
{
	return state >= TASK_SUCCEEDED;
}

static void set_times(struct task_view *task, enum task_state from, bool was_up, int64_t time_ms)
{
	if (task->state == TASK_REQUESTED && task->requested_ms == 0)
		task->requested_ms = time_ms;
	if (task->up && !was_up) {
		task->started_ms = time_ms;
		task->ended_ms = 0;
	}
	/* One that ended before it was seen to be up had started when it was ordered to. */
	if (from == TASK_RUNNING && task->state != TASK_RUNNING && !was_up)
		task->started_ms = task->state_since_ms;
	if (from == TASK_RUNNING ? task->state != TASK_RUNNING
				 : has_ended(task->state) && !has_ended(from))
		task->ended_ms = time_ms;
	if (from != task->state)
		task->state_since_ms = time_ms;
}

static void fold_type(struct type_view *type, enum task_state from, enum task_state to,
		      int64_t time_ms)
{
	if (from == to)
		return;
	if (from == TASK_RUNNING)
		type->running--;
	if (to == TASK_RUNNING && type->running++ == 0)
		type->begun_ms = time_ms;
}

static int fold_task(struct job_view *view, const struct view_record *record, int64_t time_ms,
		     struct err *err)
{
	int64_t number;
	int state;

	if (read_task_name(view, record, "task", &number, err) < 0)
		return -1;
	if (number < 0)
		return err_set(err, ERR_INPUT, "task: is missing");
	struct task_view *task = &view->tasks[number];
	enum task_state from = task->state;
	bool was_up = task->up;
	if (need_state(record, "to", task_state_parse, &state, err) < 0 ||
	    read_task_members(task, record, err) < 0)
		return -1;
	move_task(view, task, (enum task_state)state);
	if (from == TASK_WAITING && task->state == TASK_REQUESTED)
		view->formation_ms = time_ms;
	fold_type(&view->types[task->type], from, task->state, time_ms);
	set_times(task, from, was_up, time_ms);
	view_attempts_fold(task, from, time_ms);
	view->types[task->type].container_ms += view_attempts_hold(task, from, time_ms);
	if (!view_record_has(record, "used_ms"))
		return 0;
	if (read_use(record, &task->use, err) < 0)
		return -1;
	view_attempts_use(task);
	return 0;
}

static int fold_avoid(struct job_view *view, const struct view_record *record, int64_t time_ms,
		      struct err *err)
{
	char *host cleanup_free = NULL;

	if (view_record_need_text(record, "host", &host, err) < 0)
		return -1;
	if (!str_list_has(&view->avoided, host))
		str_list_add(&view->avoided, host);
	return 0;
}

static int fold_note(struct job_view *view, const struct view_record *record, int64_t time_ms,
		     struct err *err)
{
	return read_text(record, "text", &view->note, err);
}

/* Of records that tell trouble with a store, and its end. */
static int read_trouble(const struct view_record *record, int64_t time_ms, char **trouble,
			int64_t *since_ms, struct err *err)
{
	char *text cleanup_free = NULL;
	bool is_trouble = false;

	*since_ms = time_ms;
	if (view_record_read_bool(record, "trouble", &is_trouble, err) < 0 ||
	    view_record_need_text(record, "text", &text, err) < 0 ||
	    view_record_read_int(record, "since_ms", 1, INT64_MAX, since_ms, err) < 0)
		return -1;
	mem_replace(trouble, is_trouble ? mem_steal(&text) : NULL);
	return 0;
}

static int fold_store(struct job_view *view, const struct view_record *record, int64_t time_ms,
		      struct err *err)
{
	return read_trouble(record, time_ms, &view->store_trouble, &view->store_trouble_since_ms,
			    err);
}

static int fold_checkpoints(struct job_view *view, const struct view_record *record,
			    int64_t time_ms, struct err *err)
{
	int64_t number;

	if (read_task_name(view, record, "task", &number, err) < 0)
		return -1;
	if (number < 0)
		return err_set(err, ERR_INPUT, "task: is missing");
	struct task_view *task = &view->tasks[number];
	return read_trouble(record, time_ms, &task->checkpoint_trouble,
			    &task->checkpoint_trouble_since_ms, err);
}

static int fold_output(struct job_view *view, const struct view_record *record, int64_t time_ms,
		       struct err *err)
{
	int64_t number;

	if (read_task_name(view, record, "task", &number, err) < 0)
		return -1;
	if (number < 0)
		return err_set(err, ERR_INPUT, "task: is missing");
	struct lost_output *lost = &view->tasks[number].lost;
	if (read_number(record, "attempt", &lost->attempt, err) < 0 ||
	    view_record_read_int(record, "lines", 0, INT64_MAX, &lost->lines, err) < 0 ||
	    view_record_read_int(record, "bytes", 0, INT64_MAX, &lost->bytes, err) < 0)
		return -1;
	mem_replace(&lost->text, NULL);
	return view_record_need_text(record, "text", &lost->text, err);
}

static int fold_waiting(struct job_view *view, const struct view_record *record, int64_t time_ms,
			struct err *err)
{
	return read_text(record, "text", &view->waiting, err);
}

static int fold_tracking(struct job_view *view, const struct view_record *record, int64_t time_ms,
			 struct err *err)
{
	mem_replace(&view->tracking_run, NULL);
	if (view_record_need_text(record, "run", &view->tracking_run, err) < 0)
		return -1;
	return read_text(record, "page", &view->tracking_page, err);
}

static int fold_start(struct job_view *view, const struct view_record *record, int64_t time_ms,
		      struct err *err)
{
	str_list_finish(&view->met);
	if (view_record_read_bool(record, "released", &view->released, err) < 0)
		return -1;
	return view_record_read_list(record, "met", &view->met, err);
}

/* An AM that was killed could not say so of its tasks: nothing of an ended job runs. */
static void stop_the_rest(struct job_view *view, int64_t time_ms)
{
	for (size_t i = 0; i < view->task_count; i++) {
		struct task_view *task = &view->tasks[i];
		enum task_state from = task->state;
		if (from >= TASK_SUCCEEDED)
			continue;
		move_task(view, task, TASK_STOPPED);
		view->types[task->type].container_ms += view_attempts_hold(task, from, time_ms);
		task->state_since_ms = time_ms;
		task->up = false;
		if (task->started_ms > 0 && task->ended_ms == 0)
			task->ended_ms = time_ms;
		view_attempts_end(task, time_ms);
	}
}

/* "...: no room; trying again": nobody does any more. */
static void end_tries(char *trouble)
{
	static const char tries[] = "; trying again";

	if (trouble && str_ends_with(trouble, tries))
		trouble[strlen(trouble) - strlen(tries)] = '\0';
}

static void end(struct job_view *view, enum job_state state, int64_t ended_ms)
{
	view->state = view->outcome = state;
	view->is_final = true;
	end_tries(view->store_trouble);
	for (size_t i = 0; i < view->task_count; i++)
		end_tries(view->tasks[i].checkpoint_trouble);
	stop_the_rest(view, ended_ms);
	if (view->ended_ms == 0)
		view->ended_ms = ended_ms;
}

void job_view_end(struct job_view *view, enum job_state state, const char *message,
		  int64_t ended_ms)
{
	end(view, state, ended_ms);
	mem_replace(&view->message, mem_strdup(message));
}

int64_t job_view_wanted(const struct job_view *view)
{
	int64_t count = 0;

	for (size_t i = 0; i < view->job->type_count; i++)
		count += view->types[i].wanted;
	return count;
}

static int read_notices(struct job_view *view, const struct view_record *record, struct err *err)
{
	const json_t *notices = view_record_get(record, "notices"), *notice;
	size_t i;

	json_array_foreach(notices, i, notice)
	{
		if (!json_is_string(json_object_get(notice, "of")) ||
		    !json_is_string(json_object_get(notice, "text")))
			return err_set(err, ERR_INPUT, "notices[%zu]: lacks of or text", i);
	}
	if (notices && !json_is_array(notices))
		return err_set(err, ERR_INPUT, "notices: is not a list");
	if (notices) {
		json_decref(view->notices);
		view->notices = json_deep_copy(notices);
	}
	view->notices_due = false;
	return view_record_read_bool(record, "notices_due", &view->notices_due, err);
}

static int fold_final(struct job_view *view, const struct view_record *record, int64_t time_ms,
		      struct err *err)
{
	const json_t *cause = view_record_get(record, "cause");
	int64_t ended_ms = time_ms;
	int state;

	if (need_state(record, "state", job_state_parse, &state, err) < 0 ||
	    view_record_read_int(record, "ended_ms", 1, INT64_MAX, &ended_ms, err) < 0)
		return -1;
	end(view, (enum job_state)state, ended_ms);
	if (cause) {
		view->cause_task = -1;
		if (cause_from_json(cause, &view->cause, err) < 0)
			return -1;
	}
	if (read_notices(view, record, err) < 0 ||
	    read_text(record, "history_trouble", &view->history_trouble, err) < 0)
		return -1;
	return read_text(record, "message", &view->message, err);
}

static const struct {
	const char *event;
	int (*fold)(struct job_view *view, const struct view_record *record, int64_t time_ms,
		    struct err *err);
} folds[] = {
	{"am", fold_am},       {"job", fold_job},	{"task", fold_task},
	{"avoid", fold_avoid}, {"note", fold_note},	{"waiting", fold_waiting},
	{"final", fold_final}, {"output", fold_output}, {"checkpoints", fold_checkpoints},
	{"store", fold_store}, {"start", fold_start},	{"tracking", fold_tracking},
};

/* ---- all of them -------------------------------------------------------------------------- */

static int fold(struct job_view *view, const struct view_record *record, int64_t time_ms,
		struct err *err)
{
	char *event cleanup_free = NULL;

	if (view_record_need_text(record, "ev", &event, err) < 0)
		return -1;
	for (size_t i = 0; i < array_length(folds); i++)
		if (strcmp(folds[i].event, event) == 0)
			return folds[i].fold(view, record, time_ms, err);
	return 0;
}

int job_view_add(struct job_view *view, const struct journal_line *line, struct err *err)
{
	if (line->sequence <= view->sequence)
		return 0;
	struct view_record record cleanup_view_record;
	if (view_record_open(&record, line, err) < 0)
		return -1;
	if (fold(view, &record, line->time_ms, err) < 0)
		return err_wrap(err, "journal line %" PRId64, line->sequence);
	view->sequence = line->sequence;
	if (view->begun_ms == 0)
		view->begun_ms = line->time_ms;
	return 0;
}

static int visit(void *data, const struct journal_line *line, struct err *err)
{
	return job_view_add(data, line, err);
}

int job_view_read(struct job_view *view, const char *path, struct err *err)
{
	return journal_read(path, view->sequence + 1, visit, view, err);
}
