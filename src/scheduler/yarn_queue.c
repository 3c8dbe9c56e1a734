/* Queues and node labels: are they there, and may they be used? */
#include <string.h>

#include "base/mem.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_client.h"

#define NAMED_AT_MOST 20
#define DEPTH_CAP     32

typedef Hadoop__QueueInfoProto queue_info;

/* ---- finding it --------------------------------------------------------------------------- */

static const char *last_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* By its own name, as the capacity scheduler takes it, or by its path, "root.ml.fast". */
static bool is_called(const queue_info *queue, const char *path, const char *name)
{
	const char *own = queue->queuename ? queue->queuename : "";

	return str_equal(own, name) || str_equal(path, name) || str_equal(queue->queuepath, name) ||
	       (!strchr(name, '.') && str_equal(last_name(own), name));
}

static bool find_below(const queue_info *queue, const char *parent, const char *name, double share,
		       int depth, struct yarn_queue_found *found)
{
	const char *own = last_name(queue->queuename ? queue->queuename : "");
	char *path cleanup_free = *parent ? mem_printf("%s.%s", parent, own) : mem_strdup(own);

	/* Of its parent's share; a scheduler without such shares says 0. */
	if (queue->has_maximumcapacity && queue->maximumcapacity > 0 && queue->maximumcapacity <= 1)
		share *= (double)queue->maximumcapacity;
	if (is_called(queue, path, name)) {
		*found = (struct yarn_queue_found){queue, share};
		return true;
	}
	for (size_t i = 0; i < queue->n_childqueues && depth < DEPTH_CAP; i++)
		if (find_below(queue->childqueues[i], path, name, share, depth + 1, found))
			return true;
	return false;
}

static void name_leaves(const queue_info *queue, int depth, struct str_list *names)
{
	if (queue->n_childqueues == 0 && queue->queuename)
		str_list_add(names, queue->queuename);
	for (size_t i = 0; i < queue->n_childqueues && depth < DEPTH_CAP; i++)
		if (names->count < NAMED_AT_MOST)
			name_leaves(queue->childqueues[i], depth + 1, names);
}

static int ask(const struct hadoop_cluster *cluster, char *name, ProtobufCMessage **response,
	       struct err *err)
{
	Hadoop__GetQueueInfoRequestProto request = HADOOP__GET_QUEUE_INFO_REQUEST_PROTO__INIT;

	request.queuename = name;
	request.has_includeapplications = request.has_includechildqueues = true;
	request.has_recursive = true;
	request.includechildqueues = request.recursive = true;
	return yarn_call(cluster, &RM_GET_QUEUE_INFO, &request.base, response, NULL, err);
}

static const queue_info *info_of(const ProtobufCMessage *response)
{
	return ((const Hadoop__GetQueueInfoResponseProto *)response)->queueinfo;
}

static int refuse_unknown(const char *name, const queue_info *root, struct err *err)
{
	struct str_list names cleanup_str_list = {0};

	if (root)
		name_leaves(root, 0, &names);
	char *list cleanup_free = str_list_join(&names, ", ");
	return err_set(err, ERR_CONFIG,
		       "tony.application.queue: the cluster has no queue \"%s\"%s%s", name,
		       names.count > 0 ? "; there is " : "", list);
}

/* ---- labels ------------------------------------------------------------------------------- */

static int check_label(const char *key, const char *label, const queue_info *queue,
		       const Hadoop__GetClusterNodeLabelsResponseProto *labels, struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	bool known = false, usable = queue->n_accessiblenodelabels == 0;

	for (size_t i = 0; i < labels->n_nodelabels; i++)
		if (labels->nodelabels[i]->name)
			str_list_add(&names, labels->nodelabels[i]->name);
	for (size_t i = 0; i < labels->n_deprecatednodelabels; i++)
		if (!str_list_has(&names, labels->deprecatednodelabels[i]))
			str_list_add(&names, labels->deprecatednodelabels[i]);
	known = str_list_has(&names, label);
	for (size_t i = 0; i < queue->n_accessiblenodelabels; i++)
		usable = usable || str_equal(queue->accessiblenodelabels[i], "*") ||
			 str_equal(queue->accessiblenodelabels[i], label);
	char *list cleanup_free = str_list_join(&names, ", ");
	if (!known)
		return err_set(err, ERR_CONFIG,
			       "%s: the cluster has no node label \"%s\"; it has %s", key, label,
			       names.count > 0 ? list : "none");
	if (!usable)
		return err_set(err, ERR_CONFIG,
			       "%s: the queue \"%s\" may not use the node label \"%s\"", key,
			       queue->queuename, label);
	return 0;
}

