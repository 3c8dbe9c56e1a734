/* Tokens by which processes of the job ask other services, in place of older ones: a member
 * "tokens" of messages (message.h). */
#ifndef TONY_PROTOCOL_NEW_TOKENS_H
#define TONY_PROTOCOL_NEW_TOKENS_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

#define NEW_TOKENS_CAP 262144 /* bytes of base64 */

#define NEW_TOKENS_NUMBER_MAX ((int64_t)1 << 60)

struct new_tokens {
	int64_t number; /* from 1 on, by which they are told from others of this job */
	char *bytes;	/* base64; as secret as a password. NULL: there are none */
};

void new_tokens_set_member(json_t *body, const struct new_tokens *tokens); /* if there are some */
int new_tokens_read_member(const json_t *body, struct new_tokens *tokens, struct err *err);
void new_tokens_copy(struct new_tokens *to, const struct new_tokens *from);
/* The bytes themselves, which the caller wipes and frees; NULL: `err`, it is no base64. */
char *new_tokens_decode(const char *base64, size_t *length, struct err *err);
void new_tokens_finish(struct new_tokens *tokens); /* wipes and frees */

#endif
