#include "scheduler/yarn_demand.h"

#include <stdlib.h>

#include "base/fields.h"
#include "base/map.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_rules.h"

void yarn_demand_finish(struct yarn_demand *demand)
{
	for (size_t i = 0; i < demand->count; i++) {
		struct yarn_partition *partition = &demand->partitions[i];
		for (size_t k = 0; k < partition->shape_count; k++)
			free(partition->shapes[k].portions);
		free(partition->shapes);
		free(partition->amounts);
		free(partition->nodes);
	}
	free(demand->partitions);
	yarn_message_cleanup(&demand->nodes);
	yarn_message_cleanup(&demand->labels);
}

/* ---- what is needed ----------------------------------------------------------------------- */

static struct yarn_partition *partition_of(struct yarn_demand *demand, const char *label)
{
	for (size_t i = 0; i < demand->count; i++)
		if (str_equal(demand->partitions[i].label, label))
			return &demand->partitions[i];
	demand->partitions = mem_realloc_array(demand->partitions, demand->count + 1,
					       sizeof(*demand->partitions));
	demand->partitions[demand->count] = (struct yarn_partition){.label = label};
	return &demand->partitions[demand->count++];
}

static struct yarn_amount *amount_of(struct yarn_partition *partition, const char *name)
{
	for (size_t i = 0; i < partition->amount_count; i++)
		if (str_equal(partition->amounts[i].name, name))
			return &partition->amounts[i];
	partition->amounts = mem_realloc_array(partition->amounts, partition->amount_count + 1,
					       sizeof(*partition->amounts));
	partition->amounts[partition->amount_count] = (struct yarn_amount){.name = name};
	return &partition->amounts[partition->amount_count++];
}

struct reader {
	const struct hadoop_cluster *cluster;
	const struct job *job;
	const struct yarn_queue_found *found;
	const Hadoop__ResourceProto *largest;
	struct yarn_demand *demand;
};

/* As the ResourceManager takes them: a request's own label, else the application's, else what the
 * queue says. */
static const char *label_of(const struct reader *reader, const char *own)
{
	const char *labels[] = {own, reader->cluster->node_label,
				reader->found->queue->info->defaultnodelabelexpression};

	for (size_t i = 0; i < array_length(labels); i++)
		if (labels[i] && *labels[i])
			return labels[i];
	return "";
}

static struct yarn_shape *add_shape(struct yarn_partition *partition, const struct job_type *type,
				    int64_t count)
{
	partition->shapes = mem_realloc_array(partition->shapes, partition->shape_count + 1,
					      sizeof(*partition->shapes));
	partition->shapes[partition->shape_count] = (struct yarn_shape){type, count, NULL, 0};
	return &partition->shapes[partition->shape_count++];
}

/* `wanted`: containers beyond shape->count. */
static void add_portion(const struct reader *reader, struct yarn_partition *partition,
			struct yarn_shape *shape, const char *name, int64_t asked, int64_t wanted)
{
	int64_t given = yarn_rules_round(yarn_tree_rules(reader->found->tree), name, asked,
					 yarn_resource_value(reader->largest, name));
	struct yarn_amount *amount = amount_of(partition, name);

	shape->portions = mem_realloc_array(shape->portions, shape->portion_count + 1,
					    sizeof(*shape->portions));
	shape->portions[shape->portion_count++] = (struct yarn_portion){name, asked, given};
	amount->need += shape->count * given;
	amount->wanted += wanted * given;
}

static void add_type(const struct reader *reader, size_t index)
{
	const struct job_type *type = &reader->job->types[index];
	const struct hadoop_cluster_type *more = &reader->cluster->types[index];
	struct yarn_partition *partition =
		partition_of(reader->demand, label_of(reader, type->node_label));
	int64_t least = job_type_minimum(type), wanted = type->instances - least;
	struct yarn_shape *shape = add_shape(partition, type, least);

	partition->tasks += (size_t)least;
	add_portion(reader, partition, shape, YARN_MEMORY, type->memory, wanted);
	add_portion(reader, partition, shape, YARN_VCORES, type->vcores, wanted);
	for (size_t i = 0; i < more->amount_count; i++)
		add_portion(reader, partition, shape, more->amounts[i].name, more->amounts[i].value,
			    wanted);
}

static void add_am(const struct reader *reader)
{
	struct yarn_am_size am = yarn_am_size(reader->job);
	const char *label = job_config(reader->job, "tony.am.node-label");
	struct yarn_partition *partition = partition_of(reader->demand, label_of(reader, label));
	struct yarn_shape *shape = add_shape(partition, NULL, 1);

	partition->has_am = true;
	add_portion(reader, partition, shape, YARN_MEMORY, am.memory, 0);
	add_portion(reader, partition, shape, YARN_VCORES, am.vcores, 0);
}

/* All that must be there at the same time: the AM, and of a gang all types that wait for no other.
 */
static void add_gang(const struct reader *reader)
{
	const struct job *job = reader->job;

	add_am(reader);
	for (size_t i = 0; i < job->type_count && job->mode == JOB_MODE_GANG; i++)
		if (job->types[i].dependency_count == 0 && job->types[i].instances > 0)
			add_type(reader, i);
}

int64_t yarn_shape_given(const struct yarn_shape *shape, const char *name)
{
	for (size_t i = 0; i < shape->portion_count; i++)
		if (str_equal(shape->portions[i].name, name))
			return shape->portions[i].given;
	return 0;
}

/* ---- what there is ------------------------------------------------------------------------ */

/* The labels whose nodes others may use, too. */
static struct map *find_shared(const Hadoop__GetClusterNodeLabelsResponseProto *labels)
{
	struct map *shared = map_create(NULL);

