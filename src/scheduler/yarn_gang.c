#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "scheduler/gang_pace.h"
#include "scheduler/yarn_internal.h"

/* ---- asking ------------------------------------------------------------------------------- */

static void say_wanted(struct yarn *yarn, size_t kind)
{
	int32_t count = yarn->asked_count[kind];

	if (yarn->is_registered && application_master_wanted(yarn->master, kind) != count)
		application_master_want(yarn->master, kind, count);
}

static void say_all_wanted(struct yarn *yarn)
{
	for (size_t i = 0; i < yarn->kind_count; i++)
		say_wanted(yarn, i);
	yarn_pump_soon(yarn);
}

/* Only a task that the job can do without may be taken away at any time. */
static size_t kind_of(const struct yarn_container *container)
{
	const struct yarn *yarn = container->yarn;
	size_t type = container->request.type;
	bool opportunistic =
		container->request.is_optional && yarn->cluster->types[type].is_opportunistic;

	return opportunistic ? yarn->job->type_count + type : type;
}

static void queue(struct yarn_container *container)
{
	struct yarn_queue *asked = &container->yarn->asked[kind_of(container)];
	struct yarn_container *before = TAILQ_LAST(asked, yarn_queue);

	container->state = YARN_ASKED;
	container->yarn->asked_count[kind_of(container)]++;
	while (before && before->request.is_optional && !container->request.is_optional)
		before = TAILQ_PREV(before, yarn_queue, queued);
	if (before)
		TAILQ_INSERT_AFTER(asked, before, container, queued);
	else
		TAILQ_INSERT_HEAD(asked, container, queued);
}

static void unqueue(struct yarn_container *container)
{
	container->yarn->asked_count[kind_of(container)]--;
	TAILQ_REMOVE(&container->yarn->asked[kind_of(container)], container, queued);
}

/* ---- time --------------------------------------------------------------------------------- */

/* What comes in time does not lengthen the patience: `backoff` is not counted on. */
static void plan(struct yarn_gang *gang, struct backoff backoff)
{
	timer_start(gang->timer, backoff_next(&backoff, random_u64()));
}

static void give_all_back(struct yarn_gang *gang)
{
	struct yarn_container *member;

	mem_replace(&gang->pause_text, yarn_waiting_pause(gang));
	log_info("%s", gang->pause_text);
	gang->yarn->tell_waiting_at = 0; /* that is told however soon after what came last */
	TAILQ_FOREACH(member, &gang->members, link)
	{
		if (member->state == YARN_ASKED)
			unqueue(member);
		else
			yarn_container_give_back(member);
		member->state = YARN_PAUSING;
	}
	gang->held = 0;
	gang->pausing = true;
	gang->is_woken = false;
	plan(gang, gang->pause);
	gang->pause.tries++;
	gang->patience.tries++;
}

static void ask_again(struct yarn_gang *gang)
{
	struct yarn_container *member;

	gang->pausing = false;
	TAILQ_FOREACH(member, &gang->members, link)
	queue(member);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct yarn_gang *gang = data;
	struct yarn *yarn = gang->yarn;

	if (gang->pausing)
		ask_again(gang);
	else
		give_all_back(gang);
	say_all_wanted(yarn);
}

/* ---- members ------------------------------------------------------------------------------ */

static struct yarn_gang *create(struct yarn *yarn)
{
	struct yarn_gang *gang = mem_alloc(sizeof(*gang));

	gang->yarn = yarn;
	gang->timer = evtimer_new(yarn->base, on_timer, gang);
	int64_t patience = yarn->gang_patience_ms;
	gang->patience = (struct backoff){.first_ms = patience,
					  .cap_ms = patience > GANG_LONGEST_PATIENCE_MS
							    ? patience
							    : GANG_LONGEST_PATIENCE_MS};
	gang->pause =
		(struct backoff){.first_ms = yarn->gang_pause_ms, .cap_ms = GANG_LONGEST_PAUSE_MS};
	TAILQ_INIT(&gang->members);
	TAILQ_INSERT_TAIL(&yarn->gangs, gang, link);
	return gang;
}

