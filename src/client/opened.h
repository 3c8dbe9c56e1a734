/* A job that a verb looks at: found, described, and folded from its journal. */
#ifndef TONY_CLIENT_OPENED_H
#define TONY_CLIENT_OPENED_H

#include "base/err.h"
#include "job/view.h"
#include "scheduler/scheduler.h"

struct opened {
	const struct scheduler_client_ops *ops;
	struct job_door door;
	char *id;
	char *journal_path;
	struct job *job;
	struct job_view *view;
};
#define cleanup_opened __attribute__((cleanup(opened_finish)))

/* `id` as scheduler_client_ops.find() takes it; NULL: the newest job. The journal is folded in as
 * far as it goes. */
int opened_find(struct opened *opened, const char *id, struct err *err);
void opened_finish(struct opened *opened);

/* Folds in what the journal has got since. */
int opened_refresh(struct opened *opened, struct err *err);

/* Blocks until the journal has its final line or timeout_ms have passed (0: no limit). `on_line`
 * (NULL: none) sees every line from sequence number `since` on. Returns 1 when final, 0 at the
 * timeout, -1 on error. */
int opened_follow(struct opened *opened, int64_t since, int64_t timeout_ms, journal_visit *on_line,
		  void *data, struct err *err);

/* Asks the AM, which must be there: the answer's JSON (NULL on any failure). */
json_t *opened_ask(const struct opened *opened, const char *method, const char *path,
		   const char *body, struct err *err);

#endif
