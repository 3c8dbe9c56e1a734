/*
 * A program that tony asks something: nvidia-smi, a Python interpreter.
 */
#ifndef TONY_BASE_HELPER_H
#define TONY_BASE_HELPER_H

#include <sys/types.h>

/* Starts arguments[0] (a path) in a session of its own, with no signal blocked, an empty standard
 * input, standard output to `output`, no standard error, and no other descriptor. `directory`:
 * NULL is the caller's. The caller reaps it. -1 and errno: it could not be started. */
pid_t helper_start(char *const arguments[], const char *directory, char *const environment[],
		   int output);

/* Kills it and reaps it. One that hangs in its driver does not die even now, and is left: whoever
 * reaps all children does so once it does. */
void helper_end(pid_t pid);

#endif
