/* tony sweep: a job for many values of its parameters. */
#include "base/mem.h"
#include "client/other_tools.h"
#include "client/submission.h"
#include "client/sweep_config.h"
#include "client/verbs.h"

struct sweep_options {
	struct submission_options how;
};

static const struct opt options[] = {
	SUBMISSION_OPTIONS(struct sweep_options, how),
};

static int check_job(void *data, const struct description *description, const struct stage *stage,
		     struct err *err)
{
	if (sweep_is_configured(description->job->config))
		return 0;
	return err_set(err, ERR_USAGE,
		       "nothing says what is to vary; write --sweep lr=0.1,0.01, or "
		       "tony.sweep.parameters into the job file (docs/sweeps.md)");
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	struct sweep_options *chosen = data;
	struct str_list command cleanup_str_list = {0};
	size_t words =
		call->dashdash < call->operands->count ? call->dashdash : call->operands->count;

	if (words > 1 || (words == 1 && chosen->how.job.conf_file))
		return err_set(err, ERR_USAGE, "one job file at a time; usage: %s",
			       verb_sweep.options.usage);
	if (words == 1)
		chosen->how.job.conf_file = mem_strdup(call->operands->items[0]);
	for (size_t i = words; i < call->operands->count; i++)
		str_list_add(&command, call->operands->items[i]);
	chosen->how.check = check_job;
	return submission_run(&chosen->how, &command, 0, err);
}

const struct verb verb_sweep = {
	.options =
		{
			.verb = "sweep",
			.usage = "tony sweep [OPTIONS] [FILE] [-- COMMAND ARG...]",
			.summary = "run a job for many values of its parameters, and find the best",
			.description =
				"FILE is a job file with tony.sweep.parameters; --sweep gives "
				"parameters on the command line. The sweep is a job of this "
				"machine, and each of its trials is a job on the scheduler that "
				"the file names. The exit code is the sweep's: see tony-exit(7).",
			.options = options,
			.option_count = array_length(options),
			.elsewhere = other_tools_job_options,
		},
	.size = sizeof(struct sweep_options),
	.run = run,
};
