/* ps-lite, the parameter server in MXNet's key-value store of the types dist_*: one scheduler,
 * servers and workers. The variables are TonY's and those of MXNet's own launcher. */
#include <string.h>

#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/variables.h"

static const char scheduler_type[] = "scheduler", server_type[] = "server",
		  worker_type[] = "worker";

static int count_processes(const struct job *job, const char *name)
{
	int type = job_find_type(job, name);

	return type < 0 ? 0 : job->types[type].instances * job->types[type].processes;
}

static int check(const struct job *job, struct err *err)
{
	int schedulers = count_processes(job, scheduler_type);

	if (framework_is_single_node(job))
		return 0;
	if (job->mode != JOB_MODE_GANG)
		return err_set(
			err, ERR_CONFIG,
			"tony.application.distributed-mode: \"FCFS\": MXNet's processes need "
			"the scheduler's address when they start; use GANG");
	if (schedulers != 1)
		return err_set(err, ERR_CONFIG,
			       "tony.scheduler.instances: \"%d\": MXNet's processes know one "
			       "scheduler; set it, and its processes, to 1",
			       schedulers);
	if (count_processes(job, server_type) == 0 || count_processes(job, worker_type) == 0)
		return err_set(err, ERR_CONFIG,
			       "tony.%s.instances: \"0\": MXNet needs servers and workers; ask for "
			       "1 or more of each",
			       count_processes(job, server_type) == 0 ? server_type : worker_type);
	return 0;
}

/* Each role runs the same program: the library itself becomes a scheduler or a server when it is
 * loaded. Whoever loses a peer hangs. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	static const char *const own[] = {scheduler_type, server_type};

	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
	if (shape->types->count == 0)
		return; /* a single program */
	str_list_add(pairs, "tony.application.untracked.jobtypes=scheduler,server");
	for (size_t i = 0; i < array_length(own); i++) {
		str_list_add_format(pairs, "tony.%s.instances=1", own[i]);
		if (shape->worker_command)
			str_list_add_format(pairs, "tony.%s.command=%s", own[i],
					    shape->worker_command);
	}
	str_list_add(pairs, "tony.scheduler.memory=1g");
	/* They listen at ports of their own choice. */
	str_list_add(pairs, "tony.server.strict-port=true");
	str_list_add(pairs, "tony.worker.strict-port=true");
}

/* ps-lite binds to the address that it is told, which has to be a number. Where tasks are known by
 * name the scheduler is told to bind to all (it calls that Kubernetes), and without DMLC_NODE_HOST
 * the others find their own number. */
static void add_hosts(const struct cluster_address *scheduler, const struct cluster_address *own,
		      struct environment *variables)
{
	environment_set(variables, "DMLC_PS_ROOT_URI", scheduler->host);
	environment_set_format(variables, "DMLC_PS_ROOT_PORT", "%d", scheduler->port);
	if (!address_is_ipv4(scheduler->host))
		environment_set(variables, "DMLC_USE_KUBERNETES", "1");
	if (address_is_ipv4(own->host))
		environment_set(variables, "DMLC_NODE_HOST", own->host);
}

static const struct cluster_address *find_scheduler(const struct framework_task *task)
{
	int type = job_find_type(task->job, scheduler_type);
	const struct cluster_type *found = type < 0 ? NULL : &task->cluster->types[type];

	return found && found->count > 0 && found->addresses[0].host ? &found->addresses[0] : NULL;
}

static int count_members(const struct framework_task *task, const char *name)
{
	int type = job_find_type(task->job, name);

	return type < 0 ? 0
			: cluster_count(task->cluster, task->job, (size_t)type) *
				  task->job->types[type].processes;
}

static bool has_role(const char *type)
{
	return str_equal(type, scheduler_type) || str_equal(type, server_type) ||
	       str_equal(type, worker_type);
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	const char *role = task->job->types[task->type].name;
	const struct cluster_address *scheduler = find_scheduler(task);
	const struct cluster_address *own = address_of_task(task);

	variables_add_cluster_spec(task, variables);
	if (!has_role(role))
		return 0;
	if (!scheduler || !own)
		return err_set(err, ERR_INPUT, "the cluster spec has no address for the scheduler");
	if (strchr(own->host, ':') || strchr(scheduler->host, ':'))
		return err_set(err, ERR_INPUT,
			       "MXNet's key-value store knows IPv4 only, and the address is %s",
			       strchr(own->host, ':') ? own->host : scheduler->host);
	environment_set(variables, "DMLC_ROLE", role);
	add_hosts(scheduler, own, variables);
	environment_set(variables, "DMLC_LOCAL", "0");
	environment_set_format(variables, "DMLC_NUM_SERVER", "%d",
			       count_members(task, server_type));
	environment_set_format(variables, "DMLC_NUM_WORKER", "%d",
			       count_members(task, worker_type));
	/* Else ps-lite takes a port of its own choice; a task's further processes do. */
	if (task->process == 0 && !str_equal(role, scheduler_type))
		environment_set_format(variables, "PORT", "%d", own->port);
	return 0;
}

static const char *fixed(const struct job_type *type)
{
	return str_equal(type->name, scheduler_type) ? "MXNet's processes know one scheduler"
						     : NULL;
}

static const char *const identity[] = {"DMLC_ROLE",
				       "DMLC_PS_ROOT_URI",
				       "DMLC_PS_ROOT_PORT",
				       "DMLC_NUM_SERVER",
				       "DMLC_NUM_WORKER",
				       "CLUSTER_SPEC",
				       NULL};

static const char *const roles[] = {"scheduler", "server", "worker", NULL};

const struct framework_ops framework_mxnet = {
	.name = "mxnet",
	.module = "mxnet",
	.check = check,
	.defaults = defaults,
	.fixed = fixed,
	.roles = roles,
	.identity = identity,
	.environment = environment,
};
