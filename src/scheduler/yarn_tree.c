#include "scheduler/yarn_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "hadoop/methods.h"

#define DEPTH_CAP 32
#define NO_LIMIT  INT32_MAX /* Java's largest int */

struct yarn_tree {
	const char *user;
	struct yarn_rules *rules;
	struct map *paths;	/* path -> the queue, in the order in which they are told */
	struct map *names;	/* last part -> the first queue with it */
	ProtobufCMessage *told; /* what RPC told; NULL: somebody else's */
};

/* ---- finding ------------------------------------------------------------------------------ */

struct yarn_rules *yarn_tree_rules(const struct yarn_tree *tree)
{
	return tree->rules;
}

bool yarn_tree_makes(const struct yarn_tree_queue *queue)
{
	return queue->makes == YARN_MAKES_MAPPED || queue->makes == YARN_MAKES_NAMED;
}

struct yarn_tree_queue *yarn_tree_next(const struct yarn_tree *tree, size_t *cursor)
{
	const char *path;
	void *queue;

	return map_next(tree->paths, cursor, &path, &queue) ? queue : NULL;
}

struct yarn_tree_queue *yarn_tree_find(const struct yarn_tree *tree, const char *name)
{
	bool is_fair = yarn_rules_is_fair(tree->rules);
	char *path cleanup_free = mem_printf("root.%s", name);
	struct yarn_tree_queue *queue = map_get(tree->paths, name);

	/* The FairScheduler reads "ml" as "root.ml". */
	return queue ? queue : map_get(is_fair ? tree->paths : tree->names, is_fair ? path : name);
}

char *yarn_tree_path(const struct yarn_tree *tree, const char *name)
{
	size_t length = strcspn(name, ".");
	char *first cleanup_free = mem_strndup(name, length);
	const struct yarn_tree_queue *above = name[length] && !yarn_rules_is_fair(tree->rules)
						      ? yarn_tree_find(tree, first)
						      : NULL;

	if (str_equal(first, "root"))
		return mem_strdup(name);
	return above ? mem_printf("%s%s", above->shown.path, name + length)
		     : mem_printf("root.%s", name);
}

/* ---- values ------------------------------------------------------------------------------- */

/* Absent: *value stays as it is. */
static void read_number(const json_t *object, const char *name, int64_t *value)
{
	const json_t *member = json_object_get(object, name);

	if (json_is_integer(member) && json_integer_value(member) >= 0)
		*value = json_integer_value(member);
}

static void read_limit(const json_t *object, const char *name, int64_t *value)
{
	int64_t told = NO_LIMIT;

	read_number(object, name, &told);
	if (told < NO_LIMIT)
		*value = told;
}

static int64_t count_gpus(const json_t *resource)
{
	const json_t *all = json_object_get(json_object_get(resource, "resourceInformations"),
					    "resourceInformation");
	int64_t value = 0;

	for (size_t i = 0; i < json_count_of(all); i++) {
		const json_t *one = json_item_of(all, i);
		if (str_equal(json_string_value(json_object_get(one, "name")), YARN_GPUS))
			read_number(one, "value", &value);
	}
	return value;
}

static void read_share(const json_t *object, const char *name, struct share *share)
{
	const json_t *resource = json_object_get(object, name);

	if (!json_is_object(resource))
		return;
	read_number(resource, "memory", &share->memory);
	read_number(resource, "vCores", &share->vcores);
	share->gpus = count_gpus(resource);
}

static void forget_zeros(struct share *share)
{
	int64_t *const amounts[] = {&share->memory, &share->vcores, &share->gpus};

	for (size_t i = 0; i < array_length(amounts); i++)
		if (*amounts[i] == 0)
			*amounts[i] = -1;
}

/* ---- the capacity scheduler's ------------------------------------------------------------- */

/* By a map: a cluster may have thousands of labels, and each queue is told of for each. */
static struct scheduler_queue_part *part_of(struct yarn_tree_queue *queue, const char *label)
{
	const char *key = label ? label : "";
	const size_t *index = map_get(queue->labels, key);

	if (!index) {
		size_t *made = mem_alloc(sizeof(*made));
		*made = queue->shown.part_count;
		scheduler_queue_add_part(&queue->shown, key);
		map_set(queue->labels, key, made);
		index = made;
	}
	return &queue->shown.parts[*index];
}

