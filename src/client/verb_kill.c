#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_choice.h"
#include "client/live.h"
#include "client/opened_jobs.h"
#include "client/report.h"
#include "client/sweep_control.h"
#include "client/verbs.h"

#define END_TIMEOUT_MS 60000
#define QUIET_MS       500 /* from the start: a user who waits for longer is told for what */

struct kill_options {
	bool force, all, may_have_ended;
	char *reason;
	struct str_list tags;
};

static const struct opt options[] = {
	JOB_CHOICE_TAG(struct kill_options),
	JOB_CHOICE_ALL(struct kill_options),
	OPT_ROW("force", struct kill_options, force,
		"end its processes with SIGKILL, without asking the application master"),
	OPT_ROW("reason", struct kill_options, reason, "kept in the job's history",
		.argument = "TEXT", .may_be_empty = true),
};

/* True when there is nothing (more) to ask for: the job ends, or has ended. */
static bool is_ending(struct opened *opened)
{
	return opened_read(opened, NULL, NULL, NULL) == 0 && opened->view->state >= JOB_FINISHING;
}

static int tell_failure(const struct opened *opened, const struct err *failure, struct err *err)
{
	if (failure->kind == ERR_DENIED && opened->door.identity)
		return err_copy(err, failure);
	err_set(err, failure->kind, "%s; tony kill --force ends it all the same",
		err_message(failure));
	return opened_wrap(opened, err);
}

static int kill_undescribed(const struct opened *opened, const char *reason, struct err *err)
{
	err_finish(err);
	if (opened->ops->kill(&opened->door, reason, err) < 0)
		return -1;
	printf("%s %s\n", opened->id, job_state_name(JOB_KILLED));
	return 1;
}

/* 1: it has ended, and nothing more is to be told of it. */
static int open_job(struct opened *opened, const char *word, void *data, struct err *err)
{
	const struct kill_options *chosen = data;

	if (opened_find(opened, word, err) < 0)
		return chosen->force && opened->door.undescribed.kind
			       ? kill_undescribed(opened, chosen->reason, err)
			       : -1;
	if (!opened->view->is_final)
		return 0;
	return chosen->may_have_ended ? 1 : opened_say_ended(opened, err);
}

/* The notes for the user while the jobs end. From the order on their tasks count as stopped. */
static char **describe_ends(const struct kill_options *chosen, const struct opened_jobs *jobs)
{
	char **texts = mem_alloc_array(jobs->count, sizeof(*texts));

	for (size_t i = 0; i < jobs->count; i++)
		if (!jobs->items[i].is_over)
			texts[i] = chosen->force ? mem_strdup("killing the job with SIGKILL")
						 : live_stopping(jobs->items[i].opened.view);
	return texts;
}

/* ---- the order ---------------------------------------------------------------------------- */

static int kill_waiting(struct opened *opened, void *data, struct err *err)
{
	const struct kill_options *chosen = data;

	return opened_kill_waiting(opened, NULL, chosen->reason, err);
}

static void ask_to_end(const struct kill_options *chosen, struct opened_jobs *jobs)
{
	json_t *body cleanup_json = json_object();

	json_set_text(body, "reason", chosen->reason);
	char *text cleanup_free = json_text(body);
	const struct opened_order order = {
		.path = "/v1/job/kill",
		.body = text,
		.before = kill_waiting,
		.is_done = is_ending,
		.fail = tell_failure,
		.advice = "; tony kill --force ends a job without it",
		.data = (void *)chosen,
	};
	opened_jobs_order(jobs, &order);
}

static void end_by_force(const struct kill_options *chosen, struct opened_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		struct opened_job *job = &jobs->items[i];
		struct err err cleanup_err = {0};
		if (job->is_over)
			continue;
		job->is_over = job->opened.ops->kill(&job->opened.door, chosen->reason, &err) < 0;
		job->is_ordered = !job->is_over;
		if (job->is_over)
			opened_jobs_note(jobs, -1, &err);
	}
}

/* ---- the ends ----------------------------------------------------------------------------- */

static void look(struct opened_jobs *jobs, struct opened_job *job, void *data)
{
	(void)jobs, (void)data;
	if (!job->opened.view->is_final)
		return;
	printf("%s %s\n", job->opened.id, job_state_name(job->opened.view->state));
	job->is_over = true;
}

static void await_ends(struct opened_jobs *jobs, char *const *stopping, int64_t begun_ms)
{
	int64_t quiet_ms = begun_ms + QUIET_MS - clock_monotonic_ms();

	opened_jobs_follow(jobs, quiet_ms > 0 ? quiet_ms : 0, look, NULL);
	for (size_t i = 0; i < jobs->count; i++)
		if (!jobs->items[i].is_over)
			report_note("%s", stopping[i]);
	opened_jobs_follow(jobs, END_TIMEOUT_MS - QUIET_MS, look, NULL);
	for (size_t i = 0; i < jobs->count; i++) {
		const char *id = jobs->items[i].opened.id;
		if (jobs->items[i].is_over)
			continue;
		report_note("%s is ending, but has not ended yet: tony wait %s waits on, tony "
			    "kill --force %s ends it at once",
			    id, id, id);
		opened_jobs_note(jobs, EXIT_CODE_TIMEOUT, NULL);
	}
}

/* ------------------------------------------------------------------------------------------- */

/* All are told before any is waited for: their graces pass at the same time. `trials`: what sweeps
 * among them have left, whose process was dead, or not asked (--force). */
static int end_all(const struct kill_options *chosen, const struct str_list *words,
		   struct str_list *trials)
{
	struct opened_jobs jobs cleanup_opened_jobs = {0};
	int64_t begun_ms = clock_monotonic_ms();

	opened_jobs_find(&jobs, words, open_job, (void *)chosen);
	char **stopping cleanup_free = describe_ends(chosen, &jobs);
	if (chosen->force)
		end_by_force(chosen, &jobs);
	else
		ask_to_end(chosen, &jobs);
	await_ends(&jobs, stopping, begun_ms);
	for (size_t i = 0; i < jobs.count; i++) {
		free(stopping[i]);
		if (jobs.items[i].is_ordered && job_is_sweep(jobs.items[i].opened.job))
			sweep_trials(jobs.items[i].opened.id, true, trials, NULL);
	}
	return jobs.code;
}

static int kill_jobs(void *data, const struct verb_call *call, struct err *err)
{
	const struct kill_options *chosen = data;
	const struct job_choice choice = {&verb_kill.options, call->operands, &chosen->tags,
					  chosen->all};
	struct str_list jobs cleanup_str_list = {0}, trials cleanup_str_list = {0};
	struct str_list none cleanup_str_list = {0};

	if (call->operands->count == 0 && chosen->tags.count == 0)
		return err_set(err, ERR_USAGE, "which job? usage: %s; see tony list",
			       verb_kill.options.usage);
	if (job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	int code = end_all(chosen, &jobs, &trials);
	struct kill_options left = *chosen;
	left.may_have_ended = true; /* by themselves, since their sweep has */
	int end = trials.count > 0 ? end_all(&left, &trials, &none) : EXIT_CODE_OK;
	return code > end ? code : end;
}

const struct verb verb_kill = {
	.options =
		{
			.verb = "kill",
			.usage = "tony kill [OPTIONS] JOB...",
			.jobs = OPT_JOBS_LIVE,
			.summary = "end jobs",
			.description =
				"The jobs' programs get SIGTERM, and SIGKILL when their grace "
				"(tony.<type>.stop-grace) is over. Returns when the jobs have "
				"ended.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct kill_options),
	.run = kill_jobs,
};
