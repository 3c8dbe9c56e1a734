#include "am/split_queue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "am/split_order.h"
#include "base/map.h"
#include "base/mem.h"

struct entry {
	struct split_open open;
	int64_t renewed_at;
	TAILQ_ENTRY(entry) link;   /* of those in its state; of the leased the oldest is first */
	LIST_ENTRY(entry) of_task; /* of one that is leased */
};

TAILQ_HEAD(entries, entry);

struct task {
	LIST_HEAD(, entry) leases;
	size_t leased;
	int64_t done;
};

struct split_queue {
	struct split_queue_options options;
	struct split_position position;
	struct map *open; /* by pass and split */
	struct entries in[SPLIT_AHEAD + 1];
	struct task **tasks; /* by number; NULL: it has had none */
	size_t leased;
	bool is_silent; /* it is being restored */
};

bool split_holder_is(const struct split_holder *a, const struct split_holder *b)
{
	return a->task == b->task && a->attempt == b->attempt && a->epoch == b->epoch &&
	       a->restart == b->restart && a->process == b->process;
}

struct split_queue *split_queue_create(const struct split_queue_options *options)
{
	struct split_queue *queue = mem_alloc(sizeof(*queue));

	queue->options = *options;
	queue->position.pass = 1;
	queue->open = map_create(free);
	queue->tasks = mem_alloc_array(options->task_count, sizeof(struct task *));
	for (size_t i = 0; i < array_length(queue->in); i++)
		TAILQ_INIT(&queue->in[i]);
	return queue;
}

void split_queue_destroy(struct split_queue *queue)
{
	if (!queue)
		return;
	map_destroy(queue->open);
	for (size_t i = 0; i < queue->options.task_count; i++)
		free(queue->tasks[i]);
	free(queue->tasks);
	free(queue);
}

/* ---- the order ---------------------------------------------------------------------------- */

static struct split_order order_of(const struct split_queue *queue, int64_t pass)
{
	return (struct split_order){queue->options.count, queue->options.seed, pass};
}

static bool was_handed_out(const struct split_queue *queue, const struct split_id *id)
{
	struct split_order order = order_of(queue, id->pass);

	if (id->pass != queue->position.pass)
		return id->pass < queue->position.pass;
	return (queue->options.is_shuffled ? split_order_find(&order, id->split) : id->split) <
	       queue->position.next;
}

static bool is_one(const struct split_queue *queue, const struct split_id *id)
{
	return id->pass >= 1 && id->pass <= queue->options.passes &&
	       id->split < queue->options.count;
}

/* ---- what is open ------------------------------------------------------------------------- */

static struct entry *find(const struct split_queue *queue, const struct split_id *id)
{
	char *key cleanup_free = mem_printf("%" PRId64 "/%zu", id->pass, id->split);

	return map_get(queue->open, key);
}

static void tell(const struct split_queue *queue, const struct entry *entry, bool is_closed)
{
	if (!queue->is_silent)
		queue->options.changed(queue->options.data, &entry->open, is_closed);
}

static struct task *get_task(struct split_queue *queue, size_t number)
{
	if (!queue->tasks[number])
		queue->tasks[number] = mem_alloc(sizeof(struct task));
	return queue->tasks[number];
}

static void take_out(struct split_queue *queue, struct entry *entry)
{
	TAILQ_REMOVE(&queue->in[entry->open.state], entry, link);
	if (entry->open.state != SPLIT_LEASED)
		return;
	LIST_REMOVE(entry, of_task);
	get_task(queue, entry->open.holder.task)->leased--;
	queue->leased--;
}

static void put_in(struct split_queue *queue, struct entry *entry)
{
	TAILQ_INSERT_TAIL(&queue->in[entry->open.state], entry, link);
	if (entry->open.state == SPLIT_LEASED) {
		struct task *task = get_task(queue, entry->open.holder.task);
		LIST_INSERT_HEAD(&task->leases, entry, of_task);
		task->leased++;
		queue->leased++;
	}
	tell(queue, entry, false);
}

static struct entry *open_entry(struct split_queue *queue, const struct split_open *open,
				int64_t now)
{
	char *key cleanup_free = mem_printf("%" PRId64 "/%zu", open->id.pass, open->id.split);
	struct entry *entry = mem_alloc(sizeof(*entry));

	entry->open = *open;
	entry->renewed_at = now;
	map_set(queue->open, key, entry);
	put_in(queue, entry);
	return entry;
}

static void close_entry(struct split_queue *queue, struct entry *entry)
{
	char *key cleanup_free =
		mem_printf("%" PRId64 "/%zu", entry->open.id.pass, entry->open.id.split);

	take_out(queue, entry);
	tell(queue, entry, true);
	map_remove(queue->open, key);
}

static void give(struct split_queue *queue, struct entry *entry, const struct split_holder *holder,
		 int64_t now)
{
	take_out(queue, entry);
	entry->open.state = SPLIT_LEASED;
	entry->open.holder = *holder;
	entry->renewed_at = now;
	put_in(queue, entry);
}

