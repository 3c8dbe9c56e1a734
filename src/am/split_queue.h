/*
 * Hands out the splits of a data set, as often as there are passes, to processes of the job. No
 * I/O and no clock: times (ms, any monotonic origin) are passed in, and each change of what an AM
 * that follows must know is told at once.
 *
 * A pass hands out its splits by position; the next one begins as soon as all are handed out. A
 * split that was handed out and is not open is done, so memory goes by those that are open:
 *
 *   leased    a process has it, for as long as that process lives, or until it is over for want of
 *             a renewal
 *   returned  it had one, and is handed out next, from the offset that was told last
 *   ahead     done, but not handed out as far as this AM knows: the one before it did, whose last
 *             changes are lost; it is passed over
 */
#ifndef TONY_AM_SPLIT_QUEUE_H
#define TONY_AM_SPLIT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SPLIT_PASSES_MAX = 1000000,
	SPLITS_MAX = 4000000, /* of a data set */
	SPLIT_LEASE_MS_MAX = 86400000,
};

/* A process of the job. */
struct split_holder {
	size_t task;
	int attempt, epoch, restart, process;
};
bool split_holder_is(const struct split_holder *a, const struct split_holder *b);

struct split_id {
	int64_t pass; /* from 1 */
	size_t split;
};

enum split_state { SPLIT_LEASED, SPLIT_RETURNED, SPLIT_AHEAD };

struct split_open {
	struct split_id id;
	enum split_state state;
	struct split_holder holder; /* of one that is leased */
	int64_t offset;		    /* records of it that are done */
};

/* All before it was handed out: of earlier passes, and of this one. */
struct split_position {
	int64_t pass;
	size_t next;
};

/* Borrowed for the queue's life. */
struct split_queue_options {
	size_t count;
	size_t task_count; /* of the job: holders have lower numbers */
	int64_t passes;
	bool is_shuffled; /* else each pass is in order */
	uint64_t seed;
	int64_t lease_ms;
	void (*changed)(void *data, const struct split_open *open, bool is_closed);
	void (*moved)(void *data, const struct split_position *position);
	/* So many splits this task has done. */
	void (*counted)(void *data, size_t task, int64_t done);
	void *data;
};

struct split_queue;
struct split_queue *split_queue_create(const struct split_queue_options *options);
void split_queue_destroy(struct split_queue *queue); /* NULL is fine */

/* As an AM before has told; nothing of it is told again. Values that cannot be are passed over. The
 * position comes first, and the end last. */
void split_queue_restore_position(struct split_queue *queue, const struct split_position *position);
void split_queue_restore_open(struct split_queue *queue, const struct split_open *open,
			      int64_t now);
void split_queue_restore_count(struct split_queue *queue, size_t task, int64_t done);
void split_queue_restore_end(struct split_queue *queue);

/* Hands out `count` at most, and says how many; `only_returned`: there is no room for more that are
 * open. `leases` are copies. */
size_t split_queue_lease(struct split_queue *queue, const struct split_holder *holder, size_t count,
			 bool only_returned, int64_t now, struct split_open *leases);
/* The leases that this holder has, and does not know of: `count` at most. */
size_t split_queue_repeat(struct split_queue *queue, const struct split_holder *holder,
			  const struct split_id *known, size_t known_count, size_t count,
			  struct split_open *leases);

/* False: there is no such split, or it is another's. */
bool split_queue_renew(struct split_queue *queue, const struct split_holder *holder,
		       const struct split_id *id, int64_t offset, int64_t now);
/* Done is done, also by another than its holder, which is told by false, and any number of times.
 */
bool split_queue_done(struct split_queue *queue, const struct split_holder *holder,
		      const struct split_id *id);

/* Leases of holders that do not live go back: how many. */
size_t split_queue_reclaim(struct split_queue *queue,
			   bool (*lives)(void *data, const struct split_holder *holder),
			   void *data);
/* Those that were not renewed in time go back: how many. */
size_t split_queue_expire(struct split_queue *queue, int64_t now);
int64_t split_queue_deadline(const struct split_queue *queue); /* of that; INT64_MAX: never */

/* Every split of every pass is done. */
bool split_queue_has_ended(const struct split_queue *queue);

/* All that makes up the queue's state, to be given to split_queue_reset() again. */
struct split_position split_queue_position(const struct split_queue *queue);
void split_queue_each(const struct split_queue *queue,
		      void (*open)(void *data, const struct split_open *open), void *data);
/* The state that it was: no process has a lease then, leases are returned. It may be of a queue of
 * more passes: one in a pass that this one lacks has ended. */
void split_queue_reset(struct split_queue *queue, const struct split_position *position,
		       const struct split_open *open, size_t count);

struct split_totals {
	int64_t done;	/* of all passes */
	size_t leased;	/* of all passes */
	size_t waiting; /* in the present pass, or returned */
};
void split_queue_totals(const struct split_queue *queue, struct split_totals *totals);
/* False: this task has had none. */
bool split_queue_task(const struct split_queue *queue, size_t task, size_t *leased, int64_t *done);

#endif
