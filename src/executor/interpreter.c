#include "executor/interpreter.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

enum { FIRST_LINE_CAP = 256 }; /* the kernel reads no more of it */

#define CONVERT "convert it with sed -i 's/\\r$//' %s"

/* "bash: line 1: ./a.sh: cannot execute: required file not found" -> "./a.sh" */
static char *find_script(const char *words)
{
	const char *end = strstr(words, ": cannot execute: required file not found");
	const char *start = end;

	if (!end)
		return NULL;
	while (start > words && !(start[0] == ' ' && start[-1] == ':'))
		start--;
	start += start > words;
	return mem_strndup(start, (size_t)(end - start));
}

/* Empty: it cannot be read. */
static char *read_first_line(const char *path)
{
	char bytes[FIRST_LINE_CAP];
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));
	const char *end = length > 0 ? memchr(bytes, '\n', (size_t)length) : NULL;

	return mem_strndup(bytes, end ? (size_t)(end - bytes) : length > 0 ? (size_t)length : 0);
}

static char *describe_script(const char *script, const char *line)
{
	if (!str_starts_with(line, "#!"))
		return mem_printf("the loader that %s was linked for is not on this machine",
				  script);
	if (str_ends_with(line, "\r"))
		return mem_printf("the #! line of %s ends in a carriage return; " CONVERT, script,
				  script);
	line += strlen("#!");
	line += strspn(line, " \t");
	char *name cleanup_free = str_printable(line, strcspn(line, " \t"));
	return mem_printf("%s asks for %s in its #! line, which is not there", script, name);
}

char *interpreter_fault(const char *words, const char *work_dir)
{
	char *script cleanup_free = find_script(words);

	if (script) {
		char *path cleanup_free = fs_join(work_dir, script);
		char *line cleanup_free = read_first_line(*script == '/' ? script : path);
		return describe_script(script, line);
	}
	/* env, and a shell before bash 5.2 */
	if (strstr(words, "\\r\xe2\x80\x99: No such file") || strstr(words, "\\r': No such file") ||
	    strstr(words, "^M: bad interpreter"))
		return mem_printf("the #! line of its script ends in a carriage return; " CONVERT,
				  "SCRIPT");
	return NULL;
}
