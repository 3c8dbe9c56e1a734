/* A channel (net/channel.h) to one task of a job. */
#ifndef TONY_CLIENT_TASK_CHANNEL_H
#define TONY_CLIENT_TASK_CHANNEL_H

#include "client/opened.h"
#include "net/channel.h"

/* The task that the first `count` operands name: JOB TASK; TASK of the newest job; JOB, of which it
 * is the only task; or nothing. The job is opened, and has an AM. NULL: `err`. The caller frees. */
char *task_channel_find(struct opened *opened, const struct str_list *operands, size_t count,
			struct err *err);

/* POST /v1/tasks/{task}/WHAT. Target and path of `options` are filled in. */
struct channel *task_channel_open(const struct opened *opened, const char *task, const char *what,
				  struct channel_options options, struct err *err);

#endif
