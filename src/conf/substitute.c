/*
 * ${name}, ${env.NAME}, ${env.NAME:-default} and ${env.NAME-default}, as Hadoop's Configuration
 * does it; ${name:-default} and ${name-default} where the name is set: what cannot be resolved
 * stays as written (a command's ${HOME} is the shell's), a blank or "$" within the braces makes it
 * plain text, ${a${b}} resolves from the inside. Unlike there, a circle is an error and the values
 * of variables are not scanned again.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "conf/conf_internal.h"

/* One value under way; `outer` is the one that asked for it. */
struct expansion {
	struct conf *conf;
	struct conf_entry *entry;
	const struct expansion *outer;
	int depth;
	bool failed;
};

/* " ml-team" is a group, "ml-team" a user. A value on a line of its own is only laid out so. */
static void keep_blank(struct conf_entry *entry)
{
	size_t blanks = strspn(entry->raw, " ");

	if (entry->key && entry->key->type == KEY_ACL && blanks > 0 && !entry->literal &&
	    *entry->value && !strchr("\t\r\n", entry->raw[blanks]))
		mem_replace(&entry->value, mem_printf(" %s", entry->value));
}

static void resolve(struct conf *conf, struct conf_entry *entry, const struct expansion *outer);

static void fail(struct expansion *expansion, const char *text)
{
	char *label cleanup_free = conf_label(expansion->entry);

	if (!expansion->failed)
		problems_error(&expansion->conf->problems,
			       conf_source(expansion->conf, expansion->entry), "%s: %s", label,
			       text);
	expansion->failed = true;
}

/* "tony.a -> tony.b -> tony.a", from the outermost on. */
static void append_circle(struct str *text, const struct expansion *expansion,
			  const struct conf_entry *start)
{
	if (expansion->entry != start)
		append_circle(text, expansion->outer, start);
	str_append_format(text, "%s -> ", expansion->entry->name);
}

static void fail_circle(struct expansion *expansion, const struct conf_entry *again)
{
	struct str text cleanup_str = {0};

	str_append(&text, "variables go in a circle: ");
	append_circle(&text, expansion, again);
	str_append(&text, again->name);
	str_append(&text, "; write a value in one of them");
	fail(expansion, text.text);
}

static char *entry_value(struct expansion *expansion, struct conf_entry *entry)
{
	if (entry->state == CONF_RESOLVING) {
		fail_circle(expansion, entry);
		return NULL;
	}
	if (expansion->depth >= CONF_VARIABLE_CAP) {
		fail(expansion, "variables are nested more than 20 deep; write the value itself");
		return NULL;
	}
	resolve(expansion->conf, entry, expansion);
	if (entry->invalid)
		expansion->failed = true; /* told where it happened */
	return mem_strdup(entry->value);
}

static void warn_unresolved(const struct expansion *expansion, const char *name)
{
	char *label cleanup_free = conf_label(expansion->entry);
	bool is_environment = str_starts_with(name, "env.");

	if (is_environment || str_starts_with(name, "tony."))
		problems_warning(&expansion->conf->problems,
				 "%s: ${%s} stays as written, because %s is not set%s", label, name,
				 is_environment ? name + strlen("env.") : name,
				 is_environment ? "; write ${env.NAME:-default}" : "");
}

/* The entry that `name` begins with, before "-" or ":-"; a name may hold dashes itself. *otherwise:
 * what stands behind them. */
static struct conf_entry *find_entry(struct conf *conf, const char *name, const char **otherwise)
{
	const char *end = strstr(name, ":-");
	size_t length = end ? (size_t)(end - name) : strlen(name);

	*otherwise = end ? end + strlen(":-") : NULL;
	for (; length > 0; length--) {
		if (!*otherwise && name[length] != '-')
			continue;
		char *variable cleanup_free = mem_strndup(name, length);
		struct conf_entry *entry = conf_entry_of(conf, variable);
		if (!*otherwise)
			*otherwise = entry ? name + length + 1 : NULL;
		if (entry || end)
			return entry;
	}
	return NULL;
}

/* Of ${NAME:-default} and ${NAME-default}, where the configuration sets NAME; else the shell does,
 * or gives the default. */
static char *value_or_default(struct expansion *expansion, const char *name)
{
	const char *otherwise;
	struct conf_entry *entry = find_entry(expansion->conf, name, &otherwise);

	if (!entry)
		return NULL;
	entry->named = true;
	char *value cleanup_free = entry_value(expansion, entry);
	return value && !*value && strstr(name, ":-") ? mem_strdup(otherwise) : mem_steal(&value);
}

/* The value of ${name}, or NULL: leave it as written. The caller frees. */
static char *variable_value(struct expansion *expansion, const char *name)
{
	char *value = NULL;

	if (str_starts_with(name, "env.")) {
		value = str_environment(name + strlen("env."));
	} else {
		struct conf_entry *entry = conf_entry_of(expansion->conf, name);
		const struct key *key = key_find(name, NULL);
		if (entry) {
			entry->named = true;
			return entry_value(expansion, entry);
		}
		value = user_property(name);
		if (!value && key)
			value = mem_strdup(key->default_value);
		if (!value)
			value = value_or_default(expansion, name);
	}
	if (!value)
		warn_unresolved(expansion, name);
	return value;
}

/* A value being put together. Variables are resolved from the inside, so the text between an open
 * "${" and the end of `out` is a name in the making. */
struct output {
	struct str text;
	/* Of a list of KEY=VALUE: up to where it was read, and whether that is behind a "=". */
	size_t read;
	bool in_value;
	size_t backslash;		/* where a variable's value has ended in "\"; 0: nowhere */
	size_t open[CONF_VARIABLE_CAP]; /* where the "${" stand that are not closed yet */
	size_t open_count;
};

