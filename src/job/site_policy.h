/*
 * An administrator demands values of keys of every job on a machine: SITE_POLICY_FILE has
 * {"KEY": VALUE, ...}, a text, a number, a bool, or null for a key that must not be set. It is JSON
 * since tony-agent reads no configuration. No variable of a user leads to another file.
 */
#ifndef TONY_JOB_SITE_POLICY_H
#define TONY_JOB_SITE_POLICY_H

#include "job/job.h"

#define SITE_POLICY_FILE "/etc/tony/policy.json"

/* No such file: nothing is demanded. ERR_DENIED: the job has something else, which the error names
 * with what to add to its command. ERR_INPUT, ERR_DENIED, ...: the file cannot be believed or read,
 * so no job begins. */
int site_policy_check(const char *path, const struct job *job, struct err *err);

#endif
