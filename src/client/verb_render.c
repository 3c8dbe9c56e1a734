/* tony render: what each task would get. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_verb.h"
#include "client/other_tools.h"
#include "client/report.h"
#include "client/verbs.h"
#include "framework/environment.h"

struct render_options {
	struct job_options job;
	char *task;
	bool json;
};

static const struct opt options[] = {
	OPT_ROW("task", struct render_options, task,
		"only this task (worker:1), or only the tasks of this type (worker)",
		.argument = "TASK"),
	OPT_ROW("json", struct render_options, json, "as JSON (docs/json.md)"),
	JOB_OPTIONS(struct render_options, job),
};

static json_t *environment_json(const struct environment *environment)
{
	json_t *object = json_object();

	for (size_t i = 0; i < environment->entries.count; i++) {
		const char *pair = environment->entries.items[i];
		char *key cleanup_free = mem_strndup(pair, strcspn(pair, "="));
		json_set_text(object, key, pair + strlen(key) + 1);
	}
	return object;
}

static void add_secrets(const struct job_secrets *secrets, json_t *environment)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct job_secret *secret = &secrets->items[i];
		char *path cleanup_free = mem_printf("/.../secrets/%s", secret->name);
		json_set_text(environment, secret->name,
			      secret->is_file ? path : JOB_SECRET_HIDDEN);
	}
}

static json_t *files_json(const struct stage_files *files)
{
	json_t *list = json_array();

	for (size_t i = 0; i < files->count; i++) {
		json_t *file = json_object();
		json_set_text(file, "name", files->items[i].name);
		json_set_text(file, "source", files->items[i].source);
		json_set_text(file, "how", stage_kind_name(files->items[i].kind));
		json_array_append_new(list, file);
	}
	return list;
}

static json_t *process_json(const struct framework_task *task, const struct stage_files *files,
			    struct err *err)
{
	const struct job_type *type = &task->job->types[task->type];
	struct environment environment cleanup_environment = {0};
	char *name cleanup_free = job_task_name(task->job, task->type, task->index);
	char *command cleanup_free = framework_command(task, err);

	if (!command || framework_environment(task, &environment, err) < 0) {
		err_wrap(err, "%s", name);
		return NULL;
	}
	json_t *object = json_object();
	json_set_text(object, "task", name);
	json_set_int(object, "process", task->process);
	json_set_text(object, "command", command);
	json_set_int(object, "memory_mib", type->memory);
	json_set_int(object, "vcores", type->vcores);
	json_set_int(object, "gpus", type->gpus);
	json_set_text(object, "directory", task->work_dir);
	json_object_set_new(object, "files", files_json(files));
	json_object_set_new(object, "environment", environment_json(&environment));
	add_secrets(&task->job->secrets, json_object_get(object, "environment"));
	return object;
}

static void print_process(const json_t *process)
{
	const char *key;
	json_t *value;
	size_t i;
	char *memory cleanup_free =
		str_format_mib((double)json_integer_value(json_object_get(process, "memory_mib")));

	printf("%s process %" JSON_INTEGER_FORMAT "\n",
	       json_string_value(json_object_get(process, "task")),
	       json_integer_value(json_object_get(process, "process")));
	printf("  command: %s\n", json_string_value(json_object_get(process, "command")));
	printf("  resources: %s, vcores %" JSON_INTEGER_FORMAT ", GPUs %" JSON_INTEGER_FORMAT "\n",
	       memory, json_integer_value(json_object_get(process, "vcores")),
	       json_integer_value(json_object_get(process, "gpus")));
	printf("  directory: %s\n", json_string_value(json_object_get(process, "directory")));
	json_array_foreach(json_object_get(process, "files"), i, value)
		printf("  file: %s <- %s (%s)\n", json_string_value(json_object_get(value, "name")),
		       json_string_value(json_object_get(value, "source")),
		       json_string_value(json_object_get(value, "how")));
	puts("  environment:");
	json_object_foreach(json_object_get(process, "environment"), key, value)
		printf("    %s=%s\n", key, json_string_value(value));
}

/* When the job would begin, and how often it would be submitted; empty: at once, and once. */
static json_t *start_json(const struct description *description)
{
	const struct job *job = description->job;
	json_t *object = json_object();

	if (description->after.count > 0)
		json_set_list(object, "after", &description->after);
	if (job->begin_ms > 0)
		json_set_int(object, "begin_ms", job->begin_ms);
	if (job->hold)
		json_set_bool(object, "hold", true);
	if (job->priority > 0)
		json_set_int(object, "priority", job->priority);
	if (description->array_count > 0)
		json_set_int(object, "array_jobs", (int64_t)description->array_count);
	if (job->array_limit > 0)
		json_set_int(object, "array_limit", job->array_limit);
	return object;
}

