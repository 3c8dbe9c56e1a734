/*
 * Logs of running tasks whose files this machine does not see: the AM sends them (docs/rest.md,
 * "Logs"), with the times at which they were written.
 */
#ifndef TONY_CLIENT_LOG_LIVE_H
#define TONY_CLIENT_LOG_LIVE_H

#include "client/log_source.h"
#include "scheduler/scheduler.h"

/* What a container has written so far; asked for as it is read. `attempt`: of the task. `door` is
 * to outlive it, and has an address. */
struct log_source *log_live_present(const struct job_door *door, const char *task, int attempt,
				    const char *log);

/* Logs that are followed, all on one event loop. */
struct log_live;
struct log_live *log_live_create(void);
/* Not before its sources. NULL is fine. */
void log_live_destroy(struct log_live *live);

/* A task's log, through all of its containers from the present one on. */
struct log_source *log_live_follow(struct log_live *live, const char *task, const char *log);

/* Asks the AM for all logs that it is not asked for yet; those that broke off go on where they did.
 * To be called once all lines that came are read. */
void log_live_ask(struct log_live *live, const struct job_door *door);

/* Waits until bytes come, or an answer ends or breaks off, at most so long. False, at once: all
 * logs have ended. */
bool log_live_wait(struct log_live *live, int64_t timeout_ms);

#endif
