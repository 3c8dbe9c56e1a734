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
	OPT_ROW("tail", struct attach_options, tail,
		"begin with the last N lines of each log; default 10", .argument = "N", .min = 0,
		.max = INT64_MAX),
};

static int check(const void *data, struct err *err)
{
	return watch_choice_check(&((const struct attach_options *)data)->watch, err);
}

static int attach(void *data, const struct verb_call *call, struct err *err)
{
	const struct attach_options *chosen = data;
	struct watch_options how = {.tail = chosen->tail, .timeout_ms = -1};

	watch_choose(&chosen->watch, call->opened->job, &how);
	int code = watch_job(call->opened, &how, err);
	if (code >= 0 && call->opened->view->is_final)
		watch_conclude(call->opened, &how);
	return code < 0 ? -1 : results_conclude(call->opened, code);
}

const struct verb verb_attach = {
	.options =
		{
			.verb = "attach",
			.usage = "tony attach [OPTIONS] [JOB]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "show how a job goes, as tony submit does",
			.description = "Ctrl-C leaves the job alone. When the job has ended the "
				       "exit code is the "
				       "job's: see tony-exit(7).",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct attach_options),
	.defaults = &(const struct attach_options){.tail = TAIL},
	.operands = VERB_JOB,
	.check = check,
	.run = attach,
};
