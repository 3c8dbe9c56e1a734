/* The types that may run with fewer or more tasks than are asked for at the start. */
#include "base/mem.h"
#include "client/describe_internal.h"
#include "framework/framework.h"

/* What stands against it; NULL: nothing does. */
static const char *find_obstacle(const struct job *job, const struct job_type *type)
{
	if (job->mode != JOB_MODE_GANG)
		return "with tony.application.distributed-mode=FCFS each task starts when it "
		       "comes";
	if (str_equal(type->name, "chief"))
		return "every chief is needed";
	if (type->role == JOB_ROLE_SIDECAR)
		return "nobody waits for a sidecar";
	return framework_fixed(job, type);
}

/* TonY's limit is also how far an elastic type may grow. */
static int64_t find_maximum(const struct describer *describer, const struct job_type *type)
{
	int64_t limit = conf_int(describer->conf, "tony.%s.max-instances", type->name);

	return limit >= type->instances ? limit : type->instances;
}

static void describe_type(struct describer *describer, struct job_type *type)
{
	char *key cleanup_free = mem_printf("tony.%s.min-instances", type->name);
	const struct conf_entry *entry = conf_find(describer->conf, "%s", key);

	if (!entry || entry->invalid || !*entry->value || type->instances == 0)
		return;
	int64_t minimum = conf_int(describer->conf, "%s", key);
	int64_t maximum = find_maximum(describer, type);
	const char *obstacle = find_obstacle(describer->job, type);
	if (minimum > type->instances) {
		describe_error(describer, key,
			       "\"%lld\" is more than tony.%s.instances; write %d or less",
			       (long long)minimum, type->name, type->instances);
	} else if (maximum > JOB_MAX_TASKS) {
		describe_error(describer, key,
			       "without a limit of its own %s could grow to %lld tasks, and %d "
			       "is the most; set tony.%s.max-instances to what it may grow to",
			       type->name, (long long)maximum, JOB_MAX_TASKS, type->name);
	} else if (minimum == maximum) {
		char *where cleanup_free = conf_locate(describer->conf, "%s", key);
		problems_warning(describer->problems,
				 "%s: has no effect: it is all that %s may have; write less, or "
				 "set tony.%s.max-instances to more",
				 where, type->name, type->name);
	} else if (obstacle) {
		describe_error(describer, key,
			       "%s cannot have fewer or more tasks: %s; take the key out",
			       type->name, obstacle);
	} else {
		type->min_instances = (int)minimum;
		type->max_instances = (int)maximum;
	}
}

void describe_elastic(struct describer *describer)
{
	struct job *job = describer->job;
	bool any = false;

	for (size_t i = 0; i < job->type_count; i++) {
		describe_type(describer, &job->types[i]);
		any = any || job_type_is_elastic(&job->types[i]);
	}
	if (any)
		job->elastic_settle_ms =
			conf_ms(describer->conf, "tony.application.elastic-settle-time");
}
