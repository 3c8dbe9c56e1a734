/* A client that stays with its job: shows what happens, and passes Ctrl-C on. */
#ifndef TONY_CLIENT_WATCH_H
#define TONY_CLIENT_WATCH_H

#include <signal.h>
#include <stdio.h>

#include "base/err.h"
#include "client/opened.h"

/* The signals that watch_job() takes; they are to be blocked before. Not those that our caller had
 * ignored for us, as nohup does. */
void watch_signals(sigset_t *set);

/* Follows the job to its end on `stream`. Returns the exit code, or -1 and `err` when it could not
 * be followed (the job goes on). The first SIGINT or SIGTERM asks the job to stop, the second ends
 * it; after SIGHUP the job is left alone. */
int watch_job(struct opened *opened, FILE *stream, struct err *err);

/* The last words about a job that has ended: how, what failed first, which log to read. */
void watch_conclude(const struct opened *opened, FILE *stream);

#endif
