#include "client/advice.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/ended_jobs.h"
#include "client/remedy.h"
#include "scheduler/job_stores.h"
#include "sweep/state.h"

#define METRICS_CAP ((size_t)256 << 20)
#define PUBLISH_MS  5000 /* since the end of a job, in which its history is published */
#define LOOK_MS	    20

/* ---- measurements ------------------------------------------------------------------------- */

static void use_metrics(struct advise_uses *uses, const struct job *job, const char *bytes,
			size_t length)
{
	size_t bad = advise_uses_read(uses, job, bytes, length);

	if (bad > 0)
		log_warning("passed over %zu line%s of what was measured of %s: not good", bad,
			    str_plural(bad), job->id);
}

/* Of the user whose job is looked at. */
static char *read_kept(const struct opened *opened, const char *name, size_t cap, size_t *length,
		       struct err *err)
{
	return job_stores_read(opened->id, opened->door.user, name, cap, length, err);
}

/* What the AM wrote down while the job ran, on this machine. */
static char *read_here(const struct opened *opened, size_t *length)
{
	char *path cleanup_free = fs_join(opened->door.job_dir, HISTORY_METRICS);

	return fs_read_file(path, METRICS_CAP, length, NULL);
}

char *advice_metrics(const struct opened *opened, size_t *length)
{
	struct err err cleanup_err = {0};
	char *bytes = read_kept(opened, HISTORY_METRICS, METRICS_CAP, length, &err);

	if (!bytes && err.kind != ERR_NOT_FOUND)
		log_warning("what was measured cannot be looked at: %s", err_message(&err));
	return bytes ? bytes : read_here(opened, length);
}

static bool is_kept(const struct opened *opened)
{
	size_t length;
	char *summary cleanup_free =
		read_kept(opened, HISTORY_SUMMARY, HISTORY_SUMMARY_CAP, &length, NULL);

	return summary;
}

/* Clients hear of the end before that. */
static void await_history(const struct opened *opened)
{
	const struct job_view *view = opened->view;

	while (!view->history_trouble && clock_wall_ms() - view->ended_ms < PUBLISH_MS &&
	       !is_kept(opened))
		poll(NULL, 0, LOOK_MS);
}

json_t *advice_series(const struct opened *opened)
{
	json_t *tasks = json_object();
	size_t length = 0;

	await_history(opened);
	char *bytes cleanup_free = advice_metrics(opened, &length);

	if (!bytes)
		return tasks;
	for (const char *line = bytes, *end = bytes + length; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *next = newline ? newline : end;
		json_t *found cleanup_json = json_parse(line, (size_t)(next - line), NULL);
		const char *task = json_string_value(json_object_get(found, "task"));
		if (task)
			json_object_set(tasks, task, found);
		line = next + 1;
	}
	return tasks;
}

json_t *advice_summary(const struct opened *opened)
{
	size_t length = 0;
	char *text cleanup_free =
		read_kept(opened, HISTORY_SUMMARY, HISTORY_SUMMARY_CAP, &length, NULL);

	return text ? json_parse(text, length, NULL) : NULL;
}

/* The sweep was gone before it saw the end of a trial's job. */
static void settle_trial(json_t *trial)
{
	const char *state = json_string_value(json_object_get(trial, "state"));
	const char *id = json_string_value(json_object_get(trial, "job"));
	struct opened job cleanup_opened = {0};
	struct err err cleanup_err = {0};

	if (!id || !str_equal(state, trial_state_name(TRIAL_RUNNING)))
		return;
	if (opened_find(&job, id, &err) < 0) {
		if (err.kind == ERR_NOT_FOUND)
			json_set_text(trial, "state", trial_state_name(TRIAL_KILLED));
		return;
	}
	if (!job.view->is_final)
		return;
	json_set_text(trial, "state",
		      trial_state_name(job.view->state == JOB_SUCCEEDED ? TRIAL_COMPLETED
				       : job.view->state == JOB_KILLED	? TRIAL_KILLED
									: TRIAL_FAILED));
	if (job.view->state != JOB_SUCCEEDED)
		json_set_text(trial, "text", job.view->message);
	if (job.view->ended_ms > 0)
		json_set_int(trial, "ended_ms", job.view->ended_ms);
}

