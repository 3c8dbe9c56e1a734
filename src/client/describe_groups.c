/* tony.application.dependency.<type>.timeout.after.<group>. As in TonY, names that the job does
 * not have are left out (#678); here that is told. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"

#define GROUP_KEY   "tony.application.group.<group>"
#define IGNORED_KEY TIMEOUT_KEY ".ignored"

static void warn(const struct describer *describer, const struct conf_entry *entry,
		 const char *text, const char *name)
{
	char *where cleanup_free = conf_label(entry);

	problems_warning(describer->problems, "%s: has no effect: %s%s", where, text, name);
}

static void add_members(const struct describer *describer, struct job_group_timeout *timeout)
{
	struct str_list names cleanup_str_list = {0};
	char *where cleanup_free =
		conf_locate(describer->conf, "tony.application.group.%s", timeout->group);

	conf_list(describer->conf, &names, "tony.application.group.%s", timeout->group);
	timeout->members = mem_alloc_array(names.count, sizeof(size_t));
	for (size_t i = 0; i < names.count; i++) {
		char *hint cleanup_free = NULL;
		int type = describe_find_type(describer, names.items[i], &hint);
		if (type >= 0)
			timeout->members[timeout->member_count++] = (size_t)type;
		else
			problems_warning(describer->problems,
					 "%s: \"%s\" is no task type of this job and is left out%s",
					 where, names.items[i], hint);
	}
}

static void add_timeout(struct describer *describer, const struct conf_entry *entry,
			const char *type, const char *group)
{
	struct job *job = describer->job;
	char *hint cleanup_free = NULL;
	int number = describe_find_type(describer, type, &hint);
	struct job_group_timeout timeout = {.timeout_ms =
						    conf_ms(describer->conf, "%s", entry->name)};

	if (number < 0) {
		warn(describer, entry, "no task type is called ", type);
		return;
	}
	timeout.type = (size_t)number;
	timeout.group = mem_strdup(group);
	timeout.ignored = conf_bool(describer->conf, "%s.ignored", entry->name);
	add_members(describer, &timeout);
	if (timeout.member_count == 0 || timeout.timeout_ms == 0) {
		warn(describer, entry,
		     timeout.timeout_ms == 0 ? "0 is no limit for "
					     : "no task type of the job is in the group ",
		     group);
		free(timeout.group);
		free(timeout.members);
		return;
	}
	job->group_timeouts = mem_realloc_array(job->group_timeouts, job->group_timeout_count + 1,
						sizeof(*job->group_timeouts));
	job->group_timeouts[job->group_timeout_count++] = timeout;
}

static void check_ignored(const struct describer *describer, const struct conf_entry *entry)
{
	size_t length = strlen(entry->name) - strlen(".ignored");

	if (!conf_find(describer->conf, "%.*s", (int)length, entry->name))
		warn(describer, entry, "the timeout itself is not set", "");
}

/* A site may name groups for all of its jobs; a job's own that nothing names is a slip. */
static void check_group(const struct describer *describer, const struct conf_entry *group)
{
	const char *name = strrchr(group->name, '.') + 1;
	char *suffix cleanup_free = mem_printf(".after.%s", name);
	const struct conf_entry *entry;

	if (group->layer == CONF_LAYER_SITE)
		return;
	for (size_t i = 0; conf_next(describer->conf, &i, &entry);)
		if (entry->key && str_ends_with(entry->name, suffix))
			return;
	warn(describer, group, "no tony.application.dependency.<type>.timeout names it", "");
}

void describe_groups(struct describer *describer)
{
	const struct conf_entry *entry;
	struct key_word words[KEY_MAX_WORDS];

	for (size_t i = 0; conf_next(describer->conf, &i, &entry);) {
		if (!entry->key || entry->invalid)
			continue;
		if (str_equal(entry->key->name, GROUP_KEY))
			check_group(describer, entry);
		if (str_equal(entry->key->name, IGNORED_KEY))
			check_ignored(describer, entry);
		if (!str_equal(entry->key->name, TIMEOUT_KEY))
			continue;
		key_find(entry->name, words);
		char *type cleanup_free = mem_strndup(words[0].start, words[0].length);
		char *group cleanup_free = mem_strndup(words[1].start, words[1].length);
		add_timeout(describer, entry, type, group);
	}
}
