/*
 * Who may take how much when: the rules of the ledger, as arithmetic without I/O.
 *
 * First come, first served, and strictly: a job waits behind every job that waits longer, also when
 * what it needs would fit, so that small jobs cannot starve a large gang. Of those that hold
 * nothing a higher priority goes first. One exception: a job that holds containers goes before
 * those that hold none, and never waits behind others in its state, because it must get what it
 * misses before it can end and give anything back. A job that was submitted within another one
 * counts as that one does: the other may wait for it.
 *
 * Of the jobs of other users only the GPUs count.
 */
#ifndef TONY_SCHEDULER_ALLOTMENT_H
#define TONY_SCHEDULER_ALLOTMENT_H

#include "scheduler/capacity.h"
#include "scheduler/ledger.h"
#include "scheduler/neighbours.h"

struct allotment {
	const struct capacity *capacity;
	const struct ledger_entry *own;
	const struct ledger_entry *others;
	size_t count;
	const struct neighbours *neighbours; /* whose places in a queue do not count; NULL: none */
	uid_t user;			     /* whose jobs the own one and `others` are */
};

/* The job that goes first, or NULL when it is the own one's turn. */
const struct ledger_entry *allotment_ahead(const struct allotment *allotment);

/* Of those that go before the own job the last one, or NULL: as long as that one waits the own job
 * does, whatever the others do. */
const struct ledger_entry *allotment_before(const struct allotment *allotment);

/* Whether any other job waits. */
bool allotment_awaited(const struct allotment *allotment);

/* The share that no job holds: of other users' jobs only the GPUs count (shared_ledger.h). Memory
 * and vcores may be negative where jobs were started with different limits. */
struct share allotment_free(const struct allotment *allotment);

/* How many GPUs this user's jobs hold. */
int64_t allotment_users_gpus(const struct allotment *allotment);

/* Whether `need` is free now, whoever's turn it is. */
bool allotment_fits(const struct allotment *allotment, const struct share *need);

/* Whether no other job holds one of these. */
bool allotment_are_free(const struct allotment *allotment, const struct str_list *gpus);

/* Appends the names of `count` free GPUs, which the caller knows to be there. */
void allotment_pick_gpus(const struct allotment *allotment, int64_t count, struct str_list *gpus);

/* "waits for 8.0 GiB and 2 GPUs: 3.2 GiB and 1 GPU free, job X holds 20.0 GiB; 3 of 4 GPUs are held
 * by anna (...); job Y is first and waits for 1.0 GiB": of memory, cores and GPUs only what lacks,
 * and the jobs that hold it. The caller frees. */
char *allotment_waiting(const struct allotment *allotment, const struct share *need);

#endif
