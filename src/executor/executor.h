/* `tony-agent exec`: the executor of one task, in its container. Told what to do by environment
 * (settings.h) and by the AM (docs/rest.md). */
#ifndef TONY_EXECUTOR_EXECUTOR_H
#define TONY_EXECUTOR_EXECUTOR_H

/* For the scheduler's log; the AM knows more by then. */
enum executor_exit {
	EXECUTOR_DONE = 0,    /* ordered to leave */
	EXECUTOR_FAILED = 1,  /* could not begin: see its log */
	EXECUTOR_STALE = 2,   /* another attempt of this task is the valid one */
	EXECUTOR_REFUSED = 3, /* the AM knows neither token nor task */
	EXECUTOR_SILENCE = 4, /* the AM was silent for too long */
	/* ... and those of scheduler/launch.h. */
	/* By a signal, as a shell says it. A scheduler that ends a container, as for its memory,
	 * takes any other code for the reason, instead of its own. */
	EXECUTOR_ENDED = 128 + 15,
};

int executor_main(int argc, char **argv);

#endif
