#include "describe_bed.h"

#include "base/mem.h"

static const struct opt options[] = {JOB_OPTIONS(struct bed, options)};
static const struct opt_table table = {
	.verb = "bed",
	.usage = "tony bed",
	.options = options,
	.option_count = array_length(options),
};

int bed_enter(void **state)
{
	*state = mem_alloc(sizeof(struct bed));
	return fixture_enter(state);
}

int bed_leave(void **state)
{
	struct bed *bed = *state;

	description_finish(&bed->description);
	conf_destroy(bed->conf);
	opt_finish(&table, bed);
	str_list_finish(&bed->command);
	err_finish(&bed->err);
	free(bed);
	return fixture_leave(state);
}

void bed_conf(struct bed *bed, const char *pair)
{
	str_list_add(&bed->options.conf, pair);
}

void bed_types(struct bed *bed, const char *const *pairs)
{
	for (; *pairs; pairs++) {
		size_t length = strcspn(*pairs, "=");
		str_list_add_format(&bed->options.conf, "tony.%.*s.instances%s", (int)length,
				    *pairs, *pairs + length);
	}
	mem_replace(&bed->options.executes, mem_strdup("true"));
}

static int describe(struct bed *bed)
{
	if (job_options_load(&bed->options, &bed->command, &bed->conf, &bed->err) < 0)
		fail_msg("%s", err_message(&bed->err));
	return describe_job(bed->conf, &bed->options, &bed->description, &bed->err);
}

const struct job *bed_describe(struct bed *bed)
{
	if (describe(bed) < 0)
		fail_msg("%s", err_message(&bed->err));
	return bed->description.job;
}

void bed_refuse(struct bed *bed)
{
	if (describe(bed) == 0)
		fail_msg("the job was accepted");
	assert_true(bed->err.kind == ERR_USAGE || bed->err.kind == ERR_CONFIG);
	assert_null(bed->description.job);
}

const struct str_list *bed_errors(const struct bed *bed)
{
	return &conf_problems(bed->conf)->errors;
}

const struct str_list *bed_warnings(const struct bed *bed)
{
	return &conf_problems(bed->conf)->warnings;
}

const struct job_type *bed_type(const struct bed *bed, const char *name)
{
	int type = job_find_type(bed->description.job, name);

	if (type < 0)
		fail_msg("no task type %s", name);
	return &bed->description.job->types[type];
}

char *bed_dependencies(const struct bed *bed, const char *name)
{
	const struct job_type *type = bed_type(bed, name);
	const struct job *job = bed->description.job;
	struct str_list list cleanup_str_list = {0};

	for (size_t other = 0; other < job->type_count; other++)
		for (size_t i = 0; i < type->dependency_count; i++)
			if (type->dependencies[i].type == other)
				str_list_add_format(&list, "%s:%s", job->types[other].name,
						    type->dependencies[i].on_start ? "start"
										   : "finish");
	return str_list_join(&list, ",");
}
