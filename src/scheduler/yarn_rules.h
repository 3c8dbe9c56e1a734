/* How the cluster's scheduler deals with what it is asked for: how it rounds, which queues it
 * makes, where it places jobs. RPC tells none of this, so the ResourceManager's web service is
 * asked; where that does not answer, this machine's site files say what they can. */
#ifndef TONY_SCHEDULER_YARN_RULES_H
#define TONY_SCHEDULER_YARN_RULES_H

#include <jansson.h>

#include "scheduler/yarn_cluster.h"

struct yarn_rules;

/* The cluster is to outlive them. `job` as for yarn_cluster_site(); `scheduler_type`: as an RPC
 * told it; NULL: it did not (before Hadoop 3.3). */
struct yarn_rules *yarn_rules_ask(const struct hadoop_cluster *cluster, const struct job *job,
				  const char *scheduler_type);
/* Of the web service's answer about the scheduler alone, which is taken over. */
struct yarn_rules *yarn_rules_of(json_t *answer, const char *scheduler_type);
void yarn_rules_destroy(struct yarn_rules *rules);

bool yarn_rules_is_fair(const struct yarn_rules *rules);
#define YARN_PLACEMENT_HANDLER "yarn.resourcemanager.placement-constraints.handler"
/* No placement constraints and allocation tags are taken. Without an answer that is not known. */
bool yarn_rules_refuse_placement(struct yarn_rules *rules);
/* Does the CapacityScheduler look at all resources, and not at memory alone? As far as this
 * machine's capacity-scheduler.xml tells. */
bool yarn_rules_counts_all(const struct yarn_rules *rules);

/* How much of the resource a container gets that asks for `value`, where none may have more than
 * `most`. `value` itself, as far as is known. */
int64_t yarn_rules_round(struct yarn_rules *rules, const char *resource, int64_t value,
			 int64_t most);

/* The most that one user may have, rounded as the CapacityScheduler does: `factor` times what is
 * guaranteed to the queue, or the least container. -1: there is no limit, or it is not known. */
int64_t yarn_rules_user_limit(struct yarn_rules *rules, const char *resource, int64_t guaranteed,
			      double factor);

/* The root queue as the web service tells it (yarn_tree.h); NULL: it did not. */
const json_t *yarn_rules_queues(const struct yarn_rules *rules);
/* Why not. */
const struct err *yarn_rules_silence(const struct yarn_rules *rules);
/* Fair: may queues be made that nobody declared? */
bool yarn_rules_makes_queues(struct yarn_rules *rules);
/* Fair: does a job that names no queue go to one with its user's name? */
bool yarn_rules_has_user_queues(struct yarn_rules *rules);

/* Where the CapacityScheduler's mappings of users send a job of this user's: "teams.%user" filled
 * in. NULL: nowhere, as far as this machine's capacity-scheduler.xml tells. *named: also jobs that
 * name a queue. The caller frees. */
char *yarn_rules_mapped_queue(const struct yarn_rules *rules, const char *user, bool *named);

#endif
