/*
 * What to do about which end: one table, one row per cause, one test per row.
 */
#ifndef TONY_JOB_POLICY_H
#define TONY_JOB_POLICY_H

#include <stdbool.h>

#include "job/machine.h"

/* Which budget a re-formation for this cause is paid from. */
enum policy_charge {
	CHARGE_USER,	       /* tony.am.retry-count */
	CHARGE_INFRASTRUCTURE, /* tony.am.infrastructure-retry-count */
	CHARGE_NEVER,	       /* trying again cannot help: the job fails */
};

struct policy_row {
	enum cause_kind cause;
	enum policy_charge charge;
	bool in_place;	  /* tony.<type>.max-restarts may restart the process in its container */
	bool blames_host; /* the container's machine is suspect: not there again, if possible */
};

const struct policy_row *policy_find(enum cause_kind cause);

#endif
