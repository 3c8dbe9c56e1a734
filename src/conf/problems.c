#include "conf/problems.h"

#include <stdarg.h>

#include "base/mem.h"

static void add(struct str_list *list, const char *format, va_list args)
{
	if (list->count > PROBLEMS_CAP)
		return;
	if (list->count == PROBLEMS_CAP) {
		str_list_add(list, "and more like these");
		return;
	}
	char *line cleanup_free = mem_vprintf(format, args);
	/* One place may be looked at twice, for two reasons; it is told once. */
	if (!str_list_has(list, line))
		str_list_add(list, line);
}

void problems_error(struct problems *problems, enum problem_source source, const char *format, ...)
{
	va_list args;

	problems->in_files |= source == PROBLEM_FILE;
	va_start(args, format);
	add(&problems->errors, format, args);
	va_end(args);
}

void problems_warning(struct problems *problems, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(&problems->warnings, format, args);
	va_end(args);
}

bool problems_are_full(const struct problems *problems)
{
	return problems->errors.count > PROBLEMS_CAP;
}

int problems_to_err(const struct problems *problems, struct err *err)
{
	if (problems->errors.count == 0)
		return 0;
	char *lines cleanup_free = str_list_join(&problems->errors, "\n");
	return err_set(err, problems->in_files ? ERR_CONFIG : ERR_USAGE, "%s", lines);
}

void problems_finish(struct problems *problems)
{
	str_list_finish(&problems->errors);
	str_list_finish(&problems->warnings);
}
