#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_answer.h"
#include "client/job_choice.h"
#include "client/live.h"
#include "client/opened_jobs.h"
#include "client/report.h"
#include "client/results.h"
#include "client/verbs.h"
#include "client/watch.h"

struct wait_options {
	bool json;
	char *timeout, *of;
	struct str_list tags;
};

static const struct opt options[] = {
	JOB_CHOICE_TAG(struct wait_options),
	OPT_ROW("timeout", struct wait_options, timeout,
		"give up after this long (10s, 5m, 2h; a bare number is seconds)",
		.argument = "TIME"),
	OPENED_OF(struct wait_options),
	OPT_ROW("json", struct wait_options, json, "print the ended jobs as JSON (docs/json.md)"),
};

/* In a terminal the user sees the table meanwhile. */
static int await_end(struct opened *opened, int64_t timeout_ms, struct err *err)
{
	const struct watch_options how = {.stream = stderr, .timeout_ms = timeout_ms};

	if (!opened->view->is_final && live_can_draw(stderr))
		return watch_job(opened, &how, err);
	int final = opened_follow(opened, timeout_ms, NULL, NULL, err);
	return final == 0 ? EXIT_CODE_TIMEOUT : final < 0 ? -1 : EXIT_CODE_OK;
}

struct waiting {
	const struct wait_options *chosen;
	int64_t timeout_ms, until_ms; /* monotonic; negative: no limit */
	json_t *answers;	      /* NULL: of one job alone, which is printed as it is */
};

static int64_t left_ms(const struct waiting *waiting)
{
	int64_t left = waiting->until_ms - clock_monotonic_ms();

	return waiting->timeout_ms < 0 ? -1 : left > 0 ? left : 0;
}

static void tell_end(const struct waiting *waiting, struct opened *opened)
{
	char *message cleanup_free =
		report_clean(opened->view->message ? opened->view->message : "");

	if (waiting->answers)
		return; /* all are told at the end, in the order in which they were named */
	if (!waiting->chosen->json)
		printf("%s %s: %s\n", opened->id, job_state_name(opened->view->state), message);
	else
		report_json(job_answer(opened));
	report_flush_end(stdout, opened->view);
}

static int conclude(const struct waiting *waiting, struct opened *opened)
{
	int code = (int)exit_code_of_job(opened->view->state);

	/* An answer tells where the results are; a user hears of the end first. */
	if (waiting->chosen->json)
		code = results_conclude(opened, code);
	tell_end(waiting, opened);
	return waiting->chosen->json ? code : results_conclude(opened, code);
}

static void tell_late(const struct waiting *waiting, const struct opened *opened)
{
	char *after cleanup_free = str_format_duration(waiting->timeout_ms);

	report_note("%s still runs after %s", opened->id, after);
}

static int open_job(struct opened *opened, const char *word, void *data, struct err *err)
{
	const struct waiting *waiting = data;

	return opened_find_of(opened, word, waiting->chosen->of, err);
}

/* ---- one ---------------------------------------------------------------------------------- */

static void wait_for_one(struct waiting *waiting, struct opened_jobs *jobs)
{
	struct opened *opened = &jobs->items[0].opened;
	struct err err cleanup_err = {0};

	if (jobs->items[0].is_over)
		return;
	int code = await_end(opened, left_ms(waiting), &err);
	if (code == EXIT_CODE_TIMEOUT && !opened->view->is_final)
		tell_late(waiting, opened);
	if (code >= 0 && opened->view->is_final)
		code = conclude(waiting, opened);
	opened_jobs_note(jobs, code, &err);
}

/* ---- several: each is told as it ends ----------------------------------------------------- */

static void look(struct opened_jobs *jobs, struct opened_job *job, void *data)
{
	if (!job->opened.view->is_final)
		return;
	opened_jobs_note(jobs, conclude(data, &job->opened), NULL);
	job->is_over = true;
}

/* In a terminal, else the user sees nothing until the first of them ends. */
static void tell_waiting(const struct opened_jobs *jobs)
{
	size_t count = 0;

	for (size_t i = 0; i < jobs->count; i++)
		count += !jobs->items[i].is_over && !jobs->items[i].opened.view->is_final;
	if (count > 0 && live_can_draw(stderr))
		report_note("%zu job%s; tony list --watch shows what runs", count,
			    count == 1 ? " goes on" : "s go on");
}

static void wait_for_several(struct waiting *waiting, struct opened_jobs *jobs)
{
	tell_waiting(jobs);
	opened_jobs_follow(jobs, left_ms(waiting), look, waiting);
	for (size_t i = 0; i < jobs->count; i++) {
		const struct opened *opened = &jobs->items[i].opened;
		if (!jobs->items[i].is_over) {
			tell_late(waiting, opened);
			opened_jobs_note(jobs, EXIT_CODE_TIMEOUT, NULL);
		}
		if (waiting->answers && opened->view && opened->view->is_final)
			json_array_append_new(waiting->answers, job_answer(&jobs->items[i].opened));
	}
}

/* ------------------------------------------------------------------------------------------- */

static int wait_for_all(void *data, const struct verb_call *call, struct err *err)
{
	const struct wait_options *chosen = data;
	const struct job_choice choice = {&verb_wait.options, call->operands, &chosen->tags, false};
	struct waiting waiting = {.chosen = chosen, .timeout_ms = -1};
	struct opened_jobs opened cleanup_opened_jobs = {0};
	struct str_list jobs cleanup_str_list = {0};

	if (chosen->timeout && str_parse_duration(chosen->timeout, 1000, &waiting.timeout_ms) < 0)
		return err_set(err, ERR_USAGE,
			       "--timeout: \"%s\" is not a time; write 10s, 5m or 2h",
			       chosen->timeout);
	waiting.until_ms = clock_monotonic_ms() + waiting.timeout_ms;
	if (job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	if (chosen->json && job_choice_is_list(&choice))
		waiting.answers = json_array();
	opened_jobs_find(&opened, &jobs, open_job, &waiting);
	if (opened.count == 1 && !waiting.answers)
		wait_for_one(&waiting, &opened);
	else
		wait_for_several(&waiting, &opened);
	if (waiting.answers)
		report_json(waiting.answers);
	return opened.code;
}

const struct verb verb_wait = {
	.options =
		{
			.verb = "wait",
			.usage = "tony wait [OPTIONS] [JOB...]",
			.summary = "wait until jobs have ended; exit as they did",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct wait_options),
	.run = wait_for_all,
};
