/* What the site allows. TonY squares the instances in max-total-instances; these sums are right. */
#include "base/mem.h"
#include "client/describe_internal.h"

static void check_type(const struct describer *describer, const struct job_type *type)
{
	int64_t limit = conf_int(describer->conf, "tony.%s.max-instances", type->name);

	if (limit < 0 || type->instances <= limit)
		return;
	char *key cleanup_free = mem_printf("tony.%s.instances", type->name);
	char *source cleanup_free =
		conf_locate(describer->conf, "tony.%s.max-instances", type->name);
	describe_error(describer, key,
		       "\"%d\" is more than the limit %lld (%s); write %lld or less",
		       type->instances, (long long)limit, source, (long long)limit);
}

/* Over all tasks, how much of one resource; `of` gives one task's share. */
static int64_t total(const struct job *job, int64_t (*of)(const struct job_type *type))
{
	int64_t sum = 0;

	/* One product cannot overflow, but there may be many types. */
	for (size_t i = 0; i < job->type_count; i++)
		if (__builtin_add_overflow(sum, job->types[i].instances * of(&job->types[i]), &sum))
			return INT64_MAX;
	return sum;
}

static int64_t one(const struct job_type *type)
{
	return 1;
}

static int64_t memory(const struct job_type *type)
{
	return type->memory;
}

static int64_t vcores(const struct job_type *type)
{
	return type->vcores;
}

static int64_t gpus(const struct job_type *type)
{
	return type->gpus;
}

static void check_total(const struct describer *describer, const char *what, const char *key,
			int64_t sum, int64_t limit, bool is_memory)
{
	if (limit < 0 || sum <= limit)
		return;
	char *asked cleanup_free =
		is_memory ? str_format_mib((double)sum) : mem_printf("%lld", (long long)sum);
	char *allowed cleanup_free =
		is_memory ? str_format_mib((double)limit) : mem_printf("%lld", (long long)limit);
	describe_error(describer, key,
		       "the job asks for %s %s over all tasks, and %s is the limit; ask for less",
		       asked, what, allowed);
}

void describe_limits(struct describer *describer)
{
	const struct conf *conf = describer->conf;
	const struct job *job = describer->job;

	for (size_t i = 0; i < job->type_count; i++)
		check_type(describer, &job->types[i]);
	check_total(describer, "instances", "tony.task.max-total-instances", total(job, one),
		    conf_int(conf, "tony.task.max-total-instances"), false);
	check_total(describer, "of memory", "tony.task.max-total-memory", total(job, memory),
		    conf_mib(conf, "tony.task.max-total-memory"), true);
	check_total(describer, "vcores", "tony.task.max-total-vcores", total(job, vcores),
		    conf_int(conf, "tony.task.max-total-vcores"), false);
	check_total(describer, "gpus", "tony.task.max-total-gpus", total(job, gpus),
		    conf_int(conf, "tony.task.max-total-gpus"), false);
	if (job_task_count(job) > JOB_MAX_TASKS)
		problems_error(describer->problems, conf_source(conf, NULL),
			       "tony.<type>.instances: the job asks for %zu tasks, and %d is the "
			       "most; ask for fewer",
			       job_task_count(job), JOB_MAX_TASKS);
}
