/*
 * The ledger: which job holds, and which waits for, how much of this machine.
 *
 * One file per job, locked (flock) by an open file that the job's AM opens and every executor of
 * the job inherits, user processes not. So the kernel itself gives the job's part back when the
 * last of them is gone, however it went: an entry that can be locked is a dead one. A second lock,
 * over the whole ledger, is held only while entries are read and the own one is rewritten.
 */
#ifndef TONY_SCHEDULER_LEDGER_H
#define TONY_SCHEDULER_LEDGER_H

#include <stdbool.h>

#include "scheduler/share.h"

struct ledger_entry {
	char *job;
	int64_t containers; /* held */
	struct share holds;
	struct str_list gpus; /* names of the GPUs held: as many as holds.gpus */
	int64_t ticket;	      /* place in the queue: lower came earlier; 0: waits for nothing */
	struct share wants;   /* what it waits for */
	int64_t priority;     /* larger ones go first */
	char *parent;	      /* the job within which this one was submitted; NULL: none */
};

struct ledger;

/* Makes the directory and the job's own, empty entry, and returns the open file that holds it: for
 * a process that outlives ledgers of the job. -1: also when processes of another start of this job
 * still hold one. */
int ledger_hold(const char *directory, const char *job, struct err *err);

/* `held` is ledger_hold()'s and stays the caller's. What the entry says is what the job has. */
struct ledger *ledger_open(const char *directory, const char *job, int held, struct err *err);

/* As ledger_open() got it: the open file that executors inherit. Close-on-exec: to be cleared in
 * the child. */
int ledger_descriptor(const struct ledger *ledger);

/* Locks the ledger and reads all entries. 0; 1 when another process is just at it (try again in a
 * few ms: this never waits); -1 and `err`. After 0 comes ledger_commit(). */
int ledger_begin(struct ledger *ledger, struct err *err);

/* Entries of live jobs but the own, in order of the jobs' names; valid until ledger_commit(). */
const struct ledger_entry *ledger_others(const struct ledger *ledger, size_t *count);

/* The own entry, to be changed between begin and commit. */
struct ledger_entry *ledger_own(struct ledger *ledger);

/* A ticket behind all that are out. Between begin and commit. */
int64_t ledger_next_ticket(const struct ledger *ledger);

/* Writes the own entry if it changed and unlocks, also on failure. */
int ledger_commit(struct ledger *ledger, struct err *err);

/* A descriptor that is readable when the entry of `job` (NULL: any) may have changed; of a job that
 * has none any more, it tells of all. ledger_drain() makes it unreadable again. -1: not to be had,
 * poll instead. */
int ledger_watch(struct ledger *ledger, const char *job);
void ledger_drain(struct ledger *ledger);
void ledger_unwatch(struct ledger *ledger);

/* Whether a live job still waits with this ticket: seen without the lock over all. */
bool ledger_waits(const struct ledger *ledger, const char *job, int64_t ticket);

/* The entry stays as it is. NULL is fine. */
void ledger_close(struct ledger *ledger);

/* For a process that has no entry itself: ledger_others() are those of all live jobs until it is
 * closed. */
struct ledger *ledger_look(const char *directory, struct err *err);

/* Removes entries that nobody holds. */
void ledger_clean(const char *directory);

/* One entry's text, for ledger.c and the tests. */
int ledger_parse(const char *bytes, size_t length, struct ledger_entry *entry, struct err *err);
char *ledger_format(const struct ledger_entry *entry); /* the caller frees */
void ledger_entry_finish(struct ledger_entry *entry);

#endif
