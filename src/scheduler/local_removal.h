/* Removing ended jobs of this machine. */
#ifndef TONY_SCHEDULER_LOCAL_REMOVAL_H
#define TONY_SCHEDULER_LOCAL_REMOVAL_H

#include "scheduler/removal.h"

/* See scheduler_client_ops. The folder is renamed first, so that nobody takes a part of it for a
 * job; what a killed process has left of such a folder goes with the next removal. */
int local_removal_remove(const char *id, struct removal *removal, struct err *err);

#endif
