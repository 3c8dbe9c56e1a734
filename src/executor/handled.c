#include "executor/handled.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "executor/aside.h"

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

/* Of a shell, a launcher or time(1) around the program, or of a program that tells that it ends:
 * the reason is above. */
static bool tells_of_end(const char *line)
{
	static const char *const words[] = {"fail", "exit", "abort", "terminat", "kill", "status"};
	static const char *const times[] = {"real\t", "user\t", "sys\t"};
	const char *colon = strchr(line, ':');

	if (str_has_any_nocase(line, words, array_length(words)))
		return true;
	for (size_t i = 0; i < array_length(times); i++)
		if (str_starts_with(line, times[i]))
			return true;
	return colon && colon - line > 3 && strncmp(colon - 3, ".sh", 3) == 0;
}

/* Indented lines belong to what is above, "[rank1]: ..." is another process's, and "+ ..." what a
 * shell does. */
static bool is_own(const char *line)
{
	bool has_letter = isalnum((unsigned char)*line) || (unsigned char)*line & 0x80;

	return has_letter && !tells_of_end(line) &&
	       (!handled_is_record(line) || is_error_record(line));
}

struct behind {
	size_t lines;	/* not indented, of whatever kind */
	bool ends_own;	/* the last one may be about the end */
	bool has_ended; /* the exception's message has, before that */
	bool has_error; /* one is of a program that names its error so */
};

static void look_behind(const struct str_list *lines, const bool *told,
			const struct traceback *traceback, struct behind *behind)
{
	*behind = (struct behind){0};
	for (size_t i = traceback->last + 1; i < lines->count; i++) {
		const char *line = lines->items[i];
		behind->has_ended = behind->has_ended || line[0] == '\0' || handled_is_record(line);
		if (aside_is(line, ASIDE_LAUNCHER))
			behind->ends_own = false; /* lines above may be of other ranks */
		if (line[0] == '\0' || told[i])
			continue;
		behind->lines += !isspace((unsigned char)*line) && *line != '[';
		behind->ends_own = is_own(line);
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
	if (code > CODE_OF_PYTHON && behind.has_error)
		return true;
	if (!behind.ends_own)
		return false;
	if (behind.lines >= MANY_LINES || is_of_import(exception))
		return true;
	return traceback->first > 0 && behind.has_ended &&
	       handled_is_record(lines->items[traceback->first - 1]);
}
