#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "scheduler/yarn_internal.h"

enum {
	/* A gang of thousands grows in many steps: fewer and fewer of them are told. */
	WAITING_MS = 1000,
	WAITING_MOST_MS = 16000,
	/* The first answers to an AM tell a headroom of nothing. */
	SHORT_MS = 2000,
	RENEW_MS = 10000,
};

/* ---- how many ----------------------------------------------------------------------------- */

static bool is_optional(const struct yarn_gang *gang)
{
	return TAILQ_FIRST(&gang->members)->request.is_optional;
}

static int32_t count_opportunistic(const struct yarn *yarn, size_t type)
{
	return yarn->asked_count[yarn->job->type_count + type];
}

/* How many of the type, needed or optional, are asked for; the optional ones come last. */
static int32_t count_asked(const struct yarn *yarn, size_t type, bool optional)
{
	const struct yarn_container *container = TAILQ_LAST(&yarn->asked[type], yarn_queue);
	int32_t count = 0;

	for (; container && container->request.is_optional;
	     container = TAILQ_PREV(container, yarn_queue, queued))
		count++;
	return optional ? count + count_opportunistic(yarn, type) : yarn->asked_count[type] - count;
}

/* "worker x 2, ps x 1"; the caller frees. */
static char *list_asked(const struct yarn *yarn, bool optional, int64_t *sum)
{
	struct str_list parts cleanup_str_list = {0};

	*sum = 0;
	for (size_t i = 0; i < yarn->job->type_count; i++) {
		int32_t count = count_asked(yarn, i, optional);
		if (count > 0)
			str_list_add_format(&parts, "%s x %" PRId32, yarn->job->types[i].name,
					    count);
		*sum += count;
	}
	return str_list_join(&parts, ", ");
}

/* ---- what the queue can give -------------------------------------------------------------- */

static int64_t amount_in(const Hadoop__ResourceProto *headroom, const char *name)
{
	for (size_t i = 0; i < headroom->n_resource_value_map; i++)
		if (str_equal(headroom->resource_value_map[i]->key, name))
			return headroom->resource_value_map[i]->value;
	return INT64_MAX; /* of an older ResourceManager, which does not say */
}

static int64_t at_least_0(int64_t value)
{
	return value < 0 ? 0 : value;
}

/* "512 MiB more, and a worker takes 1.0 GiB"; NULL: there is enough for one. */
static char *shortage_of(const struct yarn *yarn, size_t type,
			 const Hadoop__ResourceProto *headroom)
{
	const struct container_kind *kind = &yarn->kinds[type];
	const char *name = yarn->job->types[type].name;
	int64_t memory = yarn_memory_of_one(yarn, type);

	if (headroom->memory < memory) {
		int64_t free = at_least_0(headroom->memory);
		char *left cleanup_free = str_format_mib_beside(free, memory);
		char *takes cleanup_free = str_format_mib_beside(memory, free);
		return mem_printf("%s more, and a %s takes %s", left, name, takes);
	}
	if (yarn_counts_cores(yarn) && headroom->virtual_cores < kind->vcores)
		return mem_printf("%" PRId64 " vcores more, and a %s takes %d",
				  at_least_0(headroom->virtual_cores), name, kind->vcores);
	for (size_t i = 0; i < kind->amount_count; i++) {
		const struct hadoop_amount *amount = &kind->amounts[i];
		int64_t left = amount_in(headroom, amount->name);
		if (left < amount->value)
			return mem_printf("%" PRId64 " of %s more, and a %s takes %" PRId64,
					  at_least_0(left), amount->name, name, amount->value);
	}
	return NULL;
}

static char *find_shortage(const struct yarn *yarn, const Hadoop__ResourceProto *headroom)
{
	char *text = NULL;

	for (size_t i = 0; i < yarn->job->type_count && !text; i++)
		if (yarn->asked_count[i] > 0)
			text = shortage_of(yarn, i, headroom);
	return text;
}

/* It changes with every container of the queue: a number stands for a while. */
void yarn_waiting_take_headroom(struct yarn *yarn, const Hadoop__ResourceProto *headroom)
{
	char *shortage cleanup_free = find_shortage(yarn, headroom);
	int64_t now = clock_monotonic_ms();

	yarn->left_mib = at_least_0(headroom->memory);
	if (!shortage) {
		yarn->short_since = 0;
		mem_replace(&yarn->headroom, NULL);
		return;
	}
	if (yarn->short_since == 0)
		yarn->short_since = now;
	if (now - yarn->short_since < SHORT_MS ||
	    (yarn->headroom && now - yarn->headroom_at < RENEW_MS))
		return;
	yarn->headroom_at = now;
	mem_replace(&yarn->headroom,
		    mem_printf("user %s can have %s", yarn->cluster->user, shortage));
}

/* ---- why ---------------------------------------------------------------------------------- */

/* "each worker has 1.0 GiB instead of 64 MiB" */
static void add_rounding(const struct yarn *yarn, size_t type, struct str_list *reasons)
{
	int64_t asked = yarn->kinds[type].memory, given = yarn->given[type];

	if (given <= asked)
		return;
	char *has cleanup_free = str_format_mib_beside(given, asked);
	char *instead cleanup_free = str_format_mib_beside(asked, given);
	str_list_add_format(reasons, "each %s has %s instead of %s", yarn->job->types[type].name,
			    has, instead);
}

