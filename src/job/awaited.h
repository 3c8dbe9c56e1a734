/* A job that another one waits for: an item of struct job's `after`. */
#ifndef TONY_JOB_AWAITED_H
#define TONY_JOB_AWAITED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* "JOB:success:SUBMITTED_MS" or "JOB:any:SUBMITTED_MS" as text. */
struct awaited {
	char *id;
	bool any_end; /* false: only its success will do */
	int64_t submitted_ms;
};
void awaited_finish(struct awaited *awaited);
#define cleanup_awaited __attribute__((cleanup(awaited_finish)))

/* On failure `awaited` needs no finishing. */
int awaited_parse(const char *text, struct awaited *awaited, struct err *err);
char *awaited_format(const struct awaited *awaited); /* the caller frees */

#endif
