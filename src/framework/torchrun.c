#include "framework/implementations.h"
#include "framework/variables.h"

static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	variables_add_cluster_spec(task, variables);
	return 0;
}

const struct framework_ops framework_torchrun = {
	.name = "torchrun",
	.defaults = defaults,
	.environment = environment,
};
