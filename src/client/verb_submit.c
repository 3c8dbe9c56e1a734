/* tony submit */
#include "base/mem.h"
#include "client/other_tools.h"
#include "client/report.h"
#include "client/submission.h"
#include "client/verbs.h"

struct submit_options {
	struct submission_options how;
};

static const struct opt options[] = {
	SUBMISSION_OPTIONS(struct submit_options, how),
};

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct submit_options *chosen = data;

	return submission_run(&chosen->how, call->operands, call->dashdash, err);
}

const struct verb verb_submit = {
	.options =
		{
			.verb = "submit",
			.usage = "tony submit [OPTIONS] [-- COMMAND ARG...]",
			.summary = "run a job, and show how it goes until it has ended",
			.description =
				"The configuration comes from tony-site.xml, then ./tony.xml (else "
				"./tony.yaml) or "
				"--conf_file, then --conf, then the other options. Without any "
				"task type the "
				"command runs as a "
				"single "
				"task. A job in which tony check finds a problem is not started.\n"
				"Ctrl-C asks the job to stop, as tony kill does; a second one ends "
				"it at once. "
				"When "
				"the terminal is closed the job goes on. The exit code is the "
				"job's: see "
				"tony-exit(7).",
			.options = options,
			.option_count = array_length(options),
			.elsewhere = other_tools_job_options,
		},
	.size = sizeof(struct submit_options),
	.run = run,
};
