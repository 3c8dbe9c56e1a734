/* How long a gang that is not complete holds what came, and pauses once it has given that back.
 * Both double, and are random within a half, so that of two gangs one gives way first. In ms. A
 * header of its own for the simulator (test/sim/test_gangs.c). */
#ifndef TONY_SCHEDULER_GANG_PACE_H
#define TONY_SCHEDULER_GANG_PACE_H

enum {
	/* Without another container. Longer than a pause, two of three gangs would always hold what
	 * the third one lacks. */
	GANG_PATIENCE_MS = 10000,
	GANG_LONGEST_PATIENCE_MS = 30000,
	/* The same of a gang that claims what is guaranteed to its queue: YARN preempts others in
	 * rounds, of 15 s unless set otherwise. */
	GANG_CLAIM_MS = 120000,
	/* A pause ends early when there is room for all. */
	GANG_PAUSE_MS = 10000,
	GANG_LONGEST_PAUSE_MS = 60000,
};

#endif
