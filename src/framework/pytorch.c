/* TonY's INIT_METHOD, RANK and WORLD, and what torch.distributed's env:// method and torchrun's
 * workers read. */
#include <stdlib.h>

#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/rank.h"
#include "framework/variables.h"

static int check(const struct job *job, struct err *err)
{
	return rank_check(job, "PyTorch's processes", NULL, err);
}

/* All ranks take part in every step. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
}

static void add_master(const struct cluster_address *master, struct environment *variables)
{
	char *text cleanup_free = address_text(master);

	environment_set_format(variables, "INIT_METHOD", "tcp://%s", text);
	environment_set(variables, "MASTER_ADDR", master->host);
	environment_set_format(variables, "MASTER_PORT", "%d", master->port);
}

static void add_ranks(const struct framework_task *task, const struct rank *rank,
		      struct environment *variables)
{
	const struct job_type *type = &task->job->types[task->type];

	environment_set_format(variables, "RANK", "%d", rank->rank);
	environment_set_format(variables, "LOCAL_RANK", "%d", task->process);
	environment_set_format(variables, "LOCAL_WORLD_SIZE", "%d", type->processes);
	environment_set_format(variables, "GROUP_RANK", "%d", rank->group);
	environment_set_format(variables, "GROUP_WORLD_SIZE", "%d", rank->group_world);
	environment_set(variables, "ROLE_NAME", type->name);
	environment_set_format(variables, "ROLE_RANK", "%d", rank->role);
	environment_set_format(variables, "ROLE_WORLD_SIZE", "%d", rank->role_world);
	/* As torchrun does: ranks that each have a thread per core are in each other's way. */
	if (type->processes > 1 && !environment_get(variables, "OMP_NUM_THREADS"))
		environment_set(variables, "OMP_NUM_THREADS", "1");
}

/* Programs written for torchrun ask these how often they were started. Rank 0 serves the store
 * itself: there is no agent that does. */
static void add_elastic(const struct framework_task *task, struct environment *variables)
{
	const struct job *job = task->job;
	int restarts = task->cluster->epoch - 1 + task->restart;

	environment_set_format(variables, "TORCHELASTIC_RESTART_COUNT", "%d", restarts);
	environment_set_format(variables, "TORCHELASTIC_MAX_RESTARTS", "%d",
			       job->retry_count + job->types[task->type].max_restarts);
	environment_set(variables, "TORCHELASTIC_RUN_ID", job->id);
	environment_set(variables, "TORCHELASTIC_USE_AGENT_STORE", "False");
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	struct rank rank;
	bool ranked = rank_find(task, &rank);

	variables_add_cluster_spec(task, variables);
	if (!rank.master || !rank.master->host)
		return err_set(err, ERR_INPUT, "the cluster spec has no address for rank 0");
	add_master(rank.master, variables);
	environment_set_format(variables, "WORLD", "%d", rank.world);
	environment_set_format(variables, "WORLD_SIZE", "%d", rank.world);
	if (!ranked)
		return 0;
	add_ranks(task, &rank, variables);
	add_elastic(task, variables);
	return 0;
}

static const char *const identity[] = {
	"RANK",	       "WORLD_SIZE",	   "WORLD",	"LOCAL_RANK",	   "LOCAL_WORLD_SIZE",
	"GROUP_RANK",  "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE", "MASTER_ADDR",
	"INIT_METHOD", "CLUSTER_SPEC",	   NULL};

static const char *const roles[] = {"chief", "worker", NULL};

const struct framework_ops framework_pytorch = {
	.name = "pytorch",
	.module = "torch",
	.check = check,
	.defaults = defaults,
	.roles = roles,
	.identity = identity,
	.environment = environment,
};
