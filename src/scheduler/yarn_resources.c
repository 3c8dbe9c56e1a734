#include "scheduler/yarn_resources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "hadoop/rm_web.h"
#include "scheduler/yarn_cluster.h"

#define ASK_TIMEOUT_MS 3000 /* the rest is shown without that answer */

typedef Hadoop__NodeReportProto node_report;

/* ---- nodes -------------------------------------------------------------------------------- */

static enum node_state state_of(const node_report *node)
{
	switch (node->node_state) {
	case HADOOP__NODE_STATE_PROTO__NS_RUNNING:
		return NODE_READY;
	case HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING:
		return NODE_DRAINING;
	case HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONED:
		return NODE_DRAINED;
	case HADOOP__NODE_STATE_PROTO__NS_UNHEALTHY:
		return NODE_UNHEALTHY;
	default:
		return NODE_DOWN;
	}
}

/* YARN's own word, and what the node says of its health. */
static char *note_of(const node_report *node)
{
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(
		&hadoop__node_state_proto__descriptor, node->node_state);
	const char *health = yarn_known_text(node->health_report);
	const char *word = value ? value->name + strlen("NS_") : "UNKNOWN";

	if (node->node_state == HADOOP__NODE_STATE_PROTO__NS_RUNNING)
		return NULL;
	if (node->node_state == HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING &&
	    node->decommissioning_timeout > 0) {
		char *after cleanup_free =
			str_format_duration(INT64_C(1000) * node->decommissioning_timeout);
		return mem_printf("%s, %s after that began at the latest", word, after);
	}
	return health ? mem_printf("%s: %s", word, health) : mem_strdup(word);
}

/* By "host:port": what the web service says of each node, as no RPC does. */
static void read_opportunistic(const json_t *answer, struct map *found)
{
	const json_t *all = json_object_get(json_object_get(answer, "nodes"), "node");

	for (size_t i = 0; i < json_count_of(all); i++) {
		const json_t *node = json_item_of(all, i);
		const char *id = json_string_value(json_object_get(node, "id"));
		if (id)
			map_set(found, id, (void *)node);
	}
}

static int64_t count_of(const json_t *node, const char *name)
{
	const json_t *value = json_object_get(node, name);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static struct scheduler_node describe_node(const node_report *node, bool has_twin,
					   const struct map *web)
{
	char *id cleanup_free = mem_printf("%s:%d", node->nodeid->host, node->nodeid->port);
	const json_t *more = map_get(web, id);
	struct scheduler_node made = {.state = state_of(node),
				      .total = yarn_share_of(node->capability),
				      .used = yarn_share_of(node->used),
				      .containers = node->numcontainers,
				      .opportunistic = count_of(more, "numRunningOpportContainers"),
				      .opportunistic_waiting =
					      count_of(more, "numQueuedContainers"),
				      .note = note_of(node)};

	made.name = mem_strdup(has_twin ? id : node->nodeid->host);
	for (size_t i = 0; i < node->n_node_labels; i++)
		if (*node->node_labels[i])
			str_list_add(&made.labels, node->node_labels[i]);
	return made;
}

/* More in use than there is: the scheduler's resource calculator looks at memory alone. */
static void forgive_vcores(struct scheduler_nodes *nodes)
{
	bool is_over = false;

	for (size_t i = 0; i < nodes->count; i++)
		is_over = is_over || nodes->items[i].used.vcores > nodes->items[i].total.vcores;
	for (size_t i = 0; i < nodes->count && is_over; i++)
		nodes->items[i].used.vcores = -1;
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct scheduler_node *)a)->name,
		      ((const struct scheduler_node *)b)->name);
}

static bool is_named(const node_report *node)
{
	return node->nodeid && node->nodeid->host;
}

/* A host has several NodeManagers, or one that is gone and its successor on another port. */
void yarn_nodes_read(const Hadoop__GetClusterNodesResponseProto *told, const json_t *answer,
		     struct scheduler_nodes *nodes)
{
	struct map *hosts = map_create(NULL), *twins = map_create(NULL), *web = map_create(NULL);

