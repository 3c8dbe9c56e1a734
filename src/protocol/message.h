/*
 * Each message between the AM and its executors (docs/rest.md, "For executors") is a plain struct
 * with an encoder and a decoder. A decoder takes the bytes as if an enemy had sent them: it refuses
 * what is out of range, passes over members that it does not know, sets `err` to "member: what is
 * wrong", and leaves nothing to free on failure. An encoder borrows all that the struct holds, and
 * the caller frees its text.
 */
#ifndef TONY_PROTOCOL_MESSAGE_H
#define TONY_PROTOCOL_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "job/job_fields.h"

enum {
	MESSAGE_COUNT_MAX = 1000000000, /* attempts, epochs, restarts */
	MESSAGE_PID_MAX = 4194304,	/* the kernel's PID_MAX_LIMIT */
};
#define MESSAGE_AMOUNT_MAX ((int64_t)1 << 60)

/* A row of a table of job_fields_read(); its minimum may follow. */
#define MESSAGE_FIELD(type, name, member, of_kind, most, ...)                                      \
	{                                                                                          \
		name, .offset = offsetof(struct type, member), .kind = of_kind, .max = most,       \
		      ##__VA_ARGS__                                                                \
	}

/* Which process of which container. */
struct program_identity {
	int attempt, epoch, restart;
};

/* The object that the bytes are, or NULL. */
json_t *message_parse(const char *bytes, size_t length, struct err *err);
/* Takes `body`. */
char *message_text(json_t *body);

#endif
