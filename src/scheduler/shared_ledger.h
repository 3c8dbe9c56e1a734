/*
 * The shared ledger: what the jobs of all users hold of this machine. A user's own jobs share by
 * rules (ledger.h, allotment.h); here each only learns what others have taken. GPUs that another
 * user's job holds are not free. Memory and cores of other users are told, and take nothing away:
 * a user can claim any amount, and the kernel shares both out by itself.
 *
 * It is a folder of root's in which everybody may make files, and remove only his own (sticky). An
 * entry is one job's file. Nothing that a user writes is trusted but for his own jobs:
 *
 * - The file's owner, as the kernel says, is the entry's. The name in it is shown with the uid. The
 *   file's own name begins with that uid, or the file does not count.
 * - It counts while a process holds a write lock on it (fcntl's, of the open file). The kernel
 *   grants that only through a descriptor that may write, so to the owner's processes alone. AM and
 *   executors inherit it, user processes do not, and the kernel gives it back with the last of
 *   them. So no entry outlives its owner's processes, and nobody else can keep it alive. (flock(2)
 *   would not do: whoever may read a file can flock it. A process id in the file would not either:
 *   where /proc hides others' processes, or in another pid namespace, it means nothing.)
 * - There is no lock over the whole, which anybody could keep. A job that wants a part writes it
 *   into its own entry, then reads all others, and has it only if it still fits. Of two that want
 *   the same at the same time the one that wrote later reads the other's entry, so they never both
 *   have it. Perhaps neither has: then each withdraws, and tries again after a random pause.
 *
 * For this a reader must find, of an entry that is just being rewritten, the old text or the new
 * one: an entry has two slots, written in turn, each with a number and a checksum.
 *
 * There is no queue between users: a place in it would have to be believed.
 *
 * A user can put any number of files into the folder, also under names that begin with the uid of
 * another. Of a user's own files the first 256 that may be alive are opened. A file whose name is
 * not its owner's, and one that its processes have left, is remembered by its name, which no honest
 * tony ever gives to another file: it costs a few system calls once, not each time.
 */
#ifndef TONY_SCHEDULER_SHARED_LEDGER_H
#define TONY_SCHEDULER_SHARED_LEDGER_H

#include "scheduler/neighbours.h"

/* $TONY_LEDGER_DIR, else the folder that the installation made. NULL: jobs of other users are not
 * seen, and `err` says why and what helps. The caller frees. */
char *shared_ledger_find(struct err *err);

/* Makes an empty entry and returns the open file that keeps it alive. */
int shared_ledger_hold(const char *directory, struct err *err);

/* Whether that would succeed now: leaves no file. */
int shared_ledger_try(const char *directory, struct err *err);

/* How a job goes on whose entry could not be made because of `why`, as on a full file system. 0: a
 * job without GPUs runs without an entry, and a warning says so. -1: a job with GPUs cannot run,
 * and `err` says the remedy. */
int shared_ledger_forgo(bool wants_gpus, const struct err *why, struct err *err);

struct shared_ledger;

/* `held` is shared_ledger_hold()'s and stays the caller's; `user`: how the owner is called. */
struct shared_ledger *shared_ledger_open(const char *directory, const char *user, int held);

/* Makes the own entry again, empty and at the same descriptor, if it is gone: for a job that holds
 * nothing, as nobody can have taken any of that. 1: that was done; 0: it is there. */
int shared_ledger_renew(struct shared_ledger *ledger, struct err *err);

/* Says what the own job holds, if that has changed. -1: other users cannot see it; `err` says
 * what they see, and what becomes of the job's GPUs. Says so also when nothing has changed, while
 * the entry's file is removed. */
int shared_ledger_write(struct shared_ledger *ledger, const struct ledger_entry *own,
			struct err *err);

/* Reads the entries of live jobs, in place of what was in `neighbours`, but the own one, and those
 * of this user's that are among the `count` `known` ones. `max_gpus`: a user's GPUs beyond these do
 * not count; 0: all do. -1: also when the own entry is not in the folder. */
int shared_ledger_read(struct shared_ledger *ledger, const struct ledger_entry *known, size_t count,
		       int64_t max_gpus, struct neighbours *neighbours, struct err *err);

/* A descriptor of the caller's that becomes readable when the own entry's file may have been
 * removed. -1: not to be had. */
int shared_ledger_watch(const struct shared_ledger *ledger);

/* The entry stays as it is. NULL is fine. */
void shared_ledger_close(struct shared_ledger *ledger);

/* The same for a process that has no entry itself. */
int shared_ledger_look(const char *directory, const struct ledger_entry *known, size_t count,
		       int64_t max_gpus, struct neighbours *neighbours, struct err *err);

/* Removes the entries that dead jobs of this user have left. */
void shared_ledger_clean(const char *directory);

/* One entry's file: two slots of SHARED_ENTRY_SLOT bytes. For shared_ledger.c and the tests. */
enum { SHARED_ENTRY_SLOT = 16 << 10, SHARED_ENTRY_SIZE = 2 * SHARED_ENTRY_SLOT };
struct shared_entry {
	int64_t sequence; /* of this text; the slot is the lowest bit */
	char *user;	  /* one word; "-": none */
	struct ledger_entry entry;
};
void shared_entry_finish(struct shared_entry *entry);
#define cleanup_shared_entry __attribute__((cleanup(shared_entry_finish)))

/* The newest slot that is whole; `entry` is empty before. */
int shared_entry_parse(const char *bytes, size_t length, struct shared_entry *entry,
		       struct err *err);
/* A slot's line, with its newline. The caller frees. */
char *shared_entry_format(int64_t sequence, const char *user, const struct ledger_entry *entry);

#endif
