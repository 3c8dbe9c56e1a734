/* Do all tasks that run together fit into what the queue may ever have? Counted by partition: a
 * node with a label belongs to that label's, and serves others only when the label is not
 * exclusive. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_client.h"

#define MEMORY "memory-mb"
#define VCORES "vcores"

struct amount {
	const char *name;
	int64_t need;
	int64_t wanted;	   /* beyond that, by elastic types */
	int64_t own, lent; /* what nodes of the partition have, and others that it may use */
};

struct partition {
	const char *label; /* "": the nodes without one */
	bool has_am;
	size_t tasks, nodes;
	struct amount *amounts;
	size_t count;
};

struct partitions {
	struct partition *items;
	size_t count;
};

static void partitions_finish(struct partitions *partitions)
{
	for (size_t i = 0; i < partitions->count; i++)
		free(partitions->items[i].amounts);
	free(partitions->items);
}

/* ---- what is needed ----------------------------------------------------------------------- */

static struct partition *partition_of(struct partitions *partitions, const char *label)
{
	for (size_t i = 0; i < partitions->count; i++)
		if (str_equal(partitions->items[i].label, label))
			return &partitions->items[i];
	partitions->items = mem_realloc_array(partitions->items, partitions->count + 1,
					      sizeof(*partitions->items));
	partitions->items[partitions->count] = (struct partition){.label = label};
	return &partitions->items[partitions->count++];
}

static struct amount *amount_of(struct partition *partition, const char *name)
{
	for (size_t i = 0; i < partition->count; i++)
		if (str_equal(partition->amounts[i].name, name))
			return &partition->amounts[i];
	partition->amounts = mem_realloc_array(partition->amounts, partition->count + 1,
					       sizeof(*partition->amounts));
	partition->amounts[partition->count] = (struct amount){.name = name};
	return &partition->amounts[partition->count++];
}

static void need(struct partition *partition, const char *name, int64_t value)
{
	amount_of(partition, name)->need += value;
}

/* For all tasks of a type. */
static void need_each(struct partition *partition, const char *name, const struct job_type *type,
		      int64_t value)
{
	struct amount *amount = amount_of(partition, name);

	amount->need += job_type_minimum(type) * value;
	amount->wanted += (type->instances - job_type_minimum(type)) * value;
}

/* As the ResourceManager takes them: a request's own label, else the application's, else what the
 * queue says. */
static const char *label_of(const struct hadoop_cluster *cluster,
			    const Hadoop__QueueInfoProto *queue, const char *own)
{
	const char *labels[] = {own, cluster->node_label, queue->defaultnodelabelexpression};

	for (size_t i = 0; i < array_length(labels); i++)
		if (labels[i] && *labels[i])
			return labels[i];
	return "";
}

static void add_type(struct partition *partition, const struct job_type *type,
		     const struct hadoop_cluster_type *more)
{
	partition->tasks += (size_t)job_type_minimum(type);
	need_each(partition, MEMORY, type, type->memory);
	need_each(partition, VCORES, type, type->vcores);
	for (size_t i = 0; i < more->amount_count; i++)
		need_each(partition, more->amounts[i].name, type, more->amounts[i].value);
}

/* What must be there at the same time: the AM, and of a gang all types that wait for no other. */
static void add_gang(const struct hadoop_cluster *cluster, const struct job *job,
		     const Hadoop__QueueInfoProto *queue, struct partitions *partitions)
{
	struct yarn_am_size am = yarn_am_size(job);
	const char *am_label = job_config(job, "tony.am.node-label");
	struct partition *partition = partition_of(partitions, label_of(cluster, queue, am_label));

	partition->has_am = true;
	need(partition, MEMORY, am.memory);
	need(partition, VCORES, am.vcores);
	for (size_t i = 0; i < job->type_count && job->mode == JOB_MODE_GANG; i++) {
		const struct job_type *type = &job->types[i];
		const char *label = label_of(cluster, queue, type->node_label);
		if (type->dependency_count == 0 && type->instances > 0)
			add_type(partition_of(partitions, label), type, &cluster->types[i]);
	}
}

/* ---- what there is ------------------------------------------------------------------------ */

/* -1: not told. */
static int64_t value_of(const Hadoop__ResourceProto *resource, const char *name)
{
	if (str_equal(name, MEMORY))
		return resource->memory;
	if (str_equal(name, VCORES))
		return resource->virtual_cores;
	for (size_t i = 0; i < resource->n_resource_value_map; i++)
		if (str_equal(resource->resource_value_map[i]->key, name))
			return resource->resource_value_map[i]->value;
	return -1;
}

