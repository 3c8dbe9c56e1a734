/*
 * What an AM tells the executors that an earlier one has left, at their doors:
 *
 *   POST /v1/am {"am_attempt": 2, "address": "node-7:4000", "proof": "..."}
 *
 * The proof is HMAC-SHA256 under the job's token, in hex, of what is told and whom: the token
 * itself is shown to nobody, as another process may listen at that port by now.
 */
#ifndef TONY_PROTOCOL_AM_CALL_H
#define TONY_PROTOCOL_AM_CALL_H

#include <stddef.h>

#include "base/err.h"

#define AM_CALL_PATH "/v1/am"
#define AM_CALL_CAP  4096u /* bytes */

/* Who is told. */
struct am_call_to {
	const char *token, *job;
	const char *task; /* "worker:0" */
	int attempt;
};

struct am_call {
	int am_attempt;
	char *address; /* HOST:PORT */
};

/* The caller frees. */
char *am_call_text(const struct am_call_to *to, const struct am_call *call);
/* ERR_DENIED: it does not come from an AM of this job, or is meant for another task. */
int am_call_parse(const struct am_call_to *to, const char *bytes, size_t length,
		  struct am_call *call, struct err *err);
void am_call_finish(struct am_call *call);
#define cleanup_am_call __attribute__((cleanup(am_call_finish)))

#endif
