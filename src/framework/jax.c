/* What jax.distributed.initialize() needs, so that programs call it without arguments. */
#include <stdlib.h>

#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/rank.h"
#include "framework/variables.h"
#include "job/policy_table.h"

static int check_type(const struct job_type *type, struct err *err)
{
	if (type->gpus % type->processes == 0)
		return 0;
	return err_set(
		err, ERR_CONFIG,
		"tony.%s.processes: \"%d\": JAX's processes each have GPUs of their own, and "
		"%d cannot be shared out evenly; let it divide tony.%s.gpus",
		type->name, type->processes, type->gpus, type->name);
}

static int check(const struct job *job, struct err *err)
{
	return rank_check(job, "JAX's processes", check_type, err);
}

/* All processes take part in every step. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
	for (size_t i = 0; i < shape->types->count; i++)
		str_list_add_format(pairs, "tony.%s.strict-port=true", shape->types->items[i]);
}

/* JAX_COORDINATOR_BIND_ADDRESS, by which JAX would not listen on all of the machine's addresses, is
 * the user's affair: it holds for a program's own coordinator, too, whose processes would then
 * connect where nobody listens. */
static void add_coordinator(const struct rank *rank, struct environment *variables)
{
	char *address cleanup_free = address_text(rank->master);

	environment_set(variables, "JAX_COORDINATOR_ADDRESS", address);
}

/* Its GPUs, numbered from 0 in each container. Needed of a container's only process, too: where
 * JAX finds SLURM_LOCALID, it would take that one GPU. */
static void add_devices(const struct framework_task *task, struct environment *variables)
{
	const struct job_type *type = &task->job->types[task->type];
	struct str_list ids cleanup_str_list = {0};
	int each = type->gpus / type->processes;

	if (each == 0)
		return;
	for (int i = 0; i < each; i++)
		str_list_add_format(&ids, "%d", task->process * each + i);
	char *text cleanup_free = str_list_join(&ids, ",");
	environment_set(variables, "JAX_LOCAL_DEVICE_IDS", text);
}

/* JAX has variables for the coordinator and the devices, but not for the number of processes and
 * one's own: those it asks of a cluster that it knows. Slurm is the one whose answer is variables
 * and nothing else; it needs all five to believe in it (jax/_src/clusters/slurm_cluster.py, JAX
 * 0.3.18 to 0.11). A real Slurm's, inherited by tony, would be of something else. */
static void add_slurm(const struct framework_task *task, const struct rank *rank,
		      struct environment *variables)
{
	environment_set_format(variables, "SLURM_JOB_ID", "%d", rank->master->port);
	environment_set(variables, "SLURM_STEP_NODELIST", rank->master->host);
	environment_set_format(variables, "SLURM_NTASKS", "%d", rank->world);
	environment_set_format(variables, "SLURM_PROCID", "%d", rank->rank);
	environment_set_format(variables, "SLURM_LOCALID", "%d", task->process);
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	struct rank rank;
	bool ranked = rank_find(task, &rank);

	variables_add_cluster_spec(task, variables);
	if (!ranked)
		return 0;
	add_coordinator(&rank, variables);
	environment_set_format(variables, "JAX_NUM_PROCESSES", "%d", rank.world);
	environment_set_format(variables, "JAX_PROCESS_ID", "%d", rank.rank);
	add_devices(task, variables);
	add_slurm(task, &rank, variables);
	return 0;
}

static const char *const identity[] = {"JAX_COORDINATOR_ADDRESS",
				       "JAX_NUM_PROCESSES",
				       "JAX_PROCESS_ID",
				       "SLURM_JOB_ID",
				       "SLURM_STEP_NODELIST",
				       "SLURM_NTASKS",
				       "SLURM_PROCID",
				       "SLURM_LOCALID",
				       "CLUSTER_SPEC",
				       NULL};

static const char *const roles[] = {"chief", "worker", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("coordination service", "Barrier timed out", "DEADLINE_EXCEEDED"), PEERS_FAULT,
		.why = "its peers did not come to the coordination service"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_jax = {
	.name = "jax",
	.module = "jax",
	.check = check,
	.defaults = defaults,
	.roles = roles,
	.identity = identity,
	.environment = environment,
	.failures = failures,
};
