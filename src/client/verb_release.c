/* tony release: lets jobs begin that were submitted with --hold. */
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_choice.h"
#include "client/opened_jobs.h"
#include "client/verbs.h"

struct release_options {
	struct str_list tags;
	bool all;
};

static const struct opt options[] = {
	JOB_CHOICE_TAG(struct release_options),
	JOB_CHOICE_ALL(struct release_options),
};

static int open_job(struct opened *opened, const char *word, void *data, struct err *err)
{
	(void)data;
	if (opened_find(opened, word, err) < 0)
		return -1;
	if (opened->view->is_final)
		return opened_say_ended(opened, err);
	if (!opened->job->hold || opened->view->released || opened->view->state != JOB_SUBMITTED)
		return err_set(err, ERR_USAGE, "%s is not held", opened->id);
	return 0;
}

static int tell_failure(const struct opened *opened, const struct err *failure, struct err *err)
{
	err_copy(err, failure);
	return opened_wrap(opened, err);
}

static int release(void *data, const struct verb_call *call, struct err *err)
{
	const struct release_options *chosen = data;
	const struct job_choice choice = {&verb_release.options, call->operands, &chosen->tags,
					  chosen->all};
	const struct opened_order order = {
		.path = "/v1/job/release", .fail = tell_failure, .advice = ""};
	struct opened_jobs opened cleanup_opened_jobs = {0};
	struct str_list jobs cleanup_str_list = {0};

	if (call->operands->count == 0 && chosen->tags.count == 0)
		return err_set(err, ERR_USAGE, "which job? usage: %s; see tony list",
			       verb_release.options.usage);
	if (job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	opened_jobs_find(&opened, &jobs, open_job, NULL);
	opened_jobs_order(&opened, &order);
	for (size_t i = 0; i < opened.count; i++)
		if (opened.items[i].is_ordered)
			printf("%s is released\n", opened.items[i].opened.id);
	return opened.code;
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