static void give_back(struct split_queue *queue, struct entry *entry)
{
	take_out(queue, entry);
	entry->open.state = SPLIT_RETURNED;
	put_in(queue, entry);
}

/* ---- restoring ---------------------------------------------------------------------------- */

void split_queue_restore_position(struct split_queue *queue, const struct split_position *position)
{
	if (position->pass >= 1 && position->pass <= queue->options.passes &&
	    position->next <= queue->options.count)
		queue->position = *position;
}

void split_queue_restore_open(struct split_queue *queue, const struct split_open *open, int64_t now)
{
	if (!is_one(queue, &open->id) || find(queue, &open->id) ||
	    open->holder.task >= queue->options.task_count)
		return;
	queue->is_silent = true;
	open_entry(queue, open, now);
	queue->is_silent = false;
}

void split_queue_restore_count(struct split_queue *queue, size_t task, int64_t done)
{
	if (task < queue->options.task_count)
		get_task(queue, task)->done = done;
}

/* Those of it that are ahead no more. */
static void close_passed(struct split_queue *queue)
{
	struct entry *entry = TAILQ_FIRST(&queue->in[SPLIT_AHEAD]);

	while (entry) {
		struct entry *next = TAILQ_NEXT(entry, link);
		if (was_handed_out(queue, &entry->open.id))
			close_entry(queue, entry);
		entry = next;
	}
}

void split_queue_restore_end(struct split_queue *queue)
{
	close_passed(queue);
}

/* ---- leasing ------------------------------------------------------------------------------ */

/* False: this was the last one of the last pass. */
static bool move_on(struct split_queue *queue, struct split_id *id)
{
	struct split_position *position = &queue->position;

	if (position->next == queue->options.count) {
		if (position->pass == queue->options.passes)
			return false;
		*position = (struct split_position){position->pass + 1, 0};
	}
	struct split_order order = order_of(queue, position->pass);
	size_t next = position->next++;
	*id = (struct split_id){position->pass,
				queue->options.is_shuffled ? split_order_at(&order, next) : next};
	return true;
}

/* The next one that nobody has had. False: there is none. */
static bool take_next(struct split_queue *queue, struct split_id *id)
{
	while (queue->options.count > 0 && move_on(queue, id))
		if (!find(queue, id))
			return true;
	return false;
}

static struct entry *lease_one(struct split_queue *queue, const struct split_holder *holder,
			       bool only_returned, int64_t now)
{
	struct entry *entry = TAILQ_FIRST(&queue->in[SPLIT_RETURNED]);
	struct split_open open = {.state = SPLIT_LEASED, .holder = *holder};

	if (entry)
		give(queue, entry, holder, now);
	else if (!only_returned && take_next(queue, &open.id))
		entry = open_entry(queue, &open, now);
	return entry;
}

/* If an AM ends before the position is told, what is leased already is found to be so when its turn
 * comes, and so is what was ahead. */
size_t split_queue_lease(struct split_queue *queue, const struct split_holder *holder, size_t count,
			 bool only_returned, int64_t now, struct split_open *leases)
{
	struct split_position before = queue->position;
	const struct entry *entry;
	size_t given = 0;

	while (given < count && (entry = lease_one(queue, holder, only_returned, now)))
		leases[given++] = entry->open;
	if (queue->position.pass != before.pass || queue->position.next != before.next) {
		queue->options.moved(queue->options.data, &queue->position);
		close_passed(queue);
	}
	return given;
}

static bool is_among(const struct split_id *id, const struct split_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i].pass == id->pass && ids[i].split == id->split)
			return true;
	return false;
}

size_t split_queue_repeat(struct split_queue *queue, const struct split_holder *holder,
			  const struct split_id *known, size_t known_count, size_t count,
			  struct split_open *leases)
{
	const struct entry *entry;
	size_t told = 0;

	LIST_FOREACH(entry, &get_task(queue, holder->task)->leases, of_task)
	if (told < count && split_holder_is(&entry->open.holder, holder) &&
	    !is_among(&entry->open.id, known, known_count))
		leases[told++] = entry->open;
	return told;
}

static bool is_others(const struct entry *entry, const struct split_holder *holder)
{
	return entry->open.state == SPLIT_LEASED && !split_holder_is(&entry->open.holder, holder);
}

bool split_queue_renew(struct split_queue *queue, const struct split_holder *holder,
		       const struct split_id *id, int64_t offset, int64_t now)
{
	struct entry *entry = is_one(queue, id) ? find(queue, id) : NULL;
	struct split_open open = {*id, SPLIT_LEASED, *holder, offset};

	if (!is_one(queue, id) || (entry && is_others(entry, holder)))
		return false;
	if (entry && offset > entry->open.offset)
		entry->open.offset = offset;
	if (entry && entry->open.state != SPLIT_AHEAD)
		give(queue, entry, holder, now);
	else if (!entry && !was_handed_out(queue, id))
		open_entry(queue, &open, now);
	return true;
}

