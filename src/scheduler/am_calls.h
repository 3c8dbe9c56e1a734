/* Questions to application masters that are asked side by side, on one event loop: each has a limit
 * of its own, and an AM that does not answer holds up no other question. */
#ifndef TONY_SCHEDULER_AM_CALLS_H
#define TONY_SCHEDULER_AM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct am_call;
struct am_calls;
struct job_door;

enum { AM_CALLS_AT_A_TIME = 100 }; /* connections; the questions after these wait for them */

struct am_calls *am_calls_create(void);
/* Every call is dropped before. NULL is fine. */
void am_calls_destroy(struct am_calls *calls);

/* Takes answers for `ms`, or until a signal pends (net/interrupt.h). */
void am_calls_run(struct am_calls *calls, int64_t ms);
/* The same, until one has come at most. */
void am_calls_wait(struct am_calls *calls, int64_t ms);
/* The same, until none is missing. */
void am_calls_finish(struct am_calls *calls, int64_t ms);

/* As job_door_call(); the limit counts from when the question is sent. `door` has an address, and
 * is needed for this call only. */
struct am_call *am_call_start(struct am_calls *calls, const struct job_door *door,
			      const char *method, const char *path, const char *body,
			      int64_t timeout_ms);
bool am_call_has_ended(const struct am_call *call);
/* Of one that has ended, which is gone then: 0 with the answer's status and body, or -1. */
int am_call_take(struct am_call *call, int *status, struct str *response, struct err *err);
/* Its answer is of no interest any more. NULL is fine. */
void am_call_drop(struct am_call *call);

#endif