static bool is_exclusive(const Hadoop__GetClusterNodeLabelsResponseProto *labels, const char *label)
{
	for (size_t i = 0; i < labels->n_nodelabels; i++)
		if (str_equal(labels->nodelabels[i]->name, label))
			return labels->nodelabels[i]->isexclusive;
	return true;
}

static void add_node(struct partition *partition, const Hadoop__NodeReportProto *node, bool is_own)
{
	partition->nodes++;
	for (size_t i = 0; i < partition->count; i++) {
		struct amount *amount = &partition->amounts[i];
		int64_t value = value_of(node->capability, amount->name);
		if (value > 0)
			*(is_own ? &amount->own : &amount->lent) += value;
	}
}

static void add_nodes(struct partitions *partitions,
		      const Hadoop__GetClusterNodesResponseProto *nodes,
		      const Hadoop__GetClusterNodeLabelsResponseProto *labels)
{
	for (size_t i = 0; i < nodes->n_nodereports; i++) {
		const Hadoop__NodeReportProto *node = nodes->nodereports[i];
		const char *label = node->n_node_labels > 0 ? node->node_labels[0] : "";
		for (size_t k = 0; k < partitions->count && node->capability; k++) {
			struct partition *partition = &partitions->items[k];
			bool is_own = str_equal(partition->label, label);
			if (is_own || (!*partition->label && !is_exclusive(labels, label)))
				add_node(partition, node, is_own);
		}
	}
}

static void add_name(struct str_list *names, const char *name)
{
	if (!str_list_has(names, name))
		str_list_add(names, name);
}

/* By name they can be asked for many containers at once (hadoop/asks.c), but not with a label;
 * where they are many, each needs to give a few only. */
static void note_nodes(struct hadoop_cluster *cluster, const struct partitions *partitions,
		       const Hadoop__GetClusterNodesResponseProto *nodes)
{
	bool is_of_use = nodes->n_nodereports <= FIELD_LIST_CAP;

	for (size_t i = 0; i < partitions->count; i++)
		is_of_use = is_of_use && !*partitions->items[i].label;
	for (size_t i = 0; i < nodes->n_nodereports && is_of_use; i++) {
		const Hadoop__NodeReportProto *node = nodes->nodereports[i];
		if (!node->nodeid || !node->nodeid->host || !node->rackname ||
		    node->n_node_labels > 0)
			continue;
		add_name(&cluster->nodes, node->nodeid->host);
		add_name(&cluster->racks, node->rackname);
	}
}

static int count_nodes(struct hadoop_cluster *cluster, struct partitions *partitions,
		       struct err *err)
{
	Hadoop__NodeStateProto running = HADOOP__NODE_STATE_PROTO__NS_RUNNING;
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;
	Hadoop__GetClusterNodeLabelsRequestProto label_request =
		HADOOP__GET_CLUSTER_NODE_LABELS_REQUEST_PROTO__INIT;
	ProtobufCMessage *nodes cleanup_message = NULL, *labels cleanup_message = NULL;

	request.n_nodestates = 1;
	request.nodestates = &running;
	if (yarn_call(cluster, &RM_GET_CLUSTER_NODES, &request.base, &nodes, NULL, err) < 0 ||
	    yarn_call(cluster, &RM_GET_NODE_LABELS, &label_request.base, &labels, NULL, err) < 0)
		return -1;
	note_nodes(cluster, partitions, (const Hadoop__GetClusterNodesResponseProto *)nodes);
	add_nodes(partitions, (const Hadoop__GetClusterNodesResponseProto *)nodes,
		  (const Hadoop__GetClusterNodeLabelsResponseProto *)labels);
	return 0;
}

/* ---- how much of that the queue may have -------------------------------------------------- */

/* What the capacity scheduler has worked out for a partition; NULL: not told (before Hadoop 3.1,
 * and by other schedulers). */
