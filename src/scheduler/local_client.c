#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/hdfs_ticket.h"
#include "scheduler/agent.h"
#include "scheduler/gang.h"
#include "scheduler/job_stores.h"
#include "scheduler/job_tokens.h"
#include "scheduler/local.h"
#include "scheduler/local_history.h"
#include "scheduler/local_job.h"
#include "scheduler/local_jobs.h"
#include "scheduler/local_logs.h"
#include "scheduler/local_parent.h"
#include "scheduler/local_removal.h"
#include "scheduler/local_resources.h"
#include "scheduler/local_spawn.h"
#include "scheduler/local_start.h"
#include "scheduler/shared_ledger.h"
#include "scheduler/state_dir.h"

/* What a cluster's scheduler would heed, and the only machine there is cannot. */
static void warn_of_ignored(const struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		if (type->docker_image)
			log_warning("docker image \"%s\" of %s is not used by the local "
				    "scheduler",
				    type->docker_image, type->name);
	}
}

/* An elastic job runs all the same. */
static void note_shortage(const struct job *job, const struct capacity *capacity)
{
	char *text cleanup_free = gang_refusal_of_job(job, capacity, true);

	if (text)
		log_warning("%s: the job runs with fewer", text);
}

/* The AM will find the same; here the user sees it. */
static int check_shared_ledger(const struct job *job, struct err *err)
{
	struct err why cleanup_err = {0};
	char *directory cleanup_free = shared_ledger_find(&why);

	if (!directory && share_wants_gpus(job))
		log_warning("%s", err_message(&why));
	if (!directory || shared_ledger_try(directory, &why) == 0)
		return 0;
	return shared_ledger_forgo(share_wants_gpus(job), &why, err);
}

/* That nobody can be seen matters where there are GPUs: memory is the kernel's to share out. To a
 * job that asks for some, the preflight says so. */
static char *tell_neighbours(const struct job *job)
{
	struct capacity capacity cleanup_capacity = {0};
	struct neighbours neighbours cleanup_neighbours = {0};
	struct err err cleanup_err = {0};
	char *directory cleanup_free = shared_ledger_find(&err);

	if (local_parent_capacity(job->config, &capacity, NULL) < 0)
		return NULL;
	bool has_gpus = capacity.gpus.count > 0;
	if (!directory)
		return has_gpus && !share_wants_gpus(job) ? mem_strdup(err_message(&err)) : NULL;
	if (shared_ledger_look(directory, NULL, 0, capacity.max_gpus, &neighbours, &err) < 0)
		return mem_strdup(err_message(&err));
	return neighbours_text(&neighbours,
			       has_gpus && share_wants_gpus(job) ? &capacity.gpus : NULL);
}

/* For its AM and executors, which have no ticket (local_start.c). 1: it needs none. */
static int get_tokens(const struct job *job, struct err *err)
{
	struct hdfs_access access cleanup_hdfs_access = {0};

	if (hdfs_access_read(&access, job->stores, NULL) < 0 || !access.needs_token)
		return 1;
	hdfs_ticket_trust(&access);
	return job_tokens_get(&access, job, err) < 0 ? -1 : job_tokens_try(&access, err);
}

/* Programs may read HDFS, which a job need not: nothing is refused for it. */
static void offer_files(struct job *job)
{
	struct hdfs_access access cleanup_hdfs_access = {0};

	job_stores_offer_hdfs(job);
	if (hdfs_access_read(&access, job->stores, NULL) < 0 || !access.needs_token)
		return;
	hdfs_ticket_trust(&access);
	job_tokens_get_default(&access, NULL);
}

