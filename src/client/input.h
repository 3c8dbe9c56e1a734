/* The client's own standard input. */
#ifndef TONY_CLIENT_INPUT_H
#define TONY_CLIENT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define INPUT_CAP ((int64_t)1 << 30) /* bytes of it that a program can get */

/* Says on standard error that a terminal is waited for, if `fd` is one: "the job file". */
void input_announce(int fd, const char *what);

/* Fails (ERR_USAGE) where `fd` was closed when tony started: `option` wants to read it. */
int input_check(int fd, const char *option, struct err *err);

/* Copies all that can be read from `fd` until its end into a new file, of its owner only. More than
 * `cap` bytes are refused (ERR_USAGE). A bar goes to standard error when that is a terminal.
 * `interrupted` is asked now and then; true ends it (ERR_FAILED). */
int input_keep(int fd, const char *path, int64_t cap, bool (*interrupted)(void), struct err *err);

/* Is there something that could be read at once, of a file, a pipe or a socket? Reads nothing and
 * waits for nothing. */
bool input_is_waiting(int fd);

#endif
