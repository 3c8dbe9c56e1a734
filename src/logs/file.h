/*
 * A log that is a file of this machine, with its rotated parts, oldest first ("stdout.2",
 * "stdout.1", "stdout"), while it may still grow, be rotated or truncated.
 */
#ifndef TONY_LOGS_FILE_H
#define TONY_LOGS_FILE_H

#include "logs/source.h"

/* The file need not be there yet. */
struct log_source *log_file_open(const char *path);

#endif
