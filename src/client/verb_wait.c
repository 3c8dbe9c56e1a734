#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_answer.h"
#include "client/job_choice.h"
#include "client/live.h"
#include "client/opened.h"
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

	if (!waiting->chosen->json)
		printf("%s %s: %s\n", opened->id, job_state_name(opened->view->state), message);
	else if (waiting->answers)
		json_array_append_new(waiting->answers, job_answer(opened));
	else
		report_json(job_answer(opened));
	report_flush_end(stdout, opened->view);
}

static int wait_for(void *data, const char *job, struct err *err)
{
	const struct waiting *waiting = data;
	struct opened opened cleanup_opened = {0};

	if (opened_find_of(&opened, job, waiting->chosen->of, err) < 0)
		return -1;
	int code = await_end(&opened, left_ms(waiting), err);
	if (code < 0)
		return -1;
	if (code == EXIT_CODE_TIMEOUT && !opened.view->is_final) {
		char *after cleanup_free = str_format_duration(waiting->timeout_ms);
		report_note("%s still runs after %s", opened.id, after);
	}
	if (!opened.view->is_final)
		return code;
	code = (int)exit_code_of_job(opened.view->state);
	/* An answer tells where the results are; a user hears of the end first. */
	if (waiting->chosen->json)
		code = results_conclude(&opened, code);
	tell_end(waiting, &opened);
	return waiting->chosen->json ? code : results_conclude(&opened, code);
}

static int wait_for_all(void *data, const struct verb_call *call, struct err *err)
{
	const struct wait_options *chosen = data;
	const struct job_choice choice = {&verb_wait.options, call->operands, &chosen->tags, false};
	struct waiting waiting = {.chosen = chosen, .timeout_ms = -1};
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
	int code = job_choice_each(&jobs, wait_for, &waiting);
	if (waiting.answers)
		report_json(waiting.answers);
	return code;
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
