/* Questions about a configuration that several parts of describe ask. */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"

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

bool describe_is_for_cluster(const struct conf *conf)
{
	return !str_equal(conf_text(conf, "tony.application.scheduler"), "local");
}

enum job_mode describe_mode(const struct conf *conf)
{
	const char *mode = conf_text(conf, "tony.application.distributed-mode");

	return str_equal(mode, "FCFS") ? JOB_MODE_FCFS : JOB_MODE_GANG;
}

char *describe_interpreter(const char *venv, const char *python)
{
	if (!python)
		return NULL;
	return venv && *python != '/' ? mem_printf("venv/%s", python) : mem_strdup(python);
}
