/* Words in which tables of policy rows are written: policy.c's, and each framework's own. */
#ifndef TONY_JOB_POLICY_TABLE_H
#define TONY_JOB_POLICY_TABLE_H

#include "job/policy.h"

#define SAYS(...) .says = {__VA_ARGS__}

/* What follows. AGAIN: in its place if its type has restarts left, else the whole cluster forms
 * anew. ELSEWHERE: its container is given back for one on another machine. */
#define AGAIN	       .charge = CHARGE_USER, .in_place = true
#define PEERS_FAULT    .charge = CHARGE_USER, .in_place = true, .blames_peer = true
#define ELSEWHERE      .charge = CHARGE_USER, .blames_host = true
#define NEVER	       .charge = CHARGE_NEVER
#define CLUSTERS_FAULT .charge = CHARGE_INFRASTRUCTURE
#define OTHERS_NEED    .charge = CHARGE_PREEMPTION
#define MACHINES_FAULT .charge = CHARGE_INFRASTRUCTURE, .blames_host = true
#define ELSEWHERE_ONCE MACHINES_FAULT, .elsewhere_once = true

#endif
