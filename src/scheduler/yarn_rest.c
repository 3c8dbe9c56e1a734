#include "scheduler/yarn_rest.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "hadoop/rm_web.h"
#include "hadoop/webhdfs_client.h"
#include "net/tls.h"

#define TIMEOUT_MS 10000
#define DEPTH_CAP  32
#define NO_LIMIT   INT32_MAX /* Java's largest int */
#define AMOUNT_CAP 1e15

struct answer {
	const char *user;
	struct scheduler_queues *queues;
};

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
		if (str_equal(json_string_value(json_object_get(one, "name")), "yarn.io/gpu"))
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

static struct scheduler_queue_part *part_of(struct scheduler_queue *queue, const json_t *object)
{
	return scheduler_queue_part(queue,
				    json_string_value(json_object_get(object, "partitionName")));
}

static const json_t *list_of(const json_t *object, const char *name, const char *items)
{
	return json_object_get(json_object_get(object, name), items);
}

static void add_capacities(const json_t *object, struct scheduler_queue *queue)
{
	const json_t *all = list_of(object, "capacities", "queueCapacitiesByPartition");
	const json_t *usages = list_of(object, "resources", "resourceUsagesByPartition");

	for (size_t i = 0; i < json_count_of(all); i++) {
		struct scheduler_queue_part *part = part_of(queue, json_item_of(all, i));
		read_share(json_item_of(all, i), "effectiveMinResource", &part->guaranteed);
		read_share(json_item_of(all, i), "effectiveMaxResource", &part->maximum);
	}
	for (size_t i = 0; i < json_count_of(usages); i++) {
		const json_t *usage = json_item_of(usages, i);
		struct scheduler_queue_part *part = part_of(queue, usage);
		read_share(usage, "used", &part->used);
		read_share(usage, "pending", &part->pending);
		read_share(usage, "amUsed", &part->am_used);
		read_share(usage, "amLimit", &part->am_limit);
	}
}

static int64_t limit_of(int64_t guaranteed, double factor, int64_t maximum)
{
	double limit = (double)guaranteed * factor;

	if (guaranteed <= 0)
		return -1;
	if (maximum >= 0 && limit > (double)maximum)
		return maximum;
	return limit < AMOUNT_CAP ? (int64_t)limit : -1;
}

/* The most that one user may have. The answer's own userResourceLimit is that of the last
 * allocation, in whichever partition it was. */
static void limit_users(struct scheduler_queue *queue, double factor)
{
	for (size_t i = 0; i < queue->part_count && factor > 0; i++) {
		struct scheduler_queue_part *part = &queue->parts[i];
		part->user_limit = (struct share){
			limit_of(part->guaranteed.memory, factor, part->maximum.memory),
			limit_of(part->guaranteed.vcores, factor, part->maximum.vcores),
			limit_of(part->guaranteed.gpus, factor, part->maximum.gpus)};
	}
}

/* A user without a job is not in the list. */
static void add_user(const struct answer *answer, const json_t *object,
		     struct scheduler_queue *queue)
{
	const json_t *all = list_of(object, "users", "user"), *own = NULL;

	for (size_t i = 0; i < json_count_of(all); i++)
		if (str_equal(json_string_value(json_object_get(json_item_of(all, i), "username")),
			      answer->user))
			own = json_item_of(all, i);
	for (size_t i = 0; i < queue->part_count; i++)
		queue->parts[i].user_used = (struct share){0};
	queue->user_running = queue->user_waiting = 0;
	read_number(own, "numActiveApplications", &queue->user_running);
	read_number(own, "numPendingApplications", &queue->user_waiting);
	const json_t *usages = list_of(own, "resources", "resourceUsagesByPartition");
	for (size_t i = 0; i < json_count_of(usages); i++)
		read_share(json_item_of(usages, i), "used",
			   &part_of(queue, json_item_of(usages, i))->user_used);
}

static void fill_capacity(const struct answer *answer, const json_t *object,
			  struct scheduler_queue *queue)
{
	int64_t lifetime_s = 0;

	read_number(object, "numActiveApplications", &queue->running);
	read_number(object, "numPendingApplications", &queue->waiting);
	read_limit(object, "maxParallelApps", &queue->max_running);
	read_limit(object, "maxApplications", &queue->max_jobs);
	read_number(object, "maxApplicationLifetime", &lifetime_s);
	if (lifetime_s > 0 && lifetime_s < NO_LIMIT)
		queue->max_job_ms = lifetime_s * 1000;
	read_share(object, "maximumAllocation", &queue->largest);
	add_capacities(object, queue);
	limit_users(queue, json_number_value(json_object_get(object, "userLimitFactor")));
	add_user(answer, object, queue);
}

/* ---- the fair scheduler's ----------------------------------------------------------------- */

