/* Queues and node labels: are they there, or made when they are used, and may they be used? */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_tree.h"

#define NAMED_AT_MOST 20
#define DEPTH_CAP     32

typedef Hadoop__QueueInfoProto queue_info;

/* ---- words -------------------------------------------------------------------------------- */

static void name_leaves(const queue_info *queue, int depth, struct str_list *names)
{
	if (queue->n_childqueues == 0 && queue->queuename && !str_list_has(names, queue->queuename))
		str_list_add(names, queue->queuename);
	for (size_t i = 0; i < queue->n_childqueues && depth < DEPTH_CAP; i++)
		if (names->count < NAMED_AT_MOST)
			name_leaves(queue->childqueues[i], depth + 1, names);
}

struct search {
	struct hadoop_cluster *cluster;
	struct job *job;
	struct yarn_tree *tree;
	struct yarn_queue_found *found;
};

static int refuse_unknown(const struct search *search, struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	size_t first = 0;

	name_leaves(yarn_tree_next(search->tree, &first)->info, 0, &names);
	char *list cleanup_free = str_list_join(&names, ", ");
	return err_set(err, ERR_CONFIG,
		       "tony.application.queue: the cluster has no queue \"%s\"%s%s",
		       search->job->queue, names.count > 0 ? "; there is " : "", list);
}

/* ---- labels ------------------------------------------------------------------------------- */

typedef Hadoop__GetClusterNodeLabelsResponseProto labels_told;

/* By both of its lists: before Hadoop 2.8 there is only the other one. */
static const char *label_at(const labels_told *labels, size_t index)
{
	return index < labels->n_nodelabels
		       ? labels->nodelabels[index]->name
		       : labels->deprecatednodelabels[index - labels->n_nodelabels];
}

static int refuse_label(const char *key, const char *label, const labels_told *labels, size_t count,
			struct err *err)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < count && names.count < NAMED_AT_MOST; i++) {
		const char *name = label_at(labels, i);
		if (name && !str_list_has(&names, name))
			str_list_add(&names, name);
	}
	char *list cleanup_free = str_list_join(&names, ", ");
	return err_set(err, ERR_CONFIG, "%s: the cluster has no node label \"%s\"; it has %s", key,
		       label, names.count > 0 ? list : "none");
}