/* Does what is put behind `end` belong to the value of a pair? Then it is no more than that, with
 * all its commas. In front of a "=" it may be several pairs. */
static bool is_in_value(struct output *out, size_t end)
{
	for (; out->read < end; out->read++) {
		char c = out->text.text[out->read];
		bool is_protected = out->read > 0 && out->text.text[out->read - 1] == '\\';
		if (c == ',' && !is_protected)
			out->in_value = false;
		else if (c == '=')
			out->in_value = true;
	}
	return out->in_value;
}

/* A comma that a backslash protects already stays as it is. */
static void append_protected(struct output *out, const char *value)
{
	for (const char *c = value; *c; c++) {
		if (*c == ',' && (c == value || c[-1] != '\\'))
			str_append_char(&out->text, '\\');
		str_append_char(&out->text, *c);
	}
	out->backslash = str_ends_with(value, "\\") ? out->text.length : 0;
}

static void append_value(const struct expansion *expansion, struct output *out, const char *value)
{
	const struct key *key = expansion->entry->key;

	if (key && key->type == KEY_ENVIRONMENT && out->open_count == 0 &&
	    is_in_value(out, out->text.length))
		append_protected(out, value);
	else
		str_append(&out->text, value);
}

static void close_brace(struct expansion *expansion, struct output *out)
{
	if (out->open_count == 0) {
		str_append_char(&out->text, '}');
		return;
	}
	size_t open = out->open[--out->open_count];
	const char *name = out->text.text + open + strlen("${");
	char *value cleanup_free = *name ? variable_value(expansion, name) : NULL;
	if (!value) {
		str_append_char(&out->text, '}');
		return;
	}
	str_truncate(&out->text, open);
	append_value(expansion, out, value);
}

static void add_letter(struct output *out, char c)
{
	struct str *text = &out->text;

	/* A blank makes what is open plain text: no name holds one, but a default may. */
	while (isspace((unsigned char)c) && out->open_count > 0 &&
	       !strstr(text->text + out->open[out->open_count - 1], ":-"))
		out->open_count--;
	if (c == '{' && text->length > 0 && text->text[text->length - 1] == '$' &&
	    out->open_count < array_length(out->open))
		out->open[out->open_count++] = text->length - 1;
	str_append_char(text, c);
}

static char *expand(struct expansion *expansion, const char *text)
{
	struct output out = {0};

	for (; *text && !expansion->failed; text++) {
		if (*text == '}')
			close_brace(expansion, &out);
		else
			add_letter(&out, *text);
		if (*text == ',' && out.backslash > 0 && out.backslash + 1 == out.text.length)
			fail(expansion,
			     "the value of a variable ends in \"\\\", which would escape "
			     "the comma behind it; give it with --env");
		if (out.text.length > CONF_VALUE_CAP)
			fail(expansion,
			     "is longer than 1 MiB with its variables; write a shorter value");
	}
	expansion->conf->expanded += out.text.length;
	if (expansion->conf->expanded > CONF_TOTAL_CAP)
		fail(expansion, "all values together are longer than 64 MiB with their variables; "
				"write shorter values");
	return str_steal(&out.text);
}

/* What people put around a value in XML. */
static char *trimmed(const char *text)
{
	size_t end = strlen(text);

	while (isspace((unsigned char)*text)) {
		text++;
		end--;
	}
	while (end > 0 && isspace((unsigned char)text[end - 1]))
		end--;
	return mem_strndup(text, end);
}

static void replace_home(struct expansion *expansion, char **path)
{
	char *whole = fs_expand_home(*path);

	if (whole)
		mem_replace(path, whole);
	else
		fail(expansion, "HOME is not set; write the whole path");
}

/* "~/data.csv,$HOME/model#archive" is a list of two paths. */
static void expand_paths(struct expansion *expansion)
{
	struct conf_entry *entry = expansion->entry;
	struct str_list items cleanup_str_list = {0};

	if (!entry->key || !entry->key->path)
		return;
	if (entry->key->type == KEY_TEXT) {
		replace_home(expansion, &entry->value);
		return;
	}
	key_read_list(entry->key, entry->value, &items);
	for (size_t i = 0; i < items.count; i++)
		replace_home(expansion, &items.items[i]);
	mem_replace(&entry->value, str_list_join(&items, ","));
}

/* All readers compare a choice with the table's spelling. */
static void spell_choice(struct conf_entry *entry)
{
	const char *choice = NULL;

	if (entry->key && entry->key->type == KEY_CHOICE)
		choice = key_find_choice(entry->key, entry->value);
	if (choice)
		mem_replace(&entry->value, mem_strdup(choice));
}

static void resolve(struct conf *conf, struct conf_entry *entry, const struct expansion *outer)
{
	struct expansion expansion = {conf, entry, outer, outer ? outer->depth + 1 : 0, false};

	if (entry->state == CONF_RESOLVED)
		return;
	entry->state = CONF_RESOLVING;
	if (entry->literal) {
		mem_replace(&entry->value, mem_strdup(entry->raw));
	} else {
		char *expanded cleanup_free = expand(&expansion, entry->raw);
		mem_replace(&entry->value, trimmed(expanded));
	}
	keep_blank(entry);
	spell_choice(entry);
	expand_paths(&expansion);
	entry->invalid = expansion.failed;
	entry->state = CONF_RESOLVED;
}

void conf_substitute(struct conf *conf)
{
	const char *name;
	void *value;

	for (size_t i = 0; map_next(conf->entries, &i, &name, &value);)
		resolve(conf, value, NULL);
}