static int preflight(struct job *job, struct share *given, struct err *err)
{
	struct local_parent parent cleanup_local_parent = {0};
	struct capacity capacity cleanup_capacity = {0};

	local_parent_find(&parent);
	char *agent cleanup_free = agent_find(err);

	if (!agent || job_stores_prepare(job, err) < 0 || get_tokens(job, err) < 0 ||
	    capacity_find("", parent.am, job->config, &capacity, err) < 0 ||
	    local_parent_enter(&parent, job, &capacity, err) < 0)
		return -1;
	offer_files(job);
	warn_of_ignored(job);
	char *refusal cleanup_free = gang_refusal_of_job(job, &capacity, false);
	if (refusal) {
		char *held cleanup_free = local_parent_held(&parent);
		return err_set(err, ERR_CAPACITY, "%s%s", refusal, held);
	}
	note_shortage(job, &capacity);
	return check_shared_ledger(job, err);
}

/* ---- start and kill ----------------------------------------------------------------------- */

/* The job is kept, with the last lines of its AM, and says so wherever it is looked at. */
static int fail_to_start(const char *job_dir, struct err *why, struct err *err)
{
	fs_explain_room(job_dir, why);
	char *log cleanup_free = fs_join(job_dir, LOCAL_AM_LOG);
	struct cause cause = {.kind = CAUSE_AM_FAILED,
			      .text = mem_printf("failed to start: %s", err_message(why))};

	state_dir_read_log(log, &cause);
	int result = local_job_fail(job_dir, &cause, err);
	if (result < 0) {
		fs_explain_room(job_dir, err);
		err_wrap(err, "%s %s, which cannot be written down", fs_basename(job_dir),
			 cause.text);
		state_dir_remove_job(job_dir);
	}
	cause_finish(&cause);
	return result;
}

static int start(const struct job *job, struct job_door *door, struct err *err)
{
	struct err why cleanup_err = {0};

	if (local_start_am(job, door->job_dir, &why) < 0) {
		if (fail_to_start(door->job_dir, &why, err) < 0)
			return -1;
		if (local_start_is_interrupted())
			return err_set(err, ERR_FAILED, "%s failed to start: %s", job->id,
				       err_message(&why));
	}
	local_job_life(&local_engine, door->job_dir, &door->address);
	if (door->claim > 0)
		close(door->claim);
	door->claim = 0;
	return 0;
}

static int kill_job(const struct job_door *door, const char *reason, struct err *err)
{
	char *host cleanup_free = local_job_host(door->job_dir);

	if (local_job_life(&local_engine, door->job_dir, NULL) == LOCAL_ELSEWHERE)
		return err_set(err, ERR_UNREACHABLE, "%s runs on %s: kill it there",
			       fs_basename(door->job_dir), host);
	char *message cleanup_free =
		mem_printf("killed by the user%s%s", reason ? ": " : "", reason ? reason : "");
	return local_job_kill(door->job_dir, message, err);
}

/* ---- the interface ------------------------------------------------------------------------ */

static int renew(const struct job *job, struct str *tokens, struct str_list *names, struct err *err)
{
	int result = get_tokens(job, err);

	if (result > 0)
		return err_set(err, ERR_USAGE,
			       "%s has no delegation tokens: nothing of it goes to an HDFS that "
			       "uses Kerberos",
			       job->id);
	if (result < 0)
		return -1;
	struct hdfs_access access cleanup_hdfs_access = {0};
	struct err why cleanup_err = {0};
	if (hdfs_access_read(&access, job->stores, err) < 0)
		return -1;
	job_tokens_get_default(&access, &why);
	job_tokens_encode(tokens, names);
	return names->count > 0 ? 0 : err_copy(err, &why);
}

const struct scheduler_client_ops local_scheduler_client = {
	.traits = &local_traits,
	.directories = &local_engine,
	.id_beginning = "tony-",
	.is_id = local_jobs_is_id,
	.preflight = preflight,
	.neighbours = tell_neighbours,
	.nodes = local_nodes,
	.queues = local_queues,
	.prepare = local_job_prepare,
	.start = start,
	.upkeep = local_upkeep,
	.renew = renew,
	.logs = local_logs,
	.logs_shown = local_logs_shown,
	.history_trouble = local_history_trouble,
	.kill = kill_job,
};