static int check_label(const char *key, const char *label, const queue_info *queue,
		       const labels_told *labels, struct err *err)
{
	size_t count = labels->n_nodelabels + labels->n_deprecatednodelabels;
	bool is_known = false, is_usable = queue->n_accessiblenodelabels == 0;

	for (size_t i = 0; i < count && !is_known; i++)
		is_known = str_equal(label_at(labels, i), label);
	if (!is_known)
		return refuse_label(key, label, labels, count, err);
	for (size_t i = 0; i < queue->n_accessiblenodelabels; i++)
		is_usable = is_usable || str_equal(queue->accessiblenodelabels[i], "*") ||
			    str_equal(queue->accessiblenodelabels[i], label);
	return is_usable ? 0
			 : err_set(err, ERR_CONFIG,
				   "%s: the queue \"%s\" may not use the node label \"%s\"", key,
				   queue->queuename, label);
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
	const labels_told *labels = (const labels_told *)response;
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

/* ---- queues that are made when they are used ---------------------------------------------- */

static bool find_named(const struct search *search, const char *name)
{
	const struct yarn_tree_queue *queue = yarn_tree_find(search->tree, name);

	if (!queue)
		return false;
	search->found->queue = queue;
	mem_replace(&search->found->path, mem_strdup(queue->shown.path));
	return true;
}

/* Finds the queue below which `path` would be made, and takes it for that. */
static void find_parent(const struct search *search, const char *path)
{
	char *parent cleanup_free = mem_strdup(path);
	char *dot;

	search->found->is_new = true;
	while ((dot = strrchr(parent, '.'))) {
		*dot = '\0';
		if (find_named(search, parent))
			break;
	}
	if (!search->found->queue)
		find_named(search, "root");
	mem_replace(&search->found->path, mem_strdup(path));
}

static int refuse_mapped(const struct search *search, const struct yarn_tree_queue *parent,
			 struct err *err)
{
	return err_set(err, ERR_CONFIG,
		       "tony.application.queue: \"%s\": queues below \"%s\" are for jobs that the "
		       "cluster's own mapping of users sends there "
		       "(yarn.scheduler.capacity.queue-mappings); leave the key out",
		       search->job->queue, parent->shown.path);
}

/* Are queues made here? Where it is not known, rather below one that somebody has made for that. */
static int check_making(const struct search *search, struct err *err)
{
	const struct yarn_tree_queue *queue = search->found->queue;

	if (queue->makes == YARN_MAKES_MAPPED)
		return refuse_mapped(search, queue, err);
	bool is_made = queue->makes == YARN_MAKES_NAMED ||
		       (queue->makes == YARN_MAKES_UNKNOWN && queue->parent);
	return is_made ? 0 : refuse_unknown(search, err);
}

/* YARN takes no job that names a queue of mapped users, also when it has been made. */
static int check_unmapped(const struct search *search, struct err *err)
{
	const struct yarn_tree_queue *parent = search->found->queue->parent;

	return parent && parent->makes == YARN_MAKES_MAPPED ? refuse_mapped(search, parent, err)
							    : 0;
}

/* By its path it is found, or made. */
static int find_or_make(const struct search *search, struct err *err)
{
	char *path cleanup_free = yarn_tree_path(search->tree, search->job->queue);

	if (!find_named(search, path)) {
		find_parent(search, path);
		if (check_making(search, err) < 0)
			return -1;
	} else if (check_unmapped(search, err) < 0) {
		return -1;
	}
	mem_replace(&search->job->queue, mem_steal(&path));
	return 0;
}

/* ---- which queue -------------------------------------------------------------------------- */

/* Where the scheduler's own rules decide, and are not known, no queue's limits are the job's. */
static void take_any(const struct search *search)
{
	size_t first = 0;
	const struct yarn_tree_queue *root = yarn_tree_next(search->tree, &first);

	search->found->queue = root;
	search->found->is_new = search->found->is_any = true;
	mem_replace(&search->found->path, mem_strdup(root->shown.path));
}

/* A job of Fair's that names no queue goes to its user's, unless an administrator wrote other
 * rules. "root" is the name of all queues' root, so that user's is to be named. */
static void choose_fair(const struct search *search)
{
	const char *user = search->cluster->user;
	char *own cleanup_free = mem_printf("root.%s", user);

	if (!yarn_rules_has_user_queues(yarn_tree_rules(search->tree))) {
		if (!find_named(search, "root.default"))
			take_any(search);
		return;
	}
	if (str_equal(user, "root"))
		mem_replace(&search->job->queue, mem_strdup(own));
	if (!find_named(search, own))
		take_any(search);
}

/* The queue of a mapping may be made for this very job. */
static void choose_mapped(const struct search *search, const char *mapped)
{
	char *path cleanup_free = yarn_tree_path(search->tree, mapped);

	if (!find_named(search, path))
		find_parent(search, path);
}

static int choose(const struct search *search, struct err *err)
{
	struct yarn_rules *rules = yarn_tree_rules(search->tree);
	/* As schedulers see it. */
	bool is_named = !str_equal(search->job->queue, "default");
	bool maps_named = false;
	char *mapped cleanup_free =
		yarn_rules_mapped_queue(rules, search->cluster->user, &maps_named);

	if (mapped && (!is_named || maps_named)) {
		choose_mapped(search, mapped);
		return 0;
	}
	if (!is_named && yarn_rules_is_fair(rules)) {
		choose_fair(search);
		return 0;
	}
	if (find_named(search, search->job->queue))
		return check_unmapped(search, err);
	if (!is_named) {
		take_any(search);
		return 0;
	}
	return find_or_make(search, err);
}

/* ---- may it be used? ---------------------------------------------------------------------- */

static int refuse_parent(const struct search *search, struct err *err)
{
	const struct yarn_tree_queue *queue = search->found->queue;
	struct str_list names cleanup_str_list = {0};

	if (queue->makes == YARN_MAKES_MAPPED)
		return refuse_mapped(search, queue, err);
	name_leaves(queue->info, 0, &names);
	char *list cleanup_free = str_list_join(&names, ", ");
	return err_set(err, ERR_CONFIG,
		       "tony.application.queue: \"%s\" is no leaf: jobs go to queues below it: %s",
		       search->job->queue,
		       queue->info->n_childqueues > 0 ? list : "write a name behind it");
}

static int check_access(const struct search *search, struct err *err)
{
	if (search->found->queue->shown.access != QUEUE_ACCESS_DENIED)
		return 0;
	return err_set(err, ERR_DENIED,
		       "tony.application.queue: the user %s may not submit to the queue \"%s\" "
		       "(acl_submit_applications); name another one with --queue",
		       search->cluster->user, search->found->name);
}

static int check_found(const struct search *search, struct err *err)
{
	const struct yarn_queue_found *found = search->found;
	const queue_info *queue = found->queue->info;

	if (!found->is_new && !found->queue->is_leaf)
		return refuse_parent(search, err);
	if (queue->has_state && queue->state != HADOOP__QUEUE_STATE_PROTO__Q_RUNNING)
		return err_set(err, ERR_CAPACITY,
			       "tony.application.queue: the queue \"%s\" is %s: it takes no jobs",
			       found->is_new && queue->queuename ? queue->queuename : found->name,
			       queue->state == HADOOP__QUEUE_STATE_PROTO__Q_DRAINING ? "draining"
										     : "stopped");
	if (check_labels(search->cluster, search->job, queue, err) < 0)
		return -1;
	return found->is_new ? 0 : check_access(search, err);
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int check_room(const struct search *search, const Hadoop__ResourceProto *largest,
		      struct err *err)
{
	struct err shortage cleanup_err = {0};

	if (yarn_check_total(search->cluster, search->job, search->found, largest, &shortage) == 0)
		return 0;
	if (shortage.kind != ERR_CAPACITY)
		return err_copy(err, &shortage);
	if (!job_config_bool(search->job, "tony.application.wait-for-capacity"))
		return err_set(err, ERR_CAPACITY, "%s; --wait-for-capacity submits it all the same",
			       err_message(&shortage));
	log_warning("the job waits for capacity: %s", err_message(&shortage));
	return 0;
}

/* A FairScheduler that is asked for "a..b" ends its ResourceManager. */
static int check_name(const char *name, struct err *err)
{
	size_t length = strlen(name);
	bool is_one = length > 0 && *name != '.' && name[length - 1] != '.' && !strstr(name, "..");

	for (size_t i = 0; i < length; i++)
		is_one = is_one && (unsigned char)name[i] > ' ' && name[i] != '/' && name[i] != 127;
	if (is_one)
		return 0;
	char *printable cleanup_free = str_printable(name, length);
	return err_set(err, ERR_CONFIG,
		       "tony.application.queue: \"%s\" is no name of a queue; write one such as ml "
		       "or root.teams.ml, without blanks",
		       printable);
}

/* As the ResourceManager tells of it: from the root on, unless it is an old one. */
static char *told_name(const struct search *search)
{
	const struct yarn_queue_found *found = search->found;
	bool is_path = yarn_rules_is_fair(yarn_tree_rules(search->tree)) || found->is_new ||
		       found->queue->info->queuepath;

	return is_path ? mem_strdup(found->path) : mem_strdup(found->queue->name);
}

static int check(const struct search *search, const Hadoop__ResourceProto *largest, struct err *err)
{
	struct yarn_queue_found *found = search->found;

	if (choose(search, err) < 0)
		return -1;
	bool is_own =
		!found->is_new && yarn_tree_find(search->tree, search->job->queue) == found->queue;
	found->name = mem_strdup(is_own ? search->job->queue : found->path);
	mem_replace(&search->cluster->queue, mem_strdup(search->job->queue));
	if (check_found(search, err) < 0 || check_room(search, largest, err) < 0)
		return -1;
	if (!found->is_any)
		mem_replace(&search->job->queue, told_name(search));
	return 0;
}

/* All tasks with their containers rounded. */
static void sum_given(const struct search *search, const Hadoop__ResourceProto *largest,
		      struct share *given)
{
	*given = (struct share){0};
	for (size_t i = 0; i < search->job->type_count; i++) {
		const struct job_type *type = &search->job->types[i];
		given->memory += yarn_rules_round(yarn_tree_rules(search->tree), YARN_MEMORY,
						  type->memory, largest->memory) *
				 type->instances;
	}
}

static void tell_silence(const struct hadoop_cluster *cluster, const struct err *silence)
{
	char *web cleanup_free = str_list_join(&cluster->rm_web, ", ");

	if (silence->kind != ERR_NONE && cluster->rm_web.count > 0)
		log_warning("the ResourceManager's web service, %s, cannot be asked: %s; how "
			    "containers are rounded, the limits of one user and which queues are "
			    "made when they are used are taken from this machine's site files, or "
			    "not checked",
			    web, err_message(silence));
}

int yarn_check_queue(struct hadoop_cluster *cluster, struct job *job,
		     const Hadoop__ResourceProto *largest, struct share *given, struct err *err)
{
	struct yarn_tree *tree cleanup_yarn_tree =
		check_name(job->queue, err) < 0 ? NULL : yarn_tree_ask(cluster, job, err);
	struct yarn_queue_found found = {.tree = tree};

	if (!tree || yarn_check_handler(cluster, job, yarn_tree_rules(tree), err) < 0)
		return -1;
	const struct search search = {cluster, job, tree, &found};
	int result = check(&search, largest, err);
	sum_given(&search, largest, given);
	tell_silence(cluster, yarn_rules_silence(yarn_tree_rules(tree)));
	free(found.path);
	free(found.name);
	return result;
}
