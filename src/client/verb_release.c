/* tony release: lets jobs begin that were submitted with --hold. */
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_choice.h"
#include "client/opened.h"
#include "client/verbs.h"

struct release_options {
	struct str_list tags;
	bool all;
};

static const struct opt options[] = {
	JOB_CHOICE_TAG(struct release_options),
	JOB_CHOICE_ALL(struct release_options),
};

static int release_one(void *data, const char *job, struct err *err)
{
	struct opened opened cleanup_opened = {0};

	if (opened_find(&opened, job, err) < 0)
		return -1;
	if (opened.view->is_final)
		return opened_say_ended(&opened, err);
	if (!opened.job->hold || opened.view->released || opened.view->state != JOB_SUBMITTED)
		return err_set(err, ERR_USAGE, "%s is not held", opened.id);
	json_t *answer cleanup_json =
		opened_ask_soon(&opened, "POST", "/v1/job/release", NULL, err);
	if (!answer)
		return err_wrap(err, "%s", opened.id);
	printf("%s is released\n", opened.id);
	return EXIT_CODE_OK;
}

static int release(void *data, const struct verb_call *call, struct err *err)
{
	const struct release_options *chosen = data;
	const struct job_choice choice = {&verb_release.options, call->operands, &chosen->tags,
					  chosen->all};
	struct str_list jobs cleanup_str_list = {0};

	if (call->operands->count == 0 && chosen->tags.count == 0)
		return err_set(err, ERR_USAGE, "which job? usage: %s; see tony list",
			       verb_release.options.usage);
	if (job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	return job_choice_each(&jobs, release_one, NULL);
}

const struct verb verb_release = {
	.options =
		{
			.verb = "release",
			.usage = "tony release [OPTIONS] JOB...",
			.jobs = OPT_JOBS_LIVE,
			.summary = "let jobs begin that were submitted with --hold",
			.description = "A job that also waits for a time or for other jobs goes on "
				       "to wait for these.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct release_options),
	.run = release,
};
