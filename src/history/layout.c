#include "history/layout.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

#define SECOND_MS 1000

bool history_is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t length = strspn(name, letters);

	return length > 0 && length <= HISTORY_ID_CAP && *name != '.' && name[length] == '\0';
}

char *history_day(int64_t submitted_ms)
{
	time_t seconds = (time_t)(submitted_ms / SECOND_MS);
	struct tm tm = {.tm_mday = 1, .tm_year = 70};

	gmtime_r(&seconds, &tm); /* of a year that no calendar has: that of 1970 stays */
	return mem_printf("%04d/%02d/%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

char *history_path(int64_t submitted_ms, const char *job_id)
{
	char *day cleanup_free = history_day(submitted_ms);

	return mem_printf("%s/%s", day, job_id);
}

char *history_side_path(int64_t submitted_ms, const char *job_id, int attempt)
{
	char *day cleanup_free = history_day(submitted_ms);

	return mem_printf("%s/.%s.%d", day, job_id, attempt);
}

char *history_task_name(const char *type, int index)
{
	/* A colon cannot be in a name of HDFS. */
	return mem_printf("%s-%d", type, index);
}

/* "20261121-061400-1f3a09c4" */
static bool parse_stamp(const char *text, int64_t *ms)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y%m%d-%H%M%S", &tm);

	if (!end || *end != '-')
		return false;
	*ms = (int64_t)timegm(&tm) * SECOND_MS;
	return true;
}

bool history_id_days(const char *job_id, int64_t *first_ms, int64_t *last_ms)
{
	static const char local[] = "tony-", yarn[] = "application_";
	int64_t number;

	if (str_starts_with(job_id, local) && parse_stamp(job_id + strlen(local), first_ms)) {
		*last_ms = *first_ms + HISTORY_DAY_MS;
		return true;
	}
	if (!str_starts_with(job_id, yarn))
		return false;
	/* When the ResourceManager that counts the applications was started. */
	const char *start = job_id + strlen(yarn);
	char *text cleanup_free = mem_strndup(start, strcspn(start, "_"));
	if (str_parse_int(text, 0, INT64_MAX / 2, &number) < 0)
		return false;
	*first_ms = number - HISTORY_DAY_MS;
	*last_ms = INT64_MAX;
	return true;
}
