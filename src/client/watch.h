/* A client that stays with its job: shows what happens, and passes Ctrl-C on. */
#ifndef TONY_CLIENT_WATCH_H
#define TONY_CLIENT_WATCH_H

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "client/opened.h"

/* The signals that watch_job() takes; they are to be blocked before. Not those that our caller had
 * ignored for us, as nohup does. */
void watch_signals(sigset_t *set);

struct watch_options {
	FILE *stream; /* for tony's own words */
	/* The programs' output on standard output and standard error in place of the table, from
	 * `tail` lines before its present end on (negative: all of it). */
	bool shows_output;
	int64_t tail;
	/* The first SIGINT or SIGTERM asks the job to stop, the second ends it; one that comes
	 * while nobody answers leaves. Else they leave it alone, as SIGHUP does always. */
	bool owns_job;
	bool goes_on;	    /* the job was watched before */
	int64_t timeout_ms; /* negative: none */
	/* The watch ends once it is true, as at the end of the time; NULL: it is not asked. */
	bool (*is_enough)(void *data, const struct job_view *view);
	void *data;
};

/* Follows the job until it has ended, a signal came or the time is over. Returns the exit code
 * (EXIT_CODE_INTERNAL where the job succeeded, and its programs' output could not be written), or
 * -1 and `err` when it could not be followed (the job goes on). All output was shown before it
 * returns. */
int watch_job(struct opened *opened, const struct watch_options *options, struct err *err);

/* Shown is the programs' output, or the table. */
struct watch_choice {
	bool follow, no_follow;
};

#define WATCH_OPTIONS(owner, member)                                                               \
	OPT_ROW("follow", owner, member.follow,                                                    \
		"show what the programs write, as a job of one task is shown in a terminal "       \
		"anyway; tony's own words then go to standard error",                              \
		.letter = 'f'),                                                                    \
		OPT_ROW("no-follow", owner, member.no_follow,                                      \
			"show the table of the tasks, whatever the job")

/* ERR_USAGE for both. */
int watch_choice_check(const struct watch_choice *choice, struct err *err);
/* Without either, a job of one task is shown by its output if standard output is a terminal. Sets
 * the options' stream, too: standard error beside the output. */
void watch_choose(const struct watch_choice *choice, const struct job *job,
		  struct watch_options *options);

/* A line about --follow for the user who sees neither output nor a terminal's table, in a job of
 * one task; NULL: there is no need. */
const char *watch_hint(const struct watch_choice *choice, const struct job *job);

/* The last words about a job that has ended: how, what failed first, which log to read. The last
 * lines of a failed program's output are among them unless they were shown. */
void watch_conclude(const struct opened *opened, const struct watch_options *options);

#endif
