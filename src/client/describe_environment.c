/* The environment of each type's programs: what the user adds to it, and takes out. */
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"
#include "framework/framework.h"
#include "job/task_variables.h"

/* A bare KEY is KEY with an empty value, as in TonY. */
static void add_environment(const struct conf *conf, struct str_list *environment, const char *key)
{
	struct str_list pairs cleanup_str_list = {0};

	conf_list(conf, &pairs, "%s", key);
	for (size_t i = 0; i < pairs.count; i++)
		str_list_add_format(environment, "%s%s", pairs.items[i],
				    strchr(pairs.items[i], '=') ? "" : "=");
}

static bool is_pair_of(const char *pair, const char *name)
{
	size_t length = strlen(name);

	return strncmp(pair, name, length) == 0 && (!pair[length] || pair[length] == '=');
}

/* "--env NAME=", unless a later --env gives it a value. */
static void add_removals(const struct str_list *options, struct str_list *environment)
{
	for (size_t i = 0; i < options->count; i++) {
		size_t length = strcspn(options->items[i], "=");
		char *name cleanup_free = mem_strndup(options->items[i], length);
		bool is_last = true;
		for (size_t k = i + 1; k < options->count; k++)
			is_last &= !is_pair_of(options->items[k], name);
		if (is_last && str_equal(options->items[i] + length, "="))
			str_list_add(environment, name);
	}
}

void describe_environment(const struct describer *describer, struct job_type *type)
{
	char *own cleanup_free = mem_printf("tony.%s.envs", type->name);

	add_environment(describer->conf, &type->environment, "tony.containers.envs");
	add_environment(describer->conf, &type->environment, "tony.execution.envs");
	add_removals(&describer->options->env, &type->environment);
	add_environment(describer->conf, &type->environment, own);
}

/* The key that sets the variable last; NULL: "--env NAME=", which takes it out. The caller frees.
 */
static char *find_key(const struct describer *describer, const struct job_type *type,
		      const char *name)
{
	char *own cleanup_free = mem_printf("tony.%s.envs", type->name);
	const char *const keys[] = {own, "tony.execution.envs", "tony.containers.envs"};

	for (size_t i = 0; i < array_length(keys); i++) {
		struct str_list pairs cleanup_str_list = {0};
		conf_list(describer->conf, &pairs, "%s", keys[i]);
		for (size_t k = 0; k < pairs.count; k++)
			if (is_pair_of(pairs.items[k], name))
				return mem_strdup(keys[i]);
	}
	return NULL;
}

char *describe_name_flaw(const struct describer *describer, const struct job_type *type,
			 const char *name)
{
	if (task_variables_have(name))
		return mem_printf("\"%s\": tony gives each process its own; choose another name",
				  name);
	if (framework_sets_identity(describer->job, type, name))
		return mem_printf("\"%s\": the framework %s gives each process its own; leave it "
				  "out, or use the framework generic",
				  name, describer->job->framework);
	return NULL;
}

static void check_variable(const struct describer *describer, const struct job_type *type,
			   const char *name)
{
	char *text cleanup_free = describe_name_flaw(describer, type, name);

	if (!text)
		return;
	char *key cleanup_free = find_key(describer, type, name);
	if (key)
		describe_error(describer, key, "%s", text);
	else
		problems_error(describer->problems, PROBLEM_TYPED, "--env: %s", text);
}

static bool is_last_of(const struct job_type *type, size_t number, const char *name)
{
	for (size_t i = number + 1; i < type->environment.count; i++)
		if (is_pair_of(type->environment.items[i], name))
			return false;
	return true;
}

/* The configuration of another job tells names, and no values. */
static void check_masked(const struct describer *describer, const struct job_type *type,
			 size_t number, const char *name)
{
	char *own cleanup_free = mem_printf("tony.%s.envs", type->name);
	char *key cleanup_free = find_key(describer, type, name);
	const struct conf_entry *entry = key ? conf_find(describer->conf, "%s", key) : NULL;

	if (!entry || !entry->recorded || !is_last_of(type, number, name) ||
	    !str_equal(type->environment.items[number] + strlen(name), "=" CONF_MASK))
		return;
	char *where cleanup_free = conf_label(entry);
	char *text cleanup_free =
		str_equal(key, own) ? mem_printf("%s: the value of %s was masked; give it with "
						 "--conf %s=%s=VALUE",
						 where, name, key, name)
				    : mem_printf("%s: the value of %s was masked; give it with "
						 "--env %s=VALUE, or --env %s to take yours",
						 where, name, name, name);
	if (!str_list_has(&describer->problems->errors, text))
		problems_error(describer->problems, PROBLEM_TYPED, "%s", text);
}

void describe_check_variables(const struct describer *describer)
{
	const struct job *job = describer->job;

	for (size_t t = 0; t < job->type_count; t++) {
		const struct job_type *type = &job->types[t];
		for (size_t i = 0; i < type->environment.count; i++) {
			const char *pair = type->environment.items[i];
			char *name cleanup_free = mem_strndup(pair, strcspn(pair, "="));
			check_variable(describer, type, name);
			check_masked(describer, type, i, name);
		}
	}
}
