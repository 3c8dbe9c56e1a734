#include "base/fs.h"
#include "base/mem.h"
#include "client/clearing.h"
#include "client/job_choice.h"
#include "client/job_list.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "client/sweep_control.h"
#include "client/verbs.h"
#include "scheduler/state_dir.h"

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

/* No job is told any more, but a bucket may have half a history of it, or a store a damaged one. */
static int remove_rest(struct clearing *clearing, const char *id, struct err *err)
{
	struct err why cleanup_err = {0};

	const struct removal *removal = &clearing->removal;
	int result = clearing_remove(clearing, NULL, id, NULL, &why);
	if (result == 0 && removal->removed.count == 0) {
		if (removal->stays.count == 0)
			return -1;
		result = err_set(&why, err->kind == ERR_INPUT ? ERR_DENIED : ERR_NOT_FOUND,
				 "no job \"%s\" is known, but there is %s", id,
				 removal->stays.items[0]);
	}
	err_finish(err);
	return result < 0 ? err_copy(err, &why) : 0;
}

static int remove_one(void *data, const char *name, struct err *err);

/* They go first: without their sweep nothing would tell of them. */
static int remove_trials(struct clearing *clearing, const struct opened *opened, struct err *err)
{
	const char *sweep = opened->id;
	struct str_list live cleanup_str_list = {0}, all cleanup_str_list = {0};

	if (sweep_trials(sweep, true, &live, err) < 0 || sweep_trials(sweep, false, &all, err) < 0)
		return -1;
	if (live.count > 0)
		return err_set(err, ERR_USAGE,
			       "%s stays: %s of it still runs; end it by tony kill %s first", sweep,
			       live.items[0], live.items[0]);
	str_list_add(&all, sweep); /* its trials may go */
	clearing_choose(clearing, &all);
	if (clearing_check(clearing, opened->ops, sweep, opened->job, err) < 0)
		return -1;
	for (size_t i = 0; i + 1 < all.count; i++)
		if (remove_one(clearing, all.items[i], err) < 0)
			return err_wrap(err, "%s stays", sweep);
	return 0;
}

/* Its sweep would name a best trial that is gone, and go on from it. */
static int check_trial(const struct clearing *clearing, const struct job *job, struct err *err)
{
	struct opened sweep cleanup_opened = {0};

	if (!job || !job->sweep || job_is_sweep(job) ||
	    str_list_has(&clearing->removal.chosen, job->sweep) ||
	    opened_find(&sweep, job->sweep, NULL) < 0)
		return 0;
	return err_set(err, ERR_USAGE,
		       "%s stays: it is trial %lld of %s, with which it goes: tony rm %s", job->id,
		       (long long)job->trial, job->sweep, job->sweep);
}

/* The engine of this machine that has a folder of this name; NULL: none. */
static const struct scheduler_client_ops *find_folder(const char *id)
{
	char *state cleanup_free = state_dir_is_job_id(id) ? state_dir_find(NULL) : NULL;
	const struct scheduler_client_ops *ops;

	for (size_t i = 0; state && (ops = scheduler_client_at(i)); i++) {
		char *folder cleanup_free = state_dir_job(state, ops->traits->folder, id);
		if (ops->directories && fs_is_directory(folder))
			return ops;
	}
	return NULL;
}

/* Those that are known now, for a sweep that does not tell of them. */
static void find_known_trials(const char *sweep, struct str_list *ids)
{
	struct job_list list cleanup_job_list = {0};
	struct str_list tags cleanup_str_list = {0};
	const struct job_list_filter filter = {.ended_since_ms = SCHEDULER_AS_KNOWN,
					       .patience_ms = SCHEDULERS_PATIENCE_MS,
					       .own_only = true,
					       .tags = &tags};

	str_list_take(&tags, sweep_control_tag(sweep));
	if (job_list_find(&filter, &list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		str_list_add(ids, list.items[i].id);
}

/* A job whose description or journal is damaged goes by its whole id. */
static int remove_damaged(struct clearing *clearing, const char *name, struct err *err)
{
	struct str_list trials cleanup_str_list = {0};

	if (err->kind != ERR_INPUT)
		return -1;
	find_known_trials(name, &trials);
	if (trials.count > 0) {
		char *words cleanup_free = str_list_join(&trials, " ");
		return err_set(err, ERR_INPUT,
			       "%s; %s stays until its trials are removed: tony rm %s",
			       err_message(err), name, words);
	}
	const struct scheduler_client_ops *ops = find_folder(name);
	if (!ops)
		return remove_rest(clearing, name, err);
	err_finish(err);
	return clearing_remove(clearing, ops, name, NULL, err);
}

static int remove_opened(struct clearing *clearing, const char *name, struct err *err)
{
	struct opened opened cleanup_opened = {0};

	if (opened_find_untold(&opened, name, err) < 0)
		return err->kind == ERR_NOT_FOUND ? remove_rest(clearing, name, err)
						  : remove_damaged(clearing, name, err);
	if (opened_is_others(&opened))
		return err_set(err, ERR_DENIED, "%s stays: it is %s's", opened.id,
			       opened.door.user);
	if (!opened.view->is_final)
		return removal_refuse_live(opened.id, err);
	if (check_trial(clearing, opened.job, err) < 0)
		return -1;
	if (job_is_sweep(opened.job) && remove_trials(clearing, &opened, err) < 0)
		return -1;
	/* Where else it may have a history, a record in doubt does not say. */
	return clearing_remove(clearing, opened.ops, opened.id,
			       opened.door.doubt ? NULL : opened.job, err);
}

static int remove_one(void *data, const char *name, struct err *err)
{
	struct clearing *clearing = data;

	if (map_get(clearing->jobs, name)) /* it went with its sweep */
		return 0;
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
