/*
 * How far a program says that it has come: in the file that TONY_PROGRESS_FILE names (tony-env(7)),
 * a number, its step, and behind a blank or a slash, if it likes, how many there will be.
 */
#ifndef TONY_EXECUTOR_PROGRESS_H
#define TONY_EXECUTOR_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	int64_t step;
	int64_t total;	/* 0: not told */
	int64_t change; /* another number after each step of any process */
};

/* "120", "120 1000", "120/1000". False: it says nothing. `change` is left alone. */
bool progress_parse(const char *bytes, size_t length, struct progress *progress);

/* The file of one process of a task, which need not be there. The caller frees. */
char *progress_path(const char *first, size_t process);

/* What the slowest of a task's processes says. False: none says anything, as while it writes. */
bool progress_read(const char *first, size_t processes, struct progress *progress);

#endif