/* "worker: python=3, notin,node,worker on 3 nodes" */
static void add_placement(const struct yarn *yarn, size_t type, struct str_list *reasons)
{
	const char *own = yarn->cluster->types[type].placement;
	const char *wanted = own ? own : yarn->cluster->placement;
	struct str_list all cleanup_str_list = {0};

	str_list_copy(&all, &yarn->cluster->types[type].node_attributes);
	if (wanted)
		str_list_add(&all, wanted);
	if (all.count == 0)
		return;
	char *placement cleanup_free = str_list_join(&all, ", ");
	struct yarn_room room;
	int64_t count = yarn_room_count(yarn, type, &room)
				? room.usable - room.avoided
				: yarn->node_count - (int64_t)yarn->avoided.count;
	char *nodes cleanup_free = mem_printf(" on %" PRId64 " node%s", count, str_plural(count));
	str_list_add_format(reasons, "%s: %s%s", yarn->job->types[type].name, placement,
			    yarn->node_count > 0 ? nodes : "");
}

/* "no node has 1.5 GiB free in one piece": enough is free, and not where one container could use
 * it. */
static bool add_pieces(const struct yarn *yarn, size_t type, struct str_list *reasons)
{
	int64_t memory = yarn_memory_of_one(yarn, type);
	struct yarn_room room;

	if (!yarn_room_count(yarn, type, &room) || room.fitting > 0 || room.free < memory)
		return false;
	char *size cleanup_free = str_format_mib((double)memory);
	str_list_add_format(reasons, "no node has %s free in one piece", size);
	return true;
}

/* "127.0.0.4 is avoided, as it failed" */
static void add_avoided(const struct yarn *yarn, struct str_list *reasons)
{
	char *hosts cleanup_free = str_list_join(&yarn->avoided, ", ");

	if (yarn->avoided.count > 0)
		str_list_add_format(reasons, "%s %s avoided, since tasks were lost there", hosts,
				    yarn->avoided.count == 1 ? "is" : "are");
}

/* The known reasons why those that are needed, or the optional ones, do not come, ": ...; ...", or
 * nothing. The caller frees. */
static char *list_reasons(const struct yarn *yarn, bool optional)
{
	struct str_list reasons cleanup_str_list = {0};
	int32_t guaranteed = 0;
	bool in_pieces = false;

	for (size_t i = 0; i < yarn->job->type_count; i++) {
		int32_t opportunistic = optional ? count_opportunistic(yarn, i) : 0;
		int32_t others = count_asked(yarn, i, optional) - opportunistic;
		if (opportunistic > 0)
			str_list_add_format(
				&reasons,
				"%s: opportunistic, from a node that has room in its queue",
				yarn->job->types[i].name);
		guaranteed += others;
		if (others == 0)
			continue;
		add_rounding(yarn, i, &reasons);
		add_placement(yarn, i, &reasons);
		in_pieces = add_pieces(yarn, i, &reasons) || in_pieces;
	}
	/* The headroom is short of what is free on nodes, too: it would blame the user's limit. */
	if (yarn->headroom && guaranteed > 0 && !in_pieces)
		str_list_add(&reasons, yarn->headroom);
	if (guaranteed > 0)
		add_avoided(yarn, &reasons);
	char *text cleanup_free = str_list_join(&reasons, "; ");
	return mem_printf("%s%s", reasons.count > 0 ? ": " : "", text);
}

/* Where placement rules have put the job, as far as the ResourceManager has told. */
static const char *queue_name(const struct yarn *yarn)
{
	const char *told = yarn->limits ? yarn->limits->queue : NULL;
	const char *own = yarn->job->queue ? yarn->job->queue : "default";

	return told && *told ? told : own;
}

char *yarn_waiting_pause(const struct yarn_gang *gang)
{
	const struct yarn *yarn = gang->yarn;
	int64_t missing;
	char *what cleanup_free = list_asked(yarn, false, &missing);
	char *why cleanup_free = list_reasons(yarn, false);

	return mem_printf("pauses, having given back %zu of %zu containers of queue %s, as %s did "
			  "not come%s",
			  gang->held, gang->count, queue_name(yarn), what, why);
}

/* "waits for 3 of 9 containers (worker x 2, ps x 1) of queue ml"; NULL: for nothing. The caller
 * frees. */
static char *waiting_text(const struct yarn *yarn)
{
	const struct yarn_gang *gang;
	const char *pause = NULL;
	int64_t missing, wanted;
	size_t all = 0;

	char *what cleanup_free = list_asked(yarn, false, &missing);
	char *more cleanup_free = list_asked(yarn, true, &wanted);
	char *why cleanup_free = list_reasons(yarn, missing == 0);
	TAILQ_FOREACH(gang, &yarn->gangs, link)
	{
		all += is_optional(gang) ? 0 : gang->count;
		pause = gang->pausing ? gang->pause_text : pause;
	}
	if (missing > 0)
		return mem_printf("waits for %" PRId64 " of %zu container%s (%s) of queue %s%s",
				  missing, all, str_plural(all), what, queue_name(yarn), why);
	if (pause)
		return mem_strdup(pause);
	if (wanted > 0)
		return mem_printf("can run with fewer; waits for %" PRId64
				  " more containers (%s) of queue %s%s",
				  wanted, more, queue_name(yarn), why);
	return NULL;
}

void yarn_waiting_tell(struct yarn *yarn)
{
	char *text cleanup_free = waiting_text(yarn);
	int64_t now = clock_monotonic_ms();

	if (str_equal(text, yarn->waiting))
		return;
	if (text && now < yarn->tell_waiting_at)
		return; /* a later beat comes by here */
	if (text) {
		bool is_often = now < yarn->tell_waiting_at + yarn->waiting_ms;
		int64_t longer = is_often ? yarn->waiting_ms * 2 : WAITING_MS;
		yarn->waiting_ms = longer < WAITING_MOST_MS ? longer : WAITING_MOST_MS;
		yarn->tell_waiting_at = now + yarn->waiting_ms;
	}
	mem_replace(&yarn->waiting, mem_strdup(text));
	yarn->listener.waiting(yarn->listener.data, text);
}
