/* How far a job's programs are, and which tasks are far behind their siblings, as the AM tells
 * (GET /v1/work of docs/rest.md). NULL stands for what is not known. */
#ifndef TONY_CLIENT_WORK_H
#define TONY_CLIENT_WORK_H

#include <jansson.h>

#include "client/opened.h"

enum { WORK_TIMEOUT_MS = 1000 }; /* who watches the job must not wait for an AM that is slow */

/* The answer; NULL: there is nobody who tells. */
json_t *work_ask(const struct opened *opened);
/* Of one of its "splits": "[######..............] 31%, 1860 of 6000 splits, pass 1 of 3, 16
 * leased". The caller frees. */
char *work_splits_text(const json_t *set);
/* Adds what each task uses, for work_use(). `work`: as of work_ask(). */
void work_add_use(json_t *work, const struct opened *opened);

/* "[######..............] 31%, steps 120 to 400 of 1000"; NULL: no program tells. The caller
 * frees. */
char *work_text(const json_t *work);

/* Why the task is a straggler, "worker:3 is at step 120, its siblings at 400"; NULL: it is none. */
const char *work_straggler(const json_t *work, const char *task);

/* Its present use (use.h); NULL: it is not known. */
const json_t *work_use(const json_t *work, const char *task);

#endif
