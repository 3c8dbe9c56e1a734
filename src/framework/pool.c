#include "framework/pool.h"

#include "base/mem.h"

bool pool_is_worker(const char *type)
{
	return str_ends_with(type, "worker");
}

/* Whoever works for the driver is replaced in place: the server gives its work to the others. The
 * server's death is everybody's. A worker that is told to end has nothing to save, and some hang
 * when their server ends at the same time. */
void pool_defaults(const struct pool *pool, const struct framework_shape *shape,
		   struct str_list *pairs)
{
	struct str untracked cleanup_str = {0};

	str_append(&untracked, pool->server);
	for (size_t i = 0; i < shape->types->count; i++) {
		const char *type = shape->types->items[i];
		if (!pool_is_worker(type))
			continue;
		str_append_format(&untracked, ",%s", type);
		str_list_add_format(pairs, "tony.%s.max-restarts=10", type);
		str_list_add_format(pairs, "tony.%s.stop-grace=1s", type);
		str_list_add_format(pairs, "tony.%s.strict-port=true", type);
		str_list_add_format(pairs, "tony.%s.command=exec %s %s", type, shape->python,
				    pool->worker_arguments);
	}
	str_list_add_format(pairs, "tony.application.untracked.jobtypes=%s", untracked.text);
	str_list_add_format(pairs, "tony.%s.instances=1", pool->server);
	str_list_add_format(pairs, "tony.%s.command=exec %s %s", pool->server, shape->python,
			    pool->server_arguments);
	str_list_add(pairs, "tony." POOL_DRIVER ".instances=1");
	str_list_add(pairs, "tony." POOL_DRIVER ".strict-port=true");
}

static int check_server(const struct pool *pool, const struct job *job, struct err *err)
{
	int server = job_find_type(job, pool->server);
	int count = server < 0 ? 0 : job->types[server].instances * job->types[server].processes;

	if (count == 1)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "tony.%s.instances: \"%d\": a %s cluster has one %s; set it, and its "
		       "processes, to 1",
		       pool->server, count, pool->framework, pool->server);
}

/* Servers and workers run until they are stopped. */
static int check_role(const struct pool *pool, const struct job_type *type, struct err *err)
{
	bool waits = str_equal(type->name, pool->server) || pool_is_worker(type->name);

	if (!waits || type->instances == 0 || type->role != JOB_ROLE_TRACKED)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "tony.application.untracked.jobtypes: the job would wait for ever for its "
		       "%s, which serves the driver; add %s to this list",
		       type->name, type->name);
}

int pool_check(const struct pool *pool, const struct job *job, struct err *err)
{
	int workers = 0;

	if (job->mode != JOB_MODE_GANG)
		return err_set(err, ERR_CONFIG,
			       "tony.application.distributed-mode: \"FCFS\": %s's processes need "
			       "the address of the %s when they start; use GANG",
			       pool->framework, pool->server);
	if (check_server(pool, job, err) < 0)
		return -1;
	for (size_t i = 0; i < job->type_count; i++) {
		if (check_role(pool, &job->types[i], err) < 0)
			return -1;
		if (pool_is_worker(job->types[i].name))
			workers += job->types[i].instances;
	}
	if (workers > 0)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "tony.worker.instances: nobody would do the driver's work; write "
		       "--workers N, or this key");
}

const char *pool_fixed(const struct job_type *type)
{
	return pool_is_worker(type->name) ? NULL : "only its workers may come and go";
}

bool pool_lives_through_changes(const struct job *job)
{
	return true;
}

const struct cluster_address *pool_server(const struct pool *pool,
					  const struct framework_task *task, struct err *err)
{
	int type = job_find_type(task->job, pool->server);
	const struct cluster_type *server = type < 0 ? NULL : &task->cluster->types[type];

	if (server && server->count > 0 && server->addresses[0].host)
		return &server->addresses[0];
	err_set(err, ERR_INPUT, "the cluster spec has no address for the %s", pool->server);
	return NULL;
}
