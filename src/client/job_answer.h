/* A job as tony status, submit and wait tell it with --json: docs/json/job.schema.json. */
#ifndef TONY_CLIENT_JOB_ANSWER_H
#define TONY_CLIENT_JOB_ANSWER_H

#include <jansson.h>

#include "client/opened.h"

json_t *job_answer(struct opened *opened);

/* Its tasks. The AM knows processes and metrics that the journal does not; without an AM the
 * journal is all. */
json_t *job_answer_tasks(struct opened *opened);

#endif