	read_opportunistic(answer, web);
	nodes->items = mem_alloc_array(told->n_nodereports, sizeof(*nodes->items));
	for (size_t i = 0; i < told->n_nodereports; i++) {
		const node_report *node = told->nodereports[i];
		if (is_named(node))
			map_set(map_get(hosts, node->nodeid->host) ? twins : hosts,
				node->nodeid->host, hosts);
	}
	for (size_t i = 0; i < told->n_nodereports; i++) {
		const node_report *node = told->nodereports[i];
		if (is_named(node))
			nodes->items[nodes->count++] =
				describe_node(node, map_get(twins, node->nodeid->host), web);
	}
	map_destroy(hosts);
	map_destroy(twins);
	map_destroy(web);
	qsort(nodes->items, nodes->count, sizeof(*nodes->items), compare_nodes);
	forgive_vcores(nodes);
}

static json_t *ask_web(const struct hadoop_cluster *cluster)
{
	struct err why cleanup_err = {0};
	struct rm_web *web = rm_web_open(cluster, ASK_TIMEOUT_MS, &why);
	json_t *answer = web ? rm_web_ask(web, RM_WEB_NODES, &why) : NULL;

	rm_web_close(web);
	if (!answer)
		log_warning("the opportunistic containers are not shown: the ResourceManager's web "
			    "service: %s",
			    err_message(&why));
	return answer;
}

int yarn_nodes(struct scheduler_nodes *nodes, struct err *err)
{
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	ProtobufCMessage *response cleanup_message = NULL;

	if (!cluster ||
	    yarn_call(cluster, &RM_GET_CLUSTER_NODES, &request.base, &response, NULL, err) < 0)
		return -1;
	json_t *answer cleanup_json = ask_web(cluster);
	yarn_nodes_read((const Hadoop__GetClusterNodesResponseProto *)response, answer, nodes);
	return 0;
}

/* ---- queues ------------------------------------------------------------------------------- */

static int compare_queues(const void *a, const void *b)
{
	return strcmp(((const struct scheduler_queue *)a)->path,
		      ((const struct scheduler_queue *)b)->path);
}

/* Each queue is told of for each label that it may use, also where nodes with it give it nothing.
 */
static void drop_empty_parts(struct scheduler_queue *queue)
{
	size_t kept = 0;

	for (size_t i = 0; i < queue->part_count; i++) {
		struct scheduler_queue_part *part = &queue->parts[i];
		if (part->label && part->maximum.memory == 0 && part->used.memory <= 0)
			free(part->label);
		else
			queue->parts[kept++] = *part;
	}
	queue->part_count = kept;
}

/* The CapacityScheduler takes a queue's own name where no other one has it, and makes none by that.
 */
static bool has_short_name(const struct yarn_tree *tree, const struct yarn_tree_queue *queue)
{
	bool is_made = queue->parent && yarn_tree_makes(queue->parent);

	return queue->is_leaf && !queue->has_twin && !is_made &&
	       !yarn_rules_is_fair(yarn_tree_rules(tree));
}

/* Jobs go to leaves, and to queues that are made below parents. */
void yarn_queues_take(struct yarn_tree *tree, struct scheduler_queues *queues)
{
	struct yarn_tree_queue *queue;

	for (size_t i = 0; (queue = yarn_tree_next(tree, &i));) {
		if (!queue->is_leaf && !yarn_tree_makes(queue))
			continue;
		if (has_short_name(tree, queue))
			mem_replace(&queue->shown.name, mem_strdup(queue->name));
		drop_empty_parts(&queue->shown);
		*scheduler_queues_add(queues) = queue->shown;
		queue->shown = (struct scheduler_queue){0};
	}
	qsort(queues->items, queues->count, sizeof(*queues->items), compare_queues);
}

int yarn_queues(struct scheduler_queues *queues, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	struct yarn_tree *tree cleanup_yarn_tree =
		cluster ? yarn_tree_ask(cluster, NULL, err) : NULL;

	if (!tree)
		return -1;
	const struct err *silence = yarn_rules_silence(yarn_tree_rules(tree));
	if (silence->kind)
		log_warning("the limits of users and application masters, and the GPUs in use, are "
			    "not shown: the ResourceManager's web service: %s",
			    err_message(silence));
	yarn_queues_take(tree, queues);
	return 0;
}
