/* Queues and node labels: are they there, or made when they are used, and may they be used? */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_rules.h"

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
		found->queue = queue;
		found->share = share;
		mem_replace(&found->path, mem_steal(&path));
		return true;
	}
	for (size_t i = 0; i < queue->n_childqueues && depth < DEPTH_CAP; i++)
		if (find_below(queue->childqueues[i], path, name, share, depth + 1, found))
			return true;
	return false;
}

static void name_leaves(const queue_info *queue, int depth, struct str_list *names)
{
	if (queue->n_childqueues == 0 && queue->queuename && !str_list_has(names, queue->queuename))
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

/* ---- queues that are made when they are used ---------------------------------------------- */

struct search {
	struct hadoop_cluster *cluster;
	struct job *job;
	const queue_info *root;
	struct yarn_queue_found *found;
	ProtobufCMessage *one; /* a queue that the tree leaves out */
};

static bool find_named(const struct search *search, const char *name)
{
	return find_below(search->root, "", name, 1, 0, search->found);
}

/* From the root on, whatever the user wrote: that is what schedulers make queues of. */
static char *whole_path(const struct search *search, const char *name)
{
	size_t length = strcspn(name, ".");
	char *first cleanup_free = mem_strndup(name, length);

	if (str_equal(first, "root"))
		return mem_strdup(name);
	if (name[length] && !yarn_rules_is_fair(search->found->rules) && find_named(search, first))
		return mem_printf("%s%s", search->found->path, name + length);
	return mem_printf("root.%s", name);
}

/* Finds the queue below which `path` would be made. */
static void find_parent(const struct search *search, const char *path)
{
	char *parent cleanup_free = mem_strdup(path);
	char *dot;

	while ((dot = strrchr(parent, '.'))) {
		*dot = '\0';
		if (find_named(search, parent))
			return;
	}
	find_named(search, "root");
}

static int refuse_mapped(const struct search *search, const char *parent, struct err *err)
{
	return err_set(err, ERR_CONFIG,
		       "tony.application.queue: \"%s\": queues below \"%s\" are for jobs that the "
		       "cluster's own mapping of users sends there "
		       "(yarn.scheduler.capacity.queue-mappings); leave the key out",
		       search->job->queue, parent);
}

/* Are queues made here? Where it is not known, rather below one that somebody has made for that. */
static int check_making(const struct search *search, struct err *err)
{
	const struct yarn_queue_found *found = search->found;
	struct rm_web_queue rules;

	if (yarn_rules_is_fair(found->rules))
		return yarn_rules_makes_queues(found->rules)
			       ? 0
			       : refuse_unknown(search->job->queue, search->root, err);
	if (!yarn_rules_queue(found->rules, found->path, &rules))
		return str_equal(found->path, "root")
			       ? refuse_unknown(search->job->queue, search->root, err)
			       : 0;
	if (rules.makes == RM_WEB_MAKES_MAPPED)
		return refuse_mapped(search, found->path, err);
	return rules.makes == RM_WEB_MAKES_ANY
		       ? 0
		       : refuse_unknown(search->job->queue, search->root, err);
}

static int find_or_make(struct search *search, struct err *err)
{
	struct yarn_queue_found *found = search->found;

	if (ask(search->cluster, search->job->queue, &search->one, err) < 0)
		return -1;
	char *path cleanup_free = whole_path(search, search->job->queue);
	if (info_of(search->one)) {
		found->queue = info_of(search->one);
		found->share = 1;
		mem_replace(&found->path, mem_steal(&path));
		return 0;
	}
	find_parent(search, path);
	if (check_making(search, err) < 0)
		return -1;
	found->is_new = true;
	mem_replace(&search->job->queue, mem_strdup(path));
	mem_replace(&found->path, mem_steal(&path));
	return 0;
}

/* ---- which queue -------------------------------------------------------------------------- */

/* Where the scheduler's own rules decide, and are not known, no queue's limits are the job's. */
static void take_any(const struct search *search)
{
	find_named(search, "root");
	search->found->is_new = true;
}

/* A job of Fair's that names no queue goes to its user's, unless an administrator wrote other
 * rules. "root" is the name of all queues' root, so that user's is to be named. */
static void choose_fair(const struct search *search)
{
	const char *user = search->cluster->user;
	char *own cleanup_free = mem_printf("root.%s", user);

	if (!yarn_rules_has_user_queues(search->found->rules)) {
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
	char *path cleanup_free = whole_path(search, mapped);

	if (find_named(search, path))
		return;
	find_parent(search, path);
	search->found->is_new = true;
	mem_replace(&search->found->path, mem_steal(&path));
}

/* YARN takes no job that names such a queue, also when it has been made. */
static int check_unmapped(const struct search *search, struct err *err)
{
	char *parent cleanup_free = mem_strdup(search->found->path);
	char *dot = strrchr(parent, '.');
	struct rm_web_queue rules;

	if (!dot)
		return 0;
	*dot = '\0';
	return yarn_rules_queue(search->found->rules, parent, &rules) &&
			       rules.makes == RM_WEB_MAKES_MAPPED
		       ? refuse_mapped(search, parent, err)
		       : 0;
}

static int choose(struct search *search, struct err *err)
{
	struct yarn_queue_found *found = search->found;
	/* As schedulers see it. */
	bool is_named = !str_equal(search->job->queue, "default");
	bool maps_named = false;
	char *mapped cleanup_free =
		yarn_rules_mapped_queue(found->rules, search->cluster->user, &maps_named);

	if (mapped && (!is_named || maps_named)) {
		choose_mapped(search, mapped);
		return 0;
	}
	if (!is_named && yarn_rules_is_fair(found->rules)) {
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
	struct str_list names cleanup_str_list = {0};
	struct rm_web_queue rules;

	if (yarn_rules_queue(search->found->rules, search->found->path, &rules) &&
	    rules.makes == RM_WEB_MAKES_MAPPED)
		return refuse_mapped(search, search->found->path, err);
	name_leaves(search->found->queue, 0, &names);
	char *list cleanup_free = str_list_join(&names, ", ");
	return err_set(err, ERR_CONFIG,
		       "tony.application.queue: \"%s\" is no leaf: jobs go to queues below it: %s",
		       search->job->queue,
		       search->found->queue->n_childqueues > 0 ? list : "write a name behind it");
}

static bool is_parent(const struct yarn_queue_found *found)
{
	struct rm_web_queue rules;

	return found->queue->n_childqueues > 0 ||
	       (yarn_rules_queue(found->rules, found->path, &rules) && rules.is_parent);
}

/* By its path; Hadoop 2 tells last names only, and there each queue has another one. NULL: it is
 * not told of. */
static const Hadoop__QueueUserACLInfoProto *
find_acl(const Hadoop__GetQueueUserAclsInfoResponseProto *response,
	 const struct yarn_queue_found *found)
{
	const Hadoop__QueueUserACLInfoProto *named = NULL;
	size_t count = 0;

	for (size_t i = 0; i < response->n_queueuseracls; i++) {
		const Hadoop__QueueUserACLInfoProto *acl = response->queueuseracls[i];
		if (str_equal(acl->queuename, found->path))
			return acl;
		if (acl->queuename && str_equal(acl->queuename, last_name(found->path))) {
			named = acl;
			count++;
		}
	}
	return count == 1 ? named : NULL;
}

static int check_acl(const struct search *search, struct err *err)
{
	Hadoop__GetQueueUserAclsInfoRequestProto request =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_REQUEST_PROTO__INIT;
	ProtobufCMessage *message cleanup_message = NULL;

	if (yarn_call(search->cluster, &RM_GET_QUEUE_USER_ACLS, &request.base, &message, NULL,
		      err) < 0)
		return -1;
	const Hadoop__QueueUserACLInfoProto *acl =
		find_acl((const Hadoop__GetQueueUserAclsInfoResponseProto *)message, search->found);
	if (!acl || acl->n_useracls > 0)
		return 0;
	return err_set(err, ERR_DENIED,
		       "tony.application.queue: the user %s may not submit to the queue \"%s\" "
		       "(acl_submit_applications); name another one with --queue",
		       search->cluster->user, search->found->name);
}

static int check_found(const struct search *search, struct err *err)
{
	const struct yarn_queue_found *found = search->found;
	const queue_info *queue = found->queue;

	if (!found->is_new && is_parent(found))
		return refuse_parent(search, err);
	if (queue->has_state && queue->state != HADOOP__QUEUE_STATE_PROTO__Q_RUNNING)
		return err_set(err, ERR_CAPACITY,
			       "tony.application.queue: the queue \"%s\" is %s: it takes no jobs",
			       found->is_new && queue->queuename ? queue->queuename : found->name,
			       queue->state == HADOOP__QUEUE_STATE_PROTO__Q_DRAINING ? "draining"
										     : "stopped");
	if (check_labels(search->cluster, search->job, queue, err) < 0)
		return -1;
	return found->is_new ? 0 : check_acl(search, err);
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

int yarn_check_queue(struct hadoop_cluster *cluster, struct job *job,
		     const Hadoop__ResourceProto *largest, struct err *err)
{
	ProtobufCMessage *all cleanup_message = NULL;

	if (check_name(job->queue, err) < 0 || ask(cluster, (char[]){"root"}, &all, err) < 0)
		return -1;
	const queue_info *root = info_of(all);
	if (!root)
		return err_set(err, ERR_INPUT, "the ResourceManager tells of no queues");
	struct yarn_rules *rules cleanup_yarn_rules =
		yarn_rules_ask(cluster, job, root->schedulertype);
	struct yarn_queue_found found = {.rules = rules};
	struct search search = {cluster, job, root, &found, NULL};
	int result = choose(&search, err);
	bool is_own = result == 0 && is_called(found.queue, found.path, job->queue);
	found.name = mem_strdup(is_own && !found.is_new ? job->queue : found.path);
	if (result == 0)
		result = check_found(&search, err);
	if (result == 0)
		result = check_room(&search, largest, err);
	mem_replace(&cluster->queue, mem_strdup(job->queue));
	free(found.path);
	free(found.name);
	yarn_message_cleanup(&search.one);
	return result;
}
