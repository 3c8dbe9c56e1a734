#include "client/env_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of editors on Windows */

enum { LINE_CAP = 131071 }; /* what Linux takes as one variable */

static bool is_name(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_.-", text[i]))
			return false;
	return length > 0;
}

int env_file_take(const char *name, struct str_list *pairs, struct err *err)
{
	const char *value = getenv(name);

	if (!is_name(name, strlen(name)))
		return err_set(err, ERR_USAGE, "\"%s\" is not a variable's name", name);
	if (!value)
		return err_set(err, ERR_USAGE,
			       "%s is not set in tony's environment; export it, or write %s=VALUE",
			       name, name);
	if (!str_is_utf8(value, strlen(value)))
		return err_set(err, ERR_CONFIG, "the value of %s is not UTF-8 text", name);
	str_list_add_format(pairs, "%s=%s", name, value);
	return 0;
}

/* NAME="a value" as a shell has it: quotes around the whole value are none of it. */
static void add_pair(const char *line, size_t name_length, struct str_list *pairs)
{
	const char *value = line + name_length + 1;
	size_t length = strlen(value);
	bool is_quoted = length >= 2 && strchr("\"'", *value) &&
			 strchr(value + 1, *value) == value + length - 1;

	if (is_quoted)
		str_list_add_format(pairs, "%.*s=%.*s", (int)name_length, line, (int)length - 2,
				    value + 1);
	else
		str_list_add(pairs, line);
}

/* The line itself may be a secret: only its number is told. */
static int read_line(const char *line, struct str_list *pairs, struct err *err)
{
	size_t length;

	line += strspn(line, " \t");
	if (*line == '\0' || *line == '#')
		return 0;
	if (str_starts_with(line, "export "))
		line += strlen("export ");
	length = strcspn(line, "=");
	if (!is_name(line, length))
		return err_set(err, ERR_CONFIG, "not NAME=VALUE, nor a variable's NAME");
	if (line[length] != '=')
		return env_file_take(line, pairs, err);
	if (!str_is_utf8(line, strlen(line)))
		return err_set(err, ERR_CONFIG, "the value of %.*s is not UTF-8 text", (int)length,
			       line);
	if (strlen(line) > LINE_CAP)
		return err_set(err, ERR_CONFIG,
			       "%.*s: longer than %d bytes; write it to a file of its own",
			       (int)(length < 64 ? length : 64), line, LINE_CAP);
	add_pair(line, length, pairs);
	return 0;
}

/* `bytes` end with a NUL of their own. The end of a line of Windows' is none of its value. */
static int read_lines(char *bytes, size_t length, struct str_list *pairs, int *number,
		      struct err *err)
{
	char *end = bytes + length, *next;

	for (char *line = bytes; line < end; line = next, (*number)++) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		char *line_end = newline ? newline : end;
		next = newline ? newline + 1 : end;
		if (memchr(line, '\0', (size_t)(line_end - line)))
			return err_set(err, ERR_CONFIG, "holds a NUL");
		if (line_end > line && line_end[-1] == '\r')
			line_end--;
		*line_end = '\0';
		if (read_line(line, pairs, err) < 0)
			return -1;
	}
	return 0;
}

int env_file_read(const char *path, struct str_list *pairs, struct err *err)
{
	FILE *file cleanup_file = fopen(path, "re");
	char *bytes cleanup_free = mem_alloc(ENV_FILE_CAP + 2);
	int number = 1;

	size_t length = file ? fread(bytes, 1, ENV_FILE_CAP + 1, file) : 0;
	if (!file || ferror(file))
		return err_set(err, ERR_CONFIG, "--env-file: \"%s\": %s; %s", path, strerror(errno),
			       errno == EACCES ? "make it readable (chmod)"
					       : "write the path of a file of NAME=VALUE lines");
	if (length > ENV_FILE_CAP)
		return err_set(err, ERR_CONFIG, "--env-file: %s is larger than 1 MiB", path);
	bytes[length] = '\0';
	size_t mark = str_starts_with(bytes, BYTE_ORDER_MARK) ? strlen(BYTE_ORDER_MARK) : 0;
	if (read_lines(bytes + mark, length - mark, pairs, &number, err) < 0)
		return err_wrap(err, "--env-file: %s:%d", path, number);
	return 0;
}
