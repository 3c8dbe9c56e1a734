#include "am/am_main.h"

#include "am/am_internal.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"

struct am_options {
	char *job_dir;
};

static const struct opt am_option_rows[] = {
	{.name = "job-dir",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct am_options, job_dir),
	 .argument = "DIR",
	 .help = "the job's directory, with job.json; else the container that this process was "
		 "started in says what to run",
	 .completion = OPT_COMPLETE_DIRECTORY},
};

static const struct opt_table table = {
	.verb = "am",
	.usage = "tony-agent am [--job-dir DIR]",
	.summary = "run a job's application master",
	.options = am_option_rows,
	.option_count = array_length(am_option_rows),
};

int am_main(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct am_options chosen = {0};
	struct am am = {0};
	struct str_list operands cleanup_str_list = {0};
	log_open("am", LOG_LEVEL_INFO);
	int code = 2;
	if (opt_parse(&table, argc, argv, &chosen, &operands, NULL, &err) < 0)
		log_error("%s", err_message(&err));
	else if (operands.count > 0)
		log_error("usage: %s", table.usage);
	else
		code = am_run_guarded(&am, chosen.job_dir);
	opt_finish(&table, &chosen);
	return code;
}
