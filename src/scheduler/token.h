/* The bearer token of a new job: 256 random bits, in hex. The caller frees. */
#ifndef TONY_SCHEDULER_TOKEN_H
#define TONY_SCHEDULER_TOKEN_H

#include "base/err.h"

char *token_create(struct err *err);

#endif