static const Hadoop__ResourceProto *maximum_of(const Hadoop__QueueInfoProto *queue,
					       const char *label)
{
	for (size_t i = 0; i < queue->n_queueconfigurationsmap; i++) {
		const Hadoop__QueueConfigurationsMapProto *entry = queue->queueconfigurationsmap[i];
		const Hadoop__ResourceProto *maximum =
			entry->queueconfigurations
				? entry->queueconfigurations->effectivemaxcapacity
				: NULL;
		if (str_equal(entry->partitionname ? entry->partitionname : "", label))
			return maximum && maximum->memory > 0 ? maximum : NULL;
	}
	return NULL;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most_of(const struct yarn_queue_found *found, const struct partition *partition,
		       const struct amount *amount)
{
	const Hadoop__QueueInfoProto *queue = found->queue;
	const Hadoop__ResourceProto *maximum = maximum_of(queue, partition->label);
	int64_t told = maximum ? value_of(maximum, amount->name) : -1;
	int64_t most = amount->own;

	if (told >= 0)
		most = smaller(most, told);
	else if (!*partition->label)
		most = (int64_t)((double)most * found->share);
	if (str_equal(amount->name, MEMORY) && queue->maxresourcememory > 0)
		most = smaller(most, queue->maxresourcememory);
	if (str_equal(amount->name, VCORES) && queue->maxresourcevcore > 0)
		most = smaller(most, queue->maxresourcevcore);
	return most + amount->lent;
}

/* Does the scheduler keep an account of vcores? With more types of resources than memory and vcores
 * the capacity scheduler does not start unless it does. */
static bool counts_vcores(const Hadoop__QueueInfoProto *queue, const Hadoop__ResourceProto *largest)
{
	if (queue->schedulertype && str_starts_with(queue->schedulertype, "Fair"))
		return true;
	for (size_t i = 0; i < largest->n_resource_value_map; i++) {
		const char *name = largest->resource_value_map[i]->key;
		if (!str_equal(name, MEMORY) && !str_equal(name, VCORES))
			return true;
	}
	return false;
}

/* ---- the verdict -------------------------------------------------------------------------- */

static char *format_amount(const char *name, int64_t value)
{
	if (str_equal(name, MEMORY))
		return str_format_mib((double)value);
	if (str_equal(name, VCORES))
		return mem_printf("%" PRId64 " vcore%s", value, str_plural(value));
	return mem_printf("%" PRId64 " of %s", value, name);
}

static char *describe_needy(const struct partition *partition)
{
	const char *am = "the application master";

	if (partition->tasks == 0)
		return mem_printf("%s needs", am);
	return mem_printf("%zu task%s that run together%s%s need", partition->tasks,
			  str_plural(partition->tasks), partition->has_am ? " and " : "",
			  partition->has_am ? am : "");
}

static int refuse(const struct job *job, const struct partition *partition,
		  const struct amount *amount, int64_t most, struct err *err)
{
	char *who cleanup_free = describe_needy(partition);
	char *needed cleanup_free = format_amount(amount->name, amount->need);
	char *given cleanup_free = format_amount(amount->name, most);
	char *all cleanup_free = format_amount(amount->name, amount->own + amount->lent);
	char *label cleanup_free = *partition->label
					   ? mem_printf(" with the label \"%s\"", partition->label)
					   : mem_strdup("");

	return err_set(err, ERR_CAPACITY,
		       "%s %s; the queue \"%s\" can have %s of the cluster's %s (%zu node%s%s); "
		       "ask for fewer or smaller tasks, or name another queue with --queue",
		       who, needed, job->queue, given, all, partition->nodes,
		       str_plural(partition->nodes), label);
}

/* An elastic job runs all the same. */
static void note_shortage(const struct job *job, const struct amount *amount, int64_t most)
{
	char *needed cleanup_free = format_amount(amount->name, amount->need + amount->wanted);
	char *given cleanup_free = format_amount(amount->name, most);

	log_warning(
		"all tasks that are wanted would need %s, and the queue \"%s\" can have %s: the "
		"job runs with fewer",
		needed, job->queue, given);
}

static int check_partition(const struct job *job, const struct yarn_queue_found *found,
			   const struct partition *partition, bool with_vcores, struct err *err)
{
	if (partition->nodes == 0 && *partition->label)
		return err_set(err, ERR_CAPACITY, "no running node has the node label \"%s\"",
			       partition->label);
	if (partition->nodes == 0)
		return err_set(err, ERR_CAPACITY,
			       "the cluster has no running NodeManager that "
			       "any task may use");
	for (size_t i = 0; i < partition->count; i++) {
		const struct amount *amount = &partition->amounts[i];
		int64_t most = most_of(found, partition, amount);
		if (!with_vcores && str_equal(amount->name, VCORES))
			continue;
		if (amount->need > most)
			return refuse(job, partition, amount, most, err);
		if (amount->need + amount->wanted > most)
			note_shortage(job, amount, most);
	}
	return 0;
}

int yarn_check_total(struct hadoop_cluster *cluster, const struct job *job,
		     const struct yarn_queue_found *found, const Hadoop__ResourceProto *largest,
		     struct err *err)
{
	struct partitions partitions __attribute__((cleanup(partitions_finish))) = {0};
	bool with_vcores = counts_vcores(found->queue, largest);

	add_gang(cluster, job, found->queue, &partitions);
	if (count_nodes(cluster, &partitions, err) < 0)
		return -1;
	for (size_t i = 0; i < partitions.count; i++)
		if (check_partition(job, found, &partitions.items[i], with_vcores, err) < 0)
			return -1;
	return 0;
}
