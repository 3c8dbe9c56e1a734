/* The ends of a job's logs, as its history has them (pack.h). */
#ifndef TONY_HISTORY_STORED_LOGS_H
#define TONY_HISTORY_STORED_LOGS_H

#include "history/store.h"
#include "logs/job_logs.h"

/* Of the job with this record (copied) in the store, which is to outlive it. Positions count from
 * where what is kept begins. place->attempt 0: of whichever attempt the log is. At its end it calls
 * release(held); NULL: nothing. */
struct job_logs *history_logs(struct history_store *store, const struct history_record *record,
			      void (*release)(void *held), void *held);

#endif
