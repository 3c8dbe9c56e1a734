/* `tony history --sum-by`: what jobs held of the cluster, added up. */
#ifndef TONY_CLIENT_HISTORY_SUMS_H
#define TONY_CLIENT_HISTORY_SUMS_H

#include "base/err.h"
#include "client/ended_jobs.h"

extern const char *const history_sums_by[]; /* "user", "queue", "tag"; NULL ends it */

enum history_sums_form { HISTORY_SUMS_TABLE, HISTORY_SUMS_JSON, HISTORY_SUMS_CSV };

/* Prints a row for each value of `by` that jobs of the filter have; the exit code, or -1. */
int history_sums_print(const struct ended_filter *filter, const char *by,
		       enum history_sums_form form, struct err *err);

#endif
