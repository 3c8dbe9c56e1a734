/* Staging where containers do not see this machine's files: what stage_plan() found is handed to
 * the scheduler, which keeps it by content. */
#ifndef TONY_CLIENT_STAGE_SEND_H
#define TONY_CLIENT_STAGE_SEND_H

#include "client/stage.h"
#include "scheduler/scheduler.h"

/* Under this name src_dir is unpacked in a container; its content is then put into the working
 * directory. */
#define STAGE_SENT_SOURCE "tony-src"

/* In place of stage_resolve() and stage_copy(). A bar goes to standard error when that is a
 * terminal. `interrupted` is asked now and then; true ends it (ERR_FAILED). */
int stage_send(const struct stage *stage, struct job *job, const struct scheduler_client_ops *ops,
	       bool (*interrupted)(void), struct err *err);

#endif