bool split_queue_done(struct split_queue *queue, const struct split_holder *holder,
		      const struct split_id *id)
{
	struct entry *entry = is_one(queue, id) ? find(queue, id) : NULL;
	struct split_open open = {.id = *id, .state = SPLIT_AHEAD};
	bool is_handed_out = is_one(queue, id) && was_handed_out(queue, id);
	bool is_own = !entry || !is_others(entry, holder);

	if (!is_one(queue, id))
		return false;
	if ((!entry && is_handed_out) || (entry && entry->open.state == SPLIT_AHEAD))
		return true;
	if (entry)
		close_entry(queue, entry);
	if (!is_handed_out)
		open_entry(queue, &open, 0);
	struct task *task = get_task(queue, holder->task);
	queue->options.counted(queue->options.data, holder->task, ++task->done);
	return is_own;
}

/* ---- leases that end ---------------------------------------------------------------------- */

size_t split_queue_reclaim(struct split_queue *queue,
			   bool (*lives)(void *data, const struct split_holder *holder), void *data)
{
	struct entry *entry = TAILQ_FIRST(&queue->in[SPLIT_LEASED]);
	size_t count = 0;

	while (entry) {
		struct entry *next = TAILQ_NEXT(entry, link);
		if (!lives(data, &entry->open.holder)) {
			give_back(queue, entry);
			count++;
		}
		entry = next;
	}
	return count;
}

size_t split_queue_expire(struct split_queue *queue, int64_t now)
{
	size_t count = 0;

	for (; split_queue_deadline(queue) <= now; count++)
		give_back(queue, TAILQ_FIRST(&queue->in[SPLIT_LEASED]));
	return count;
}

int64_t split_queue_deadline(const struct split_queue *queue)
{
	const struct entry *oldest = TAILQ_FIRST(&queue->in[SPLIT_LEASED]);

	return oldest ? oldest->renewed_at + queue->options.lease_ms : INT64_MAX;
}

/* ---- what there is ------------------------------------------------------------------------ */

bool split_queue_has_ended(const struct split_queue *queue)
{
	bool is_last = queue->position.pass == queue->options.passes &&
		       queue->position.next == queue->options.count;

	return queue->options.count == 0 || (is_last && TAILQ_EMPTY(&queue->in[SPLIT_LEASED]) &&
					     TAILQ_EMPTY(&queue->in[SPLIT_RETURNED]));
}

struct split_position split_queue_position(const struct split_queue *queue)
{
	return queue->position;
}

void split_queue_each(const struct split_queue *queue,
		      void (*open)(void *data, const struct split_open *open), void *data)
{
	const struct entry *entry;

	for (size_t i = 0; i < array_length(queue->in); i++)
		TAILQ_FOREACH(entry, &queue->in[i], link)
	open(data, &entry->open);
}

void split_queue_reset(struct split_queue *queue, const struct split_position *position,
		       const struct split_open *open, size_t count)
{
	const struct split_position end = {queue->options.passes, queue->options.count};
	struct entry *entry;

	for (size_t i = 0; i < array_length(queue->in); i++)
		while ((entry = TAILQ_FIRST(&queue->in[i])))
			close_entry(queue, entry);
	split_queue_restore_position(queue, position->pass > end.pass ? &end : position);
	queue->options.moved(queue->options.data, &queue->position);
	for (size_t i = 0; i < count; i++) {
		struct split_open kept = open[i];
		if (kept.state == SPLIT_LEASED)
			kept.state = SPLIT_RETURNED;
		if (is_one(queue, &kept.id) && !find(queue, &kept.id) &&
		    (kept.state == SPLIT_AHEAD) != was_handed_out(queue, &kept.id))
			open_entry(queue, &kept, 0);
	}
}

struct count {
	const struct split_queue *queue;
	int64_t unfinished; /* of those that were handed out */
	int64_t ahead;	    /* done, or leased, before their turn */
	int64_t done_ahead;
};

static void count_open(void *data, const struct split_open *open)
{
	struct count *count = data;

	if (was_handed_out(count->queue, &open->id)) {
		count->unfinished++;
		return;
	}
	count->ahead += open->id.pass == count->queue->position.pass;
	count->done_ahead += open->state == SPLIT_AHEAD;
}

static size_t count_in(const struct entries *entries)
{
	const struct entry *entry;
	size_t count = 0;

	TAILQ_FOREACH(entry, entries, link)
	count++;
	return count;
}

void split_queue_totals(const struct split_queue *queue, struct split_totals *totals)
{
	const struct split_position *position = &queue->position;
	size_t handed_out = (size_t)(position->pass - 1) * queue->options.count + position->next;
	struct count count = {.queue = queue};

	split_queue_each(queue, count_open, &count);
	totals->done = (int64_t)handed_out - count.unfinished + count.done_ahead;
	totals->leased = queue->leased;
	totals->waiting = queue->options.count - position->next - (size_t)count.ahead +
			  count_in(&queue->in[SPLIT_RETURNED]);
}

bool split_queue_task(const struct split_queue *queue, size_t task, size_t *leased, int64_t *done)
{
	const struct task *found = queue->tasks[task];

	if (found) {
		*leased = found->leased;
		*done = found->done;
	}
	return found != NULL;
}
