#include "client/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/exit_code.h"

int report_error(const struct err *err)
{
	fflush(stdout);
	fprintf(stderr, "tony: %s\n", err_message(err));
	return (int)exit_code_of(err->kind);
}

void report_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	char *clean cleanup_free = str_printable(text, strlen(text));
	fprintf(stderr, "tony: %s\n", clean);
}

int report_flush_job(FILE *stream, const char *id, const char *what)
{
	errno = 0; /* of a line before, it is not known any more */
	if (fflush(stream) == 0 && !ferror(stream))
		return 0;
	fprintf(stderr, "tony: %s %s, but that could not be written%s%s\n", id, what,
		errno ? ": " : "", errno ? strerror(errno) : "");
	__fpurge(stream);
	clearerr(stream);
	return -1;
}

void report_flush_end(FILE *stream, const struct job_view *view)
{
	char *what cleanup_free = mem_printf("has ended (%s)", job_state_name(view->state));

	report_flush_job(stream, view->job->id, what);
}

void report_json(json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2));
	puts(text);
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
