#include "client/resources_table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "client/report.h"

/* ---- which -------------------------------------------------------------------------------- */

bool resources_choice_has_node(const struct resources_choice *choice,
			       const struct scheduler_node *node)
{
	bool has_label = choice->labels->count == 0;

	for (size_t i = 0; i < node->labels.count; i++)
		has_label = has_label || str_list_has(choice->labels, node->labels.items[i]);
	return has_label && (!choice->free_only || scheduler_node_free(node).memory > 0) &&
	       (choice->names->count == 0 || str_list_has(choice->names, node->name));
}

bool resources_choice_has_part(const struct resources_choice *choice,
			       const struct scheduler_queue_part *part)
{
	return choice->labels->count == 0 ||
	       (part->label && str_list_has(choice->labels, part->label));
}

bool resources_choice_has_queue(const struct resources_choice *choice,
				const struct scheduler_queue *queue)
{
	bool is_named = choice->names->count == 0, has_part = choice->labels->count == 0;

	for (size_t i = 0; i < choice->names->count; i++)
		is_named = is_named || scheduler_queue_is_called(queue, choice->names->items[i]);
	for (size_t i = 0; i < queue->part_count; i++)
		has_part = has_part || resources_choice_has_part(choice, &queue->parts[i]);
	return is_named && has_part;
}

bool resources_miss(const char *what, const struct str_list *names,
		    bool (*has)(const void *all, const char *name), const void *all)
{
	bool any = false;

	for (size_t i = 0; i < names->count; i++) {
		if (has(all, names->items[i]))
			continue;
		report_note("there is no %s \"%s\"", what, names->items[i]);
		any = true;
	}
	return any;
}

/* ---- cells -------------------------------------------------------------------------------- */

static void add_number(struct report_table *table, int64_t value)
{
	report_table_take(table, value >= 0 ? mem_printf("%" PRId64, value) : NULL);
}

static void add_of(struct report_table *table, int64_t value, int64_t limit)
{
	if (value >= 0 && limit >= 0)
		report_table_take(table, mem_printf("%" PRId64 " of %" PRId64, value, limit));
	else
		add_number(table, value);
}

static void add_share(struct report_table *table, const struct share *share)
{
	report_table_take(table, share_text(share, ", "));
}

/* ---- nodes -------------------------------------------------------------------------------- */

static void add_free(struct report_table *table, const struct scheduler_node *node)
{
	const struct share left = scheduler_node_free(node);
	char *some cleanup_free = str_format_mib((double)left.memory);
	char *all cleanup_free = str_format_mib((double)node->total.memory);

	report_table_take(table, mem_printf("%s of %s", some, all));
	if (node->used.vcores < 0)
		add_number(table, left.vcores);
	else
		add_of(table, left.vcores, node->total.vcores);
	if (node->total.gpus > 0)
		add_of(table, left.gpus, node->total.gpus);
	else
		report_table_add(table, NULL);
}

static void add_containers(struct report_table *table, const struct scheduler_node *node)
{
	if (node->opportunistic > 0 || node->opportunistic_waiting > 0)
		report_table_take(table, mem_printf("%" PRId64 ", opportunistic: %" PRId64
						    ", waiting: %" PRId64,
						    node->containers, node->opportunistic,
						    node->opportunistic_waiting));
	else
		add_number(table, node->containers);
}

static void add_node(struct report_table *table, const struct scheduler_node *node)
{
	report_table_add(table, node->name);
	report_table_add(table, node_state_name(node->state));
	if (node->state == NODE_READY) {
		add_free(table, node);
	} else {
		for (int i = 0; i < 3; i++)
			report_table_add(table, NULL);
	}
	add_containers(table, node);
	report_table_take(table, str_list_join(&node->labels, ","));
	report_table_add(table, node->note);
}

/* Of several: what is free in all, and where the largest container would find room. */
static void add_summary(const struct resources_choice *choice, const struct scheduler_nodes *nodes,
			struct str *out)
{
	const struct scheduler_node *largest = NULL;
	struct share sum = {0}, most = {0};
	size_t count = 0, ready = 0;

	for (size_t i = 0; i < nodes->count; i++) {
		const struct scheduler_node *node = &nodes->items[i];
		const struct share left = scheduler_node_free(node);
		if (!resources_choice_has_node(choice, node))
			continue;
		count++;
		ready += node->state == NODE_READY;
		share_add(&sum, &left);
		if (!largest || left.memory > most.memory) {
			largest = node;
			most = left;
		}
	}
	if (count < 2)
		return;
	char *all cleanup_free = share_text(&sum, ", "),
		  *one cleanup_free = share_text(&most, ", ");
	str_append_format(out, "%zu of %zu nodes are ready; free: %s", ready, count, all);
	if (most.memory > 0)
		str_append_format(out, "; the most memory on one node: %s on %s", one,
				  largest->name);
	str_append_char(out, '\n');
}

void resources_table_nodes(const struct resources_choice *choice,
			   const struct scheduler_nodes *nodes, size_t width, struct str *out)
{
	static const char *const headings[] = {"NODE",	      "STATE",	   "FREE MEMORY",
					       "FREE VCORES", "FREE GPUS", "CONTAINERS",
					       "LABELS",      "NOTE"};
	struct report_table table = {0};

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < nodes->count; i++)
		if (resources_choice_has_node(choice, &nodes->items[i]))
			add_node(&table, &nodes->items[i]);
	if (table.cells.count > table.columns) {
		report_table_format(&table, width, out);
		add_summary(choice, nodes, out);
	}
	report_table_finish(&table);
}

