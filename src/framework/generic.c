/* Any program: TONY_* and TonY's variables tell it all there is to know. */
#include "framework/implementations.h"
#include "framework/variables.h"

static bool fail_fast(const struct job *job)
{
	return false;
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	if (task->job->mode == JOB_MODE_GANG)
		variables_add_cluster_spec(task, variables);
	return 0;
}

const struct framework_ops framework_generic = {
	.name = "generic",
	.fail_fast = fail_fast,
	.environment = environment,
};
