/*
 * The words of a launcher on its child's end, where they say more than its own: torchrun's report
 * with rank, exit code or signal, and the signals in the exceptions of other launchers.
 */
#ifndef TONY_EXECUTOR_LAUNCHER_H
#define TONY_EXECUTOR_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* torchrun's report on the rank that failed first (torch/distributed/elastic/multiprocessing/
 * errors/__init__.py). */
struct launcher_report {
	size_t begin; /* its first line, and its launcher's: the ranks' own are above */
	size_t root;  /* where it tells of that rank */
	int rank, local_rank;
	int exit_code, signal; /* one of them is 0 */
};
bool launcher_find_report(const struct str_list *lines, struct launcher_report *report);

/* The line is not of that rank, but of another one: "[rank3]: ...", torchrun's "[worker1]:...". */
bool launcher_is_other_rank(const struct launcher_report *report, const char *line);

/* The exception that the rank itself recorded (@record), as the report repeats it; NULL: none. The
 * caller frees. */
char *launcher_recorded(const struct launcher_report *report, const struct str_list *lines);

/* "its rank 1 was killed by signal 9 (SIGKILL)", "its rank 2 exited with code 3". The caller frees.
 */
char *launcher_report_text(const struct launcher_report *report);

/* The line is the exception of a launcher, a pool or another wrapper which says that a child ended,
 * and not why. */
bool launcher_is_wrapper(const char *line);

/* The signal that ended the child, if the line of a launcher or wrapper tells it; 0. */
int launcher_signal_in(const char *line);

#endif