void yarn_gang_destroy(struct yarn_gang *gang)
{
	TAILQ_REMOVE(&gang->yarn->gangs, gang, link);
	event_free(gang->timer);
	free(gang->pause_text);
	free(gang);
}

static void join(struct yarn_gang *gang, struct yarn_container *container)
{
	container->gang = gang;
	gang->count++;
	TAILQ_INSERT_TAIL(&gang->members, container, link);
	queue(container);
}

static void detach(struct yarn_container *container)
{
	struct yarn_gang *gang = container->gang;

	if (container->state == YARN_ASKED)
		unqueue(container);
	gang->held -= container->state == YARN_HELD;
	gang->count--;
	container->gang = NULL;
	TAILQ_REMOVE(&gang->members, container, link);
	if (gang->count == 0)
		yarn_gang_destroy(gang);
}

static void allocate_if_complete(struct yarn_gang *gang)
{
	struct yarn_container *member;

	while (gang->held == gang->count) {
		bool last = gang->count == 1;
		member = TAILQ_FIRST(&gang->members);
		detach(member);
		member->state = YARN_ALLOCATED;
		yarn_add_news(member);
		if (last)
			return;
	}
}

/* ---- refusals ----------------------------------------------------------------------------- */

static void refuse(struct yarn_container *container, const char *text)
{
	detach(container);
	yarn_container_give_back(container);
	container->state = YARN_REFUSED;
	mem_replace(&container->refusal, mem_strdup(text));
	yarn_add_news(container);
}

void yarn_gang_refuse_all(struct yarn *yarn, const char *text)
{
	for (size_t i = 0; i < yarn->kind_count; i++) {
		struct yarn_container *container;
		while ((container = TAILQ_FIRST(&yarn->asked[i])))
			refuse(container, text);
	}
	say_all_wanted(yarn);
}

/* What YARN does not know it leaves out, without a word. */
static char *unknown_amount(const struct yarn *yarn, const struct container_kind *kind)
{
	const Hadoop__RegisterApplicationMasterResponseProto *limits = yarn->limits;

	for (size_t i = 0; i < kind->amount_count; i++) {
		bool known = limits->n_resource_types == 0;
		for (size_t k = 0; k < limits->n_resource_types && !known; k++)
			known = str_equal(limits->resource_types[k]->name, kind->amounts[i].name);
		if (!known)
			return mem_printf("%" PRId64
					  " of %s, a resource that this cluster does not "
					  "have",
					  kind->amounts[i].value, kind->amounts[i].name);
	}
	return NULL;
}

static char *too_large(const struct yarn *yarn, const struct container_kind *kind)
{
	const Hadoop__ResourceProto *most = yarn->limits->maximumcapability;

	if (!most)
		return NULL;
	if (most->has_memory && kind->memory > most->memory)
		return mem_printf("%" PRId64 " MiB; the cluster gives a container at most %" PRId64
				  " MiB",
				  kind->memory, most->memory);
	if (most->has_virtual_cores && kind->vcores > most->virtual_cores)
		return mem_printf("%d vcore%s; the cluster gives a container at most %d",
				  kind->vcores, str_plural(kind->vcores), most->virtual_cores);
	return NULL;
}

static void judge(struct yarn *yarn, size_t number)
{
	const struct container_kind *kind = &yarn->kinds[number];
	struct yarn_container *container;

	if (!yarn->limits || TAILQ_EMPTY(&yarn->asked[number]))
		return;
	char *why cleanup_free = unknown_amount(yarn, kind);
	if (!why)
		why = too_large(yarn, kind);
	if (!why)
		return;
	char *text cleanup_free = mem_printf(
		"a %s needs %s", yarn->job->types[number % yarn->job->type_count].name, why);
	while ((container = TAILQ_FIRST(&yarn->asked[number])))
		refuse(container, text);
}

