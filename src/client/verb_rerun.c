/* tony rerun: a job once more, with the configuration and the sources that it had. */
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/opened.h"
#include "client/other_tools.h"
#include "client/report.h"
#include "client/submission.h"
#include "client/verbs.h"

struct rerun_options {
	struct submission_options how;
	bool resume;
	char *of;
};

static const struct opt options[] = {
	OPT_ROW("resume", struct rerun_options, resume,
		"go on from the checkpoints of JOB, in its TONY_CHECKPOINT_DIR"),
	OPENED_OF(struct rerun_options),
	SUBMISSION_OPTIONS(struct rerun_options, how),
};

/* `operands` without JOB, which is the first of them. */
static int run(struct rerun_options *chosen, const struct opened *opened,
	       const struct str_list *operands, size_t dashdash, struct err *err)
{
	const struct repeat_choice choice = {chosen->resume, chosen->how.with_stdin};
	struct str_list command cleanup_str_list = {0};
	struct repeat repeat cleanup_repeat = {0};

	for (size_t i = dashdash; i < operands->count; i++)
		str_list_add(&command, operands->items[i]);
	if (repeat_plan(&repeat, opened, &choice, &chosen->how.job, err) < 0)
		return -1;
	chosen->how.repeat = &repeat;
	int result = submission_run(&chosen->how, &command, 0, err);
	chosen->how.repeat = NULL;
	return result;
}

static int rerun(void *data, const struct verb_call *call, struct err *err)
{
	struct rerun_options *chosen = data;
	struct opened opened cleanup_opened = {0};

	if (call->dashdash != 1)
		return err_set(err, ERR_USAGE, "%s; usage: %s",
			       call->dashdash == 0 ? "which job?" : "one job at a time",
			       verb_rerun.options.usage);
	if (opened_find_of(&opened, call->operands->items[0], chosen->of, err) < 0)
		return -1;
	/* Whose it is its engine knows, and nothing more. */
	if (!chosen->of && opened_is_others(&opened))
		return err_set(err, ERR_DENIED,
			       "%s is %s's: its command would run as you; --of %s repeats it",
			       opened.id, opened.door.user, opened.door.user);
	return run(chosen, &opened, call->operands, call->dashdash, err);
}

const struct verb verb_rerun = {
	.options =
		{
			.verb = "rerun",
			.usage = "tony rerun [OPTIONS] JOB [-- COMMAND ARG...]",
			.summary = "submit a job again, with the configuration and the sources "
				   "that it had",
			.description = "Options win over what JOB had, as those of tony submit win "
				       "over files. The "
				       "exit code is the new job's: see tony-exit(7).",
			.options = options,
			.option_count = array_length(options),
			.elsewhere = other_tools_job_options,
		},
	.size = sizeof(struct rerun_options),
	.run = rerun,
};
