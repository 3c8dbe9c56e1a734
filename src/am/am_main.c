#include "am/am_main.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "am/am_internal.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"

struct am_options {
	char *job_dir;
	int64_t ready_fd;
};

static const struct opt am_option_rows[] = {
	{.name = "job-dir",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct am_options, job_dir),
	 .argument = "DIR",
	 .help = "the job's directory, with job.json; else the container that this process was "
		 "started in says what to run",
	 .completion = OPT_COMPLETE_DIRECTORY},
	{.name = "ready-fd",
	 .kind = OPT_NUMBER,
	 .offset = offsetof(struct am_options, ready_fd),
	 .min = STDERR_FILENO + 1,
	 .max = INT_MAX,
	 .argument = "FD",
	 .help = "an eventfd, which is written to once the application master can be asked"},
};

static const struct opt_table table = {
	.verb = "am",
	.usage = "tony-agent am [--job-dir DIR] [--ready-fd FD]",
	.summary = "run a job's application master",
	.options = am_option_rows,
	.option_count = array_length(am_option_rows),
};

static int run(struct am *am, const struct am_options *chosen)
{
	am->ready_fd = (int)chosen->ready_fd;
	if (am->ready_fd > 0)
		fcntl(am->ready_fd, F_SETFD, FD_CLOEXEC);
	return am_run_guarded(am, chosen->job_dir);
}

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
		code = run(&am, &chosen);
	opt_finish(&table, &chosen);
	return code;
}
