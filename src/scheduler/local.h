/*
 * The local scheduler: containers are directories and processes of this machine, shared between
 * jobs through the ledger (ledger.h).
 *
 * An executor inherits the descriptor TONY_LEDGER_FD and keeps it open while it lives, but must not
 * pass it on to the user's processes: it is the job's hold on its part of the machine.
 */
#ifndef TONY_SCHEDULER_LOCAL_H
#define TONY_SCHEDULER_LOCAL_H

#include "scheduler/scheduler.h"

/* In the directory of a job whose files go to an HDFS that uses Kerberos: its delegation tokens,
 * for all of its processes (HADOOP_TOKEN_FILE_LOCATION). */
#define LOCAL_TOKENS_FILE "hdfs-tokens"

extern const struct scheduler_ops local_scheduler;
extern const struct scheduler_client_ops local_scheduler_client;

#endif
