/* Readers by key name. A key that is not in the table is a fault of the program. */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf.h"
#include "conf/conf_internal.h"

enum { SHOWN_NAME = 200 }; /* bytes */

#define FORMAT_NAME(name)                                                                          \
	va_list args_;                                                                             \
	va_start(args_, format);                                                                   \
	char *name cleanup_free = mem_vprintf(format, args_);                                      \
	va_end(args_)

/* The valid value that was set, else the default. */
static const char *value_of(const struct conf *conf, const char *name, const struct key **key)
{
	const struct conf_entry *entry = conf_entry_of(conf, name);

	*key = key_find(name, NULL);
	if (!*key)
		BUG("no such key: %s", name);
	return entry && entry->value && !entry->invalid ? entry->value : (*key)->default_value;
}

const struct conf_entry *conf_find(const struct conf *conf, const char *format, ...)
{
	FORMAT_NAME(name);
	return conf_entry_of(conf, name);
}

const char *conf_text(const struct conf *conf, const char *format, ...)
{
	const struct key *key;

	FORMAT_NAME(name);
	const char *value = value_of(conf, name, &key);
	return value && *value ? value : NULL;
}

bool conf_bool(const struct conf *conf, const char *format, ...)
{
	const struct key *key;

	FORMAT_NAME(name);
	const char *value = value_of(conf, name, &key);
	return value && key_read_bool(value);
}

int64_t conf_int(const struct conf *conf, const char *format, ...)
{
	const struct key *key;

	FORMAT_NAME(name);
	const char *value = value_of(conf, name, &key);
	return value ? key_read_int(value) : 0;
}

int64_t conf_mib(const struct conf *conf, const char *format, ...)
{
	const struct key *key;

	FORMAT_NAME(name);
	const char *value = value_of(conf, name, &key);
	return value ? key_read_mib(value) : 0;
}

int64_t conf_ms(const struct conf *conf, const char *format, ...)
{
	const struct key *key;

	FORMAT_NAME(name);
	const char *value = value_of(conf, name, &key);
	return value ? key_read_ms(key, value) : 0;
}

void conf_list(const struct conf *conf, struct str_list *list, const char *format, ...)
{
	const struct key *key;

	FORMAT_NAME(name);
	const char *value = value_of(conf, name, &key);
	if (value)
		key_read_list(key, value, list);
	const struct conf_entry *entry = conf_entry_of(conf, name);
	for (size_t i = 0; entry && i < entry->literal_items.count; i++)
		str_list_add(list, entry->literal_items.items[i]);
}

char *conf_show_name(const char *name)
{
	char *shown = str_printable(name, strlen(name));

	for (char *c = shown; *c; c++)
		if (*c == '\t' || *c == '\n')
			*c = '?';
	if (strlen(shown) > SHOWN_NAME) {
		str_cut(shown, SHOWN_NAME);
		mem_replace(&shown, mem_printf("%s...", shown));
	}
	return shown;
}

char *conf_label(const struct conf_entry *entry)
{
	if (entry->typed)
		return mem_strdup(entry->origin);
	char *name cleanup_free = conf_show_name(entry->name);
	return mem_printf("%s: %s", entry->origin, name);
}

char *conf_locate(const struct conf *conf, const char *format, ...)
{
	FORMAT_NAME(name);
	const struct conf_entry *entry = conf_entry_of(conf, name);

	if (!entry || entry->layer == CONF_LAYER_DEFAULT)
		return mem_steal(&name);
	return conf_label(entry);
}
