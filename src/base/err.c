#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Takes ownership of `message`. The old message is freed last: the new one may quote it. */
static void replace(struct err *err, enum err_kind kind, char *message)
{
	char *old = err->message;

	err->kind = kind;
	err->message = message;
	free(old);
}

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	char *message = mem_vprintf(format, args);
	va_end(args);
	replace(err, kind, message);
	return -1;
}

static enum err_kind kind_of_errno(int number)
{
	switch (number) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_DENIED;
	case ENOSPC:
		return ERR_NO_SPACE;
	case EDQUOT:
		return ERR_QUOTA;
	default:
		return ERR_IO;
	}
}

int err_set_errno(struct err *err, const char *format, ...)
{
	int number = errno;
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	char *what cleanup_free = mem_vprintf(format, args);
	va_end(args);
	replace(err, kind_of_errno(number),
		mem_printf("%s: %s%s", what, strerror(number),
			   number == EMFILE ? "; raise the limit (ulimit -n)" : ""));
	errno = number;
	return -1;
}

int err_set_fork(struct err *err, const char *what)
{
	if (errno != EAGAIN)
		return err_set_errno(err, "%s", what);
	return err_set(err, ERR_FAILED,
		       "%s: %s: the limit on processes is met; raise it (ulimit -u, or pids.max of "
		       "the control group), or ask for fewer tasks",
		       what, strerror(EAGAIN));
}

bool err_is_silence(const struct err *err)
{
	return err->kind == ERR_UNREACHABLE || err->kind == ERR_INTERRUPTED;
}

int err_copy(struct err *err, const struct err *from)
{
	return err_set(err, from->kind, "%s", err_message(from));
}

int err_wrap(struct err *err, const char *format, ...)
{
	va_list args;

	if (!err || err->kind == ERR_NONE)
		return -1;
	va_start(args, format);
	char *context cleanup_free = mem_vprintf(format, args);
	va_end(args);
	replace(err, err->kind, mem_printf("%s: %s", context, err_message(err)));
	return -1;
}

int err_rename(struct err *err, const char *path, const char *shown)
{
	const char *at;

	while (err && err->message && (at = strstr(err->message, path)))
		replace(err, err->kind,
			mem_printf("%.*s%s%s", (int)(at - err->message), err->message, shown,
				   at + strlen(path)));
	return -1;
}

const char *err_message(const struct err *err)
{
	return err && err->message ? err->message : "no error";
}

void err_finish(struct err *err)
{
	free(err->message);
	*err = (struct err){0};
}

_Noreturn void bug_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: bug: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}
