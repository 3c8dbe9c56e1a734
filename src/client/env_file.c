#include "client/env_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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
		return err_set(
			err, ERR_USAGE,
			"%s is not set in tony's environment; export it, or write %s= for an empty "
			"value",
			name, name);
	if (!str_is_utf8(value, strlen(value)))
		return err_set(err, ERR_CONFIG, "the value of %s is not UTF-8 text", name);
	str_list_add_format(pairs, "%s=%s", name, value);
	return 0;
}

/* The line itself may be a secret: only its number is told. */
static int read_line(const char *line, struct str_list *pairs, struct err *err)
{
	size_t length;

	line += strspn(line, " \t");
	if (*line == '\0' || *line == '#')
		return 0;
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
	str_list_add(pairs, line);
	return 0;
}

/* The end of a line of Windows' is none of its value. */
static void end_line(char *line, size_t length)
{
	if (length > 0 && line[length - 1] == '\n')
		line[--length] = '\0';
	if (length > 0 && line[length - 1] == '\r')
		line[length - 1] = '\0';
}

/* A line longer than LINE_CAP ends there: read_line() refuses it. */
static int read_lines(FILE *file, struct str_list *pairs, int *number, struct err *err)
{
	char line[LINE_CAP + 3]; /* with the end of the line, and the string's */
	size_t total = 0;

	for (*number = 1; fgets(line, sizeof(line), file); (*number)++) {
		size_t length = strlen(line);
		total += length;
		if (total > ENV_FILE_CAP)
			return err_set(err, ERR_CONFIG, "the file is larger than 1 MiB");
		if (length == 0 ||
		    (line[length - 1] != '\n' && length < sizeof(line) - 1 && !feof(file)))
			return err_set(err, ERR_CONFIG, "holds a NUL");
		end_line(line, length);
		if (read_line(line, pairs, err) < 0)
			return -1;
	}
	return ferror(file) ? err_set_errno(err, "cannot be read") : 0;
}

int env_file_read(const char *path, struct str_list *pairs, struct err *err)
{
	FILE *file cleanup_file = fopen(path, "re");
	int number = 0;

	if (!file)
		return err_set_errno(err, "--env-file: cannot open \"%s\"", path);
	if (read_lines(file, pairs, &number, err) < 0)
		return err_wrap(err, "--env-file: %s:%d", path, number);
	return 0;
}