static json_t *settle_trials(const struct opened *opened, json_t *sweep)
{
	json_t *trial;
	size_t i;

	json_array_foreach(json_object_get(opened->view->is_final ? sweep : NULL, "trials"), i,
			   trial)
	{
		settle_trial(trial);
	}
	return sweep;
}

json_t *advice_sweep(const struct opened *opened)
{
	size_t length = 0;

	if (!job_is_sweep(opened->view->job))
		return NULL;
	char *path cleanup_free = fs_join(opened->view->job->checkpoint_dir, HISTORY_SWEEP);
	/* Which file of this user's is read, another user's record does not say. */
	char *here cleanup_free =
		opened->door.doubt ? NULL : fs_read_file(path, HISTORY_SWEEP_CAP, &length, NULL);
	char *kept cleanup_free =
		here ? NULL : read_kept(opened, HISTORY_SWEEP, HISTORY_SWEEP_CAP, &length, NULL);
	const char *text = here ? here : kept;
	return text ? settle_trials(opened, json_parse(text, length, NULL)) : NULL;
}

static void find_metrics(const struct opened *opened, struct advise_uses *uses)
{
	size_t length = 0;
	char *bytes cleanup_free = advice_metrics(opened, &length);

	if (bytes)
		use_metrics(uses, opened->view->job, bytes, length);
}

/* ---- past runs ---------------------------------------------------------------------------- */

/* A pattern that fits the name alone. */
static char *pattern_of(const char *name)
{
	struct str pattern = {0};

	for (; *name; name++) {
		if (strchr("*?[]\\", *name))
			str_append_char(&pattern, '\\');
		str_append_char(&pattern, *name);
	}
	return str_steal(&pattern);
}

static void find_past(const struct job *job, struct ended_jobs *past)
{
	struct err err cleanup_err = {0};
	char *pattern cleanup_free = pattern_of(job->name);
	const struct ended_filter filter = {
		.user = job->user,
		.name = pattern,
		.since_ms = job->submitted_ms - ADVISE_PAST_MS,
		.most = ADVISE_PAST_RUNS,
	};

	if (ended_jobs_stored(&filter, past, &err) < 0)
		log_warning("past runs are not looked at: %s", err_message(&err));
}

/* ------------------------------------------------------------------------------------------- */

static json_t *advise_ended(const struct opened *opened)
{
	struct ended_jobs past cleanup_ended_jobs = {0};
	struct advice_list list cleanup_advice_list = {0};
	struct advise_input input = {.view = opened->view, .now_ms = clock_wall_ms()};

	find_past(opened->view->job, &past);
	find_metrics(opened, &input.uses);
	input.past = past.items;
	input.past_count = past.count;
	advise(&input, &list);
	advise_uses_finish(&input.uses);
	return advice_list_to_json(&list);
}

/* The same words that the user read when the job failed. */
static json_t *failure_of(const struct job_view *view)
{
	char *remedy cleanup_free = remedy_of(view);
	json_t *failure = json_object();

	json_set_text(failure, "message", view->message ? view->message : "");
	json_set_text(failure, "remedy", remedy);
	return failure;
}

json_t *advice_get(const struct opened *opened, struct err *err)
{
	if (!opened->view->is_final)
		return opened_ask(opened, "GET", "/v1/advice", NULL, err);
	json_t *answer = advise_ended(opened);
	if (opened->view->state == JOB_FAILED)
		json_object_set_new(answer, "failure", failure_of(opened->view));
	return answer;
}

char *advice_headline(const struct opened *opened)
{
	struct advice_list list cleanup_advice_list = {0};
	struct advise_input input = {.view = opened->view, .now_ms = clock_wall_ms()};
	size_t length = 0;
	char *bytes cleanup_free = read_here(opened, &length);

	if (bytes)
		use_metrics(&input.uses, opened->view->job, bytes, length);
	advise(&input, &list);
	advise_uses_finish(&input.uses);
	if (list.count == 0 || list.items[0].severity < ADVICE_WARNING)
		return NULL;
	return mem_strdup(list.items[0].title);
}