static struct scheduler_queue_part *part_named(struct yarn_tree_queue *queue, const json_t *object)
{
	return part_of(queue, json_string_value(json_object_get(object, "partitionName")));
}

static const json_t *list_of(const json_t *object, const char *name, const char *items)
{
	return json_object_get(json_object_get(object, name), items);
}

static void add_capacities(const json_t *object, struct yarn_tree_queue *queue)
{
	const json_t *all = list_of(object, "capacities", "queueCapacitiesByPartition");
	const json_t *usages = list_of(object, "resources", "resourceUsagesByPartition");

	for (size_t i = 0; i < json_count_of(all); i++) {
		struct scheduler_queue_part *part = part_named(queue, json_item_of(all, i));
		read_share(json_item_of(all, i), "effectiveMinResource", &part->guaranteed);
		read_share(json_item_of(all, i), "effectiveMaxResource", &part->maximum);
	}
	for (size_t i = 0; i < json_count_of(usages); i++) {
		const json_t *usage = json_item_of(usages, i);
		struct scheduler_queue_part *part = part_named(queue, usage);
		read_share(usage, "used", &part->used);
		read_share(usage, "pending", &part->pending);
		read_share(usage, "amUsed", &part->am_used);
		read_share(usage, "amLimit", &part->am_limit);
	}
}

static int64_t limit_of(const struct yarn_tree *tree, const struct yarn_tree_queue *queue,
			const char *resource, int64_t guaranteed, int64_t maximum)
{
	int64_t limit =
		yarn_rules_user_limit(tree->rules, resource, guaranteed, queue->user_limit_factor);

	return maximum >= 0 && limit > maximum ? maximum : limit;
}

/* The most that one user may have. The answer's own userResourceLimit is that of the last
 * allocation, in whichever partition it was. */
static void limit_users(const struct yarn_tree *tree, struct yarn_tree_queue *queue)
{
	for (size_t i = 0; i < queue->shown.part_count; i++) {
		struct scheduler_queue_part *part = &queue->shown.parts[i];
		const struct share *own = &part->guaranteed, *most = &part->maximum;
		if (own->memory <= 0)
			continue;
		part->user_limit = (struct share){
			limit_of(tree, queue, YARN_MEMORY, own->memory, most->memory),
			limit_of(tree, queue, YARN_VCORES, own->vcores, most->vcores),
			limit_of(tree, queue, YARN_GPUS, own->gpus, most->gpus)};
	}
}

/* A user without a job is not in the list. */
static void add_user(const struct yarn_tree *tree, const json_t *object,
		     struct yarn_tree_queue *queue)
{
	const json_t *all = list_of(object, "users", "user"), *own = NULL;

	for (size_t i = 0; i < json_count_of(all); i++)
		if (str_equal(json_string_value(json_object_get(json_item_of(all, i), "username")),
			      tree->user))
			own = json_item_of(all, i);
	for (size_t i = 0; i < queue->shown.part_count; i++)
		queue->shown.parts[i].user_used = (struct share){0};
	queue->shown.user_running = queue->shown.user_waiting = 0;
	read_number(own, "numActiveApplications", &queue->shown.user_running);
	read_number(own, "numPendingApplications", &queue->shown.user_waiting);
	const json_t *usages = list_of(own, "resources", "resourceUsagesByPartition");
	for (size_t i = 0; i < json_count_of(usages); i++)
		read_share(json_item_of(usages, i), "used",
			   &part_named(queue, json_item_of(usages, i))->user_used);
}

static void fill_capacity(const struct yarn_tree *tree, const json_t *object,
			  struct yarn_tree_queue *queue)
{
	const json_t *factor = json_object_get(object, "userLimitFactor");
	int64_t lifetime_s = 0;

	read_number(object, "numActiveApplications", &queue->shown.running);
	read_number(object, "numPendingApplications", &queue->shown.waiting);
	read_limit(object, "maxParallelApps", &queue->shown.max_running);
	read_limit(object, "maxApplications", &queue->shown.max_jobs);
	read_number(object, "maxApplicationLifetime", &lifetime_s);
	if (lifetime_s > 0 && lifetime_s < NO_LIMIT)
		queue->shown.max_job_ms = lifetime_s * 1000;
	read_share(object, "maximumAllocation", &queue->shown.largest);
	if (json_is_number(factor))
		queue->user_limit_factor = json_number_value(factor);
	add_capacities(object, queue);
	limit_users(tree, queue);
	add_user(tree, object, queue);
}

