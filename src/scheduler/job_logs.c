#include "scheduler/job_logs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROTATED_MAX 1000000 /* "stdout.1000000" is no part that tony made */

void job_log_destroy(struct job_log *log)
{
	if (log)
		log->ops->destroy(log);
}

void job_logs_destroy(struct job_logs *logs)
{
	if (logs)
		logs->ops->destroy(logs);
}

/* ---- a text ------------------------------------------------------------------------------- */

struct text_log {
	struct job_log base;
	struct job_log_part part;
	char *text;
};

static ssize_t read_text(struct job_log *base, size_t part, bool times, int64_t offset, void *bytes,
			 size_t length, struct err *err)
{
	const struct text_log *log = (const struct text_log *)base;
	size_t left = offset < log->part.length ? (size_t)(log->part.length - offset) : 0;

	if (length > left)
		length = left;
	memcpy(bytes, log->text + offset, length);
	return (ssize_t)length;
}

static void destroy_text(struct job_log *base)
{
	struct text_log *log = (struct text_log *)base;

	free(log->text);
	free(log);
}

struct job_log *job_log_of_text(const char *text)
{
	static const struct job_log_ops ops = {.read = read_text, .destroy = destroy_text};
	struct text_log *log = mem_alloc(sizeof(*log));

	log->text = mem_strdup(text);
	log->part = (struct job_log_part){.length = (int64_t)strlen(text)};
	log->base = (struct job_log){.ops = &ops, .parts = &log->part, .count = 1};
	return &log->base;
}

/* ---- parts -------------------------------------------------------------------------------- */

struct found {
	int64_t number; /* how often it was rotated: 0 for the last part */
	size_t index;
};

/* "stdout" is 0, "stdout.3" is 3; anything else is no part: -1. */
static int64_t part_number(const char *file, const char *name)
{
	size_t length = strlen(name);
	int64_t number;

	if (strncmp(file, name, length) != 0)
		return -1;
	if (file[length] == '\0')
		return 0;
	if (file[length] != '.' || str_parse_int(file + length + 1, 1, ROTATED_MAX, &number) < 0)
		return -1;
	return number;
}

static int older_first(const void *left, const void *right)
{
	const struct found *a = left;
	const struct found *b = right;

	return a->number == b->number ? 0 : a->number > b->number ? -1 : 1;
}

size_t job_logs_parts(const struct str_list *names, const char *name, size_t **parts)
{
	struct found *found = mem_alloc_array(names->count, sizeof(*found));
	size_t count = 0;

	for (size_t i = 0; i < names->count; i++) {
		int64_t number = part_number(names->items[i], name);
		if (number >= 0)
			found[count++] = (struct found){.number = number, .index = i};
	}
	if (count > 1)
		qsort(found, count, sizeof(*found), older_first);
	*parts = mem_alloc_array(count, sizeof(**parts));
	for (size_t i = 0; i < count; i++)
		(*parts)[i] = found[i].index;
	free(found);
	return count;
}
