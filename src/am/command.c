#include "am/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "protocol/message.h"

enum { REASON_CAP = 1024 };

static int read_words(const json_t *body, const char *name, char **words, struct err *err)
{
	char *text cleanup_free = NULL;

	if (json_read_text(body, name, &text, err) < 0)
		return -1;
	if (text && strlen(text) > REASON_CAP)
		return err_set(err, ERR_INPUT, "%s: is longer than %d bytes", name, REASON_CAP);
	*words = text ? str_printable(text, strlen(text)) : NULL;
	return 0;
}

int command_parse_kill(char **by, char **reason, const char *bytes, size_t length, struct err *err)
{
	*by = *reason = NULL;
	if (length == 0)
		return 0;
	json_t *body cleanup_json = message_parse(bytes, length, err);
	return body && read_words(body, "by", by, err) == 0
		       ? read_words(body, "reason", reason, err)
		       : -1;
}

static int read_wanted(const struct job *job, const char *name, const json_t *value, int *wanted,
		       struct err *err)
{
	int number = job_find_type(job, name);
	const struct job_type *type = number < 0 ? NULL : &job->types[number];

	if (!type)
		return err_set(err, ERR_INPUT, "%s: the job has no such task type", name);
	if (!job_type_is_elastic(type))
		return err_set(
			err, ERR_INPUT,
			"%s: has %d task%s and is not elastic; it would be, had the job been "
			"submitted with tony.%s.min-instances",
			name, type->instances, str_plural(type->instances), name);
	if (!json_is_integer(value) || json_integer_value(value) < type->min_instances ||
	    json_integer_value(value) > type->max_instances)
		return err_set(err, ERR_INPUT, "%s: may have %d to %d tasks", name,
			       type->min_instances, type->max_instances);
	wanted[number] = (int)json_integer_value(value);
	return 0;
}

int command_parse_scale(const struct job *job, int *wanted, const char *bytes, size_t length,
			struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);
	const char *name;
	json_t *value;

	if (!body)
		return -1;
	if (json_object_size(body) == 0)
		return err_set(err, ERR_INPUT, "names no task type");
	for (size_t i = 0; i < job->type_count; i++)
		wanted[i] = -1;
	json_object_foreach(body, name, value)
	{
		if (read_wanted(job, name, value, wanted, err) < 0)
			return -1;
	}
	return 0;
}
