#include "executor/progress.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"

enum { FILE_CAP = 256, DIGITS_MAX = 15 };

static void skip(const char **at, const char *end, const char *letters)
{
	while (*at < end && **at && strchr(letters, **at))
		(*at)++;
}

/* A decimal fraction is cut off. */
static bool take_number(const char **at, const char *end, int64_t *number)
{
	const char *start = *at;

	*number = 0;
	for (; *at < end && isdigit((unsigned char)**at); (*at)++)
		*number = *at - start < DIGITS_MAX ? *number * 10 + (**at - '0') : *number;
	if (*at == start || *at - start > DIGITS_MAX)
		return false;
	if (*at < end && **at == '.')
		(*at)++;
	skip(at, end, "0123456789");
	return true;
}

bool progress_parse(const char *bytes, size_t length, struct progress *progress)
{
	const char *at = bytes, *end = bytes + length;
	int64_t step, total = 0;

	skip(&at, end, " \t\r\n");
	if (!take_number(&at, end, &step))
		return false;
	skip(&at, end, " \t/");
	if (at < end && isdigit((unsigned char)*at) && !take_number(&at, end, &total))
		return false;
	skip(&at, end, " \t\r\n");
	if (at < end)
		return false;
	progress->step = step;
	progress->total = total;
	return true;
}

char *progress_path(const char *first, size_t process)
{
	return process == 0 ? mem_strdup(first) : mem_printf("%s-%zu", first, process);
}

static bool read_one(const char *first, size_t process, struct progress *progress)
{
	char *path cleanup_free = progress_path(first, process);
	size_t length;
	char *text cleanup_free = fs_read_file(path, FILE_CAP, &length, NULL);

	return text && progress_parse(text, length, progress);
}

bool progress_read(const char *first, size_t processes, struct progress *progress)
{
	bool found = false;
	int64_t change = 0;

	for (size_t i = 0; i < processes; i++) {
		struct progress one;
		if (!read_one(first, i, &one))
			continue;
		if (!found || one.step < progress->step)
			*progress = one;
		change += one.step;
		found = true;
	}
	progress->change = change;
	return found;
}
