#include "client/job_array.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Of ids of jobs that are submitted together. */
static const char *const beginnings[] = {JOB_FAMILY_ARRAY, JOB_FAMILY_PIPELINE};

struct numbers {
	int64_t *items;
	size_t count;
};

static bool has(const struct numbers *numbers, int64_t number)
{
	for (size_t i = 0; i < numbers->count; i++)
		if (numbers->items[i] == number)
			return true;
	return false;
}

/* "4", "1-10" or "0-20:5". */
static int add_range(struct numbers *numbers, const char *text, struct err *err)
{
	int64_t first, last, step = 1;
	char *range cleanup_free = mem_strndup(text, strcspn(text, ":"));
	char *start cleanup_free = mem_strndup(range, strcspn(range, "-"));
	const char *dash = strchr(range, '-'), *colon = strchr(text, ':');

	if (str_parse_int(start, 0, INT32_MAX, &first) < 0 ||
	    str_parse_int(dash ? dash + 1 : start, 0, INT64_MAX, &last) < 0 || last < first ||
	    (colon && (!dash || str_parse_int(colon + 1, 1, INT32_MAX, &step) < 0)) ||
	    (last > INT32_MAX && (last - first) / step < JOB_ARRAY_MAX))
		return err_set(err, ERR_USAGE,
			       "\"%s\" is no range of numbers; write 4, 1-10 or 0-20:5", text);
	for (int64_t number = first; number <= last; number += step) {
		if (has(numbers, number))
			continue;
		if (numbers->count == JOB_ARRAY_MAX)
			return err_set(err, ERR_USAGE,
				       "\"%s\": an array has %d jobs at most; submit several", text,
				       JOB_ARRAY_MAX);
		numbers->items[numbers->count++] = number;
	}
	return 0;
}

int job_array_parse(const char *text, int64_t **numbers, size_t *count, int64_t *limit,
		    struct err *err)
{
	size_t length = strcspn(text, "%");
	char *ranges cleanup_free = mem_strndup(text, length);
	struct numbers all = {mem_alloc_array(JOB_ARRAY_MAX, sizeof(*all.items)), 0};
	struct str_list parts cleanup_str_list = {0};
	int result = 0;

	*limit = 0;
	str_split(&parts, ranges, ',');
	for (size_t i = 0; i < parts.count && result == 0; i++)
		result = add_range(&all, parts.items[i], err);
	if (result == 0 && text[length] &&
	    str_parse_int(text + length + 1, 1, INT32_MAX, limit) < 0)
		result = err_set(err, ERR_USAGE,
				 "\"%s\": behind %% stands how many jobs may run at a time; write "
				 "1-10%%3",
				 text);
	if (result == 0 && all.count == 0)
		result = err_set(err, ERR_USAGE, "\"%s\" has no number; write 1-10", text);
	*numbers = all.items;
	*count = all.count;
	if (result < 0) {
		free(all.items);
		*numbers = NULL;
		*count = 0;
	}
	return result;
}

static void place(struct job *job, int64_t number)
{
	job->array_index = number;
	mem_replace(&job->name, mem_printf("%s_%lld", job->name, (long long)number));
	str_list_add(&job->tags, job->array);
	str_list_add_format(&job->tags, "%s_%lld", job->array, (long long)number);
}

char *job_array_make_id(const char *beginning, const struct job *job)
{
	return mem_printf("%s%s", beginning, strchr(job->id, '-') + 1);
}

void job_array_begin(struct job *job, int64_t number)
{
	job->array = job_array_make_id(JOB_FAMILY_ARRAY, job);
	place(job, number);
}

void job_array_join(struct job *job, const char *array, int64_t number, const struct str_list *ids)
{
	/* job_array_begin() has made it the first one, as every description. */
	*strrchr(job->name, '_') = '\0';
	for (int i = 0; i < 2; i++)
		free(job->tags.items[--job->tags.count]);
	mem_replace(&job->array, mem_strdup(array));
	place(job, number);
	if (job->array_limit > 0)
		str_list_copy(&job->array_earlier, ids);
}

bool job_array_is_id(const char *word)
{
	for (size_t i = 0; i < array_length(beginnings); i++) {
		char *form cleanup_free = mem_printf("%s00000000-000000-xxxxxxxx", beginnings[i]);
		const char *rest = str_after_form(word, form);
		if (rest && (!*rest || (*rest == '_' && rest[1] &&
					!rest[strspn(rest, JOB_ARRAY_MEMBER "_-")])))
			return true;
	}
	return false;
}

bool job_array_is_whole(const char *word)
{
	return job_array_is_id(word) && !strchr(word, '_');
}
