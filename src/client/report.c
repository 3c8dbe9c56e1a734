#include "client/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/exit_code.h"

char *report_clean(const char *text)
{
	char *clean cleanup_free = str_printable(text, strlen(text));
	struct str lines = {0};

	for (const char *c = clean; *c; c++) {
		str_append_char(&lines, *c);
		if (*c == '\n')
			str_append(&lines, "  ");
	}
	return str_steal(&lines);
}

void report_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	char *clean cleanup_free = report_clean(text);
	fprintf(stderr, "tony: %s\n", clean);
}

int report_error(const struct err *err)
{
	fflush(stdout);
	report_note("%s", err_message(err));
	return (int)exit_code_of(err->kind);
}

int report_flush_job(FILE *stream, const char *id, const char *what)
{
	errno = 0; /* of a line before, it is not known any more */
	if (fflush(stream) == 0 && !ferror(stream))
		return 0;
	report_note("%s %s, but that could not be written%s%s", id, what, errno ? ": " : "",
		    errno ? strerror(errno) : "");
	__fpurge(stream);
	clearerr(stream);
	return -1;
}

void report_flush_end(FILE *stream, const struct job_view *view)
{
	char *what cleanup_free = mem_printf("has ended (%s)", job_state_name(view->state));

	report_flush_job(stream, view->job->id, what);
}

void report_text(const char *text)
{
	char *clean cleanup_free = isatty(STDOUT_FILENO) ? str_printable(text, strlen(text)) : NULL;

	puts(clean ? clean : text);
}

void report_json(json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2));
	report_text(text);
	free(text);
	json_decref(value);
}

int report_one_operand(const struct opt_table *table, const struct str_list *operands,
		       const char **operand, struct err *err)
{
	if (operands->count > 1)
		return err_set(err, ERR_USAGE, "too many arguments: \"%s\"; usage: %s",
			       operands->items[1], table->usage);
	*operand = operands->count == 1 ? operands->items[0] : NULL;
	return 0;
}

int report_no_operand(const struct opt_table *table, const struct str_list *operands,
		      struct err *err)
{
	if (operands->count > 0)
		return err_set(err, ERR_USAGE, "too many arguments: \"%s\"; usage: %s",
			       operands->items[0], table->usage);
	return 0;
}
