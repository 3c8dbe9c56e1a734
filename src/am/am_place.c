/* The job's directory as an AM, and its guardian, find it and leave it. */
#include <unistd.h>

#include "am/am_internal.h"
#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/container.h"

static struct job *read_job(const struct am *am, struct err *err)
{
	char *path cleanup_free = fs_join(am->job_dir, "job.json");
	return am->in_container ? hadoop_container_job(err) : job_read_file(path, err);
}

int am_find_all(struct am *am, struct err *err)
{
	am->job = read_job(am, err);
	if (!am->job)
		return -1;
	const char *name = am->job->scheduler ? am->job->scheduler : "local";
	am->scheduler_ops = scheduler_find(name);
	if (!am->scheduler_ops)
		return err_set(err, ERR_INPUT,
			       "job.json: scheduler: this program knows none named \"%s\"", name);
	if (!am->in_container && am->scheduler_ops->find_end)
		return am->scheduler_ops->find_end(am->job_dir, &am->place, err);
	return am->scheduler_ops->find_place(am->job_dir, &am->place, err);
}

void am_give_up_reserve(const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "journal.reserve");
	unlink(path);
}

void am_withdraw(const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "am.json");
	char *kv_file cleanup_free = fs_join(job_dir, KV_FILE);
	char *rendezvous_file cleanup_free = fs_join(job_dir, RENDEZVOUS_FILE);
	unlink(path);
	unlink(kv_file);
	unlink(rendezvous_file);
}
