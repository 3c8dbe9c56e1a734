#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "null.h"
#include "scheduler/agent.h"
#include "scheduler/gang.h"
#include "scheduler/local_jobs.h"
#include "scheduler/local_logs.h"
#include "scheduler/local_removal.h"
#include "scheduler/state_dir.h"

enum { LOOK_MS = 10, PATIENCE_MS = 60000 };

static const struct local_engine engine = {&null_traits, null_is_held};

static bool is_id(const char *id, struct history_days *days)
{
	char *same cleanup_free = mem_printf("tony-%s", strchr(id, '-') ? strchr(id, '-') + 1 : "");

	return str_starts_with(id, "null-") && local_jobs_is_id(same, days);
}

static int preflight(struct job *job, struct share *given, struct err *err)
{
	struct capacity capacity cleanup_capacity = {0};

	if (capacity_find("", 0, job->config, &capacity, err) < 0)
		return -1;
	char *refusal cleanup_free = gang_refusal_of_job(job, &capacity, false);
	if (refusal)
		return err_set(err, ERR_CAPACITY, "%s", refusal);
	mem_replace(&job->id, mem_printf("null-%s", job->id + strlen("tony-")));
	return 0;
}

/* Until the job is over, or `file` is there. */
static int wait_for(const char *job_dir, const char *file, struct err *err)
{
	for (int ms = 0; null_is_held(job_dir) && !(file && fs_exists(file)); ms += LOOK_MS) {
		if (ms >= PATIENCE_MS)
			return err_set(err, ERR_UNREACHABLE, "%s: no engine is there", job_dir);
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

static int start(const struct job *job, struct job_door *door, struct err *err)
{
	char *api cleanup_free = null_path(door->job_dir, "", "");
	char *am cleanup_free = fs_join(door->job_dir, "am.json");
	char *agent cleanup_free = agent_find(err);

	if (!agent || fs_make_directories(api, 0700, err) < 0 ||
	    null_write(door->job_dir, "job", "", agent, err) < 0 ||
	    wait_for(door->job_dir, am, err) < 0) {
		state_dir_remove_job(door->job_dir);
		return -1;
	}
	job_door_finish(door);
	return local_jobs_find(&engine, job->id, door, NULL, err);
}

static int kill_job(const struct job_door *door, const char *reason, struct err *err)
{
	if (null_write(door->job_dir, "kill", "", "", err) < 0 ||
	    wait_for(door->job_dir, NULL, err) < 0)
		return -1;
	return local_job_kill(door->job_dir, reason ? reason : "killed by the user", err);
}

const struct scheduler_client_ops null_scheduler_client = {
	.traits = &null_traits,
	.directories = &engine,
	.id_beginning = "null-",
	.is_id = is_id,
	.preflight = preflight,
	.prepare = local_job_prepare,
	.start = start,
	.upkeep = local_upkeep,
	.logs = local_logs,
	.logs_shown = local_logs_shown,
	.kill = kill_job,
};
