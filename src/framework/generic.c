/* Any program: TONY_* and TonY's variables tell it all there is to know. */
#include "framework/implementations.h"
#include "framework/variables.h"

static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=false");
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
	.defaults = defaults,
	.environment = environment,
};
