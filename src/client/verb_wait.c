#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_answer.h"
#include "client/live.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"
#include "client/watch.h"

struct wait_options {
	bool json;
	char *timeout;
};

static const struct opt options[] = {
	{.name = "timeout",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct wait_options, timeout),
	 .argument = "TIME",
	 .help = "give up after this long (10s, 5m, 2h; a bare number is seconds)"},
	{.name = "json",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct wait_options, json),
	 .help = "print the ended job as JSON (docs/json.md)"},
};

const struct opt_table verb_wait_options = {
	.verb = "wait",
	.usage = "tony wait [OPTIONS] [JOB]",
	.summary = "wait until a job has ended; exit as it did",
	.options = options,
	.option_count = array_length(options),
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

static int wait_for(const struct wait_options *chosen, const struct str_list *operands,
		    struct err *err)
{
	struct opened opened cleanup_opened = {0};
	int64_t timeout_ms = -1;
	const char *id;

	if (chosen->timeout && str_parse_duration(chosen->timeout, 1000, &timeout_ms) < 0)
		return err_set(err, ERR_USAGE,
			       "--timeout: \"%s\" is not a time; write 10s, 5m or 2h",
			       chosen->timeout);
	if (report_one_operand(&verb_wait_options, operands, &id, err) < 0 ||
	    opened_find(&opened, id, err) < 0)
		return -1;
	int code = await_end(&opened, timeout_ms, err);
	if (code < 0)
		return -1;
	if (code == EXIT_CODE_TIMEOUT && !opened.view->is_final) {
		char *after cleanup_free = str_format_duration(timeout_ms);
		fprintf(stderr, "tony: %s still runs after %s\n", opened.id, after);
	}
	if (!opened.view->is_final)
		return code;
	if (chosen->json)
		report_json(job_answer(&opened));
	else
		printf("%s %s: %s\n", opened.id, job_state_name(opened.view->state),
		       opened.view->message ? opened.view->message : "");
	report_flush_end(stdout, opened.view);
	return (int)exit_code_of_job(opened.view->state);
}

int verb_wait(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct wait_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	int code;

	if (report_parse(&verb_wait_options, argc, argv, &chosen, &operands, &code)) {
		code = wait_for(&chosen, &operands, &err);
		code = code < 0 ? report_error(&err) : code;
	}
	opt_finish(&verb_wait_options, &chosen);
	return code;
}
