/*
 * Logs of running tasks whose files this machine does not see: the AM sends them (docs/rest.md,
 * "Logs"), with the times at which they were written.
 */
#ifndef TONY_LOGS_LIVE_H
#define TONY_LOGS_LIVE_H

#include "logs/search.h"
#include "logs/source.h"
#include "net/http_client.h"

/* What a container has written so far; asked for as it is read. `attempt`: of the task. `am` is to
 * outlive it. `search`, which is copied: the AM need not send lines that it does not find; an AM of
 * an earlier version sends them all the same. */
struct log_source *log_live_present(const struct http_target *am, const char *task, int attempt,
				    const char *log, const struct log_search *search);

/* Logs that are followed, all on one event loop. */
struct log_live;
struct log_live *log_live_create(void);
/* Not before its sources. NULL is fine. */
void log_live_destroy(struct log_live *live);

/* A task's log, through all of its containers from the present one on. */
struct log_source *log_live_follow(struct log_live *live, const char *task, const char *log,
				   const struct log_search *search);

/* Asks the AM (without an address: nobody) for all logs that it is not asked for yet; those that
 * broke off go on where they did. To be called once all that came is read. */
void log_live_ask(struct log_live *live, const struct http_target *am);

/* Waits until bytes come, or an answer ends or breaks off, at most so long. False, at once: all
 * logs have ended. */
bool log_live_wait(struct log_live *live, int64_t timeout_ms);
/* The job has ended: nobody is asked any more. Answers to earlier questions may still come. */
void log_live_conclude(struct log_live *live);
/* Nor is that waited for any longer. */
void log_live_give_up(struct log_live *live);

/* A followed log of which nothing came, though a container may have written some. The texts are
 * its own. */
struct log_missed {
	const char *task, *log;
	int attempt; /* of the task: its container had ended before the AM was asked; 0: no AM has
		      * answered */
};
/* Each is told once; false: there is none. */
bool log_live_take_missed(struct log_live *live, struct log_missed *missed);

#endif
