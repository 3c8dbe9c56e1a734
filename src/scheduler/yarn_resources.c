#include "scheduler/yarn_resources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_cluster.h"
#include "scheduler/yarn_rest.h"

#define DEPTH_CAP 32

typedef Hadoop__NodeReportProto node_report;
typedef Hadoop__QueueInfoProto queue_info;

static struct share share_of(const Hadoop__ResourceProto *resource)
{
	struct share share = {0};

	if (!resource)
		return share;
	share.memory = resource->memory;
	share.vcores = resource->virtual_cores;
	for (size_t i = 0; i < resource->n_resource_value_map; i++)
		if (str_equal(resource->resource_value_map[i]->key, "yarn.io/gpu"))
			share.gpus = resource->resource_value_map[i]->value;
	return share;
}

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

static struct scheduler_node describe_node(const node_report *node, bool has_twin)
{
	struct scheduler_node made = {.state = state_of(node),
				      .total = share_of(node->capability),
				      .used = share_of(node->used),
				      .containers = node->numcontainers,
				      .note = note_of(node)};

	made.name = has_twin ? mem_printf("%s:%d", node->nodeid->host, node->nodeid->port)
			     : mem_strdup(node->nodeid->host);
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
static void add_nodes(const Hadoop__GetClusterNodesResponseProto *told,
		      struct scheduler_nodes *nodes)
{
	struct map *hosts = map_create(NULL), *twins = map_create(NULL);

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
				describe_node(node, map_get(twins, node->nodeid->host));
	}
	map_destroy(hosts);
	map_destroy(twins);
	qsort(nodes->items, nodes->count, sizeof(*nodes->items), compare_nodes);
	forgive_vcores(nodes);
}

int yarn_nodes(struct scheduler_nodes *nodes, struct err *err)
{
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	ProtobufCMessage *response cleanup_message = NULL;

	if (!cluster ||
	    yarn_call(cluster, &RM_GET_CLUSTER_NODES, &request.base, &response, NULL, err) < 0)
		return -1;
	add_nodes((const Hadoop__GetClusterNodesResponseProto *)response, nodes);
	return 0;
}

/* ---- queues ------------------------------------------------------------------------------- */

static void add_part(struct scheduler_queue *queue, const char *label,
		     const Hadoop__QueueConfigurationsProto *limits)
{
	struct scheduler_queue_part *part = scheduler_queue_part(queue, label);

	if (limits && limits->effectivemincapacity)
		part->guaranteed = share_of(limits->effectivemincapacity);
	if (limits && limits->effectivemaxcapacity)
		part->maximum = share_of(limits->effectivemaxcapacity);
}

static void add_statistics(struct scheduler_queue *queue,
			   const Hadoop__QueueStatisticsProto *statistics)
{
	struct scheduler_queue_part *part = scheduler_queue_part(queue, NULL);

	queue->running = statistics->numappsrunning;
	queue->waiting = statistics->numappspending;
	part->used.memory = statistics->allocatedmemorymb;
	part->used.vcores = statistics->allocatedvcores;
}

static void describe_queue(const queue_info *info, struct scheduler_queue *queue)
{
	if (info->has_state && info->state != HADOOP__QUEUE_STATE_PROTO__Q_RUNNING)
		queue->state = info->state == HADOOP__QUEUE_STATE_PROTO__Q_DRAINING ? QUEUE_DRAINING
										    : QUEUE_STOPPED;
	if (info->maxrunningapp > 0 && info->maxrunningapp < INT32_MAX)
		queue->max_running = info->maxrunningapp;
	for (size_t i = 0; i < info->n_queueconfigurationsmap; i++)
		add_part(queue, info->queueconfigurationsmap[i]->partitionname,
			 info->queueconfigurationsmap[i]->queueconfigurations);
	if (info->queuestatistics)
		add_statistics(queue, info->queuestatistics);
}

