#include "scheduler/allotment.h"

#include <inttypes.h>

#include "base/mem.h"

enum { HOLDERS_NAMED = 3 };

static bool goes_before(const struct ledger_entry *other, const struct ledger_entry *own)
{
	if (other->ticket == 0)
		return false;
	if ((other->containers > 0) != (own->containers > 0))
		return other->containers > 0;
	return own->ticket == 0 || other->ticket < own->ticket;
}

const struct ledger_entry *allotment_ahead(const struct allotment *allotment)
{
	const struct ledger_entry *first = NULL;

	if (allotment->own->containers > 0)
		return NULL;
	for (size_t i = 0; i < allotment->count; i++) {
		const struct ledger_entry *other = &allotment->others[i];
		if (goes_before(other, allotment->own) && (!first || goes_before(other, first)))
			first = other;
	}
	return first;
}

bool allotment_awaited(const struct allotment *allotment)
{
	for (size_t i = 0; i < allotment->count; i++)
		if (allotment->others[i].ticket != 0)
			return true;
	return false;
}

static void subtract(struct share *from, const struct share *part)
{
	from->memory -= part->memory;
	from->vcores -= part->vcores;
}

static const struct neighbours *neighbours_of(const struct allotment *allotment)
{
	static const struct neighbours none = {0};

	return allotment->neighbours ? allotment->neighbours : &none;
}

static bool is_others(const struct allotment *allotment, const char *gpu)
{
	const struct neighbours *neighbours = neighbours_of(allotment);

	for (size_t i = 0; i < allotment->count; i++) {
		if (str_list_has(&allotment->others[i].gpus, gpu))
			return true;
	}
	for (size_t i = 0; i < neighbours->count; i++) {
		if (str_list_has(&neighbours->items[i].entry.gpus, gpu))
			return true;
	}
	return false;
}

static bool is_held(const struct allotment *allotment, const char *gpu)
{
	return str_list_has(&allotment->own->gpus, gpu) || is_others(allotment, gpu);
}

bool allotment_are_free(const struct allotment *allotment, const struct str_list *gpus)
{
	for (size_t i = 0; i < gpus->count; i++) {
		if (is_others(allotment, gpus->items[i]))
			return false;
	}
	return true;
}

/* How many GPUs this user's jobs hold. */
static int64_t count_users_gpus(const struct allotment *allotment)
{
	const struct neighbours *neighbours = neighbours_of(allotment);
	size_t sum = allotment->own->gpus.count;

	for (size_t i = 0; i < allotment->count; i++)
		sum += allotment->others[i].gpus.count;
	for (size_t i = 0; i < neighbours->count; i++) {
		if (neighbours->items[i].uid == allotment->user)
			sum += neighbours->items[i].entry.gpus.count;
	}
	return (int64_t)sum;
}

/* Of other users' jobs only the GPUs count: see shared_ledger.h. May be negative where jobs were
 * started with different limits. */
static struct share free_share(const struct allotment *allotment)
{
	const struct capacity *capacity = allotment->capacity;
	struct share left = {.memory = capacity->memory, .vcores = capacity->vcores};

	subtract(&left, &allotment->own->holds);
	for (size_t i = 0; i < allotment->count; i++)
		subtract(&left, &allotment->others[i].holds);
	for (size_t i = 0; i < capacity->gpus.count; i++)
		left.gpus += !is_held(allotment, capacity->gpus.items[i]);
	int64_t allowed = capacity->max_gpus - count_users_gpus(allotment);
	if (capacity->max_gpus > 0 && left.gpus > allowed)
		left.gpus = allowed > 0 ? allowed : 0;
	return left;
}

bool allotment_fits(const struct allotment *allotment, const struct share *need)
{
	struct share left = free_share(allotment);

	return need->memory <= left.memory + allotment->capacity->slack &&
	       need->gpus <= left.gpus &&
	       (allotment->capacity->vcores == 0 || need->vcores <= left.vcores);
}

void allotment_pick_gpus(const struct allotment *allotment, int64_t count, struct str_list *gpus)
{
	const struct str_list *all = &allotment->capacity->gpus;

	for (size_t i = 0; i < all->count && count > 0; i++) {
		if (is_held(allotment, all->items[i]) || str_list_has(gpus, all->items[i]))
			continue;
		str_list_add(gpus, all->items[i]);
		count--;
	}
}

static void add_holders(const struct allotment *allotment, struct str *text, bool with_vcores)
{
	int named = 0;

	for (size_t i = 0; i < allotment->count; i++) {
		const struct ledger_entry *other = &allotment->others[i];
		if (other->containers == 0)
			continue;
		if (++named > HOLDERS_NAMED)
			continue;
		char *held cleanup_free = share_text(&other->holds, with_vcores);
		str_append_format(text, ", job %s holds %s", other->job, held);
	}
	if (named > HOLDERS_NAMED)
		str_append_format(text, " and %d more hold some", named - HOLDERS_NAMED);
}

/* Behind what the user's own jobs hold. */
static void add_neighbours(const struct allotment *allotment, const struct share *need,
			   struct str *text)
{
	const struct capacity *capacity = allotment->capacity;
	int64_t own = count_users_gpus(allotment);
	char *told cleanup_free =
		neighbours_text(neighbours_of(allotment), capacity->gpus.count, need->gpus > 0);

	if (told)
		str_append_format(text, "; %s", told);
	if (capacity->max_gpus > 0 && need->gpus > capacity->max_gpus - own)
		str_append_format(text,
				  "; you hold %" PRId64 " of the %" PRId64
				  " GPUs that a user may hold"
				  " (tony.local.max-gpus-per-user)",
				  own, capacity->max_gpus);
}

char *allotment_waiting(const struct allotment *allotment, const struct share *need)
{
	bool with_vcores = allotment->capacity->vcores > 0;
	const struct ledger_entry *ahead = allotment_ahead(allotment);
	struct share left = free_share(allotment);
	struct str text cleanup_str = {0};

	char *needed cleanup_free = share_text(need, with_vcores);
	left.memory = left.memory > 0 ? left.memory : 0;
	left.vcores = left.vcores > 0 ? left.vcores : 0;
	left.gpus = need->gpus > 0 ? left.gpus : 0; /* else of no interest */
	char *there cleanup_free = share_text(&left, with_vcores);
	str_append_format(&text, "waits for %s: %s%s free", needed, there,
			  need->gpus > 0 && left.gpus == 0 ? " and no GPU" : "");
	add_holders(allotment, &text, with_vcores);
	add_neighbours(allotment, need, &text);
	if (ahead) {
		char *wanted cleanup_free = share_text(&ahead->wants, with_vcores);
		str_append_format(&text, "; job %s is first and waits for %s", ahead->job, wanted);
	}
	return str_steal(&text);
}
