/* Descriptors: an AM holds a connection for each executor. */
#ifndef TONY_AM_OPEN_FILES_H
#define TONY_AM_OPEN_FILES_H

#include <stddef.h>

#include "base/err.h"

/* As many as are allowed. What runs in containers gets the limit that it would have had
 * (scheduler/launch.c). */
void open_files_raise(void);

/* -1: these are too few for a job of so many tasks. */
int open_files_check(size_t tasks, struct err *err);

#endif
