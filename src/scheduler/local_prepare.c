/* A job's directory is made, with all that its AM finds there. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/secret.h"
#include "scheduler/local_job.h"
#include "scheduler/local_removal.h"
#include "scheduler/state_dir.h"

static char *make_job_dir(const char *folder, const char *job_id, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *jobs cleanup_free = state ? fs_join(state, folder) : NULL;

	if (!jobs || state_dir_make(jobs, err) < 0)
		return NULL;
	char *job_dir = state_dir_job(state, folder, job_id);
	if (mkdir(job_dir, 0700) == 0)
		return job_dir;
	err_set_errno(err, "%s", job_dir);
	free(job_dir);
	return NULL;
}

/* job.json comes last: a directory that has one is a job. The token lets into a living AM only. */
static int fill(const struct job *job, struct job_door *door, struct err *err)
{
	char *text cleanup_secret = job_to_text(job);
	char *description cleanup_free = fs_join(door->job_dir, "job.json");
	char *token cleanup_free = fs_join(door->job_dir, "token");

	door->claim = local_job_claim(door->job_dir, err);
	if (door->claim < 0)
		return -1;
	door->owner = geteuid();
	door->token = secret_create();
	door->is_sealed = job->tls;
	if (fs_write_volatile(token, door->token, strlen(door->token), 0600, err) < 0)
		return -1;
	local_job_write_name(door->job_dir, job->name);
	return fs_write_file(description, text, strlen(text), 0600, err);
}

int local_job_prepare(const struct job *job, struct job_door *door, struct err *err)
{
	struct job_door made = {0};

	if (!state_dir_is_job_id(job->id))
		return err_set(err, ERR_INPUT, "\"%s\" cannot be the name of a job's directory",
			       job->id);
	made.job_dir = make_job_dir(scheduler_traits_of(job)->folder, job->id, err);
	if (!made.job_dir)
		return -1;
	if (fill(job, &made, err) < 0 || local_removal_check_owners(job, made.job_dir, err) < 0) {
		fs_explain_room(made.job_dir, err);
		state_dir_remove_job(made.job_dir);
		job_door_finish(&made);
		return -1;
	}
	*door = made;
	return 0;
}
