/* Commands for the shell, read as far as that is possible without being one. */
#ifndef TONY_BASE_SHELL_H
#define TONY_BASE_SHELL_H

#include <stdbool.h>

/* The next word, without quotes, and *command behind it. NULL when there is none, or when the shell
 * would make something else of it (then *plain is false). The caller frees. */
char *shell_next_word(const char **command, bool *plain);

/* The file that runs commands: bash by `path` (a value of PATH), else where it usually is; the
 * POSIX shell where there is none. Absolute; the caller frees. */
char *shell_find(const char *path);

bool shell_is_assignment(const char *word); /* "NAME=value" */

#endif