/* ---- queues ------------------------------------------------------------------------------- */

static char *note_of(const struct resources_choice *choice, const struct scheduler_queue *queue)
{
	struct str_list notes cleanup_str_list = {0};

	if (scheduler_queue_is_called(queue, choice->queue))
		str_list_add(&notes, "tony.application.queue names it");
	if (queue->access == QUEUE_ACCESS_DENIED)
		str_list_add(&notes, "you may not submit jobs here");
	if (queue->is_mapped)
		str_list_add(&notes, "only the cluster's mapping of users leads here");
	else if (queue->makes_queues)
		str_list_add(&notes, "queues below it are made when they are used");
	return str_list_join(&notes, "; ");
}

static void add_details(struct report_table *table, const struct scheduler_queue *queue,
			const struct scheduler_queue_part *part)
{
	add_share(table, &part->guaranteed);
	add_share(table, &part->pending);
	add_share(table, &part->user_limit);
	add_share(table, &part->user_used);
	add_share(table, &part->am_limit);
	add_share(table, &part->am_used);
	add_share(table, &queue->largest);
	add_number(table, queue->max_jobs);
	report_table_take(table,
			  queue->max_job_ms > 0 ? str_format_duration(queue->max_job_ms) : NULL);
}

/* The row of a queue's first part has the figures of the whole queue, too. */
static void add_part(struct report_table *table, const struct resources_choice *choice,
		     const struct scheduler_queue *queue, const struct scheduler_queue_part *part,
		     bool is_first)
{
	const struct share left = scheduler_queue_left(part);
	bool is_shut = queue->state != QUEUE_OPEN || queue->access == QUEUE_ACCESS_DENIED;
	bool is_known = !queue->is_mapped || queue->access == QUEUE_ACCESS_GRANTED;

	report_table_add(table, queue->name);
	report_table_add(table, part->label);
	report_table_add(table, queue_state_name(queue->state));
	add_of(table, is_first ? queue->running : -1, queue->max_running);
	add_number(table, is_first ? queue->waiting : -1);
	add_share(table, &part->used);
	add_share(table, &part->maximum);
	report_table_take(table, is_shut    ? mem_strdup("nothing")
				 : is_known ? share_text(&left, ", ")
					    : NULL);
	if (choice->wide)
		add_details(table, queue, part);
	report_table_take(table, is_first ? note_of(choice, queue) : NULL);
}

static void add_queue(struct report_table *table, const struct resources_choice *choice,
		      const struct scheduler_queue *queue)
{
	bool is_first = true;

	for (size_t i = 0; i < queue->part_count; i++) {
		if (!resources_choice_has_part(choice, &queue->parts[i]))
			continue;
		add_part(table, choice, queue, &queue->parts[i], is_first);
		is_first = false;
	}
}

/* Nothing is not worth a word. */
static void add_some(struct report_table *table, const struct share *share)
{
	if (share->memory > 0 || share->vcores > 0 || share->gpus > 0)
		add_share(table, share);
	else
		report_table_add(table, NULL);
}

static void add_jobs(const struct resources_choice *choice, const struct scheduler_queues *queues,
		     size_t width, struct str *out)
{
	static const char *const headings[] = {"JOB", "USER", "HOLDS", "WAITS FOR"};
	struct report_table table = {0};

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < queues->count; i++) {
		const struct scheduler_queue *queue = &queues->items[i];
		for (size_t k = 0; k < queue->job_count; k++) {
			const struct scheduler_queue_job *job = &queue->jobs[k];
			if (!resources_choice_has_queue(choice, queue))
				continue;
			report_table_add(&table, job->id);
			report_table_add(&table, job->user);
			add_some(&table, &job->holds);
			add_some(&table, &job->wants);
		}
	}
	if (table.cells.count > table.columns) {
		str_append_char(out, '\n');
		report_table_format(&table, width, out);
	}
	report_table_finish(&table);
}

void resources_table_queues(const struct resources_choice *choice,
			    const struct scheduler_queues *queues, size_t width, struct str *out)
{
	static const char *const few[] = {"QUEUE",  "LABEL", "STATE",	"RUNNING", "WAITING",
					  "IN USE", "MOST",  "FOR YOU", "NOTE"};
	static const char *const all[] = {
		"QUEUE",      "LABEL",	     "STATE",	 "RUNNING",    "WAITING",
		"IN USE",     "MOST",	     "FOR YOU",	 "GUARANTEED", "ASKED FOR",
		"YOUR LIMIT", "YOU USE",     "AM LIMIT", "AMS USE",    "LARGEST CONTAINER",
		"MOST JOBS",  "LONGEST JOB", "NOTE"};
	struct report_table table = {0};

	report_table_begin(&table, choice->wide ? all : few,
			   choice->wide ? array_length(all) : array_length(few));
	for (size_t i = 0; i < queues->count; i++)
		if (resources_choice_has_queue(choice, &queues->items[i]))
			add_queue(&table, choice, &queues->items[i]);
	if (table.cells.count > table.columns) {
		report_table_format(&table, width, out);
		add_jobs(choice, queues, width, out);
	}
	report_table_finish(&table);
}
