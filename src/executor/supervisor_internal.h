/* What the files of the supervisor share: supervisor.c leads, obeys and leaves,
 * supervisor_program.c starts the program and sees to its end. */
#ifndef TONY_EXECUTOR_SUPERVISOR_INTERNAL_H
#define TONY_EXECUTOR_SUPERVISOR_INTERNAL_H

#include <event2/event.h>

#include "executor/door.h"
#include "executor/link.h"
#include "executor/log_send.h"
#include "executor/metrics.h"
#include "executor/mirror.h"
#include "executor/numbers.h"
#include "executor/port.h"
#include "executor/program.h"
#include "executor/scalars.h"
#include "executor/supervisor.h"

enum activity {
	ACTIVITY_WAITING, /* since the last registration nothing was started */
	ACTIVITY_RUNNING,
	ACTIVITY_EXITED,
};

struct supervisor {
	const struct settings *settings;
	const struct job_type *type;
	const struct guard *guard; /* NULL: none */
	struct event_base *base;
	struct link *link;
	struct door *door;     /* NULL: an AM that follows has the same address */
	char *am_address;      /* HOST:PORT, now */
	struct log_send *logs; /* that people who are elsewhere look at */
	struct port port, ui_port;
	bool ui_is_served;	     /* by this user: what people may be told */
	bool ui_was_stolen;	     /* and that is logged */
	bool listeners_are_hidden;   /* likewise: the kernel does not tell who listens */
	int64_t port_look_ms;	     /* until the next look who listens */
	struct proc_tree *processes; /* of the task */
	struct memory memory;
	struct network *network;
	struct numbers *numbers;    /* NULL: none are wanted */
	struct scalars *scalars[2]; /* of the chief; NULL: none to be read */
	struct gpu *gpu;	    /* NULL: none to be asked for */
	struct mirrors *mirrors;    /* NULL: what the task stores is found by its path */
	bool is_moving;		    /* mirrors: nothing is started or reported meanwhile */
	bool has_succeeded;	    /* the program whose files are being stored */
	struct program *program;    /* NULL: none runs, or is being ended */
	enum activity activity;
	int epoch, restart; /* of the last program */
	int registered_epoch;
	struct order goal;
	json_t *cluster; /* of the goal */
	int am_attempt;
	json_t *metrics;	/* the last taken of this program; NULL: none yet */
	struct program_use use; /* of this program, once it has ended; 0 ms: it has not */
	bool use_is_reported;
	struct output_loss lost; /* of the output of programs that have ended here */
	struct err trouble;	 /* why no program can be started here; ERR_NONE: all is well */
	bool leaving;
	bool told_to_end; /* by a signal, and that is not reported yet */
	bool is_last;	  /* nothing is left to be done but to send what was logged */
	int code;
	struct event *metrics_timer, *port_timer, *leave_timer, *words_timer, *guardian, *lifeline;
	struct event *signals[3];
};

/* What is reported of a task whose container is told to end, once. */
void supervisor_tell_end(struct supervisor *supervisor);

/* Tells the AM how the last program ended; CAUSE_NONE: well. */
void supervisor_report(struct supervisor *supervisor, const struct cause *cause);
/* The AM has not heard yet of the end of programs, or of what they lost or used. */
bool supervisor_has_to_tell(const struct supervisor *supervisor);
/* Does the next thing that the orders want. */
void supervisor_pursue(struct supervisor *supervisor);
bool supervisor_run_is_due(const struct supervisor *supervisor);

/* Finds what the program has told of itself since the last look. */
void supervisor_look_at_numbers(struct supervisor *supervisor);

/* Adds the use by the last program to the report of its end. */
void supervisor_report_use(struct supervisor *supervisor, json_t *body);
/* The last program has used what no report has told: nobody asks how a program ended that was
 * stopped for good. */
bool supervisor_has_use_to_tell(const struct supervisor *supervisor);

int supervisor_take_ports(struct supervisor *supervisor, struct err *err);
void supervisor_begin_run(struct supervisor *supervisor);
void supervisor_on_metrics_timer(evutil_socket_t fd, short what, void *data);
void supervisor_on_port_timer(evutil_socket_t fd, short what, void *data);

#endif
