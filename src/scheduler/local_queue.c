/* What waits for a part of the machine. All of it happens in local_queue_settle(), from the event
 * loop: read the ledger, allocate what is due, write the ledger. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "scheduler/local_internal.h"

enum {
	BUSY_MS = 5,	/* until another process has closed the ledger */
	SETTLE_MS = 50, /* after a change */
	LOOK_MS = 1000, /* in case a change was not told, as on network file systems */
};

/* ---- asks --------------------------------------------------------------------------------- */

static void insert(struct local *local, struct ask *ask)
{
	struct ask *first = TAILQ_FIRST(&local->asks);

	while (first && !first->is_optional)
		first = TAILQ_NEXT(first, link);
	if (first && !ask->is_optional)
		TAILQ_INSERT_BEFORE(first, ask, link);
	else
		TAILQ_INSERT_TAIL(&local->asks, ask, link);
}

void local_queue_add(struct local *local, struct container **containers, size_t count)
{
	struct ask *ask = mem_alloc(sizeof(*ask));

	ask->is_optional = containers[0]->request.is_optional;
	for (size_t i = 0; i < count; i++) {
		struct share one = share_of_type(&local->job->types[containers[i]->request.type]);
		share_add(&ask->need, &one);
		containers[i]->ask = ask;
		ask->count++;
	}
	insert(local, ask);
}

static void drop_ask(struct local *local, struct ask *ask)
{
	TAILQ_REMOVE(&local->asks, ask, link);
	free(ask);
}

void local_queue_remove(struct container *container)
{
	struct local *local = container->local;
	struct ask *ask = container->ask;
	struct share one = share_of_type(&local->job->types[container->request.type]);

	container->ask = NULL;
	ask->need.memory -= one.memory;
	ask->need.vcores -= one.vcores;
	ask->need.gpus -= one.gpus;
	if (--ask->count == 0)
		drop_ask(local, ask);
}

/* ---- allocation --------------------------------------------------------------------------- */

static void add_holding(struct ledger_entry *own, const struct container *container)
{
	struct share one = share_of_type(&container->local->job->types[container->request.type]);

	own->containers++;
	share_add(&own->holds, &one);
	for (size_t i = 0; i < container->gpus.count; i++)
		str_list_add(&own->gpus, container->gpus.items[i]);
}

/* What the job holds, from its containers. */
static void count_holdings(const struct local *local, struct ledger_entry *own)
{
	const struct container *container;

	own->containers = 0;
	own->holds = (struct share){0};
	str_list_finish(&own->gpus);
	TAILQ_FOREACH(container, &local->containers, link)
	{
		if (container->state == CONTAINER_ALLOCATED ||
		    container->state == CONTAINER_RUNNING)
			add_holding(own, container);
	}
}

static void allocate(struct local *local, struct ask *ask, const struct allotment *allotment,
		     struct ledger_entry *own)
{
	struct container *container;

	TAILQ_FOREACH(container, &local->containers, link)
	{
		if (container->ask != ask)
			continue;
		allotment_pick_gpus(allotment, local->job->types[container->request.type].gpus,
				    &container->gpus);
		container->ask = NULL;
		container->state = CONTAINER_ALLOCATED;
		add_holding(own, container);
		local_add_news(container);
	}
	drop_ask(local, ask);
}

/* What is optional gives way to every job that waits. */
static bool is_due(const struct allotment *allotment, const struct ask *ask)
{
	if (ask->is_optional ? allotment_awaited(allotment) : allotment_ahead(allotment) != NULL)
		return false;
	return allotment_fits(allotment, &ask->need);
}

static char *describe_waiting(const struct allotment *allotment, const struct ask *ask)
{
	char *text = allotment_waiting(allotment, &ask->need);

	if (ask->is_optional)
		mem_replace(&text, mem_printf("can run with fewer; each further task %s", text));
	return text;
}

/* Returns why the first ask waits, or NULL when none does. The caller frees. */
static char *allocate_what_fits(struct local *local)
{
	struct ledger_entry *own = ledger_own(local->ledger);
	struct allotment allotment = {.capacity = &local->capacity, .own = own};
	struct ask *ask;

	allotment.others = ledger_others(local->ledger, &allotment.count);
	count_holdings(local, own);
	while ((ask = TAILQ_FIRST(&local->asks)) && is_due(&allotment, ask))
		allocate(local, ask, &allotment, own);
	bool is_needed = ask && !ask->is_optional;
	if (is_needed && own->ticket == 0)
		own->ticket = ledger_next_ticket(local->ledger);
	if (!is_needed)
		own->ticket = 0;
	own->wants = is_needed ? ask->need : (struct share){0};
	return ask ? describe_waiting(&allotment, ask) : NULL;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static void on_changed(int fd, short what, void *data)
{
	struct local *local = data;

	ledger_drain(local->ledger);
	local->woken = true;
	local_pump_soon(local);
}

static void on_again(int fd, short what, void *data)
{
	local_pump_soon(data);
}

static void stop_waiting(struct local *local)
{
	if (local->changed)
		event_free(local->changed);
	local->changed = NULL;
	ledger_unwatch(local->ledger);
	event_del(local->again);
}

static void keep_waiting(struct local *local)
{
	/* The kernel tells of a closed file before it releases the file's lock: the first look may
	 * still find a dead job alive. */
	struct timeval delay = clock_timeval(local->woken ? SETTLE_MS : LOOK_MS);
	int fd = ledger_watch(local->ledger);

	if (!local->changed && fd >= 0) {
		local->changed =
			event_new(local->base, fd, EV_READ | EV_PERSIST, on_changed, local);
		event_add(local->changed, NULL);
		/* What changed before the watch was there. */
		delay = clock_timeval(SETTLE_MS);
	}
	local->woken = false;
	event_add(local->again, &delay);
}

/* `text` is taken. */
static void tell_waiting(struct local *local, char *text)
{
	bool changed = !str_equal(text, local->waiting);

	mem_replace(&local->waiting, text);
	if (changed)
		local->listener.waiting(local->listener.data, text);
}

static void retry_soon(struct local *local)
{
	struct timeval delay = clock_timeval(BUSY_MS);

	event_add(local->pump, &delay);
}

void local_queue_settle(struct local *local)
{
	struct err err cleanup_err = {0};
	int busy = ledger_begin(local->ledger, &err);

	if (busy > 0) {
		retry_soon(local);
		return;
	}
	char *text = NULL;
	if (busy == 0) {
		text = allocate_what_fits(local);
		ledger_commit(local->ledger, &err);
	}
	if (err.kind != ERR_NONE)
		log_error("ledger: %s", err_message(&err));
	if (busy < 0)
		text = mem_printf("waits for the ledger: %s", err_message(&err));
	if (text)
		keep_waiting(local);
	else
		stop_waiting(local);
	tell_waiting(local, text);
}

int local_queue_open(struct local *local, struct err *err)
{
	local->again = evtimer_new(local->base, on_again, local);
	return local->again ? 0 : err_set(err, ERR_FAILED, "no timer");
}

void local_queue_close(struct local *local)
{
	struct ask *ask;

	while ((ask = TAILQ_FIRST(&local->asks)))
		drop_ask(local, ask);
	if (local->again) {
		stop_waiting(local);
		event_free(local->again);
	}
	free(local->waiting);
}
