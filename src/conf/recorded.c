/* The configuration that another job had in effect, as its description and tony-final.xml have it.
 * A row that tony added then counts as tony's default now, not as something that a user wrote. */
#include <string.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

#define DEFAULT_ORIGIN "default"

/* Keys of the site's administrator, and keys that no job heeds, are not for another job. A secret
 * is: its mask is an error that asks for it (check.c). */
static bool is_for_job(const struct key *key)
{
	return !key->deprecated_by && (key->status == KEY_HONOURED || key->status == KEY_CLUSTER);
}

/* "framework ray" and "tony.application.tensorboard-log-dir" name what made tony add the row. */
static bool is_derived(const char *origin)
{
	const struct key *key = str_starts_with(origin, "tony.") ? key_find(origin, NULL) : NULL;

	return key || str_starts_with(origin, FRAMEWORK_ORIGIN);
}

void conf_set_recorded(struct conf *conf, const struct conf_place *place, const char *origin,
		       const char *name, const char *value)
{
	const struct key *key = key_find(name, NULL);

	if (!key || !is_for_job(key))
		return;
	if (str_equal(origin, DEFAULT_ORIGIN)) {
		if (!str_equal(value, key->default_value))
			conf_set_default(conf, name, value);
	} else if (is_derived(origin)) {
		str_list_add(&conf->derived, origin);
		str_list_add(&conf->derived, name);
		str_list_add(&conf->derived, value);
	} else {
		conf_set_literal(conf, place, name, value);
		struct conf_entry *entry = conf_entry_of(conf, name);
		entry->recorded = entry->literal;
	}
}
