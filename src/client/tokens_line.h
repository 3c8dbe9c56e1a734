/* Until when the job's delegation tokens are good, and who renews them, as the AM tells
 * (GET /v1/job/tokens of docs/rest.md). NULL stands for what is not known, and for a job that has
 * none. */
#ifndef TONY_CLIENT_TOKENS_LINE_H
#define TONY_CLIENT_TOKENS_LINE_H

#include <jansson.h>

#include "client/opened.h"

json_t *tokens_ask(const struct opened *opened);
/* In words; the caller frees. */
char *tokens_text(const json_t *tokens);

#endif
