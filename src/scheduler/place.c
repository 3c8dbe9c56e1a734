#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/tls.h"
#include "scheduler/scheduler.h"

static const struct scheduler_ops *find_of(const struct job *job, struct err *err)
{
	const char *name = job->scheduler ? job->scheduler : "local";
	const struct scheduler_ops *ops = scheduler_find(name);

	if (!ops)
		err_set(err, ERR_INPUT, "job.json: scheduler: this program knows none named \"%s\"",
			name);
	return ops;
}

const struct scheduler_ops *scheduler_find_container(struct scheduler_container *container,
						     struct err *err)
{
	const char *job_file = getenv("TONY_JOB_FILE");
	const struct scheduler_ops *ops = NULL;

	if (job_file) {
		container->job = job_read_file(job_file, err);
		ops = container->job ? find_of(container->job, err) : NULL;
	} else {
		ops = scheduler_here();
		if (!ops)
			err_set(err, ERR_USAGE,
				"this is no container: executors are started by a scheduler");
	}
	return ops && ops->container.find(container, err) == 0 ? ops : NULL;
}

/* Containers outlive an AM that its engine starts anew: they are not to be ended with it. */
static char *make_mark(const struct scheduler_ops *ops, const char *job_dir)
{
	const char *own = ops->traits->restarts_am ? getenv("TONY_AM") : NULL;

	return own ? mem_printf("TONY_AM=%s", own)
		   : mem_printf("TONY_JOB_ID=%s", fs_basename(job_dir));
}

const struct scheduler_ops *scheduler_find_place(const char *job_dir, struct scheduler_place *place,
						 struct err *err)
{
	const struct scheduler_ops *ops = job_dir ? NULL : scheduler_here();

	if (!job_dir && (!ops || !ops->traits->remote_am)) {
		err_set(err, ERR_USAGE, "this is no container that a scheduler started for an AM");
		return NULL;
	}
	if (job_dir) {
		char *path cleanup_free = fs_join(job_dir, "job.json");
		place->job = job_read_file(path, err);
		ops = place->job ? find_of(place->job, err) : NULL;
		if (!ops)
			return NULL;
		place->job_dir = mem_strdup(job_dir);
		place->mark = make_mark(ops, job_dir);
	}
	bool is_end = job_dir && ops->traits->remote_am;
	place->may_return = ops->traits->restarts_am && !is_end;
	int result = is_end ? ops->guardian.find_end(job_dir, place, err)
			    : ops->find_place(job_dir, place, err);
	return result < 0 ? NULL : ops;
}

void scheduler_place_finish(struct scheduler_place *place)
{
	job_destroy(place->job);
	mem_free_secret(place->token);
	free(place->job_dir);
	free(place->mark);
	free(place->container);
	free(place->journal);
	free(place->host);
	tls_context_destroy(place->proxy_tls);
	*place = (struct scheduler_place){0};
}
