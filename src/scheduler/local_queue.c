/* What waits for a part of the machine. All of it happens in local_queue_settle(), from the event
 * loop: read the ledger, allocate what is due, write the ledger. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "scheduler/local_internal.h"

enum {
	BUSY_MS = 5,	   /* until another process has closed the ledger */
	CONTENDED_MS = 50, /* at most, until what two users wanted is tried again */
	SETTLE_MS = 50,	   /* after a change */
	LOOK_MS = 1000,	   /* in case a change was not told, as on network file systems */
	LOOK_EACH_MS =
		50, /* more for each job: those behind others look only to tell why they wait */
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
	str_list_copy(&own->gpus, &container->gpus);
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

static int read_neighbours(struct local *local, struct err *err)
{
	size_t count;
	const struct ledger_entry *others = ledger_others(local->ledger, &count);

	return local->shared ? shared_ledger_read(local->shared, others, count,
						  local->capacity.max_gpus, &local->neighbours, err)
			     : 0;
}

static int write_shared(struct local *local, const struct ledger_entry *own, struct err *err)
{
	return local->shared ? shared_ledger_write(local->shared, own, err) : 0;
}

/* A job that holds something goes on without its entry, and is told. */
static int renew_shared(struct local *local, const struct ledger_entry *own, struct err *err)
{
	if (!local->shared || own->containers > 0)
		return 0;
	int result = shared_ledger_renew(local->shared, err);
	if (result > 0)
		local_watch_shared(local);
	return result < 0 ? -1 : 0;
}

/* Says to all users that the job holds these GPUs, too, and then looks whether they are still free:
 * see shared_ledger.h. 1: they were not; the entry is to be written anew, without them. */
static int claim(struct local *local, const struct allotment *allotment, const struct ask *ask,
		 const struct str_list *gpus, struct err *err)
{
	const struct ledger_entry *own = allotment->own;
	struct ledger_entry claimed = {.job = own->job,
				       .containers = own->containers + (int64_t)ask->count,
				       .holds = own->holds};

	if (!local->shared || ask->need.gpus == 0)
		return 0;
	share_add(&claimed.holds, &ask->need);
	str_list_copy(&claimed.gpus, &own->gpus);
	str_list_copy(&claimed.gpus, gpus);
	int result = write_shared(local, &claimed, err);
	str_list_finish(&claimed.gpus);
	if (result < 0 || read_neighbours(local, err) < 0)
		return -1;
	return allotment_fits(allotment, &ask->need) && allotment_are_free(allotment, gpus) ? 0 : 1;
}

/* `gpus`: as many as the ask needs. */
static void allocate(struct local *local, struct ask *ask, const struct str_list *gpus,
		     struct ledger_entry *own)
{
	struct container *container;
	size_t next = 0;

