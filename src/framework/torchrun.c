/* torchrun's own agents, one per container: what its command line would say, by the environment.
 * torchrun takes each option's default from PET_<OPTION> (torch/distributed/argparse_util.py), so
 * that an option that a user does give wins. */
#include <stdlib.h>

#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/rank.h"
#include "framework/variables.h"
#include "job/policy_table.h"

static int check(const struct job *job, struct err *err)
{
	return rank_check(job, "torchrun's agents", NULL, err);
}

/* An agent that is gone takes its ranks along, and the first one the store in which all meet:
 * re-forming is what always works. A rank that fails is its agent's affair. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	const struct job_type *type = &task->job->types[task->type];
	struct rank rank;
	bool ranked = rank_find(task, &rank);

	variables_add_cluster_spec(task, variables);
	if (!ranked)
		return 0;
	char *endpoint cleanup_free = address_text(rank.master);
	environment_set_format(variables, "PET_NNODES", "%d", rank.group_world);
	environment_set_format(variables, "PET_NPROC_PER_NODE", "%d", type->processes);
	environment_set(variables, "PET_RDZV_BACKEND", "c10d");
	environment_set(variables, "PET_RDZV_ENDPOINT", endpoint);
	/* By itself an agent takes the host's name for the sign, which may be the same for all; and
	 * gives the first one a minute to be there, which is little for Python to load on a busy
	 * machine. */
	environment_set_format(variables, "PET_RDZV_CONF", "is_host=%s,read_timeout=300",
			       rank.group == 0 ? "true" : "false");
	environment_set_format(variables, "PET_RDZV_ID", "%s-%d", task->job->id,
			       task->cluster->epoch);
	/* Where rank 0 is found if it is here (torch 2); by itself the machine's full name. */
	environment_set(variables, "PET_LOCAL_ADDR", address_of_task(task)->host);
	environment_set(variables, "PET_ROLE", type->name);
	/* Else ranks that are started anew meet in the store of those before them (torch 2.4 and
	 * later), and take their addresses for the new ones': pytorch/pytorch#135712. */
	environment_set(variables, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1");
	return 0;
}

static const char *const identity[] = {"PET_NNODES",  "PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT",
				       "PET_RDZV_ID", "CLUSTER_SPEC",	  NULL};

static const char *const roles[] = {"chief", "worker", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("RendezvousTimeoutError", "RendezvousClosedError", "RendezvousConnectionError"), PEERS_FAULT,
		.why = "its peers did not come to the rendezvous"},
	{SAYS("SignalException"), AGAIN,
		.why = "torchrun was told to end"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_torchrun = {
	.name = "torchrun",
	.module = "torch",
	.launcher = "torchrun",
	.check = check,
	.defaults = defaults,
	.starts_processes = true,
	.roles = roles,
	.identity = identity,
	.environment = environment,
	.failures = failures,
};
