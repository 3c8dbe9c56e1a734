/*
 * The policy for the end of a program: a table, from the particular to the general, with rows of
 * the job's framework in it. The first row that fits decides; each has its test. What a user wants
 * otherwise says tony.<type>.on-exit (exit_rules.h). docs/reliability.md shows the table to users.
 */
#ifndef TONY_JOB_POLICY_H
#define TONY_JOB_POLICY_H

#include <stdbool.h>

#include "job/machine.h"

/* Which budget a re-formation for this cause is paid from. */
enum policy_charge {
	CHARGE_USER,	       /* tony.am.retry-count */
	CHARGE_INFRASTRUCTURE, /* tony.am.infrastructure-retry-count */
	CHARGE_PORT,	       /* nothing: machine_end.c says how often */
	CHARGE_PREEMPTION,     /* nothing: the job is innocent; pauses grow all the same */
	CHARGE_NEVER,	       /* trying again cannot help: the job fails */
};

enum { POLICY_SAYS_MAX = 6 };

struct policy_row {
	/* What has to hold for the row; a member that is not set holds for all. */
	enum cause_kind cause; /* CAUSE_NONE: CAUSE_EXIT or CAUSE_SIGNAL */
	int exit_code;	       /* of CAUSE_EXIT */
	int signal;	       /* also of a program that a shell ran: exit code 128 + signal */
	const char *says[POLICY_SAYS_MAX]; /* the headline, or the text of CAUSE_LAUNCH_FAILED,
					      holds one of these */

	/* What follows. */
	enum policy_charge charge;
	bool in_place;	  /* tony.<type>.max-restarts may restart the process in its container */
	bool blames_host; /* the machine is suspect: its container is given back, and the next one
			     is elsewhere, if possible */
	bool elsewhere_once; /* only another machine can help, and one that has failed as well says
				that none does */
	bool own_if_twice;   /* of two machines neither is to blame: it is the program's own */
	bool blames_peer;    /* a peer is gone, it says: judged once the peers were heard of */
	const char *why; /* a phrase for people that says more than the cause; NULL: none does */
};

/* `framework`: the rows of the job's framework (framework_ops.failures), which end with an empty
 * one; NULL: there are none. They come after what names a machine, a module or memory. */
const struct policy_row *policy_find(const struct cause *cause, const struct policy_row *framework);

/* A copy, with its texts, of rows that end with an empty one; NULL: of none. */
struct policy_row *policy_rows_copy(const struct policy_row *rows);
void policy_rows_free(struct policy_row *rows); /* NULL is fine */
void policy_rows_cleanup(struct policy_row **rows);
#define cleanup_policy_rows __attribute__((cleanup(policy_rows_cleanup)))

/* ENOSPC, EDQUOT: what the table takes this line of a program's for; 0: neither. */
int policy_errno_of_room(const char *line);

/* Neither the program's nor its user's: what is lost may be replaced alone. */
bool policy_is_others_fault(enum policy_charge charge);

/* For tests: every row but a framework's is of use. The last fits everything. */
size_t policy_count(void);
size_t policy_number(const struct policy_row *row);

/* The same with the rules of the task's type: what the machine goes by. */
struct policy {
	enum policy_charge charge;
	bool in_place, blames_host, elsewhere_once, own_if_twice, blames_peer;
	bool ignore;	 /* it counts as success */
	const char *why; /* NULL: nothing to be said; "tony.worker.on-exit" is said by `rule` */
	bool by_rule;	 /* the type's on-exit decided */
};
struct policy policy_judge(const struct job_type *type, const struct cause *cause,
			   const struct policy_row *framework);

#endif
