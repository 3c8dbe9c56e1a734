/* What the files of the supervisor share: supervisor.c obeys, runs the program and leaves,
 * supervisor_watch.c looks at the program's ports and measures it. */
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

enum phase {
	PHASE_OBEYING,
	PHASE_TOLD,	    /* to leave by a signal: the program's last words are to be reported */
	PHASE_LEAVING,	    /* once the program has ended and all is reported */
	PHASE_SENDING_LOGS, /* nothing else is left to be done */
};

/* By the mirrors: nothing is started or reported meanwhile. */
enum transfer {
	TRANSFER_NONE,
	TRANSFER_BEFORE_RUN,
	TRANSFER_OF_SUCCESS, /* the files of a program that has succeeded */
	TRANSFER_OF_FAILURE,
};

struct supervisor {
	const struct settings *settings;
	const struct job_type *type;
	const struct guard *guard; /* NULL: none */
	struct event_base *base;
	struct link *link;
	struct door *door;	   /* NULL: an AM that follows has the same address */
	char *am_address;	   /* HOST:PORT, now */
	struct file_server *files; /* of the job's HDFS, for programs; NULL: there are none */
	char *files_socket;
	struct tunnel *relay;  /* to that, for programs; NULL: they need none */
	struct log_send *logs; /* that people who are elsewhere look at */
	struct port port, ui_port;
	enum port_guard port_guard;   /* of the next program's port, or of this one's */
	bool port_was_lost;	      /* to another user, or so it is presumed */
	bool ui_is_served;	      /* by this user, over HTTP: what people may be told */
	struct http_client *ui_asked; /* whether what listens there speaks HTTP; NULL: nobody is */
	bool ui_was_stolen;	      /* and that is logged */
	bool ui_was_lost;	      /* likewise, by any program: the next one's is not held */
	bool listeners_are_hidden;    /* likewise: the kernel does not tell who listens */
	int64_t port_look_ms;	      /* until the next look who listens */
	struct proc_tree *processes;  /* of the task */
	struct memory memory;
	struct network *network;
	struct numbers *numbers;    /* NULL: none are wanted */
	struct scalars *scalars[2]; /* of the chief; NULL: none to be read */
	struct gpu *gpu;	    /* NULL: none to be asked for */
	struct mirrors *mirrors;    /* NULL: what the task stores is found by its path */
	enum transfer transfer;
	struct program *program; /* NULL: none runs, or is being ended */
	enum activity activity;
	int epoch, restart; /* of the last program */
	int registered_epoch;
	struct order goal;
	json_t *cluster; /* of the goal */
	int am_attempt;
	struct new_tokens tokens; /* the newest that an AM has given */
	bool has_metrics;
	struct metrics metrics; /* the last taken of this program */
	struct program_use use; /* of this program, once it has ended; 0 ms: it has not */
	bool use_is_reported;
	struct restarts restarts; /* inside of this program */
	struct output_loss lost;  /* of the output of programs that have ended here */
	struct err trouble;	  /* why no program can be started here; ERR_NONE: all is well */
	enum phase phase;
	int code; /* with which it leaves */
	struct event *metrics_timer, *port_timer, *leave_timer, *words_timer, *guardian, *lifeline;
	struct event *signals[3];
};

/* Binds the ports anew, where it holds any. */
int supervisor_take_ports(struct supervisor *supervisor, struct err *err);
/* Others may bind them while the program lives, as its type has it. */
void supervisor_open_ports(struct supervisor *supervisor);
void supervisor_close_ports(struct supervisor *supervisor);
/* The program has failed for this. */
void supervisor_judge_port(struct supervisor *supervisor, const struct cause *cause);
/* The program has ended: where its port was lost, the next one is kept in another way. */
void supervisor_choose_guard(struct supervisor *supervisor);
void supervisor_forget_ui(struct supervisor *supervisor);   /* nothing is served any more */
void supervisor_watch_ports(struct supervisor *supervisor); /* who listens there */

void supervisor_plan_metrics(
	struct supervisor *supervisor); /* of a program that has just started */
/* The step that its program tells; 0: none. */
int64_t supervisor_step(const struct supervisor *supervisor);
/* Finds what the program has told of itself since the last look. */
void supervisor_look_at_numbers(struct supervisor *supervisor);

void supervisor_on_metrics_timer(evutil_socket_t fd, short what, void *data);
void supervisor_on_port_timer(evutil_socket_t fd, short what, void *data);

#endif