static void print_start(const struct description *description)
{
	const struct job *job = description->job;
	char *after cleanup_free = str_list_join(&description->after, ", ");
	char *begin cleanup_free = str_format_time(job->begin_ms);

	if (*after)
		printf("after: %s\n", after);
	if (job->begin_ms > 0)
		printf("begin: %s\n", begin);
	if (job->hold)
		puts("hold: until tony release");
	if (job->priority > 0)
		printf("priority: %lld\n", (long long)job->priority);
	if (description->array_count > 0)
		printf("array: %zu jobs", description->array_count);
	if (job->array_limit > 0)
		printf(", at most %lld at a time", (long long)job->array_limit);
	if (description->array_count > 0)
		putchar('\n');
}

static bool is_chosen(const char *chosen, const char *type, int index)
{
	char *name cleanup_free = mem_printf("%s:%d", type, index);

	return !chosen || str_equal(chosen, type) || str_equal(chosen, name);
}

/* Prints at once, or gathers in `list`: a job of many tasks is not held in memory to be printed. */
static int render_task(struct framework_task *task, const struct stage_files *files, json_t *list,
		       struct err *err)
{
	int processes = framework_process_count(task->job, &task->job->types[task->type]);

	for (; task->process < processes; task->process++) {
		json_t *process = process_json(task, files, err);
		if (!process)
			return -1;
		if (list) {
			json_array_append_new(list, process);
			continue;
		}
		print_process(process);
		json_decref(process);
	}
	return 0;
}

static int render_tasks(const struct job *job, const struct stage *stage, const char *chosen,
			json_t *list, struct err *err)
{
	struct cluster *cluster = job_verb_example_cluster(job);
	size_t rendered = 0;
	int result = 0;

	for (size_t type = 0; type < job->type_count; type++) {
		for (int i = 0; i < job->types[type].instances && result == 0; i++) {
			struct framework_task task;
			if (!is_chosen(chosen, job->types[type].name, i))
				continue;
			job_verb_example_task(job, cluster, type, i, &task);
			result = render_task(&task, &stage->types[type], list, err);
			rendered++;
		}
	}
	cluster_destroy(cluster);
	if (result == 0 && rendered == 0 && chosen)
		return err_set(err, ERR_NOT_FOUND, "--task: the job has no task or type \"%s\"",
			       chosen);
	return result;
}

static int render(void *data, const struct verb_call *call, struct err *err)
{
	const struct render_options *chosen = data;
	struct description description cleanup_description = {0};
	struct stage stage cleanup_stage = {0};
	json_t *list cleanup_json = chosen->json ? json_array() : NULL;

	if (job_verb_describe(&chosen->job, call->operands, call->dashdash, &description, &stage,
			      err) < 0)
		return -1;
	/* The real directories bear the job's id, which is new each time. */
	if (!description.job->checkpoint_dir)
		description.job->checkpoint_dir = mem_strdup("/.../checkpoint");
	mem_replace(&description.job->output_dir, mem_strdup("/.../output"));
	json_t *start cleanup_json = start_json(&description);
	if (!list)
		print_start(&description);
	if (render_tasks(description.job, &stage, chosen->task, list, err) < 0)
		return -1;
	if (list) {
		json_t *object = json_object();
		if (json_object_size(start) > 0)
			json_object_set(object, "start", start);
		json_object_set(object, "processes", list);
		report_json(object);
	}
	return 0;
}

const struct verb verb_render = {
	.options =
		{
			.verb = "render",
			.usage = "tony render [OPTIONS] [-- COMMAND ARG...]",
			.summary = "print what each task of a job would get, without starting "
				   "anything",
			.description = "Takes the options of submit. Shows the command, "
				       "environment, files and "
				       "resources of every process. Addresses and ports are "
				       "examples: the real "
				       "ones are known only when the cluster forms.",
			.options = options,
			.option_count = array_length(options),
			.elsewhere = other_tools_job_options,
		},
	.size = sizeof(struct render_options),
	.run = render,
};
