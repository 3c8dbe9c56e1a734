/* The log of a container on YARN: out of its cluster's aggregated files, or what a NodeManager
 * still has. Which of them is asked, scheduler/yarn_logs.h decides. */
#ifndef TONY_LOGS_YARN_H
#define TONY_LOGS_YARN_H

#include "hadoop/aggregated.h"
#include "hadoop/node_log.h"
#include "logs/parts.h"

/* The log `name` of a container; NULL: ERR_NOT_FOUND, it has none. `container` is to outlive it. */
struct log_source *log_of_aggregated(const struct aggregated_container *container, const char *name,
				     struct err *err);

/* The same out of what a NodeManager has; all of it is fetched now, to the end of the file `spool`,
 * which many logs share and which is to outlive them. */
struct log_source *log_of_node(const struct node_log_question *question, const char *name,
			       int spool, struct err *err);

#endif
