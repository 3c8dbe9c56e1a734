/* How a program ended, as a cause in words (job/machine.h). */
#ifndef TONY_EXECUTOR_REPORT_H
#define TONY_EXECUTOR_REPORT_H

#include "executor/memory.h"
#include "executor/port.h"
#include "executor/tail.h"
#include "job/machine.h"

/* What is known when the program has ended. */
struct report {
	int status;		/* wait status of the process that decided */
	int process, processes; /* which of how many */
	const struct memory *memory;
	/* What this executor ended it for; CAUSE_NONE: it ended by itself. */
	enum cause_kind ended_for;
	/* Of CAUSE_FROZEN and _HUNG: what stood still, for how long; of _PORT_STOLEN: by whom. */
	const char *ended_text;
	const struct str_list *stacks; /* of CAUSE_HUNG: some lines that tell where; may be NULL */
	int64_t timeout_ms;	       /* for CAUSE_EXECUTION_TIMEOUT */
	const struct tail *tail;       /* of its stderr */
	const struct job_type *type;
	const char *work_dir;	    /* where it was started */
	const char *checkpoint_dir; /* TONY_CHECKPOINT_DIR; NULL: none */
	int port;		    /* the one it was to bind */
	enum port_guard port_guard; /* its */
	const char *theft;	    /* port_theft() of one of its ports; NULL: nobody took them */
};

void report_cause(const struct report *report, struct cause *cause);

/* For report_cause(), with its last lines in the tail: where one of these says that a disk is full,
 * that is the headline, and `text` tells which disk: that of the file which the line names, or else
 * of the work or checkpoint directory that is full. (report_room.c) */
void report_judge_room(const struct report *report, struct str *text, struct cause *cause);

#endif
