#include "base/mem.h"
#include "client/clearing.h"
#include "client/job_choice.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

#define LEAVE_MS 10000 /* for an AM that has told of its job's end, and keeps its history */

struct rm_options {
	bool dry_run, json, all;
	struct str_list tags;
};

static const struct opt options[] = {
	JOB_CHOICE_TAG(struct rm_options),
	JOB_CHOICE_ALL(struct rm_options),
	OPT_ROW("dry-run", struct rm_options, dry_run,
		"tell what would be removed, and remove nothing"),
	OPT_ROW("json", struct rm_options, json, "as JSON (docs/json.md)"),
};

/* No job is told any more, but a bucket may have half a history of it. */
static int remove_rest(struct clearing *clearing, const char *id, struct err *err)
{
	struct err why cleanup_err = {0};

	const struct removal *removal = &clearing->removal;
	int result = clearing_remove(clearing, NULL, id, NULL, &why);
	if (result == 0 && removal->removed.count == 0) {
		if (removal->stays.count == 0)
			return -1;
		result = err_set(&why, ERR_NOT_FOUND, "no job \"%s\" is known, but there is %s", id,
				 removal->stays.items[0]);
	}
	err_finish(err);
	return result < 0 ? err_copy(err, &why) : 0;
}

static int remove_opened(struct clearing *clearing, const char *name, struct err *err)
{
	struct opened opened cleanup_opened = {0};

	if (opened_find(&opened, name, err) < 0)
		return err->kind == ERR_NOT_FOUND ? remove_rest(clearing, name, err) : -1;
	if (!opened.view->is_final)
		return removal_refuse_live(opened.id, err);
	return clearing_remove(clearing, opened.ops, opened.id, opened.job, err);
}

static int remove_one(void *data, const char *name, struct err *err)
{
	struct clearing *clearing = data;
	int result = remove_opened(clearing, name, err);

	clearing->failed += result < 0;
	return result;
}

static int remove_all(void *data, const struct verb_call *call, struct err *err)
{
	const struct rm_options *chosen = data;
	struct str_list jobs cleanup_str_list = {0};
	struct clearing clearing cleanup_clearing = {.is_dry = chosen->dry_run,
						     .as_json = chosen->json,
						     .with_history = true,
						     .removal = {.wait_ms = LEAVE_MS}};
	const struct job_choice choice = {.verb = &verb_rm.options,
					  .operands = call->operands,
					  .tags = &chosen->tags,
					  .all = chosen->all,
					  .stores = &clearing.stores};

	if (call->operands->count == 0 && chosen->tags.count == 0)
		return err_set(err, ERR_USAGE, "which job? usage: %s; see tony list --all",
			       verb_rm.options.usage);
	if (clearing_begin(&clearing, err) < 0 || job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	clearing_choose(&clearing, &jobs);
	int code = job_choice_each(&jobs, remove_one, &clearing);
	return clearing_end(&clearing, -1, err) < 0 ? -1 : code;
}

const struct verb verb_rm = {
	.options =
		{
			.verb = "rm",
			.usage = "tony rm [OPTIONS] JOB...",
			.jobs = OPT_JOBS_ENDED,
			.summary = "remove jobs that have ended, with all that they left",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct rm_options),
	.run = remove_all,
};
