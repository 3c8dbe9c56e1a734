/* Keys that are right by themselves and yet change nothing in this job: none goes unmentioned. */
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"

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

/* The application master of a local job is a plain process of this machine; on a cluster it has a
 * container, and runs nothing of the user's. */
static void check_am_key(const struct describer *describer, const struct conf_entry *entry)
{
	static const char *const names[] = {"tony.am.gpus", "tony.am.resources", "tony.am.command",
					    "tony.am.memory", "tony.am.vcores"};
	const bool is_for_cluster = describe_is_for_cluster(describer->conf);
	const size_t count = array_length(names) - (is_for_cluster ? 2 : 0);

	if (describer->single_node || entry->layer == CONF_LAYER_SITE ||
	    str_equal_nocase(entry->value, entry->key->default_value))
		return;
	for (size_t i = 0; i < count; i++)
		if (str_equal(entry->name, names[i]))
			problems_warning(describer->problems,
					 "%s: %s: has no effect: on the %s scheduler it is for "
					 "jobs without task types",
					 entry->origin, entry->name,
					 is_for_cluster ? "YARN" : "local");
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
	problems_warning(describer->problems,
			 "%s: %s: has no effect: every task type has a command of its own",
			 entry->origin, entry->name);
}

static void check_portal(const struct describer *describer)
{
	const struct conf_entry *entry = conf_find(describer->conf, "tony.portal.url");

	if (entry && !entry->invalid && *entry->value && !str_is_http_url(entry->value))
		problems_error(describer->problems,
			       "%s: %s: \"%s\" is no address; write http://HOST:PORT/",
			       entry->origin, entry->name, entry->value);
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
	}
	check_common_command(describer);
	check_portal(describer);
}
