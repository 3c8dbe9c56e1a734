/* The tables and JSON answers of tony nodes and tony queues. */
#ifndef TONY_CLIENT_RESOURCES_TABLE_H
#define TONY_CLIENT_RESOURCES_TABLE_H

#include <jansson.h>

#include "base/str.h"
#include "scheduler/resources.h"
#include "scheduler/scheduler.h"

/* Which, and of what. A list that is empty admits all. */
struct resources_choice {
	const struct scheduler_client_ops *scheduler;
	const char *queue; /* of jobs that name none */
	const struct str_list *names, *labels;
	bool free_only; /* nodes that are ready and have memory left */
	bool wide;
};
bool resources_choice_has_node(const struct resources_choice *choice,
			       const struct scheduler_node *node);
bool resources_choice_has_queue(const struct resources_choice *choice,
				const struct scheduler_queue *queue);
/* Of a queue. */
bool resources_choice_has_part(const struct resources_choice *choice,
			       const struct scheduler_queue_part *part);
/* Tells of each name that none of `all` has. */
bool resources_miss(const char *what, const struct str_list *names,
		    bool (*has)(const void *all, const char *name), const void *all);

/* Appends the table of those that are chosen, as report_table_format() does, and a line about all
 * of these; nothing when there are none. */
void resources_table_nodes(const struct resources_choice *choice,
			   const struct scheduler_nodes *nodes, size_t width, struct str *out);
void resources_table_queues(const struct resources_choice *choice,
			    const struct scheduler_queues *queues, size_t width, struct str *out);

/* docs/json/nodes.schema.json, docs/json/queues.schema.json */
json_t *resources_json_nodes(const struct resources_choice *choice,
			     const struct scheduler_nodes *nodes);
json_t *resources_json_queues(const struct resources_choice *choice,
			      const struct scheduler_queues *queues);

#endif
