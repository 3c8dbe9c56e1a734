/* The store: who may set what over whom. */
#include "conf/conf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

#define DEFAULT_ORIGIN "default"

static void entry_destroy(void *value)
{
	struct conf_entry *entry = value;

	free(entry->name);
	free(entry->raw);
	free(entry->set_as);
	free(entry->value);
	free(entry->origin);
	str_list_finish(&entry->literal_items);
	free(entry);
}

struct conf *conf_create(void)
{
	struct conf *conf = mem_alloc(sizeof(*conf));

	conf->entries = map_create(entry_destroy);
	return conf;
}

void conf_destroy(struct conf *conf)
{
	if (!conf)
		return;
	map_destroy(conf->entries);
	problems_finish(&conf->problems);
	str_list_finish(&conf->derived);
	free(conf);
}

void conf_cleanup(struct conf **conf)
{
	conf_destroy(*conf);
}

struct problems *conf_problems(struct conf *conf)
{
	return &conf->problems;
}

bool conf_has_file(const struct conf *conf)
{
	return conf->has_file;
}

const char *conf_found_file(const struct conf *conf)
{
	return conf->found;
}

static char *place_text(const struct conf_place *place)
{
	if (place->line > 0)
		return mem_printf("%s:%d", place->where, place->line);
	return mem_strdup(place->where);
}

struct conf_entry *conf_entry_of(const struct conf *conf, const char *name)
{
	return map_get(conf->entries, key_own_name(name));
}

bool conf_is_masked(const struct conf_entry *entry)
{
	return entry->layer == CONF_LAYER_FILE && entry->key && entry->key->secret &&
	       str_equal(entry->raw, CONF_MASK);
}

enum problem_source conf_source(const struct conf *conf, const struct conf_entry *entry)
{
	bool in_file =
		entry && entry->layer != CONF_LAYER_DEFAULT ? entry->in_file : conf->has_file;

	return in_file ? PROBLEM_FILE : PROBLEM_TYPED;
}

static struct conf_entry *create_entry(struct conf *conf, const char *name)
{
	struct conf_entry *entry = mem_alloc(sizeof(*entry));

	entry->name = mem_strdup(key_own_name(name));
	entry->key = str_starts_with(name, "tony.") ? key_find(entry->name, NULL) : NULL;
	map_set(conf->entries, entry->name, entry);
	return entry;
}

/* False, with a warning that names both places, when the site has said the last word. Within one
 * file a second value is most likely a slip, and so are two names of one key: it counts, as in
 * Hadoop, and is told. */
static bool may_set(struct conf *conf, const struct conf_entry *old, const struct conf_place *place,
		    const char *name, const char *value)
{
	char *where cleanup_free = place_text(place);

	if (!old || str_equal(old->raw, value))
		return true;
	if (old->final) {
		problems_warning(&conf->problems,
				 "%s: %s: ignored, because %s says it is final there", where,
				 old->name, old->origin);
		return false;
	}
	if (old->earlier)
		return true;
	if (old->layer == place->layer && !str_equal(old->set_as, name))
		problems_warning(&conf->problems,
				 "%s: %s: \"%s\" counts, and not \"%s\" of %s (%s), another name "
				 "of the same key; take one of them out",
				 where, name, value, old->raw, old->set_as, old->origin);
	else if (old->layer == place->layer && place->line > 0)
		problems_warning(&conf->problems,
				 "%s: %s: set again; the value at %s has no effect", where,
				 old->name, old->origin);
	return true;
}

static bool is_of_file(const struct conf_place *place)
{
	return place->layer == CONF_LAYER_SITE || place->layer == CONF_LAYER_FILE;
}

static struct conf_entry *set(struct conf *conf, const struct conf_place *place, const char *name,
			      const char *value)
{
	struct conf_entry *entry = conf_entry_of(conf, name);

	if (!may_set(conf, entry, place, name, value))
		return NULL;
	if (!entry)
		entry = create_entry(conf, name);
	else if (entry->final)
		return NULL; /* the same value again: the site stays its origin */
	mem_replace(&entry->raw, mem_strdup(value));
	mem_replace(&entry->set_as, mem_strdup(name));
	mem_replace(&entry->origin, place_text(place));
	entry->layer = place->layer;
	entry->typed = place->layer == CONF_LAYER_OPTION;
	entry->in_file = is_of_file(place);
	entry->literal = false;
	entry->recorded = false;
	entry->in_yaml = false;
	entry->earlier = false;
	return entry;
}

void conf_begin_part(struct conf *conf)
{
	const char *name;
	void *entry;

	conf->has_file = true;
	for (size_t i = 0; map_next(conf->entries, &i, &name, &entry);)
		((struct conf_entry *)entry)->earlier = true;
}

void conf_set(struct conf *conf, const struct conf_place *place, const char *name,
	      const char *value)
{
	set(conf, place, name, value);
}

void conf_set_literal(struct conf *conf, const struct conf_place *place, const char *name,
		      const char *value)
{
	struct conf_entry *entry = set(conf, place, name, value);

	if (entry)
		entry->literal = true;
}

