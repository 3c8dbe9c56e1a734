/* Reports of an executor (message.h): its state, again and again, and the end of a program. */
#ifndef TONY_PROTOCOL_REPORT_H
#define TONY_PROTOCOL_REPORT_H

#include "job/record.h"
#include "protocol/message.h"
#include "protocol/metrics.h"
#include "protocol/numbers.h"
#include "protocol/orders.h"

enum { HEARTBEAT_PIDS_MAX = 4096 };

enum activity {
	ACTIVITY_WAITING, /* since the last registration nothing was started */
	ACTIVITY_RUNNING,
	ACTIVITY_EXITED,
};

/* Failures after which a launcher inside of the program went on by itself. */
struct inner_restarts {
	int64_t count; /* so far */
	char *text;    /* of the last one, printable; NULL: there is none */
};

/* A program's use, its own numbers, and its lost output. */
struct program_account {
	bool has_metrics;
	struct metrics metrics;
	struct number_list numbers;
	struct lost_output lost; /* by all programs of the container */
	struct program_use use;	 /* of a program that has ended; 0 ms: not told */
	struct inner_restarts restarts;
};

/* Files of the task's directories that the store which keeps these lacks. */
struct storing {
	int64_t files, bytes;
	int64_t wait_ms;    /* since one was stored last, while others wait for it */
	int64_t trouble_ms; /* since checkpoint_trouble began; 0: there is none */
};

/* POST /v1/tasks/{task}/beat; orders.h has the answer. */
struct heartbeat {
	struct program_identity of;
	enum activity activity;
	int64_t seen;	/* orders, so far */
	int64_t tokens; /* number of its newest (new_tokens.h); 0: those that it was started with */
	int *pids;	/* of the program's processes; owned */
	size_t pid_count;
	int ui_port;		      /* where its web interface listens; 0: nowhere, or not yet */
	int64_t logs[LOG_ORDERS_MAX]; /* numbers of the orders for logs that it has */
	size_t log_count;
	struct program_account account;
	char *checkpoint_trouble; /* printable; NULL: none */
	bool has_storing;	  /* its directories are kept in a store */
	struct storing storing;
};

char *heartbeat_encode(const struct heartbeat *heartbeat);
int heartbeat_decode(struct heartbeat *heartbeat, const char *bytes, size_t length,
		     struct err *err);
void heartbeat_finish(struct heartbeat *heartbeat);

/* POST /v1/tasks/{task}/exit; the answer says nothing. */
struct exit_report {
	struct program_identity of;
	struct cause cause; /* CAUSE_NONE: exit code 0 */
	struct program_account account;
};

char *exit_report_encode(const struct exit_report *report);
int exit_report_decode(struct exit_report *report, const char *bytes, size_t length,
		       struct err *err);
void exit_report_finish(struct exit_report *report);

#endif
