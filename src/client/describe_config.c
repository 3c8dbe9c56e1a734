/* The effective configuration as it is shown to people and kept with the job. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/describe_internal.h"

/* "A=1,B=2" -> "A=***,B=***", with what stands in no file and no argument. */
static char *hide_values(const struct conf *conf, const char *name)
{
	struct str_list pairs cleanup_str_list = {0};
	struct str text = {0};

	conf_list(conf, &pairs, "%s", name);
	for (size_t i = 0; i < pairs.count; i++)
		str_append_format(&text, "%s%.*s=" CONF_MASK, i == 0 ? "" : ",",
				  (int)strcspn(pairs.items[i], "="), pairs.items[i]);
	return str_steal(&text);
}

static void add(json_t *config, const struct conf *conf, const char *name, const char *value,
		const char *origin, bool for_others)
{
	const struct key *key = key_find(name, NULL);
	json_t *row = json_object();

	if (key->secret && *value) {
		json_set_text(row, "value", CONF_MASK);
	} else if (key->type == KEY_ENVIRONMENT && for_others) {
		char *hidden cleanup_free = hide_values(conf, name);
		json_set_text(row, "value", hidden);
	} else {
		json_set_text(row, "value", value);
	}
	json_set_text(row, "origin", origin);
	json_object_set_new(config, name, row);
}

static bool is_effective(const struct conf_entry *entry)
{
	return entry->key && !entry->invalid && entry->value;
}

/* Names of what was set, and of what has a default in this job. */
static void collect_names(const struct conf *conf, struct str_list *names)
{
	struct str_list types cleanup_str_list = {0};
	const struct conf_entry *entry;

	describe_find_types(conf, &types);
	for (size_t i = 0; conf_next(conf, &i, &entry);)
		if (is_effective(entry))
			str_list_add(names, entry->name);
	for (size_t g = 0; g < key_group_count; g++) {
		for (size_t i = 0; i < key_groups[g].count; i++) {
			const struct key *key = &key_groups[g].keys[i];
			bool of_type = str_starts_with(key->name, "tony.<type>.");
			if (!key->default_value || key->deprecated_by)
				continue;
			if (!strchr(key->name, '<') &&
			    !str_starts_with(key->name, "tony.tensorboard."))
				str_list_add(names, key->name);
			for (size_t t = 0; of_type && t < types.count; t++)
				str_list_add_format(names, "tony.%s.%s", types.items[t],
						    key->name + strlen("tony.<type>."));
		}
	}
	str_list_sort(names);
}

json_t *describe_config(const struct conf *conf, bool for_others)
{
	struct str_list names cleanup_str_list = {0};
	json_t *config = json_object();

	collect_names(conf, &names);
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i];
		const struct conf_entry *entry = conf_find(conf, "%s", name);
		if (i > 0 && str_equal(name, names.items[i - 1]))
			continue;
		if (entry && is_effective(entry))
			add(config, conf, name, entry->value, entry->origin, for_others);
		else
			add(config, conf, name, key_find(name, NULL)->default_value, "default",
			    for_others);
	}
	return config;
}