void conf_set_final(struct conf *conf, const struct conf_place *place, const char *name)
{
	struct conf_entry *entry = conf_entry_of(conf, name);

	if (entry && place->layer == CONF_LAYER_SITE)
		entry->final = true;
}

void conf_set_default(struct conf *conf, const char *name, const char *value)
{
	const struct conf_place place = {CONF_LAYER_DEFAULT, "default", 0};

	if (!conf_entry_of(conf, name))
		conf_set_literal(conf, &place, name, value);
}

/* A further place of a list. */
static void add_place(struct conf_entry *entry, const struct conf_place *place)
{
	char *where cleanup_free = place_text(place);

	entry->typed &= place->layer == CONF_LAYER_OPTION;
	entry->in_file |= is_of_file(place);
	if (!str_ends_with(entry->origin, where))
		mem_replace(&entry->origin, mem_printf("%s, %s", entry->origin, where));
}

static void append(struct conf *conf, const struct conf_place *place, const char *name,
		   const char *more)
{
	const struct conf_entry *entry = conf_entry_of(conf, name);

	if (!entry || !*entry->raw) {
		conf_set(conf, place, name, more);
		return;
	}
	if (entry->key && entry->key->type == KEY_ENVIRONMENT && str_ends_with(entry->raw, "\\")) {
		problems_error(&conf->problems, conf_source(conf, entry),
			       "%s: %s: ends in \"\\\", which would escape the comma behind it; "
			       "give its last variable with --env",
			       entry->origin, name);
		return;
	}
	char *value cleanup_free = mem_printf("%s,%s", entry->raw, more);
	char *origin cleanup_free = mem_strdup(entry->origin);
	bool typed = entry->typed, in_file = entry->in_file, recorded = entry->recorded;
	struct conf_entry *changed = set(conf, place, name, value);
	if (!changed)
		return;
	mem_replace(&changed->origin, mem_steal(&origin));
	changed->typed = typed;
	changed->in_file = in_file;
	changed->recorded = recorded;
	add_place(changed, place);
}

void conf_append(struct conf *conf, const struct conf_place *place, const char *name,
		 const char *value)
{
	struct str item cleanup_str = {0};

	key_append_item(key_find(name, NULL), value, &item);
	append(conf, place, name, str_text(&item));
}

void conf_append_literal(struct conf *conf, const struct conf_place *place, const char *name,
			 const char *item)
{
	struct conf_entry *entry = conf_entry_of(conf, name);

	if (!entry)
		entry = set(conf, place, name, "");
	if (entry->final)
		problems_warning(&conf->problems,
				 "%s: %s: ignored, because %s says it is final there", place->where,
				 name, entry->origin);
	else {
		str_list_add(&entry->literal_items, item);
		add_place(entry, place);
	}
}

/* Of a masked secret, no value is an answer: the job does without. */
static bool replaces_mask(const struct conf *conf, const char *name)
{
	const struct conf_entry *entry = conf_entry_of(conf, name);

	return entry && conf_is_masked(entry);
}

/* "k=v". A bare word is most likely a slip, where TonY sets an empty value. */
static void load_pair(struct conf *conf, const char *pair)
{
	const struct conf_place place = {CONF_LAYER_CONF, "--conf", 0};
	const char *equals = strchr(pair, '=');

	if (!equals || equals == pair) {
		problems_error(&conf->problems, PROBLEM_TYPED,
			       "--conf: \"%s\" is not KEY=VALUE; write --conf KEY=VALUE", pair);
		return;
	}
	char *name cleanup_free = mem_strndup(pair, (size_t)(equals - pair));
	if (!equals[1] && !replaces_mask(conf, name)) {
		problems_error(&conf->problems, PROBLEM_TYPED,
			       "--conf: \"%s\" has no value; write one behind \"=\", or leave it "
			       "out",
			       pair);
		return;
	}
	const struct key *key = key_find(name, NULL);
	if (key && key->multi_value)
		append(conf, &place, name, equals + 1);
	else
		conf_set(conf, &place, name, equals + 1);
}

void conf_load_pairs(struct conf *conf, const struct str_list *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		load_pair(conf, pairs->items[i]);
}

/* ---- the configuration that another job had in effect ---------------------------------------
 *
 * As its description and tony-final.xml have it. A row that tony added then counts as tony's
 * default now, not as something that a user wrote. */

/* Keys of the site's administrator, and keys that no job heeds, are not for another job. A secret
 * is: its mask is an error that asks for it (check.c). */
static bool is_for_job(const struct key *key)
{
	return !key->deprecated_by && (key->status == KEY_HONOURED);
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

/* ---- all of it ------------------------------------------------------------------------------ */

bool conf_next(const struct conf *conf, size_t *cursor, const struct conf_entry **entry)
{
	const char *name;
	void *value;

	if (!map_next(conf->entries, cursor, &name, &value))
		return false;
	*entry = value;
	return true;
}