/* Jobs go to leaves. */
static void add_leaves(const queue_info *info, const char *parent, int depth,
		       struct scheduler_queues *queues)
{
	const char *name = info->queuename ? info->queuename : "";
	const char *dot = strrchr(name, '.');
	char *path cleanup_free =
		*parent ? mem_printf("%s.%s", parent, dot ? dot + 1 : name) : mem_strdup(name);

	if (info->n_childqueues == 0 && *name && *parent)
		describe_queue(info, scheduler_queues_add(queues, name, path));
	for (size_t i = 0; i < info->n_childqueues && depth < DEPTH_CAP; i++)
		add_leaves(info->childqueues[i], path, depth + 1, queues);
}

/* The capacity scheduler takes a queue's own name only where no other one has it. */
static void name_twins(struct scheduler_queues *queues)
{
	struct map *names = map_create(NULL), *twins = map_create(NULL);

	for (size_t i = 0; i < queues->count; i++)
		map_set(map_get(names, queues->items[i].name) ? twins : names,
			queues->items[i].name, names);
	for (size_t i = 0; i < queues->count; i++)
		if (map_get(twins, queues->items[i].name))
			mem_replace(&queues->items[i].name, mem_strdup(queues->items[i].path));
	map_destroy(names);
	map_destroy(twins);
}

static bool may_submit(const Hadoop__QueueUserACLInfoProto *info)
{
	for (size_t i = 0; i < info->n_useracls; i++)
		if (info->useracls[i] == HADOOP__QUEUE_ACLPROTO__QACL_SUBMIT_APPLICATIONS)
			return true;
	return false;
}

static void add_access(const Hadoop__GetQueueUserAclsInfoResponseProto *told,
		       struct scheduler_queues *queues)
{
	for (size_t i = 0; i < queues->count; i++) {
		struct scheduler_queue *queue = &queues->items[i];
		for (size_t k = 0; k < told->n_queueuseracls; k++) {
			const Hadoop__QueueUserACLInfoProto *info = told->queueuseracls[k];
			if (str_equal(info->queuename, queue->path) ||
			    str_equal(info->queuename, queue->name))
				queue->access = may_submit(info) ? QUEUE_ACCESS_GRANTED
								 : QUEUE_ACCESS_DENIED;
		}
	}
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

static int compare_queues(const void *a, const void *b)
{
	return strcmp(((const struct scheduler_queue *)a)->path,
		      ((const struct scheduler_queue *)b)->path);
}

int yarn_queues(struct scheduler_queues *queues, struct err *err)
{
	Hadoop__GetQueueInfoRequestProto request = HADOOP__GET_QUEUE_INFO_REQUEST_PROTO__INIT;
	Hadoop__GetQueueUserAclsInfoRequestProto access_request =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_REQUEST_PROTO__INIT;
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	ProtobufCMessage *all cleanup_message = NULL, *access cleanup_message = NULL;
	struct err why cleanup_err = {0};
	char root[] = "root";

	request.queuename = root;
	request.has_includechildqueues = request.has_recursive = true;
	request.includechildqueues = request.recursive = true;
	if (!cluster ||
	    yarn_call(cluster, &RM_GET_QUEUE_INFO, &request.base, &all, NULL, err) < 0 ||
	    yarn_call(cluster, &RM_GET_QUEUE_USER_ACLS, &access_request.base, &access, NULL, err) <
		    0)
		return -1;
	const queue_info *info = ((const Hadoop__GetQueueInfoResponseProto *)all)->queueinfo;
	if (!info)
		return err_set(err, ERR_INPUT, "the ResourceManager tells of no queue");
	add_leaves(info, "", 0, queues);
	if (yarn_rest_add(cluster, queues, &why) < 0)
		log_warning("the limits of users and application masters, and the GPUs in use, are "
			    "not shown: %s",
			    err_message(&why));
	add_access((const Hadoop__GetQueueUserAclsInfoResponseProto *)access, queues);
	name_twins(queues);
	for (size_t i = 0; i < queues->count; i++)
		drop_empty_parts(&queues->items[i]);
	qsort(queues->items, queues->count, sizeof(*queues->items), compare_queues);
	return 0;
}