	TAILQ_FOREACH(container, &local->containers, link)
	{
		if (container->ask != ask)
			continue;
		for (int i = 0; i < local->job->types[container->request.type].gpus; i++)
			str_list_add(&container->gpus, gpus->items[next++]);
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

static int claim_first(struct local *local, const struct allotment *allotment, struct ask *ask,
		       struct err *err)
{
	struct str_list gpus cleanup_str_list = {0};

	allotment_pick_gpus(allotment, ask->need.gpus, &gpus);
	int result = claim(local, allotment, ask, &gpus, err);
	if (result == 0)
		allocate(local, ask, &gpus, ledger_own(local->ledger));
	return result;
}

/* As claim(). Of other users' jobs only the GPUs count: an ask for none does not depend on the
 * ledger that they share. */
static int allocate_due(struct local *local, const struct allotment *allotment, struct err *err)
{
	struct ask *ask;
	int result = 0;

	while (result == 0 && (ask = TAILQ_FIRST(&local->asks))) {
		if (ask->need.gpus > 0 && read_neighbours(local, err) < 0)
			return -1;
		if (!is_due(allotment, ask))
			break;
		result = claim_first(local, allotment, ask, err);
	}
	return result;
}

/* Once, until it is another one or over. The job goes on. */
static void tell_fault(struct local *local, const struct err *fault)
{
	const char *text = fault->kind != ERR_NONE ? err_message(fault) : NULL;

	if (text && !str_equal(text, local->fault))
		local->listener.noted(local->listener.data, text);
	mem_replace(&local->fault, mem_strdup(text));
}

/* A job behind another one need not look at all of them while that one waits: with hundreds that
 * wait, each look by each of them would be all that the machine does. */
static void find_place(struct local *local, const struct allotment *allotment)
{
	const struct ledger_entry *before =
		allotment->own->ticket != 0 ? allotment_before(allotment) : NULL;

	mem_replace(&local->behind, before ? mem_strdup(before->job) : NULL);
	local->behind_ticket = before ? before->ticket : 0;
	local->look_ms = clock_monotonic_ms() + LOOK_MS + LOOK_EACH_MS * (int64_t)allotment->count;
}

/* Returns why the first ask waits, or NULL when none does. The caller frees. */
static char *allocate_what_fits(struct local *local)
{
	struct ledger_entry *own = ledger_own(local->ledger);
	struct allotment allotment = {.capacity = &local->capacity,
				      .own = own,
				      .neighbours = &local->neighbours,
				      .user = geteuid()};
	struct err fault cleanup_err = {0};

	allotment.others = ledger_others(local->ledger, &allotment.count);
	own->priority = local->job->priority;
	mem_replace(&own->parent, mem_strdup(local->job->parent));
	count_holdings(local, own);
	int result = renew_shared(local, own, &fault);
	if (result == 0)
		result = allocate_due(local, &allotment, &fault);
	local->contended = result > 0;
	write_shared(local, own, result < 0 ? NULL : &fault);
	tell_fault(local, &fault);
	mem_replace(&local->behind, NULL);
	if (result < 0) {
		/* Those behind this job get meanwhile what it cannot have. */
		own->ticket = 0;
		own->wants = (struct share){0};
		return mem_printf("waits for the ledger of all users: %s", err_message(&fault));
	}
	const struct ask *ask = TAILQ_FIRST(&local->asks);
	bool is_needed = ask && !ask->is_optional;
	if (is_needed && own->ticket == 0)
		own->ticket = ledger_next_ticket(local->ledger);
	if (!is_needed)
		own->ticket = 0;
	own->wants = is_needed ? ask->need : (struct share){0};
	find_place(local, &allotment);
	return ask ? describe_waiting(&allotment, ask) : NULL;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static bool is_behind(const struct local *local)
{
	return local->behind && ledger_waits(local->ledger, local->behind, local->behind_ticket);
}

/* The kernel tells of a closed file before it releases the file's lock: the first look may still
 * find a dead job alive. */
static void look_again(struct local *local)
{
	timer_start(local->again, local->woken ? SETTLE_MS : LOOK_MS);
	local->woken = false;
}

static void on_changed(int fd, short what, void *data)
{
	struct local *local = data;

	ledger_drain(local->ledger);
	local->woken = true;
	if (is_behind(local))
		look_again(local);
	else
		local_pump_soon(local);
}

static void on_again(int fd, short what, void *data)
{
	struct local *local = data;

	if (clock_monotonic_ms() < local->look_ms && is_behind(local))
		look_again(local);
	else
		local_pump_soon(local);
}

static void stop_watching(struct local *local)
{
	if (local->changed)
		event_free(local->changed);
	local->changed = NULL;
	ledger_unwatch(local->ledger);
	mem_replace(&local->watched, NULL);
}

static void stop_waiting(struct local *local)
{
	stop_watching(local);
	event_del(local->again);
}

static void watch(struct local *local)
{
	if (local->changed && str_equal(local->behind, local->watched))
		return;
	stop_watching(local);
	int fd = ledger_watch(local->ledger, local->behind);
	if (fd < 0)
		return;
	local->watched = mem_strdup(local->behind);
	local->changed = event_new(local->base, fd, EV_READ | EV_PERSIST, on_changed, local);
	event_add(local->changed, NULL);
	local->woken = true; /* something may have changed before the watch was there */
}

static void keep_waiting(struct local *local)
{
	watch(local);
	look_again(local);
}

/* `text` is taken. */
static void tell_waiting(struct local *local, char *text)
{
	bool changed = !str_equal(text, local->waiting);

	mem_replace(&local->waiting, text);
	if (changed)
		local->listener.waiting(local->listener.data, text);
}

static void retry_in(struct local *local, int64_t delay_ms)
{
	timer_start(local->pump, delay_ms);
}

/* Of random length, or the two would meet again. */
static void retry_contended(struct local *local)
{
	timer_start(local->pump, 1 + (int64_t)(random_u64() % CONTENDED_MS));
}

void local_queue_settle(struct local *local)
{
	struct err err cleanup_err = {0};
	int busy = ledger_begin(local->ledger, &err);

	if (busy > 0) {
		retry_in(local, BUSY_MS);
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
	if (busy == 0 && local->contended) {
		retry_contended(local);
		free(text);
		return;
	}
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
	free(local->behind);
	free(local->waiting);
	free(local->fault);
}