/* Its policy may look at memory alone: the rest of a queue's share is 0 then. */
static void fill_fair(const json_t *object, struct scheduler_queue *queue)
{
	struct scheduler_queue_part *part = scheduler_queue_part(queue, NULL);

	read_number(object, "numActiveApps", &queue->running);
	read_number(object, "numPendingApps", &queue->waiting);
	read_limit(object, "maxApps", &queue->max_running);
	read_share(object, "maxContainerAllocation", &queue->largest);
	read_share(object, "steadyFairResources", &part->guaranteed);
	read_share(object, "maxResources", &part->maximum);
	read_share(object, "usedResources", &part->used);
	read_share(object, "amUsedResources", &part->am_used);
	read_share(object, "amMaxResources", &part->am_limit);
	forget_zeros(&part->guaranteed);
	forget_zeros(&part->am_limit);
}

/* ---- the tree ----------------------------------------------------------------------------- */

static const json_t *children_of(const json_t *queue)
{
	const json_t *children = json_object_get(queue, "queues");

	if (!children)
		children = json_object_get(queue, "childQueues");
	const json_t *list = json_object_get(children, "queue");
	return list ? list : children;
}

static bool is_leaf(const json_t *queue)
{
	const char *type = json_string_value(json_object_get(queue, "type"));

	return type && strstr(type, "Leaf");
}

/* Of the capacity scheduler's both ways to make queues; the fair one's parents all do. */
static bool makes_queues(const json_t *queue, bool is_fair)
{
	const char *eligibility =
		json_string_value(json_object_get(queue, "autoCreationEligibility"));

	return is_fair || json_is_true(json_object_get(queue, "autoCreateChildQueueEnabled")) ||
	       (eligibility && !str_equal(eligibility, "off"));
}

static struct scheduler_queue *find_queue(const struct answer *answer, const char *path)
{
	for (size_t i = 0; i < answer->queues->count; i++)
		if (str_equal(answer->queues->items[i].path, path))
			return &answer->queues->items[i];
	return NULL;
}

static void add_queue(const struct answer *answer, const json_t *object, const char *path,
		      bool is_fair)
{
	struct scheduler_queue *queue = find_queue(answer, path);
	bool is_parent = !is_leaf(object) && strchr(path, '.');
	bool makes = is_parent && makes_queues(object, is_fair);

	/* A parent with queues below it is not among them. */
	if (!queue && makes && !is_fair)
		queue = scheduler_queues_add(answer->queues, path, path);
	if (!queue)
		return;
	queue->makes_queues = makes;
	if (is_fair)
		fill_fair(object, queue);
	else
		fill_capacity(answer, object, queue);
}

static void add_tree(const struct answer *answer, const json_t *object, const char *parent,
		     bool is_fair, int depth)
{
	const char *name = json_string_value(json_object_get(object, "queueName"));
	const char *dot = name ? strrchr(name, '.') : NULL;
	const json_t *children = children_of(object);

	if (!name || depth > DEPTH_CAP)
		return;
	char *path cleanup_free =
		*parent ? mem_printf("%s.%s", parent, dot ? dot + 1 : name) : mem_strdup(name);
	add_queue(answer, object, path, is_fair);
	for (size_t i = 0; i < json_count_of(children); i++)
		add_tree(answer, json_item_of(children, i), path, is_fair, depth + 1);
}

static int read_answer(const json_t *all, const char *user, struct scheduler_queues *queues,
		       struct err *err)
{
	const struct answer answer = {user, queues};
	const json_t *info = json_object_get(json_object_get(all, "scheduler"), "schedulerInfo");
	const json_t *root = json_object_get(info, "rootQueue");

	if (!json_is_object(info))
		return err_set(err, ERR_INPUT, "this says nothing of a scheduler");
	add_tree(&answer, root ? root : info, "", root != NULL, 0);
	return 0;
}

int yarn_rest_parse(const char *body, size_t length, const char *user,
		    struct scheduler_queues *queues, struct err *err)
{
	json_t *all cleanup_json = json_parse(body, length, err);

	return all ? read_answer(all, user, queues, err) : -1;
}

/* ---- asking ------------------------------------------------------------------------------- */

static int ask(const struct hadoop_cluster *cluster, struct scheduler_queues *queues,
	       struct err *err)
{
	struct rm_web web = {.addresses = &cluster->rm_web, .timeout_ms = TIMEOUT_MS};
	bool is_https = str_starts_with(cluster->rm_web.items[0], "https:");

	if (is_https)
		web.tls = tls_context_create_client(cluster->hdfs.authorities, WEBHDFS_TRUST_REMEDY,
						    err);
	if (is_https && !web.tls)
		return -1;
	json_t *all cleanup_json = rm_web_scheduler(&web, err);
	tls_context_destroy(web.tls);
	return all ? read_answer(all, cluster->user, queues, err) : -1;
}

int yarn_rest_add(const struct hadoop_cluster *cluster, struct scheduler_queues *queues,
		  struct err *err)
{
	return ask(cluster, queues, err) < 0 ? err_wrap(err, "the ResourceManager's web service")
					     : 0;
}
