#include "job/policy.h"

/* In the order of enum cause_kind. */
static const struct policy_row rows[CAUSE_KIND_COUNT] = {
	{CAUSE_NONE, CHARGE_NEVER, false, false},
	{CAUSE_EXIT, CHARGE_USER, true, false},
	{CAUSE_SIGNAL, CHARGE_USER, true, false},
	{CAUSE_OUT_OF_MEMORY, CHARGE_USER, true, false},
	{CAUSE_EXECUTION_TIMEOUT, CHARGE_USER, true, false},
	{CAUSE_FROZEN, CHARGE_USER, true, false},
	{CAUSE_START_FAILED, CHARGE_USER, false, false},
	{CAUSE_STORE_FAILED, CHARGE_INFRASTRUCTURE, false, false},
	{CAUSE_PORT_TAKEN, CHARGE_USER, true, false},
	{CAUSE_EXECUTOR_LOST, CHARGE_INFRASTRUCTURE, false, true},
	{CAUSE_NODE_LOST, CHARGE_INFRASTRUCTURE, false, true},
	{CAUSE_PREEMPTED, CHARGE_INFRASTRUCTURE, false, false},
	{CAUSE_LAUNCH_FAILED, CHARGE_INFRASTRUCTURE, false, true},
	{CAUSE_REGISTRATION_TIMEOUT, CHARGE_INFRASTRUCTURE, false, true},
	{CAUSE_ALLOCATION_TIMEOUT, CHARGE_INFRASTRUCTURE, false, false},
	{CAUSE_ALLOCATION_REFUSED, CHARGE_NEVER, false, false},
	{CAUSE_APPLICATION_TIMEOUT, CHARGE_NEVER, false, false},
	{CAUSE_GROUP_TIMEOUT, CHARGE_NEVER, false, false},
	{CAUSE_DEPENDENCY_FAILED, CHARGE_NEVER, false, false},
	{CAUSE_KILLED_BY_USER, CHARGE_NEVER, false, false},
	{CAUSE_RESTARTED_BY_USER, CHARGE_NEVER, true, false},
	{CAUSE_AM_FAILED, CHARGE_NEVER, false, false},
};

const struct policy_row *policy_find(enum cause_kind cause)
{
	if (rows[cause].cause != cause)
		BUG("the policy table is out of order at cause %d", (int)cause);
	return &rows[cause];
}
