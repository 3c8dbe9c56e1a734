/* Do all containers that a job needs at the same time fit into what the queue, and this user in it,
 * may ever have, and onto the nodes? A job that is refused can never run; one that may is taken. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "scheduler/yarn_demand.h"
#include "scheduler/yarn_rules.h"

/* ---- how much of that the queue may have -------------------------------------------------- */

static const Hadoop__QueueConfigurationsProto *limits_of(const Hadoop__QueueInfoProto *queue,
							 const char *label)
{
	for (size_t i = 0; i < queue->n_queueconfigurationsmap; i++) {
		const Hadoop__QueueConfigurationsMapProto *entry = queue->queueconfigurationsmap[i];
		if (str_equal(entry->partitionname ? entry->partitionname : "", label))
			return entry->queueconfigurations;
	}
	return NULL;
}

/* What the capacity scheduler has worked out for a partition; NULL: not told (before Hadoop 3.1,
 * and by other schedulers). */
static const Hadoop__ResourceProto *maximum_of(const Hadoop__QueueInfoProto *queue,
					       const char *label)
{
	const Hadoop__QueueConfigurationsProto *limits = limits_of(queue, label);
	const Hadoop__ResourceProto *maximum = limits ? limits->effectivemaxcapacity : NULL;

	return maximum && maximum->memory > 0 ? maximum : NULL;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most_of(const struct yarn_queue_found *found, const struct yarn_partition *partition,
		       const struct yarn_amount *amount)
{
	const Hadoop__QueueInfoProto *queue = found->queue->info;
	const Hadoop__ResourceProto *maximum = maximum_of(queue, partition->label);
	int64_t told = maximum ? yarn_resource_value(maximum, amount->name) : -1;
	int64_t most = amount->own;

	if (told >= 0)
		most = smaller(most, told);
	else if (!*partition->label)
		most = (int64_t)((double)most * found->queue->share);
	if (str_equal(amount->name, YARN_MEMORY) && queue->maxresourcememory > 0)
		most = smaller(most, queue->maxresourcememory);
	if (str_equal(amount->name, YARN_VCORES) && queue->maxresourcevcore > 0)
		most = smaller(most, queue->maxresourcevcore);
	return most + amount->lent;
}

/* Does the scheduler keep an account of vcores? With more types of resources than memory and vcores
 * the capacity scheduler does not start unless it does. */
static bool counts_vcores(const struct yarn_queue_found *found,
			  const Hadoop__ResourceProto *largest)
{
	const struct yarn_rules *rules = yarn_tree_rules(found->tree);

	if (yarn_rules_is_fair(rules) || yarn_rules_counts_all(rules))
		return true;
	for (size_t i = 0; i < largest->n_resource_value_map; i++) {
		const char *name = largest->resource_value_map[i]->key;
		if (!str_equal(name, YARN_MEMORY) && !str_equal(name, YARN_VCORES))
			return true;
	}
	return false;
}

/* ---- words -------------------------------------------------------------------------------- */

/* `other`: a number beside which it stands. */
static char *format_amount(const char *name, int64_t value, int64_t other)
{
	if (str_equal(name, YARN_MEMORY))
		return str_format_mib_beside(value, other);
	if (str_equal(name, YARN_VCORES))
		return mem_printf("%" PRId64 " vcore%s", value, str_plural(value));
	return mem_printf("%" PRId64 " of %s", value, name);
}

static char *describe_needy(const struct yarn_partition *partition)
{
	const char *am = "the application master";

	if (partition->tasks == 0)
		return mem_printf("%s needs", am);
	return mem_printf("%zu task%s that run together%s%s need", partition->tasks,
			  str_plural(partition->tasks), partition->has_am ? " and " : "",
			  partition->has_am ? am : "");
}

/* ", as each worker gets 1.0 GiB instead of 64 MiB"; "" where nothing is rounded. */
static char *describe_rounding(const struct yarn_partition *partition, const char *name)
{
	struct str_list parts cleanup_str_list = {0};

	for (size_t i = 0; i < partition->shape_count; i++) {
		const struct yarn_shape *shape = &partition->shapes[i];
		for (size_t k = 0; k < shape->portion_count; k++) {
			const struct yarn_portion *portion = &shape->portions[k];
			if (!str_equal(portion->name, name) || portion->given == portion->asked)
				continue;
			char *given cleanup_free =
				format_amount(name, portion->given, portion->asked);
			char *asked cleanup_free =
				format_amount(name, portion->asked, portion->given);
			str_list_add_format(
				&parts, "%s%s gets %s instead of %s", shape->type ? "each " : "",
				shape->type ? shape->type->name : "the application master", given,
				asked);
		}
	}
	char *list cleanup_free = str_list_join(&parts, ", ");
	return parts.count > 0 ? mem_printf(" (%s)", list) : mem_strdup("");
}

/* "2 nodes with the label "fast"; 1 more is decommissioned" */
static char *describe_nodes(const struct yarn_partition *partition)
{
	static const char *const states[YARN_AWAY_COUNT] = {
		[YARN_AWAY_UNHEALTHY] = "unhealthy",
		[YARN_AWAY_DECOMMISSIONING] = "being decommissioned",
		[YARN_AWAY_DECOMMISSIONED] = "decommissioned",
		[YARN_AWAY_LOST] = "lost",
		[YARN_AWAY_STOPPED] = "shut down",
	};
	struct str text cleanup_str = {0};
	bool is_first = true;

	str_append_format(&text, "%zu node%s", partition->node_count,
			  str_plural(partition->node_count));
	if (*partition->label)
		str_append_format(&text, " with the label \"%s\"", partition->label);
	for (size_t i = 0; i < YARN_AWAY_COUNT; i++) {
		size_t count = partition->away[i];
		if (count == 0)
			continue;
		str_append_format(&text, "%s %zu%s %s %s", is_first ? ";" : ",", count,
				  is_first ? " more" : "", count == 1 ? "is" : "are", states[i]);
		is_first = false;
	}
	return str_steal(&text);
}

/* ---- the queue's limit -------------------------------------------------------------------- */

static int refuse_sum(const struct yarn_queue_found *found, const struct yarn_partition *partition,
		      const struct yarn_amount *amount, int64_t most, struct err *err)
{
	char *who cleanup_free = describe_needy(partition);
	char *needed cleanup_free = format_amount(amount->name, amount->need, most);
	char *rounding cleanup_free = describe_rounding(partition, amount->name);
	char *given cleanup_free = format_amount(amount->name, most, amount->need);
	char *all cleanup_free = format_amount(amount->name, amount->own + amount->lent, most);
	char *nodes cleanup_free = describe_nodes(partition);

	return err_set(err, ERR_CAPACITY,
		       "%s %s%s; the queue \"%s\" can have %s of the cluster's %s (%s); ask for "
		       "fewer or smaller tasks, or name another queue with --queue",
		       who, needed, rounding, found->name, given, all, nodes);
}

/* An elastic job runs all the same. */
static void note_shortage(const struct yarn_queue_found *found, const struct yarn_amount *amount,
			  int64_t most)
{
	char *needed cleanup_free =
		format_amount(amount->name, amount->need + amount->wanted, most);
	char *given cleanup_free = format_amount(amount->name, most, amount->need + amount->wanted);

	log_warning(
		"all tasks that are wanted would need %s, and the queue \"%s\" can have %s: the "
		"job runs with fewer",
		needed, found->name, given);
}

static int check_sums(const struct yarn_queue_found *found, const struct yarn_partition *partition,
		      bool with_vcores, struct err *err)
{
	for (size_t i = 0; i < partition->amount_count; i++) {
		const struct yarn_amount *amount = &partition->amounts[i];
		int64_t most = most_of(found, partition, amount);
		if (!with_vcores && str_equal(amount->name, YARN_VCORES))
			continue;
		if (amount->need > most)
			return refuse_sum(found, partition, amount, most, err);
		if (amount->need + amount->wanted > most)
			note_shortage(found, amount, most);
	}
	return 0;
}

/* ---- the nodes ---------------------------------------------------------------------------- */

/* How many containers of this shape a node holds beside `taken`, which may be NULL. */
static int64_t count_fitting(const Hadoop__ResourceProto *node, const struct yarn_shape *shape,
			     const struct yarn_shape *taken, bool with_vcores)
{
	int64_t count = INT64_MAX;

	for (size_t i = 0; i < shape->portion_count; i++) {
		const struct yarn_portion *portion = &shape->portions[i];
		int64_t room = yarn_resource_value(node, portion->name);
		if (portion->given == 0 || (!with_vcores && str_equal(portion->name, YARN_VCORES)))
			continue;
		room -= taken ? yarn_shape_given(taken, portion->name) : 0;
		int64_t fitting = room > 0 ? room / portion->given : 0;
		count = fitting < count ? fitting : count;
	}
	return count;
}

/* A container of `large` takes at least the room of one of `small`. */
static bool covers(const struct yarn_shape *large, const struct yarn_shape *small)
{
	for (size_t i = 0; i < small->portion_count; i++)
		if (yarn_shape_given(large, small->portions[i].name) < small->portions[i].given)
			return false;
	return true;
}

static const struct yarn_shape *am_of(const struct yarn_partition *partition)
{
	for (size_t i = 0; i < partition->shape_count; i++)
		if (!partition->shapes[i].type)
			return &partition->shapes[i];
	return NULL;
}

/* How many of the shape all nodes hold, with the AM where it is least in the way. */
static int64_t count_on_all(const struct yarn_partition *partition, const struct yarn_shape *shape,
			    const struct yarn_shape *am, bool with_vcores)
{
	int64_t sum = 0, least = INT64_MAX;

	for (size_t i = 0; i < partition->node_count; i++) {
		const Hadoop__ResourceProto *node = partition->nodes[i];
		int64_t alone = count_fitting(node, shape, NULL, with_vcores);
		sum += alone;
		if (!am || count_fitting(node, am, NULL, with_vcores) == 0)
			continue;
		int64_t lost = alone - count_fitting(node, shape, am, with_vcores);
		least = lost < least ? lost : least;
	}
	return am && least < INT64_MAX ? sum - least : sum;
}

static char *describe_shape(const struct yarn_shape *shape, bool with_vcores)
{
	struct str_list parts cleanup_str_list = {0};

	for (size_t i = 0; i < shape->portion_count; i++) {
		const struct yarn_portion *portion = &shape->portions[i];
		if (portion->given > 0 && (with_vcores || !str_equal(portion->name, YARN_VCORES)))
			str_list_take(&parts,
				      format_amount(portion->name, portion->given, portion->given));
	}
	return str_list_join(&parts, ", ");
}

static int refuse_nodes(const struct yarn_partition *partition, const struct yarn_shape *shape,
			int64_t count, int64_t room, bool with_vcores, struct err *err)
{
	char *size cleanup_free = describe_shape(shape, with_vcores);
	char *rounding cleanup_free = describe_rounding(partition, YARN_MEMORY);
	char *nodes cleanup_free = describe_nodes(partition);
	const char *name = shape->type ? shape->type->name : "the application master";

	if (room == 0)
		return err_set(
			err, ERR_CAPACITY,
			"%s needs a container of %s%s, which no node of the cluster (%s) has "
			"room for beside what else the job needs; ask for less in "
			"tony.%s.*",
			name, size, rounding, nodes, shape->type ? name : "am");
	return err_set(err, ERR_CAPACITY,
		       "%" PRId64 " containers that run together need %s each, or more%s; the "
		       "cluster's nodes (%s) have room for %" PRId64
		       " of them; ask for fewer or smaller tasks",
		       count, size, rounding, nodes, room);
}

/* A bound, and no plan: it finds what no placement can help. */
static int check_nodes(const struct yarn_partition *partition, bool with_vcores, struct err *err)
{
	const struct yarn_shape *am = am_of(partition);

	for (size_t i = 0; i < partition->shape_count; i++) {
		const struct yarn_shape *shape = &partition->shapes[i];
		bool has_am = am && covers(am, shape);
		int64_t count = 0;
		for (size_t k = 0; k < partition->shape_count && shape->count > 0; k++)
			if (covers(&partition->shapes[k], shape))
				count += partition->shapes[k].count;
		int64_t room = count_on_all(partition, shape, has_am ? NULL : am, with_vcores);
		if (count > room)
			return refuse_nodes(partition, shape, count, room, with_vcores, err);
	}
	return 0;
}

/* ---- the user's limit --------------------------------------------------------------------- */

/* Of the cluster's. The scheduler compares the largest of these between resources. */
static double share_of(const struct yarn_amount *amount, int64_t value)
{
	int64_t all = amount->own + amount->lent;

	return all > 0 ? (double)value / (double)all : 0;
}

/* Of what is guaranteed to the queue; -1: there is no limit. */
static int64_t user_limit_of(const struct yarn_queue_found *found,
			     const Hadoop__ResourceProto *guaranteed, const char *name)
{
	return yarn_rules_user_limit(yarn_tree_rules(found->tree), name,
				     yarn_resource_value(guaranteed, name),
				     found->queue->user_limit_factor);
}

static int64_t largest_of(const struct yarn_partition *partition, const char *name)
{
	int64_t largest = 0;

	for (size_t i = 0; i < partition->shape_count; i++) {
		int64_t given = yarn_shape_given(&partition->shapes[i], name);
		largest = given > largest ? given : largest;
	}
	return largest;
}

static int refuse_user(const struct yarn_queue_found *found, const struct yarn_partition *partition,
		       const struct yarn_amount *amount, int64_t limit, struct err *err)
{
	int64_t left = limit < 0 ? 0 : limit;
	char *who cleanup_free = describe_needy(partition);
	char *needed cleanup_free = format_amount(amount->name, amount->need, left);
	char *rounding cleanup_free = describe_rounding(partition, amount->name);
	char *most cleanup_free = format_amount(amount->name, left, amount->need);

	return err_set(err, ERR_CAPACITY,
		       "%s %s%s; in the queue \"%s\" a user gets no more containers once that "
		       "user's have %s (user-limit-factor %g); ask for fewer or smaller tasks, or "
		       "name another queue with --queue",
		       who, needed, rounding, found->name, most, found->queue->user_limit_factor);
}

static bool lends(const struct yarn_partition *partition)
{
	bool any = false;

	for (size_t i = 0; i < partition->amount_count; i++)
		any = any || partition->amounts[i].lent > 0;
	return any;
}

/* A user gets another container as long as what that user has is not beyond the limit: the last one
 * may go beyond it. On nodes with a label that serve others, too, there is no such limit. With
 * others in the queue it may be less (minimum-user-limit-percent), but that is not for ever. */
static int check_user(const struct yarn_queue_found *found, const struct yarn_partition *partition,
		      bool with_vcores, struct err *err)
{
	const Hadoop__QueueConfigurationsProto *limits =
		limits_of(found->queue->info, partition->label);
	const Hadoop__ResourceProto *guaranteed = limits ? limits->effectivemincapacity : NULL;
	double allowed = 0;

	if (found->is_new || !guaranteed || guaranteed->memory <= 0 ||
	    user_limit_of(found, guaranteed, YARN_MEMORY) < 0 || lends(partition))
		return 0;
	for (size_t i = 0; i < partition->amount_count; i++) {
		const struct yarn_amount *amount = &partition->amounts[i];
		int64_t limit = user_limit_of(found, guaranteed, amount->name);
		if (limit < 0 && yarn_resource_value(guaranteed, amount->name) > 0)
			return 0; /* that one is not limited, and one is enough */
		double share = share_of(amount, limit);
		allowed = share > allowed ? share : allowed;
	}
	for (size_t i = 0; i < partition->amount_count; i++) {
		const struct yarn_amount *amount = &partition->amounts[i];
		int64_t before = amount->need - largest_of(partition, amount->name);
		if ((with_vcores || !str_equal(amount->name, YARN_VCORES)) &&
		    share_of(amount, before) > allowed)
			return refuse_user(found, partition, amount,
					   user_limit_of(found, guaranteed, amount->name), err);
	}
	return 0;
}

/* ---- the verdict -------------------------------------------------------------------------- */

static int check_partition(const struct yarn_queue_found *found,
			   const struct yarn_partition *partition, bool with_vcores,
			   struct err *err)
{
	char *nodes cleanup_free = describe_nodes(partition);

	if (partition->node_count == 0)
		return err_set(err, ERR_CAPACITY,
			       "the cluster has no running NodeManager that any task may use: %s",
			       nodes);
	if (check_sums(found, partition, with_vcores, err) < 0 ||
	    check_nodes(partition, with_vcores, err) < 0)
		return -1;
	return check_user(found, partition, with_vcores, err);
}

/* Of a scheduler that does not tell what is guaranteed (before Hadoop 3.1, fair): false. */
static bool is_guaranteed(const struct yarn_queue_found *found,
			  const struct yarn_partition *partition, bool with_vcores)
{
	const Hadoop__QueueConfigurationsProto *limits =
		limits_of(found->queue->info, partition->label);
	const Hadoop__ResourceProto *guaranteed = limits ? limits->effectivemincapacity : NULL;

	if (found->is_new || !guaranteed)
		return false;
	for (size_t i = 0; i < partition->amount_count; i++) {
		const struct yarn_amount *amount = &partition->amounts[i];
		if ((with_vcores || !str_equal(amount->name, YARN_VCORES)) &&
		    amount->need > yarn_resource_value(guaranteed, amount->name))
			return false;
	}
	return true;
}

int yarn_check_total(struct hadoop_cluster *cluster, const struct job *job,
		     const struct yarn_queue_found *found, const Hadoop__ResourceProto *largest,
		     struct err *err)
{
	struct yarn_demand demand cleanup_yarn_demand = {0};
	bool with_vcores = counts_vcores(found, largest);

	if (yarn_demand_find(cluster, job, found, largest, &demand, err) < 0)
		return -1;
	cluster->is_within_guarantee = demand.count > 0;
	for (size_t i = 0; i < demand.count; i++)
		cluster->is_within_guarantee =
			cluster->is_within_guarantee &&
			is_guaranteed(found, &demand.partitions[i], with_vcores);
	for (size_t i = 0; i < demand.count; i++)
		if (check_partition(found, &demand.partitions[i], with_vcores, err) < 0)
			return -1;
	return 0;
}
