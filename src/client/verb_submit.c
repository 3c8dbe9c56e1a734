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

const struct opt_table verb_submit_options = {
	.verb = "submit",
	.usage = "tony submit [OPTIONS] [-- COMMAND ARG...]",
	.summary = "run a job, and show how it goes until it has ended",
	.description =
		"The configuration comes from tony-site.xml, then ./tony.xml (else ./tony.yaml) or "
		"--conf_file, then --conf, then the other options. Without any task type the "
		"command runs as a "
		"single "
		"task. A job in which tony check finds a problem is not started.\n"
		"Ctrl-C asks the job to stop, as tony kill does; a second one ends it at once. "
		"When "
		"the terminal is closed the job goes on. The exit code is the job's: see "
		"tony-exit(7).",
	.options = options,
	.option_count = array_length(options),
	.elsewhere = other_tools_job_options,
};

int verb_submit(int argc, char **argv)
{
	struct submit_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	struct err err cleanup_err = {0};
	size_t dashdash = 0;
	int code;

	if (report_parse_command(&verb_submit_options, argc, argv, &chosen, &operands, &dashdash,
				 &code)) {
		code = submission_run(&chosen.how, &operands, dashdash, &err);
		code = code < 0 ? report_error(&err) : code;
	}
	opt_finish(&verb_submit_options, &chosen);
	return code;
}
