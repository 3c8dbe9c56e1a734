/*
 * A log that is a file of this machine, with its rotated parts, oldest first ("stdout.2",
 * "stdout.1", "stdout"), while it may still grow, be rotated or truncated.
 */
#ifndef TONY_LOGS_FILE_H
#define TONY_LOGS_FILE_H

#include "logs/source.h"

/* The file need not be there yet. */
struct log_source *log_file_open(const char *path);

/* Where reading such a log goes on, in a buffer of LOG_POSITION_SIZE. */
void log_file_tell(const struct log_source *file, char *position);

#endif
