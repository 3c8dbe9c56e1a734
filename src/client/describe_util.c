/* Questions about a configuration that several parts of describe ask. */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"
#include "job/job_fields.h"

void describe_error(const struct describer *describer, const char *key, const char *format, ...)
{
	const struct conf_entry *entry = conf_find(describer->conf, "%s", key);
	char *where cleanup_free = conf_locate(describer->conf, "%s", key);
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	problems_error(describer->problems, conf_source(describer->conf, entry), "%s: %s", where,
		       text);
}

bool describe_is_set(const struct conf *conf, const char *key)
{
	const struct conf_entry *entry = conf_find(conf, "%s", key);

	return entry && !entry->invalid && entry->value && *entry->value;
}

bool describe_is_users(const struct conf *conf, const char *key)
{
	const struct conf_entry *entry = conf_find(conf, "%s", key);

	return entry && entry->layer != CONF_LAYER_DEFAULT;
}

enum job_mode describe_mode(const struct conf *conf)
{
	const char *mode = conf_text(conf, "tony.application.distributed-mode");

	return str_equal(mode, "FCFS") ? JOB_MODE_FCFS : JOB_MODE_GANG;
}

static bool has_am_key(const char *what)
{
	static const char *const of_am[] = {"memory", "vcores", "gpus", "command", "resources"};

	for (size_t i = 0; i < array_length(of_am); i++)
		if (str_equal(what, of_am[i]))
			return true;
	return false;
}

char *describe_type_key(const struct describer *describer, const char *type, const char *what)
{
	char *key cleanup_free = mem_printf("tony.%s.%s", type, what);
	char *am_key cleanup_free = mem_printf("tony.am.%s", what);

	if (!describer->single_node || !str_equal(type, SINGLE_NODE_TYPE) || !has_am_key(what))
		return mem_steal(&key);
	const struct conf_entry *own = conf_find(describer->conf, "%s", key);
	const struct conf_entry *of_am = conf_find(describer->conf, "%s", am_key);
	bool is_own = own && *own->raw && (!of_am || own->layer >= of_am->layer);
	return is_own ? mem_steal(&key) : mem_steal(&am_key);
}

int64_t describe_number(const struct conf *conf, const char *key)
{
	switch (key_find(key, NULL)->type) {
	case KEY_DURATION:
		return conf_ms(conf, "%s", key);
	case KEY_SIZE:
		return conf_mib(conf, "%s", key);
	default:
		return conf_int(conf, "%s", key);
	}
}

/* ---- the fields of a job that one key says ------------------------------------------------ */

static char *find_field_key(const struct describer *describer, const char *key, const char *type)
{
	const char *word = strstr(key, "<type>");
	const char *rest = word ? word + strlen("<type>") : NULL;

	if (!word)
		return mem_strdup(key);
	if (str_starts_with(key, "tony.<type>."))
		return describe_type_key(describer, type, rest + 1);
	return mem_printf("%.*s%s%s", (int)(word - key), key, type, rest);
}

/* An empty text counts as its key's default. */
static char *read_text(const struct conf *conf, const struct job_field *field, const char *key)
{
	const char *text = conf_text(conf, "%s", key);

	if (!text && field->common_key)
		text = conf_text(conf, "%s", field->common_key);
	return mem_strdup(text ? text : key_find(key, NULL)->default_value);
}

/* An unset choice is the first. */
static int read_choice(const struct conf *conf, const struct job_field *field, const char *key)
{
	const char *text = conf_text(conf, "%s", key);

	for (int i = 0; field->choices[i]; i++)
		if (str_equal_nocase(field->choices[i], text))
			return i;
	return 0;
}

static void describe_field(const struct conf *conf, const struct job_field *field, const char *key,
			   void *slot)
{
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_OPTIONAL_TEXT:
		*(char **)slot = read_text(conf, field, key);
		return;
	case FIELD_INT:
	case FIELD_OPTIONAL_INT:
		*(int *)slot = (int)describe_number(conf, key);
		return;
	case FIELD_INT64:
	case FIELD_OPTIONAL_INT64:
	case FIELD_KNOWN_INT64:
		*(int64_t *)slot = describe_number(conf, key);
		return;
	case FIELD_BOOL:
	case FIELD_OPTIONAL_BOOL:
		*(bool *)slot = conf_bool(conf, "%s", key);
		return;
	case FIELD_CHOICE:
		*(int *)slot = read_choice(conf, field, key);
		return;
	case FIELD_LIST:
		conf_list(conf, slot, "%s", key);
		return;
	}
}

void describe_fields(const struct describer *describer, const struct job_field *fields,
		     size_t count, void *target, const char *type)
{
	for (size_t i = 0; i < count; i++) {
		if (!fields[i].key)
			continue;
		char *key cleanup_free = find_field_key(describer, fields[i].key, type);
		describe_field(describer->conf, &fields[i], key, (char *)target + fields[i].offset);
	}
}

char *describe_interpreter(const char *venv, const char *python)
{
	if (!python)
		return NULL;
	return venv && *python != '/' ? mem_printf("venv/%s", python) : mem_strdup(python);
}
