#include "history/layout.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

bool history_is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t length = strspn(name, letters);

	return length > 0 && length <= HISTORY_NAME_CAP && *name != '.' && name[length] == '\0';
}

bool history_is_id(const char *name)
{
	return history_is_name(name) && !strchr("-_", *name) && strlen(name) <= HISTORY_ID_CAP;
}

char *history_day(int64_t submitted_ms)
{
	time_t seconds = (time_t)(submitted_ms / 1000);
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