	for (size_t i = 0; i < labels->n_nodelabels; i++)
		if (labels->nodelabels[i]->name && !labels->nodelabels[i]->isexclusive)
			map_set(shared, labels->nodelabels[i]->name, shared);
	return shared;
}

static bool is_running(const Hadoop__NodeReportProto *node)
{
	return !node->has_node_state || node->node_state == HADOOP__NODE_STATE_PROTO__NS_RUNNING;
}

static void add_running(struct yarn_partition *partition, const Hadoop__NodeReportProto *node,
			bool is_own)
{
	partition->nodes = mem_realloc_array(partition->nodes, partition->node_count + 1,
					     sizeof(const Hadoop__ResourceProto *));
	partition->nodes[partition->node_count++] = node->capability;
	for (size_t i = 0; i < partition->amount_count; i++) {
		struct yarn_amount *amount = &partition->amounts[i];
		int64_t value = yarn_resource_value(node->capability, amount->name);
		if (value > 0)
			*(is_own ? &amount->own : &amount->lent) += value;
	}
}

static void add_away(struct yarn_partition *partition, Hadoop__NodeStateProto state)
{
	switch (state) {
	case HADOOP__NODE_STATE_PROTO__NS_UNHEALTHY:
		partition->away[YARN_AWAY_UNHEALTHY]++;
		break;
	case HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING:
		partition->away[YARN_AWAY_DECOMMISSIONING]++;
		break;
	case HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONED:
		partition->away[YARN_AWAY_DECOMMISSIONED]++;
		break;
	case HADOOP__NODE_STATE_PROTO__NS_LOST:
		partition->away[YARN_AWAY_LOST]++;
		break;
	case HADOOP__NODE_STATE_PROTO__NS_SHUTDOWN:
		partition->away[YARN_AWAY_STOPPED]++;
		break;
	default: /* it is coming, or another report tells of it */
		break;
	}
}

static void add_node(struct yarn_demand *demand, const Hadoop__NodeReportProto *node,
		     const struct map *shared)
{
	const char *label = node->n_node_labels > 0 ? node->node_labels[0] : "";

	for (size_t i = 0; i < demand->count; i++) {
		struct yarn_partition *partition = &demand->partitions[i];
		bool is_own = str_equal(partition->label, label);
		if (!is_own && (*partition->label || !map_get(shared, label)))
			continue;
		if (!is_running(node))
			add_away(partition, node->node_state);
		else if (node->capability)
			add_running(partition, node, is_own);
	}
}

static void add_name(struct str_list *names, const char *name)
{
	if (!str_list_has(names, name))
		str_list_add(names, name);
}

/* By name they can be asked for many containers at once (hadoop/asks.c), but not with a label;
 * where they are many, each needs to give a few only. */
static void note_nodes(struct hadoop_cluster *cluster, const struct yarn_demand *demand,
		       const Hadoop__GetClusterNodesResponseProto *nodes)
{
	size_t running = 0;
	bool is_of_use = true;

	for (size_t i = 0; i < nodes->n_nodereports; i++)
		running += is_running(nodes->nodereports[i]);
	for (size_t i = 0; i < demand->count; i++)
		is_of_use = is_of_use && !*demand->partitions[i].label;
	for (size_t i = 0; i < nodes->n_nodereports && is_of_use && running <= FIELD_LIST_CAP;
	     i++) {
		const Hadoop__NodeReportProto *node = nodes->nodereports[i];
		if (!is_running(node) || !node->nodeid || !node->nodeid->host || !node->rackname ||
		    node->n_node_labels > 0)
			continue;
		add_name(&cluster->nodes, node->nodeid->host);
		add_name(&cluster->racks, node->rackname);
	}
}

static int find_nodes(struct hadoop_cluster *cluster, struct yarn_demand *demand, struct err *err)
{
	Hadoop__NodeStateProto states[] = {
		HADOOP__NODE_STATE_PROTO__NS_RUNNING,
		HADOOP__NODE_STATE_PROTO__NS_UNHEALTHY,
		HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONED,
		HADOOP__NODE_STATE_PROTO__NS_LOST,
		HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING,
		HADOOP__NODE_STATE_PROTO__NS_SHUTDOWN,
	};
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;
	Hadoop__GetClusterNodeLabelsRequestProto label_request =
		HADOOP__GET_CLUSTER_NODE_LABELS_REQUEST_PROTO__INIT;

	request.n_nodestates = array_length(states);
	request.nodestates = states;
	if (yarn_call(cluster, &RM_GET_CLUSTER_NODES, &request.base, &demand->nodes, NULL, err) <
		    0 ||
	    yarn_call(cluster, &RM_GET_NODE_LABELS, &label_request.base, &demand->labels, NULL,
		      err) < 0)
		return -1;
	const Hadoop__GetClusterNodesResponseProto *nodes =
		(const Hadoop__GetClusterNodesResponseProto *)demand->nodes;
	struct map *shared =
		find_shared((const Hadoop__GetClusterNodeLabelsResponseProto *)demand->labels);
	note_nodes(cluster, demand, nodes);
	for (size_t i = 0; i < nodes->n_nodereports; i++)
		add_node(demand, nodes->nodereports[i], shared);
	map_destroy(shared);
	return 0;
}

int yarn_demand_find(struct hadoop_cluster *cluster, const struct job *job,
		     const struct yarn_queue_found *found, const Hadoop__ResourceProto *largest,
		     struct yarn_demand *demand, struct err *err)
{
	add_gang(&(struct reader){cluster, job, found, largest, demand});
	return find_nodes(cluster, demand, err);
}
