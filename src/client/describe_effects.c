/* Keys that are right by themselves and yet change nothing in this job: none goes unmentioned. */
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"
#include "framework/framework.h"
#include "framework/module.h"
#include "scheduler/scheduler.h"

/* tony.chief.gpus without tony.chief.instances: TonY's rule is that there is no chief. */
static void check_type_key(const struct describer *describer, const struct conf_entry *entry)
{
	char *hint cleanup_free = NULL;

	const char *word = entry->name + strlen("tony.");
	char *type cleanup_free = mem_strndup(word, strcspn(word, "."));
	bool in_single_node = describer->single_node && str_equal(type, SINGLE_NODE_TYPE);
	/* A site's limits hold for whoever uses the type. */
	if (entry->layer <= CONF_LAYER_SITE || str_ends_with(entry->name, ".max-instances"))
		return;
	if (in_single_node || str_ends_with(entry->name, ".instances") ||
	    describe_find_type(describer, type, &hint) >= 0)
		return;
	char *where cleanup_free = conf_label(entry);
	problems_warning(describer->problems, "%s: has no effect: tony.%s.instances is not set%s",
			 where, type, hint);
}

static bool is_of_type(const struct key *key)
{
	return str_starts_with(key->name, "tony.<type>.") ||
	       str_starts_with(key->name, "tony.tensorboard.");
}

/* The application master runs nothing of the user's. On a machine of its own it has a container
 * with memory and cores. */
static void check_am_key(const struct describer *describer, const struct conf_entry *entry)
{
	static const char *const names[] = {"tony.am.gpus", "tony.am.resources", "tony.am.command",
					    "tony.am.memory", "tony.am.vcores"};
	const struct scheduler_traits *engine =
		scheduler_client_find(describer->job->scheduler)->traits;
	const size_t count = array_length(names) - (engine->remote_am ? 2 : 0);
	char *where cleanup_free = conf_label(entry);

	if (describer->single_node || entry->layer == CONF_LAYER_SITE ||
	    str_equal_nocase(entry->value, entry->key->default_value))
		return;
	for (size_t i = 0; i < count; i++)
		if (str_equal(entry->name, names[i]))
			problems_warning(describer->problems,
					 "%s: has no effect: on the %s scheduler it is for jobs "
					 "without task types",
					 where, engine->name);
}

/* Of the two keys of the one task, that of a later layer wins, as it should; within one layer it is
 * told. */
static void check_driver_key(const struct describer *describer, const struct conf_entry *entry)
{
	static const char prefix[] = "tony.am.";

	if (!describer->single_node || !str_starts_with(entry->name, prefix))
		return;
	const struct conf_entry *own =
		conf_find(describer->conf, "tony.driver.%s", entry->name + strlen(prefix));
	if (!own || own->layer != entry->layer || str_equal(own->raw, entry->raw))
		return;
	char *where cleanup_free = conf_label(entry);
	problems_warning(describer->problems, "%s: has no effect: %s is set, too", where,
			 own->name);
}

/* "worker (tony.xml:5), ps (tony.xml:9)" */
static char *list_commands(const struct describer *describer)
{
	const struct job *job = describer->job;
	struct str_list places cleanup_str_list = {0};

	for (size_t i = 0; i < job->type_count; i++) {
		char *key cleanup_free =
			describe_type_key(describer, job->types[i].name, "command");
		const struct conf_entry *entry = conf_find(describer->conf, "%s", key);
		if (entry && job->types[i].instances > 0)
			str_list_add_format(&places, "%s (%s)", job->types[i].name, entry->origin);
	}
	return str_list_join(&places, ", ");
}

static void check_common_command(const struct describer *describer)
{
	const struct job *job = describer->job;
	const struct conf_entry *entry = conf_find(describer->conf, "tony.containers.command");

	if (!entry || entry->invalid || !*entry->value)
		return;
	for (size_t i = 0; i < job->type_count; i++)
		if (str_equal(job->types[i].command, entry->value))
			return;
	char *where cleanup_free = conf_label(entry);
	char *list cleanup_free = list_commands(describer);
	if (str_equal(entry->origin, JOB_OPTIONS_COMMAND_LINE))
		problems_error(describer->problems, PROBLEM_TYPED,
			       "%s: every task type has a command of its own: %s; leave out the "
			       "command after --, or write --conf tony.<type>.command=COMMAND",
			       where, list);
	else
		problems_warning(describer->problems,
				 "%s: has no effect: every task type has a command of its own: %s",
				 where, list);
}

/* "cheif" would be a type like any other, of which TensorFlow makes nothing. A "gpu-worker" is
 * meant.
 */
static void check_role(const struct describer *describer, const struct job_type *type)
{
	const char *framework = describer->job->framework;
	struct str_list roles cleanup_str_list = {0};

	if (type->instances == 0)
		return;
	framework_roles(describer->job, &roles);
	for (size_t i = 0; i < roles.count; i++)
		if (str_ends_with(type->name, roles.items[i]))
			return;
	const char *nearest =
		str_nearest(type->name, (const char *const *)roles.items, roles.count);
	if (!nearest)
		return;
	char *where cleanup_free = conf_locate(describer->conf, "tony.%s.instances", type->name);
	problems_warning(describer->problems,
			 "%s: \"%s\" is no role that %s knows; did you mean %s?", where, type->name,
			 framework, nearest);
}

/* Without it each program would be alone, and say nothing of that. */
static void check_launcher(const struct describer *describer, const struct job_type *type)
{
	struct module_program program cleanup_module_program = {0};
	const struct framework_ops *ops = framework_of(describer->job);

	if (!ops || !ops->launcher || type->instances == 0 || !type->command ||
	    !module_find_program(type->command, &program))
		return;
	problems_warning(describer->problems,
			 "task type %s: %s would run alone: framework %s leaves it to %s to form "
			 "the cluster; write %s %s",
			 type->name, program.script, ops->name, ops->launcher, ops->launcher,
			 program.script);
}

/* "user@" or "user:password@", with a scheme or without one. */
static bool has_user(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *authority = scheme ? scheme + strlen("://") : url;

	return authority[strcspn(authority, "@/?#")] == '@';
}

/* Everybody is shown the address: in answers, in pages and in variables of notices. */
static void check_portal(const struct describer *describer)
{
	const struct conf_entry *entry = conf_find(describer->conf, "tony.portal.url");

	if (!entry || entry->invalid)
		return;
	if (has_user(entry->value))
		describe_error(describer, entry->name,
			       "holds a user's name or password, and is shown to everybody; write "
			       "http://HOST:PORT/");
	else if (*entry->value && !str_is_http_url(entry->value))
		describe_error(describer, entry->name,
			       "\"%s\" is no address; write http://HOST:PORT/", entry->value);
}

void describe_effects(struct describer *describer)
{
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(describer->conf, &i, &entry);) {
		if (!entry->key || entry->invalid)
			continue;
		if (is_of_type(entry->key))
			check_type_key(describer, entry);
		check_am_key(describer, entry);
		check_driver_key(describer, entry);
	}
	check_common_command(describer);
	for (size_t i = 0; i < describer->job->type_count; i++) {
		check_role(describer, &describer->job->types[i]);
		check_launcher(describer, &describer->job->types[i]);
	}
	check_portal(describer);
}
