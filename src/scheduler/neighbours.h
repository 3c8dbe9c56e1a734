/* The jobs of other users of this machine, as the shared ledger tells of them (shared_ledger.h). */
#ifndef TONY_SCHEDULER_NEIGHBOURS_H
#define TONY_SCHEDULER_NEIGHBOURS_H

#include <sys/types.h>
#include <time.h>

#include "scheduler/ledger.h"

/* A job of another user, or one of this user's that is in another state directory. */
struct neighbour {
	uid_t uid;
	char *user; /* "anna"; "anna, uid 4711" or "uid 4711" where /etc/passwd does not know him */
	char *since;		   /* when it last changed: "14:02", "2026-11-21 14:02" */
	struct ledger_entry entry; /* without ticket and wants */
};

/* `claimed`: how the entry calls its owner; "-": not at all. Takes what `entry` holds. */
struct neighbour neighbour_make(uid_t uid, const char *claimed, time_t changed,
				struct ledger_entry *entry);

struct neighbours {
	struct neighbour *items;
	size_t count;
};
void neighbours_finish(struct neighbours *neighbours);
#define cleanup_neighbours __attribute__((cleanup(neighbours_finish)))

/* "2 of 4 GPUs are held by anna (JOB, since 14:02)", of the first few jobs that hold some of these
 * `gpus`. The same of memory where `gpus` is NULL: "8.0 GiB are held by ...". NULL: no job holds
 * any. The caller frees. */
char *neighbours_text(const struct neighbours *neighbours, const struct str_list *gpus);

#endif