static int check_labels(const struct hadoop_cluster *cluster, const struct job *job,
			const queue_info *queue, struct err *err)
{
	Hadoop__GetClusterNodeLabelsRequestProto request =
		HADOOP__GET_CLUSTER_NODE_LABELS_REQUEST_PROTO__INIT;
	const char *am = job_config(job, "tony.am.node-label");
	ProtobufCMessage *response cleanup_message = NULL;
	bool any = am || cluster->node_label;

	for (size_t i = 0; i < job->type_count; i++)
		any = any || job->types[i].node_label;
	if (!any)
		return 0;
	if (yarn_call(cluster, &RM_GET_NODE_LABELS, &request.base, &response, NULL, err) < 0)
		return -1;
	const Hadoop__GetClusterNodeLabelsResponseProto *labels =
		(const Hadoop__GetClusterNodeLabelsResponseProto *)response;
	if (am && check_label("tony.am.node-label", am, queue, labels, err) < 0)
		return -1;
	if (cluster->node_label &&
	    check_label("tony.application.node-label", cluster->node_label, queue, labels, err) < 0)
		return -1;
	for (size_t i = 0; i < job->type_count; i++) {
		char *key cleanup_free = mem_printf("tony.%s.node-label", job->types[i].name);
		const char *label = job->types[i].node_label;
		if (label && check_label(key, label, queue, labels, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int check_found(struct hadoop_cluster *cluster, const struct job *job,
		       const struct yarn_queue_found *found, const Hadoop__ResourceProto *largest,
		       struct err *err)
{
	const queue_info *queue = found->queue;

	if (queue->n_childqueues > 0) {
		struct str_list names cleanup_str_list = {0};
		name_leaves(queue, 0, &names);
		char *list cleanup_free = str_list_join(&names, ", ");
		return err_set(
			err, ERR_CONFIG,
			"tony.application.queue: \"%s\" is no leaf: jobs go to queues below it: %s",
			job->queue, list);
	}
	if (queue->has_state && queue->state != HADOOP__QUEUE_STATE_PROTO__Q_RUNNING)
		return err_set(err, ERR_CAPACITY,
			       "tony.application.queue: the queue \"%s\" is %s: it takes no jobs",
			       job->queue,
			       queue->state == HADOOP__QUEUE_STATE_PROTO__Q_DRAINING ? "draining"
										     : "stopped");
	if (check_labels(cluster, job, queue, err) < 0)
		return -1;
	return yarn_check_total(cluster, job, found, largest, err);
}

int yarn_check_queue(struct hadoop_cluster *cluster, const struct job *job,
		     const Hadoop__ResourceProto *largest, struct err *err)
{
	ProtobufCMessage *all cleanup_message = NULL, *one cleanup_message = NULL;
	struct yarn_queue_found found = {0};

	if (ask(cluster, (char[]){"root"}, &all, err) < 0)
		return -1;
	if (info_of(all) && find_below(info_of(all), "", job->queue, 1, 0, &found))
		return check_found(cluster, job, &found, largest, err);
	/* The tree may leave out queues that are made when they are used. */
	if (ask(cluster, job->queue, &one, err) < 0)
		return -1;
	if (!info_of(one))
		return refuse_unknown(job->queue, info_of(all), err);
	found = (struct yarn_queue_found){info_of(one), 1};
	return check_found(cluster, job, &found, largest, err);
}
