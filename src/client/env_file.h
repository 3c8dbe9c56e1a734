/* Variables for a job's programs that stand in no argument list: every user of the machine may read
 * those. */
#ifndef TONY_CLIENT_ENV_FILE_H
#define TONY_CLIENT_ENV_FILE_H

#include "base/err.h"
#include "base/str.h"

enum { ENV_FILE_CAP = 1 << 20 };

/* Appends the file's lines NAME=VALUE. The value is all that follows, but for quotes around the
 * whole of it; ${} means nothing, nor does "export " before NAME. A line NAME takes the value from
 * tony's own environment. Empty lines and those that begin with # are left out. The file may be a
 * pipe. Fails with its path and line; ENV_FILE_CAP bytes at most. */
int env_file_read(const char *path, struct str_list *pairs, struct err *err);

/* Appends NAME with its value in tony's own environment; fails when it has none. */
int env_file_take(const char *name, struct str_list *pairs, struct err *err);

#endif
