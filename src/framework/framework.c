#include "framework/framework.h"

#include <string.h>

#include "base/mem.h"
#include "base/secret.h"
#include "framework/definition.h"
#include "framework/environment.h"
#include "framework/implementations.h"
#include "framework/variables.h"
#include "job/policy.h"
#include "job/task_variables.h"

static const struct framework_ops *const table[] = {
	&framework_tensorflow, &framework_pytorch, &framework_torchrun, &framework_horovod,
	&framework_mxnet,      &framework_xgboost, &framework_lightgbm, &framework_jax,
	&framework_mpi,	       &framework_ray,	   &framework_dask,	&framework_standalone,
	&framework_generic,
};

const struct framework_ops *framework_find(const char *name)
{
	for (size_t i = 0; i < array_length(table); i++)
		if (str_equal_nocase(table[i]->name, name))
			return table[i];
	return NULL;
}

void framework_names(struct str_list *names)
{
	for (size_t i = 0; i < array_length(table); i++)
		str_list_add(names, table[i]->name);
}

/* Of a file that a job brings: all of it is in the definition. */
static const struct framework_ops of_file = {.name = "file"};

const struct framework_ops *framework_of(const struct job *job)
{
	return job->framework_file ? &of_file : framework_find(job->framework);
}

static const struct framework_ops *ops_of(const struct job *job)
{
	const struct framework_ops *ops = framework_of(job);

	if (!ops)
		BUG("framework %s of a checked job", job->framework);
	return ops;
}

/* NULL: the framework is not written as a file, or `err`. */
static struct definition *definition_of(const struct job *job, struct err *err)
{
	const struct framework_ops *ops = ops_of(job);
	const char *text = job->framework_file ? job->framework_file : ops->definition;
	const char *place = job->framework_place ? job->framework_place : job->framework;

	return text ? definition_parse(text, place, err) : NULL;
}

void framework_defaults(const struct framework_ops *ops, const char *file,
			const struct framework_shape *shape, struct str_list *pairs)
{
	const char *text = file ? file : ops->definition;
	struct definition *definition cleanup_definition =
		text ? definition_parse(text, "framework", NULL) : NULL;

	if (definition)
		definition_defaults(definition, shape, pairs);
	else if (!text)
		ops->defaults(shape, pairs);
}

int framework_check(const struct job *job, struct err *err)
{
	const struct framework_ops *ops = ops_of(job);
	struct definition *definition cleanup_definition = definition_of(job, NULL);

	if (definition)
		return definition_check(definition, job, err);
	return ops->check ? ops->check(job, err) : 0;
}

void framework_roles(const struct job *job, struct str_list *names)
{
	const char *const *roles = ops_of(job)->roles;
	struct definition *definition cleanup_definition = definition_of(job, NULL);

	if (definition)
		str_list_copy(names, &definition->types);
	for (size_t i = 0; roles && roles[i]; i++)
		str_list_add(names, roles[i]);
}

char *framework_module(const struct job *job)
{
	struct definition *definition cleanup_definition = definition_of(job, NULL);

	return mem_strdup(definition ? definition->module : ops_of(job)->module);
}

static bool has_identity(const struct definition *definition, const char *name)
{
	for (size_t i = 0; i < definition->variable_count; i++) {
		const struct definition_variable *variable = &definition->variables[i];
		if (variable->is_identity &&
		    str_equal(variable->name ? variable->name : "CLUSTER_SPEC", name))
			return true;
	}
	return false;
}

static int add_environment(const struct framework_task *task, struct environment *environment,
			   struct err *err)
{
	const struct framework_ops *ops = ops_of(task->job);
	struct definition *definition cleanup_definition = NULL;

	if (!task->job->framework_file && !ops->definition)
		return ops->environment(task, environment, err);
	definition = definition_of(task->job, err);
	return definition ? definition_environment(definition, task, environment, err) : -1;
}

