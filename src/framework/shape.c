/* The parts of framework.h that frameworks themselves call: of a job, whatever its framework. */
#include "base/mem.h"
#include "framework/framework.h"
#include "framework/implementations.h"

bool framework_shape_has(const struct framework_shape *shape, const char *type)
{
	return str_list_has(shape->types, type);
}

bool framework_is_single_node(const struct job *job)
{
	if (job->type_count != 1)
		return false;
	char *key cleanup_free = mem_printf("tony.%s.instances", job->types[0].name);
	return json_object_get(job->config, key) == NULL;
}

bool framework_owns_tensorboard(const struct job *job, size_t type, int slot)
{
	if (str_equal(job->framework, framework_standalone.name))
		return false;
	if (job->tensorboard_log_dir)
		return str_equal(job->types[type].name, "tensorboard");
	return job_is_chief(job, type, slot);
}

const char *framework_ui_name(const struct job *job)
{
	return framework_is_single_node(job) ? "notebook" : "tensorboard";
}
