/* One program that has no cluster: exactly one task, no variables of its own, as in TonY. */
#include "framework/implementations.h"

static int check(const struct job *job, struct err *err)
{
	size_t tasks = job_task_count(job);

	if (tasks != 1)
		return err_set(err, ERR_CONFIG,
			       "tony.application.framework: standalone runs exactly one task, and "
			       "this job has %zu; set one type's instances to 1, or use the "
			       "framework generic",
			       tasks);
	return 0;
}

static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=false");
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	return 0;
}

const struct framework_ops framework_standalone = {
	.name = "standalone",
	.check = check,
	.defaults = defaults,
	.environment = environment,
};
