#include "executor/handled.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

enum {
	CODE_OF_PYTHON = 1, /* of an exception that nobody caught */
	MANY_LINES = 6,	    /* more than a program says on its way out */
};

bool handled_is_record(const char *line)
{
	static const char *const levels[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

	for (size_t i = 0; i < array_length(levels); i++) {
		size_t length = strlen(levels[i]);
		if (strncmp(line, levels[i], length) == 0 && strchr(": ", line[length]))
			return true;
	}
	line += line[0] == '[';
	return strspn(line, "0123456789") == 4 && line[4] == '-'; /* 2026-11-28 20:38:21 ... */
}

static bool is_error_record(const char *line)
{
	return strstr(line, "ERROR") || strstr(line, "CRITICAL");
}

/* Of a shell around the program, or of a program that tells that it ends: the reason is above. */
static bool tells_of_end(const char *line)
{
	const char *colon = strchr(line, ':');

	return (colon && colon - line > 3 && strncmp(colon - 3, ".sh", 3) == 0) ||
	       strcasestr(line, "fail") || strcasestr(line, "exit");
}

/* Indented lines belong to what is above, and "[rank1]: ..." is another process's. */
static bool is_own(const char *line)
{
	return !isspace((unsigned char)*line) && *line != '[' && !tells_of_end(line) &&
	       (!handled_is_record(line) || is_error_record(line));
}

struct behind {
	size_t lines;	/* not indented, of whatever kind */
	bool has_own;	/* something that may be about the end */
	bool has_later; /* it is surely no part of the exception's message */
	bool has_error; /* it is of a program that names its error so */
};

static void look_behind(const struct str_list *lines, const bool *told,
			const struct traceback *traceback, struct behind *behind)
{
	bool has_ended = false; /* the message */

	*behind = (struct behind){0};
	for (size_t i = traceback->last + 1; i < lines->count; i++) {
		const char *line = lines->items[i];
		has_ended = has_ended || line[0] == '\0' || handled_is_record(line);
		if (line[0] == '\0' || told[i])
			continue;
		behind->lines += !isspace((unsigned char)*line) && *line != '[';
		if (!is_own(line))
			continue;
		behind->has_own = true;
		behind->has_later = behind->has_later || has_ended;
		behind->has_error = behind->has_error || strstr(line, ": error: ");
	}
}

static bool is_of_import(const char *exception)
{
	return str_starts_with(exception, "ModuleNotFoundError:") ||
	       str_starts_with(exception, "ImportError:");
}

bool handled_is(const struct str_list *lines, const bool *told, const struct traceback *traceback,
		int code)
{
	struct behind behind;
	const char *exception = lines->items[traceback->exception] + traceback->prefix;

	if (traceback_has_paragraphs(exception))
		return false;
	look_behind(lines, told, traceback, &behind);
	if (code == 0)
		return behind.lines >= MANY_LINES;
	if ((code > CODE_OF_PYTHON && behind.has_error) ||
	    (is_of_import(exception) && behind.has_own))
		return true;
	return behind.has_later && traceback->first > 0 &&
	       handled_is_record(lines->items[traceback->first - 1]);
}
