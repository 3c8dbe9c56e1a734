/* Advice (src/advise) about a job that was opened. */
#ifndef TONY_CLIENT_ADVICE_H
#define TONY_CLIENT_ADVICE_H

#include <jansson.h>
#include <stdbool.h>

#include "client/opened.h"

/* As GET /v1/advice has it. A live job's AM is asked; one that has ended is looked at with what was
 * kept of its measurements, and with past runs of its name. NULL: `err`. */
json_t *advice_get(const struct opened *opened, struct err *err);

/* The job's metrics.jsonl, as far as it was kept; NULL: not, or not yet. The caller frees. */
char *advice_metrics(const struct opened *opened, size_t *length);

/* Of a job that has ended {TASK: its line of metrics.jsonl}, of the last attempt that was measured;
 * waits a moment for the history of one that has just ended. The caller frees. */
json_t *advice_series(const struct opened *opened);
/* The job's summary.json; NULL: no history has one. The caller frees. */
json_t *advice_summary(const struct opened *opened);

/* A sweep's table, as GET /v1/sweep has it: while its directory is there, that of now. NULL: it has
 * none (yet). The caller frees. */
json_t *advice_sweep(const struct opened *opened);

/* What is worst about a job that has just ended, a phrase; NULL: nothing worse than waste. Looks at
 * this machine's files alone. The caller frees. */
char *advice_headline(const struct opened *opened);

#endif
