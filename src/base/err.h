/*
 * Errors: the last argument of every call that can fail.
 *
 * A fallible function returns 0 or -1 (or a pointer or NULL) and, on failure, sets `err` once;
 * success leaves it untouched. Callers add context on the way up with err_wrap(). `err` may be
 * NULL when the caller does not care. Out of memory is not an error: see mem.h.
 */
#ifndef TONY_BASE_ERR_H
#define TONY_BASE_ERR_H

#include <stdbool.h>

/* What went wrong, by what the caller can do about it. main() maps it to an exit code. */
enum err_kind {
	ERR_NONE = 0,
	ERR_FAILED,	 /* anything without a better class */
	ERR_USAGE,	 /* what was typed is wrong */
	ERR_CONFIG,	 /* the job's configuration is wrong */
	ERR_INPUT,	 /* bytes from a file or the wire are malformed */
	ERR_NOT_FOUND,	 /* no such file, job, task ... */
	ERR_DENIED,	 /* permission or token */
	ERR_EXPIRED,	 /* a ticket or token has ended, or is missing: the user gets another one */
	ERR_IO,		 /* the kernel said no: see the message for errno in words */
	ERR_NO_SPACE,	 /* a disk of this machine is full */
	ERR_QUOTA,	 /* a quota of a file system of this machine is used up */
	ERR_STORE_FULL,	 /* a cluster's file system is full, or a quota there is used up */
	ERR_UNREACHABLE, /* a peer does not answer */
	ERR_CAPACITY,	 /* the scheduler can never give what is asked for */
	ERR_STALE,	 /* an older attempt or epoch speaks */
	ERR_INTERRUPTED, /* a signal ended the wait for a peer */
};

struct err {
	enum err_kind kind;
	char *message; /* owned; NULL while there is no error; never ends in a newline */
};

/* For `struct err err cleanup_err = {0};` */
#define cleanup_err __attribute__((cleanup(err_finish)))

/* Sets the error and returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set() with ": " and errno in words appended; ENOENT becomes ERR_NOT_FOUND, EACCES,
 * EPERM and EROFS ERR_DENIED, ENOSPC ERR_NO_SPACE, EDQUOT ERR_QUOTA, all else ERR_IO. */
int err_set_errno(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same of a fork() that failed: a limit on processes is named with its remedy. */
int err_set_fork(struct err *err, const char *what);

/* Nobody answered, or a signal cut the wait: what was asked is not known. */
bool err_is_silence(const struct err *err);

/* Sets `err` to what `from` says, which stays as it is. Returns -1. */
int err_copy(struct err *err, const struct err *from);

/* Puts "context: " before the message of an error that is set. Returns -1. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes `shown` wherever the message has `path`, which leads to a file for this process alone
 * ("/proc/self/fd/9") and is no part of `shown`. Returns -1. */
int err_rename(struct err *err, const char *path, const char *shown);

/* The message, or "no error". Never NULL. */
const char *err_message(const struct err *err);

/* Frees the message and makes the error reusable. */
void err_finish(struct err *err);

/* For what cannot happen: prints file, line and text, then aborts. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void bug_at(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