/* ---- the fair scheduler's ----------------------------------------------------------------- */

/* Its policy may look at memory alone: the rest of a queue's share is 0 then. */
static void fill_fair(const json_t *object, struct yarn_tree_queue *queue)
{
	struct scheduler_queue_part *part = part_of(queue, NULL);

	read_number(object, "numActiveApps", &queue->shown.running);
	read_number(object, "numPendingApps", &queue->shown.waiting);
	read_limit(object, "maxApps", &queue->shown.max_running);
	read_share(object, "maxContainerAllocation", &queue->shown.largest);
	read_share(object, "steadyFairResources", &part->guaranteed);
	read_share(object, "maxResources", &part->maximum);
	read_share(object, "usedResources", &part->used);
	read_share(object, "amUsedResources", &part->am_used);
	read_share(object, "amMaxResources", &part->am_limit);
	forget_zeros(&part->guaranteed);
	forget_zeros(&part->am_limit);
}

/* ---- the web service's tree --------------------------------------------------------------- */

static const json_t *children_of(const json_t *queue)
{
	const json_t *children = json_object_get(queue, "queues");

	if (!children)
		children = json_object_get(queue, "childQueues");
	const json_t *list = json_object_get(children, "queue");
	return list ? list : children;
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* The CapacityScheduler's. Before Hadoop 3.3 there is only the first way, and that only tells. */
static enum yarn_making making_of(const json_t *object)
{
	const char *eligibility = text_of(object, "autoCreationEligibility");

	if (json_is_true(json_object_get(object, "autoCreateChildQueueEnabled")) ||
	    str_equal(eligibility, "legacy"))
		return YARN_MAKES_MAPPED;
	return str_equal(eligibility, "flexible") ? YARN_MAKES_NAMED : YARN_MAKES_NONE;
}

/* All parents of the FairScheduler's make queues, or none does. */
static enum yarn_making making_of_fair(const struct yarn_tree *tree)
{
	return yarn_rules_makes_queues(tree->rules) ? YARN_MAKES_NAMED : YARN_MAKES_NONE;
}

/* A queue that is being made may be told of twice: the first one has the jobs. */
static void fill(const struct yarn_tree *tree, const json_t *object, struct yarn_tree_queue *queue)
{
	const char *type = text_of(object, "type");
	bool is_fair = yarn_rules_is_fair(tree->rules);

	if (queue->is_filled)
		return;
	queue->is_filled = true;
	queue->is_leaf = type && strstr(type, "Leaf");
	if (queue->is_leaf)
		queue->makes = YARN_MAKES_NONE;
	else
		queue->makes = is_fair ? making_of_fair(tree) : making_of(object);
	if (is_fair)
		fill_fair(object, queue);
	else
		fill_capacity(tree, object, queue);
}

static void fill_tree(const struct yarn_tree *tree, const json_t *object, const char *parent,
		      int depth)
{
	const char *name = text_of(object, "queueName");
	const char *dot = name ? strrchr(name, '.') : NULL;
	const json_t *children = children_of(object);

	if (!name || depth > DEPTH_CAP)
		return;
	char *path cleanup_free =
		*parent ? mem_printf("%s.%s", parent, dot ? dot + 1 : name) : mem_strdup(name);
	struct yarn_tree_queue *queue = map_get(tree->paths, path);
	if (queue)
		fill(tree, object, queue);
	for (size_t i = 0; i < json_count_of(children); i++)
		fill_tree(tree, json_item_of(children, i), path, depth + 1);
}

/* ---- RPC's tree --------------------------------------------------------------------------- */

static void add_statistics(struct yarn_tree_queue *queue,
			   const Hadoop__QueueStatisticsProto *statistics)
{
	struct scheduler_queue_part *part = part_of(queue, NULL);

	queue->shown.running = statistics->numappsrunning;
	queue->shown.waiting = statistics->numappspending;
	part->used.memory = statistics->allocatedmemorymb;
	part->used.vcores = statistics->allocatedvcores;
}

static void describe(const Hadoop__QueueInfoProto *info, struct yarn_tree_queue *queue)
{
	struct scheduler_queue *shown = &queue->shown;

	if (info->has_state && info->state != HADOOP__QUEUE_STATE_PROTO__Q_RUNNING)
		shown->state = info->state == HADOOP__QUEUE_STATE_PROTO__Q_DRAINING ? QUEUE_DRAINING
										    : QUEUE_STOPPED;
	if (info->maxrunningapp > 0 && info->maxrunningapp < NO_LIMIT)
		shown->max_running = info->maxrunningapp;
	for (size_t i = 0; i < info->n_queueconfigurationsmap; i++) {
		const Hadoop__QueueConfigurationsMapProto *entry = info->queueconfigurationsmap[i];
		const Hadoop__QueueConfigurationsProto *limits = entry->queueconfigurations;
		struct scheduler_queue_part *part = part_of(queue, entry->partitionname);
		if (limits && limits->effectivemincapacity)
			part->guaranteed = yarn_share_of(limits->effectivemincapacity);
		if (limits && limits->effectivemaxcapacity)
			part->maximum = yarn_share_of(limits->effectivemaxcapacity);
	}
	if (info->queuestatistics)
		add_statistics(queue, info->queuestatistics);
}

/* Of its parent's share; a scheduler without such shares says 0. */
static double share_below(const Hadoop__QueueInfoProto *info, double share)
{
	bool is_told = info->has_maximumcapacity && info->maximumcapacity > 0 &&
		       info->maximumcapacity <= 1;

	return is_told ? share * (double)info->maximumcapacity : share;
}

static void destroy_queue(void *value)
{
	struct yarn_tree_queue *queue = value;

	map_destroy(queue->labels);
	scheduler_queue_finish(&queue->shown);
	free(queue);
}

static struct yarn_tree_queue *add_queue(struct yarn_tree *tree, const Hadoop__QueueInfoProto *info,
					 const struct yarn_tree_queue *parent, const char *path)
{
	struct yarn_tree_queue *queue = mem_alloc(sizeof(*queue));
	bool is_fair = yarn_rules_is_fair(tree->rules), has_children = info->n_childqueues > 0;

	*queue = (struct yarn_tree_queue){.info = info, .parent = parent, .user_limit_factor = -1};
	scheduler_queue_init(&queue->shown, path, path);
	queue->labels = map_create(free);
	queue->name = parent ? strrchr(queue->shown.path, '.') + 1 : queue->shown.path;
	queue->share = share_below(info, parent ? parent->share : 1);
	queue->is_leaf = !has_children && !str_equal(path, "root");
	if (is_fair && (has_children || !parent))
		queue->makes = making_of_fair(tree);
	map_set(queue->labels, "", mem_alloc(sizeof(size_t))); /* the first part */
	map_set(tree->paths, path, queue);
	describe(info, queue);
	struct yarn_tree_queue *twin = map_get(tree->names, queue->name);
	if (twin)
		twin->has_twin = queue->has_twin = true;
	else
		map_set(tree->names, queue->name, queue);
	return queue;
}

static void add_tree(struct yarn_tree *tree, const Hadoop__QueueInfoProto *info,
		     const struct yarn_tree_queue *parent, int depth)
{
	const char *name = info->queuename ? info->queuename : "";
	const char *dot = strrchr(name, '.');
	char *path cleanup_free =
		parent ? mem_printf("%s.%s", parent->shown.path, dot ? dot + 1 : name)
		       : mem_strdup(name);

	if (map_get(tree->paths, path))
		return;
	struct yarn_tree_queue *queue = add_queue(tree, info, parent, path);
	for (size_t i = 0; i < info->n_childqueues && depth < DEPTH_CAP; i++)
		add_tree(tree, info->childqueues[i], queue, depth + 1);
}

/* ---- who may ------------------------------------------------------------------------------ */

/* Any right is enough. By paths; Hadoop 2 tells last names only, and there each queue has another
 * one. */
static void add_access(struct yarn_tree *tree,
		       const Hadoop__GetQueueUserAclsInfoResponseProto *told)
{
	for (size_t i = 0; i < told->n_queueuseracls; i++) {
		const Hadoop__QueueUserACLInfoProto *acl = told->queueuseracls[i];
		struct yarn_tree_queue *queue =
			acl->queuename ? yarn_tree_find(tree, acl->queuename) : NULL;
		if (queue && (!queue->has_twin || str_equal(acl->queuename, queue->shown.path)))
			queue->shown.access =
				acl->n_useracls > 0 ? QUEUE_ACCESS_GRANTED : QUEUE_ACCESS_DENIED;
	}
}

/* To a queue that is made for mapped users, and to those below it, only the mapping leads. */
static void mark_mapped(struct yarn_tree *tree)
{
	bool named;
	char *mapped cleanup_free = yarn_rules_mapped_queue(tree->rules, tree->user, &named);
	char *goal cleanup_free = mapped ? yarn_tree_path(tree, mapped) : NULL;
	struct yarn_tree_queue *queue;

	for (size_t i = 0; (queue = yarn_tree_next(tree, &i));) {
		struct scheduler_queue *shown = &queue->shown;
		bool makes = queue->makes == YARN_MAKES_MAPPED;
		shown->makes_queues = yarn_tree_makes(queue);
		shown->is_mapped =
			makes || (queue->parent && queue->parent->makes == YARN_MAKES_MAPPED);
		char *own cleanup_free = mem_printf("%s.", shown->path);
		bool leads = goal && (str_equal(goal, shown->path) || str_starts_with(goal, own));
		if (shown->is_mapped && !leads && shown->access == QUEUE_ACCESS_GRANTED)
			shown->access = QUEUE_ACCESS_UNKNOWN;
	}
}

/* ---- the whole ---------------------------------------------------------------------------- */

struct yarn_tree *yarn_tree_read(const Hadoop__QueueInfoProto *root,
				 const Hadoop__GetQueueUserAclsInfoResponseProto *access,
				 const char *user, struct yarn_rules *rules)
{
	struct yarn_tree *tree = mem_alloc(sizeof(*tree));
	const json_t *web = yarn_rules_queues(rules);

	*tree = (struct yarn_tree){.user = user, .rules = rules};
	tree->paths = map_create(destroy_queue);
	tree->names = map_create(NULL);
	add_tree(tree, root, NULL, 0);
	if (web)
		fill_tree(tree, web, "", 0);
	add_access(tree, access);
	mark_mapped(tree);
	return tree;
}

static int ask(const struct hadoop_cluster *cluster, ProtobufCMessage **told,
	       ProtobufCMessage **access, struct err *err)
{
	Hadoop__GetQueueInfoRequestProto request = HADOOP__GET_QUEUE_INFO_REQUEST_PROTO__INIT;
	Hadoop__GetQueueUserAclsInfoRequestProto access_request =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_REQUEST_PROTO__INIT;

	request.queuename = (char[]){"root"};
	request.has_includechildqueues = request.has_recursive = true;
	request.includechildqueues = request.recursive = true;
	if (yarn_call(cluster, &RM_GET_QUEUE_INFO, &request.base, told, NULL, err) < 0 ||
	    yarn_call(cluster, &RM_GET_QUEUE_USER_ACLS, &access_request.base, access, NULL, err) <
		    0)
		return -1;
	return ((const Hadoop__GetQueueInfoResponseProto *)*told)->queueinfo
		       ? 0
		       : err_set(err, ERR_INPUT, "the ResourceManager tells of no queues");
}

struct yarn_tree *yarn_tree_ask(const struct hadoop_cluster *cluster, const struct job *job,
				struct err *err)
{
	ProtobufCMessage *told cleanup_message = NULL, *access cleanup_message = NULL;

	if (ask(cluster, &told, &access, err) < 0)
		return NULL;
	const Hadoop__QueueInfoProto *root =
		((const Hadoop__GetQueueInfoResponseProto *)told)->queueinfo;
	struct yarn_tree *tree =
		yarn_tree_read(root, (const Hadoop__GetQueueUserAclsInfoResponseProto *)access,
			       cluster->user, yarn_rules_ask(cluster, job, root->schedulertype));
	tree->told = mem_steal(&told);
	return tree;
}

void yarn_tree_destroy(struct yarn_tree *tree)
{
	map_destroy(tree->names);
	map_destroy(tree->paths);
	yarn_rules_destroy(tree->rules);
	yarn_message_cleanup(&tree->told);
	free(tree);
}

void yarn_tree_cleanup(struct yarn_tree **tree)
{
	if (*tree)
		yarn_tree_destroy(*tree);
}
