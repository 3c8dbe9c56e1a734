/* Variables that are not set, of a job whose mistakes are to be told before it starts. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

#define SHELL_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

void conf_require_variables(struct conf *conf)
{
	conf->is_strict = true;
}

/* Where the word stands next, as a whole; NULL: nowhere. */
static const char *find_word(const char *text, const char *begin, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = begin; (at = strstr(at, word)); at++)
		if ((at == text || strchr(" \t\n;&|(,'\"", at[-1])) &&
		    strspn(at + length, SHELL_LETTERS) == 0)
			return at;
	return NULL;
}

/* Words after which a command of the shell's has the names of variables that it sets. */
static bool is_of_setter(const char *text, const char *at)
{
	static const char *const setters[] = {"for",	"read",	 "mapfile", "readarray", "getopts",
					      "printf", "local", "declare", "typeset",	 "export"};

	while (at > text && !strchr(";&|\n(", at[-1]))
		at--;
	char *command cleanup_free = mem_strndup(at, strcspn(at, ";&|\n)"));
	for (size_t i = 0; i < array_length(setters); i++)
		if (find_word(command, command, setters[i]))
			return true;
	return false;
}

/* By "NAME=", "for NAME", "read -r OTHER NAME" and their like. */
static bool sets(const char *text, const char *name)
{
	for (const char *at = text; (at = find_word(text, at, name)); at++)
		if (at[strlen(name)] == '=' || is_of_setter(text, at))
			return true;
	return false;
}

static bool environment_sets(const struct conf *conf, const char *name)
{
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);)
		if (entry->key && entry->key->type == KEY_ENVIRONMENT && sets(entry->value, name))
			return true;
	return false;
}

/* The name most like it that is set. The caller frees. */
static char *find_near(const struct conf *conf, const char *name)
{
	const char **names cleanup_free = mem_alloc_array(map_count(conf->entries), sizeof(*names));
	const struct conf_entry *entry;
	size_t count = 0;

	for (size_t i = 0; conf_next(conf, &i, &entry);)
		names[count++] = entry->name;
	const char *near = str_nearest(name, names, count);
	return near ? mem_strdup(near) : NULL;
}

/* ${HOME}, ${i} after "for i in", ${x:-1} and ${x%.csv}: a variable of the shell's has no dot. */
static bool is_shells(const struct conf *conf, const struct conf_entry *entry, const char *name)
{
	bool has_small = false;

	for (const char *c = name; *c; c++)
		has_small |= islower((unsigned char)*c);
	return strspn(name, SHELL_LETTERS) < strlen(name) || !has_small ||
	       sets(entry->value, name) || environment_sets(conf, name) || getenv(name);
}

static char *hint_at(const char *name, const char *near)
{
	if (str_starts_with(name, "env."))
		return mem_printf("write ${%s:-DEFAULT}", name);
	if (near)
		return mem_printf("did you mean ${%s}?", near);
	if (strchr(name, '.'))
		return mem_printf("give it by --conf %s=VALUE", name);
	return mem_printf("give it by --conf %s=VALUE; one of the shell's is $%s", name, name);
}

static void check_variable(struct conf *conf, const struct conf_entry *entry, const char *name)
{
	bool is_name = strspn(name, SHELL_LETTERS ".") == strlen(name);
	bool has_dot = strchr(name, '.');
	char *near cleanup_free = find_near(conf, name);

	if (has_dot ? !is_name && !near : is_shells(conf, entry, name))
		return;
	char *label cleanup_free = conf_label(entry);
	char *hint cleanup_free = hint_at(name, near);
	problems_error(&conf->problems, conf_source(conf, entry), "%s: ${%s} is not set; %s", label,
		       name, hint);
}

/* Names are told once for each value. */
static void check_entry(struct conf *conf, const struct conf_entry *entry)
{
	struct str_list told cleanup_str_list = {0};

	for (const char *at = entry->value; (at = strstr(at, "${"));) {
		at += strlen("${");
		size_t length = strcspn(at, "}$ \t\r\n");
		char *name cleanup_free = mem_strndup(at, length);
		if (length == 0 || at[length] != '}' || str_list_has(&told, name))
			continue;
		str_list_add(&told, name);
		check_variable(conf, entry, name);
	}
}

void conf_check_variables(struct conf *conf)
{
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);)
		if (entry->key && entry->layer >= CONF_LAYER_FILE && !entry->literal &&
		    !entry->invalid && !problems_are_full(&conf->problems))
			check_entry(conf, entry);
}
