/* The names of the logs of a task: "stdout", "stderr-1" (of its second process), "executor". */
#ifndef TONY_LOGS_NAMES_H
#define TONY_LOGS_NAMES_H

#include "base/str.h"

/* The file that holds the log; NULL: there is no log of that name. The caller frees. */
char *log_file_name(const char *log);
/* The log in a file ("executor.log", not "stdout.times"); NULL: none. The caller frees. */
char *log_name_of_file(const char *file);

/* Adds the names of the logs of a task with so many processes: `stream` ("stdout", "stderr") alone,
 * or (NULL) all but its executor's. */
void log_names_add(struct str_list *names, const char *stream, int processes);

#endif
