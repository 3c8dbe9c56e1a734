#include "job/policy.h"

/* In the order of enum cause_kind. */
static const struct policy_row rows[CAUSE_KIND_COUNT] = {
	{CAUSE_NONE, CHARGE_NEVER, false},
	{CAUSE_EXIT, CHARGE_USER, true},
	{CAUSE_SIGNAL, CHARGE_USER, true},
	{CAUSE_OUT_OF_MEMORY, CHARGE_USER, true},
	{CAUSE_EXECUTION_TIMEOUT, CHARGE_USER, true},
	{CAUSE_START_FAILED, CHARGE_USER, false},
	{CAUSE_PORT_TAKEN, CHARGE_USER, true},
	{CAUSE_EXECUTOR_LOST, CHARGE_INFRASTRUCTURE, false},
	{CAUSE_NODE_LOST, CHARGE_INFRASTRUCTURE, false},
	{CAUSE_PREEMPTED, CHARGE_INFRASTRUCTURE, false},
	{CAUSE_LAUNCH_FAILED, CHARGE_INFRASTRUCTURE, false},
	{CAUSE_REGISTRATION_TIMEOUT, CHARGE_INFRASTRUCTURE, false},
	{CAUSE_ALLOCATION_TIMEOUT, CHARGE_INFRASTRUCTURE, false},
	{CAUSE_ALLOCATION_REFUSED, CHARGE_NEVER, false},
	{CAUSE_APPLICATION_TIMEOUT, CHARGE_NEVER, false},
	{CAUSE_GROUP_TIMEOUT, CHARGE_NEVER, false},
	{CAUSE_DEPENDENCY_FAILED, CHARGE_NEVER, false},
	{CAUSE_KILLED_BY_USER, CHARGE_NEVER, false},
	{CAUSE_RESTARTED_BY_USER, CHARGE_NEVER, true},
	{CAUSE_AM_FAILED, CHARGE_NEVER, false},
};

const struct policy_row *policy_find(enum cause_kind cause)
{
	if (rows[cause].cause != cause)
		BUG("the policy table is out of order at cause %d", (int)cause);
	return &rows[cause];
}
