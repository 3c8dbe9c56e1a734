#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/results.h"
#include "client/verbs.h"
#include "client/watch.h"

enum { TAIL = 10 }; /* as tail(1) */

struct attach_options {
	struct watch_choice watch;
	int64_t tail;
};

static const struct opt options[] = {
	WATCH_OPTIONS(struct attach_options, watch),
	{.name = "tail",
	 .kind = OPT_NUMBER,
	 .offset = offsetof(struct attach_options, tail),
	 .argument = "N",
	 .help = "begin with the last N lines of each log; default 10",
	 .min = 0,
	 .max = INT64_MAX},
};

const struct opt_table verb_attach_options = {
	.verb = "attach",
	.usage = "tony attach [OPTIONS] [JOB]",
	.jobs = OPT_JOBS_LIVE,
	.summary = "show how a job goes, as tony submit does",
	.description = "Ctrl-C leaves the job alone. When the job has ended the exit code is the "
		       "job's: see tony-exit(7).",
	.options = options,
	.option_count = array_length(options),
};

static int attach(const struct attach_options *chosen, const struct str_list *operands,
		  struct err *err)
{
	struct watch_options how = {.tail = chosen->tail, .timeout_ms = -1};
	struct opened opened cleanup_opened = {0};
	const char *id;

	if (report_one_operand(&verb_attach_options, operands, &id, err) < 0 ||
	    watch_choice_check(&chosen->watch, err) < 0 || opened_find(&opened, id, err) < 0)
		return -1;
	watch_choose(&chosen->watch, opened.job, &how);
	int code = watch_job(&opened, &how, err);
	if (code >= 0 && opened.view->is_final)
		watch_conclude(&opened, &how);
	return code < 0 ? -1 : results_conclude(&opened, code);
}

int verb_attach(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct attach_options chosen = {.tail = TAIL};
	struct str_list operands cleanup_str_list = {0};
	int code;

	if (report_parse(&verb_attach_options, argc, argv, &chosen, &operands, &code)) {
		code = attach(&chosen, &operands, &err);
		code = code < 0 ? report_error(&err) : code;
	}
	opt_finish(&verb_attach_options, &chosen);
	return code;
}
