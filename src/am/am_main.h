/*
 * The application master: one per job. Wires the state machine (job/machine.h) to the scheduler,
 * the REST interface (api.h), the journal and the clock.
 */
#ifndef TONY_AM_AM_MAIN_H
#define TONY_AM_AM_MAIN_H

/* `tony-agent am --job-dir DIR`. Returns the exit code: 0 when the job succeeded. */
int am_main(int argc, char **argv);

#endif