void yarn_gang_judge_all(struct yarn *yarn)
{
	for (size_t i = 0; i < yarn->kind_count; i++)
		judge(yarn, i);
	say_all_wanted(yarn);
}

/* ---- events ------------------------------------------------------------------------------- */

void yarn_gang_ask(struct yarn *yarn, const struct scheduler_request *requests, size_t count)
{
	struct yarn_gang *gang = create(yarn);

	for (size_t i = 0; i < count; i++)
		join(gang, yarn_container_create(yarn, &requests[i]));
	if (yarn->is_registered)
		yarn_gang_judge_all(yarn);
}

static char *missing_amount(const struct container_kind *kind, const Hadoop__ResourceProto *given)
{
	for (size_t i = 0; i < kind->amount_count; i++) {
		int64_t value = 0;
		for (size_t k = 0; given && k < given->n_resource_value_map; k++)
			if (str_equal(given->resource_value_map[k]->key, kind->amounts[i].name))
				value = given->resource_value_map[k]->value;
		if (value < kind->amounts[i].value)
			return mem_printf("YARN gave a container with %" PRId64 " of %s in place "
					  "of %" PRId64,
					  value, kind->amounts[i].name, kind->amounts[i].value);
	}
	return NULL;
}

/* A ResourceManager without opportunistic containers takes an ask for one as any other. */
static void note_guaranteed(struct yarn *yarn, size_t kind, const Hadoop__ContainerProto *proto)
{
	if (!yarn->kinds[kind].is_opportunistic || yarn->is_guaranteed_noted ||
	    proto->execution_type == HADOOP__EXECUTION_TYPE_PROTO__OPPORTUNISTIC)
		return;
	char *text cleanup_free = mem_printf(
		"tony.%s.execution-type: the ResourceManager gives guaranteed containers in place "
		"of opportunistic ones: it has no "
		"yarn.resourcemanager.opportunistic-container-allocation.enabled",
		yarn->job->types[kind % yarn->job->type_count].name);
	yarn->is_guaranteed_noted = true;
	yarn->listener.noted(yarn->listener.data, text);
}

void yarn_gang_take(struct yarn *yarn, size_t kind, const Hadoop__ContainerProto *proto)
{
	struct yarn_container *container = TAILQ_FIRST(&yarn->asked[kind]);
	char *missing cleanup_free = missing_amount(&yarn->kinds[kind], proto->resource);

	if (!container || missing) {
		application_master_release(yarn->master, proto->id);
		if (container)
			refuse(container, missing);
		return;
	}
	struct yarn_gang *gang = container->gang;
	note_guaranteed(yarn, kind, proto);
	unqueue(container);
	yarn_container_fill(container, proto);
	if (proto->resource)
		yarn->given[kind] = proto->resource->memory;
	container->state = YARN_HELD;
	gang->held++;
	yarn_pump_soon(yarn);
	if (gang->held == gang->count)
		allocate_if_complete(gang);
	else
		plan(gang, gang->patience);
}

void yarn_gang_lose(struct yarn_container *container)
{
	struct yarn *yarn = container->yarn;

	yarn_container_empty(container);
	if (container->gang) {
		container->gang->held--;
		queue(container);
	} else {
		join(create(yarn), container);
	}
	say_all_wanted(yarn);
}

/* NodeManagers refuse to start what an earlier ResourceManager allocated. */
void yarn_gang_lose_held(struct yarn *yarn)
{
	struct yarn_gang *gang;
	struct yarn_container *member;

	TAILQ_FOREACH(gang, &yarn->gangs, link)
	{
		TAILQ_FOREACH(member, &gang->members, link)
		{
			if (member->state == YARN_HELD)
				yarn_gang_lose(member);
		}
	}
}

void yarn_gang_leave(struct yarn_container *container)
{
	struct yarn *yarn = container->yarn;
	struct yarn_gang *gang = container->gang;
	bool last = gang->count == 1;

	detach(container);
	if (!last && gang->held == gang->count)
		allocate_if_complete(gang);
	say_all_wanted(yarn);
}
