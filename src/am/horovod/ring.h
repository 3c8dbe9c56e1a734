/*
 * The ring of a job of Horovod's that is elastic: who is in it, who is to be in the next one, and
 * in what order. No I/O.
 *
 * A process has a name of its own (horovod_place.h). Those that are expected are to be in
 * the ring; it forms, anew, when each of them has asked for its place. Those that were in the ring
 * before come first in their order of then, so that rank 0, from whose state all go on, is one that
 * has a state; only a ring of newcomers has another rank 0.
 */
#ifndef TONY_AM_HOROVOD_RING_H
#define TONY_AM_HOROVOD_RING_H

#include <stdbool.h>

#include "framework/slots.h"

struct map;
struct ring;

struct ring_process {
	char *name, *host;
	struct slot slot; /* type, index and process; the rest once the ring has formed */
};

struct ring *ring_create(void);
void ring_destroy(struct ring *ring); /* NULL is fine */

/* Takes the array and its texts: who is to be in the ring from now on, in the order in which
 * newcomers are placed. */
void ring_expect(struct ring *ring, struct ring_process *processes, size_t count);

/* NULL: it is not expected. */
const struct ring_process *ring_find(const struct ring *ring, const char *name);

/* When each that is expected is in `asking` (a key is a name): forms the ring, and is true. Then
 * ring_slots() tells the places. */
bool ring_form(struct ring *ring, const struct map *asking);
/* Borrowed, until ring_expect(). */
const struct slots *ring_slots(const struct ring *ring);

/* Who is to be told that the ring is to form anew: its rank 0, when a newcomer asks and it does
 * not. NULL: nobody. */
const struct ring_process *ring_to_tell(const struct ring *ring, const struct map *asking);

/* The names of the ring in the order of their ranks, for the AM that follows. */
void ring_list(const struct ring *ring, struct str_list *names);
void ring_restore(struct ring *ring, const struct str_list *names);

#endif
