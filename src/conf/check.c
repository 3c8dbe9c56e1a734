/* What may be said of each key on its own, once all layers are there. */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

static void entry_error(struct conf *conf, const struct conf_entry *entry, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void entry_warning(struct conf *conf, const struct conf_entry *entry, const char *format,
			  ...) __attribute__((format(printf, 3, 4)));

static void entry_error(struct conf *conf, const struct conf_entry *entry, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	char *label cleanup_free = conf_label(entry);
	problems_error(&conf->problems, conf_source(conf, entry), "%s: %s", label, text);
}

static void entry_warning(struct conf *conf, const struct conf_entry *entry, const char *format,
			  ...)
{
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	char *label cleanup_free = conf_label(entry);
	problems_warning(&conf->problems, "%s: %s", label, text);
}

/* The key that a name without "tony.", or with blanks, dots or capitals before it, stands for, or
 * NULL. The caller frees. */
static char *find_known(const char *name)
{
	name += strspn(name, " \t\n.");
	if (strncasecmp(name, "tony.", strlen("tony.")) == 0)
		name += strlen("tony.");
	char *known cleanup_free = mem_printf("tony.%s", name);
	return key_find(known, NULL) ? mem_steal(&known) : NULL;
}

/* Of a job file in YAML nothing is passed over: its root is easily forgotten. */
static void check_foreign(struct conf *conf, const struct conf_entry *entry, bool allow_unknown)
{
	static const char foreign[] = "does not begin with \"tony.\" and only counts within ${...}";
	bool is_strict = entry->in_yaml;

	/* Hadoop's files hold much that is not for us. */
	if (entry->layer < CONF_LAYER_CONF && (!entry->in_yaml || entry->named))
		return;
	char *known cleanup_free = find_known(entry->name);
	/* A variable may be that of another node: a pipeline misses those that are misspelt. */
	if (!known && !is_strict && (entry->named || conf->is_strict))
		return;
	char *near cleanup_free = is_strict && !known ? key_suggest(entry->name) : NULL;
	if (allow_unknown || (!known && !is_strict))
		entry_warning(conf, entry, "%s", foreign);
	else if (known || near)
		entry_error(conf, entry, "is not a known key; did you mean %s?",
			    known ? known : near);
	else
		entry_error(conf, entry, "%s, and no value names it; write tony: above it",
			    foreign);
}

static void check_unknown(struct conf *conf, struct conf_entry *entry, bool allow_unknown)
{
	char *nearest cleanup_free = key_suggest(entry->name);
	char *name cleanup_free = conf_show_name(entry->name);
	char *hint cleanup_free = nearest ? mem_printf("did you mean %s?", nearest)
					  : mem_strdup("\"tony config keys\" lists the known ones");

	entry->invalid = true;
	/* The site's file is the administrator's: a key of another version there must not stop
	 * every user's job. */
	if (allow_unknown || entry->layer == CONF_LAYER_SITE)
		problems_warning(&conf->problems,
				 "%s: %s: is not a known key and has no effect; %s", entry->origin,
				 name, hint);
	else
		problems_error(&conf->problems, conf_source(conf, entry),
			       "%s: %s: is not a known key; %s", entry->origin, name, hint);
}

/* In a pattern, what stands for <type> must be a type's name (of <group>, any word will do). */
static void check_type_word(struct conf *conf, struct conf_entry *entry)
{
	struct key_word words[KEY_MAX_WORDS];
	struct err err cleanup_err = {0};

	if (!strstr(entry->key->name, "<type>"))
		return;
	key_find(entry->name, words);
	char *type cleanup_free = mem_strndup(words[0].start, words[0].length);
	/* tony.docker.am.image is the application master's. */
	if (str_equal(type, "am") || key_check_task_type(type, &err) == 0)
		return;
	entry_error(conf, entry, "%s", err_message(&err));
	entry->invalid = true;
}

/* "LIST=1,b": in TonY, b is a variable of its own, though its user may mean a part of LIST. */
static void warn_of_commas(struct conf *conf, const struct conf_entry *entry)
{
	struct str_list items cleanup_str_list = {0};
	const char *last = NULL;

	key_read_list(entry->key, entry->value, &items);
	for (size_t i = 0; i < items.count; i++) {
		const char *item = items.items[i];
		if (strchr(item, '='))
			last = item;
		else if (last)
			entry_warning(conf, entry,
				      "%s is a variable without a value; if it belongs to %.*s, "
				      "write \"\\,\" for the comma",
				      item, (int)strcspn(last, "="), last);
	}
}

/* A valid value may still mean something else than its user thinks. */
static void explain_value(struct conf *conf, const struct conf_entry *entry)
{
	if (entry->layer == CONF_LAYER_SITE)
		return; /* the administrator's affair */
	char *number cleanup_free = key_explain_number(entry->key, entry->value);
	if (number)
		entry_warning(conf, entry, "%s", number);
	if (entry->key->type == KEY_ENVIRONMENT)
		warn_of_commas(conf, entry);
}

/* Other words mend it, as with the variables of a recorded configuration. */
static void ask_for_secret(struct conf *conf, struct conf_entry *entry)
{
	char *label cleanup_free = conf_label(entry);

	problems_error(&conf->problems, PROBLEM_TYPED,
		       "%s: was masked in the history; give it again with --conf %s=VALUE, or "
		       "leave it empty to do without",
		       label, entry->name);
	entry->invalid = true;
}

static void check_value(struct conf *conf, struct conf_entry *entry)
{
	struct err err cleanup_err = {0};
	bool may_be_empty = entry->key->type == KEY_TEXT || entry->key->type >= KEY_ACL;

	/* An empty number or truth value is as good as none, as in TonY's own files. */
	if (!*entry->value && !may_be_empty) {
		entry->invalid = true;
		entry_warning(conf, entry, "is empty; the default holds");
		return;
	}
	if (conf_is_masked(entry)) {
		ask_for_secret(conf, entry);
		return;
	}
	if (key_check(entry->key, entry->value, &err) == 0) {
		explain_value(conf, entry);
		return;
	}
	entry_error(conf, entry, "%s", err_message(&err));
	entry->invalid = true;
}

static bool is_default(const struct conf_entry *entry)
{
	const char *usual = entry->key->default_value;

	return str_equal_nocase(entry->value, usual ? usual : "");
}

static void check_status(struct conf *conf, const struct conf_entry *entry)
{
	const struct key *key = entry->key;
	const char *scheduler = conf_text(conf, "tony.application.scheduler");

	if (is_default(entry))
		return;
	switch (key->status) {
	case KEY_HONOURED:
		/* A site file is for the jobs of all schedulers. */
		if (entry->layer != CONF_LAYER_SITE && !key_is_read(key, scheduler))
			entry_warning(conf, entry, "has no effect on the %s scheduler: %s",
				      scheduler, key->note);
		return;
	case KEY_SITE:
	case KEY_SITE_IGNORED:
		if (entry->layer == CONF_LAYER_SITE)
			return;
		entry_warning(conf, entry, "has no effect on a job: %s", key->note);
		return;
	case KEY_RULE:
		if (entry->layer != CONF_LAYER_SITE)
			entry_error(conf, entry, "%s; leave it to tony-site.xml", key->note);
		return;
	case KEY_IGNORED:
		entry_warning(conf, entry, "is ignored: %s", key->note);
		return;
	case KEY_REFUSED:
		entry_error(conf, entry, "\"%s\" is not supported; %s", entry->value, key->note);
		return;
	}
}

/* For what comes after all layers are resolved. */
static void set_resolved(struct conf *conf, const struct conf_place *place, const char *name,
			 const char *value)
{
	conf_set_literal(conf, place, name, value);
	struct conf_entry *entry = conf_entry_of(conf, name);
	entry->value = mem_strdup(value);
	entry->state = CONF_RESOLVED;
}

/* The old name's value counts under the new one, unless that was set as well. */
static void follow_new_name(struct conf *conf, const struct conf_entry *old)
{
	const char *name = old->key->deprecated_by;

	if (conf_entry_of(conf, name)) {
		problems_warning(&conf->problems,
				 "%s: %s: has no effect: its newer name %s is set too", old->origin,
				 old->name, name);
		return;
	}
	problems_warning(&conf->problems, "%s: %s: is now called %s; the old name still works",
			 old->origin, old->name, name);
	set_resolved(conf, &(struct conf_place){old->layer, old->origin, 0}, name, old->value);
}

static void check_entry(struct conf *conf, struct conf_entry *entry, bool allow_unknown)
{
	if (!str_starts_with(entry->name, "tony.")) {
		check_foreign(conf, entry, allow_unknown);
		return;
	}
	if (!entry->key) {
		check_unknown(conf, entry, allow_unknown);
		return;
	}
	check_type_word(conf, entry);
	if (!entry->invalid)
		check_value(conf, entry);
	if (!entry->invalid)
		check_status(conf, entry);
	if (!entry->invalid && entry->key->deprecated_by)
		follow_new_name(conf, entry);
}

void conf_add_default(struct conf *conf, const char *origin, const char *name, const char *value)
{
	const struct conf_place place = {CONF_LAYER_DEFAULT, origin, 0};

	if (!conf_entry_of(conf, name))
		set_resolved(conf, &place, name, value);
}

/* ---- what tony had added to the configuration of an earlier job (conf.c) ----------------------
 */

/* Why tony had added the row: its framework, or a key that is set. */
static bool still_holds(const struct conf *conf, const char *origin)
{
	if (str_starts_with(origin, FRAMEWORK_ORIGIN))
		return str_equal_nocase(origin + strlen(FRAMEWORK_ORIGIN),
					conf_text(conf, "tony.application.framework"));
	return conf_text(conf, "%s", origin) != NULL;
}

static void resolve_recorded(struct conf *conf)
{
	char *const *words = conf->derived.items;

	for (size_t i = 0; i + 2 < conf->derived.count; i += 3)
		if (still_holds(conf, words[i]))
			conf_add_default(conf, words[i], words[i + 1], words[i + 2]);
}

void conf_resolve(struct conf *conf, bool allow_unknown)
{
	const char *name;
	void *value;

	conf_substitute(conf);
	for (size_t i = 0;
	     !problems_are_full(&conf->problems) && map_next(conf->entries, &i, &name, &value);)
		check_entry(conf, value, allow_unknown);
	resolve_recorded(conf);
	if (conf->is_strict)
		conf_check_variables(conf);
}

/* A value is not repeated: some are secret. */
static void check_for_portal(const struct conf_entry *entry, struct problems *problems)
{
	const struct key *key = entry->key;
	struct err err cleanup_err = {0};

	if (key_check(key, entry->value, &err) < 0)
		problems_error(problems, PROBLEM_FILE, "%s: %s: %s", entry->origin, entry->name,
			       err_message(&err));
	else if (key->status == KEY_SITE_IGNORED && !is_default(entry))
		problems_warning(problems, "%s: %s: is ignored: %s", entry->origin, entry->name,
				 key->note);
}

void conf_check_portal(const struct conf *conf, struct problems *problems)
{
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);) {
		bool is_for_portal = entry->key && (entry->key->status == KEY_SITE ||
						    entry->key->status == KEY_SITE_IGNORED);
		if (is_for_portal && entry->value && *entry->value)
			check_for_portal(entry, problems);
	}
}
