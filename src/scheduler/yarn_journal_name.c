#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "scheduler/yarn_journal.h"

#define PREFIX "journal-"
#define SUFFIX ".jsonl"

char *yarn_journal_path(const char *directory, int am_attempt)
{
	return mem_printf("%s/" PREFIX "%d" SUFFIX, directory, am_attempt);
}

int yarn_journal_attempt(const char *name)
{
	size_t head = strlen(PREFIX), tail = strlen(SUFFIX), length = strlen(name);
	int64_t attempt = 0;

	if (length <= head + tail || strncmp(name, PREFIX, head) != 0 ||
	    !str_equal(name + length - tail, SUFFIX))
		return 0;
	char *number cleanup_free = mem_strndup(name + head, length - head - tail);
	return str_parse_int(number, 1, INT32_MAX, &attempt) < 0 ? 0 : (int)attempt;
}