/* Not the token itself: the framework may show it about, and send it where it likes. */
char *framework_secret(const struct job *job, const char *token)
{
	const struct framework_ops *ops = ops_of(job);

	return ops->secret ? secret_derive(token, ops->name) : NULL;
}

int framework_process_count(const struct job *job, const struct job_type *type)
{
	return ops_of(job)->starts_processes ? 1 : type->processes;
}

bool framework_has_rendezvous(const struct job *job)
{
	const struct framework_ops *ops = ops_of(job);

	return ops->rendezvous && ops->rendezvous(job);
}

const char *framework_fixed(const struct job *job, const struct job_type *type)
{
	const struct framework_ops *ops = ops_of(job);

	return ops->fixed ? ops->fixed(type) : NULL;
}

static bool has_elastic_type(const struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (job_type_is_elastic(&job->types[i]))
			return true;
	return false;
}

bool framework_lives_through_changes(const struct job *job)
{
	const struct framework_ops *ops = ops_of(job);

	return has_elastic_type(job) && ops->lives_through_changes &&
	       ops->lives_through_changes(job);
}

char *framework_command(const struct framework_task *task, struct err *err)
{
	const struct framework_ops *ops = ops_of(task->job);
	char *command = framework_expand(task, task->job->types[task->type].command, err);

	if (command && ops->command)
		mem_replace(&command, ops->command(task, command));
	return command;
}

const char *const *framework_noise(const struct job *job)
{
	return ops_of(job)->noise;
}

struct policy_row *framework_failures(const struct job *job)
{
	const struct framework_ops *ops = framework_of(job);

	if (!ops)
		return NULL;
	struct definition *definition cleanup_definition = definition_of(job, NULL);
	return policy_rows_copy(definition ? definition->failures : ops->failures);
}

bool framework_sets_identity(const struct job *job, const struct job_type *type, const char *name)
{
	const struct framework_ops *ops = ops_of(job);

	if (job->mode != JOB_MODE_GANG || type->role == JOB_ROLE_SIDECAR)
		return false;
	struct definition *definition cleanup_definition = definition_of(job, NULL);
	if (definition)
		return has_identity(definition, name);
	for (size_t i = 0; ops->identity && ops->identity[i]; i++)
		if (str_equal(ops->identity[i], name))
			return true;
	return false;
}

/* A process that could take the job's marks off itself would not be found when the job ends. */
static int check_own_name(const char *pair, struct err *err)
{
	char *key cleanup_free = mem_strndup(pair, strcspn(pair, "="));

	if (!*key)
		return err_set(err, ERR_CONFIG, "environment \"%s\": no name before \"=\"", pair);
	if (task_variables_have(key))
		return err_set(err, ERR_CONFIG,
			       "environment %s: this name is tony's own; choose another", key);
	return 0;
}

static int add_user_environment(const struct framework_task *task, struct environment *environment,
				struct err *err)
{
	const struct str_list *pairs = &task->job->types[task->type].environment;

	for (size_t i = 0; i < pairs->count; i++) {
		char *pair cleanup_free = NULL;
		if (check_own_name(pairs->items[i], err) < 0)
			return -1;
		pair = framework_expand(task, pairs->items[i], err);
		if (!pair)
			return err_wrap(err, "environment \"%s\"", pairs->items[i]);
		if (strchr(pair, '='))
			environment_set_pair(environment, pair);
		else
			environment_remove(environment, pair);
	}
	return 0;
}

int framework_environment(const struct framework_task *task, struct environment *environment,
			  struct err *err)
{
	/* YARN sets it for the JVM's sake; TonY's users measured what it costs their programs. */
	environment_remove(environment, "MALLOC_ARENA_MAX");
	variables_add_tony(task, environment);
	variables_add_compatible(task, environment);
	variables_add_tracking(task, environment);
	if (add_environment(task, environment, err) < 0)
		return -1;
	return add_user_environment(task, environment, err);
}
