#include "scheduler/allotment.h"

#include <inttypes.h>

#include "base/mem.h"

enum { HOLDERS_NAMED = 3 };

static const struct ledger_entry *find_entry(const struct allotment *allotment, const char *job)
{
	if (str_equal(allotment->own->job, job))
		return allotment->own;
	for (size_t i = 0; i < allotment->count; i++)
		if (str_equal(allotment->others[i].job, job))
			return &allotment->others[i];
	return NULL;
}

/* The job, or one within which it was submitted, has something that it gives back only once this
 * one gets on. A sweep holds nothing, and its trials wait their turn. */
static bool is_pressing(const struct allotment *allotment, const struct ledger_entry *entry)
{
	const struct ledger_entry *parent = entry;

	if (entry->containers > 0)
		return true;
	for (size_t i = 0; i <= allotment->count; i++) {
		parent = parent->parent ? find_entry(allotment, parent->parent) : NULL;
		if (!parent)
			return false;
		if (parent->holds.memory > 0 || parent->holds.gpus > 0)
			return true;
	}
	return false;
}

static bool goes_before(const struct allotment *allotment, const struct ledger_entry *other,
			const struct ledger_entry *own)
{
	bool is_other_pressing = is_pressing(allotment, other);

	if (other->ticket == 0)
		return false;
	if (is_other_pressing != is_pressing(allotment, own))
		return is_other_pressing;
	if (other->priority != own->priority)
		return other->priority > own->priority;
	return own->ticket == 0 || other->ticket < own->ticket;
}

/* Of the other jobs that wait. */
static const struct ledger_entry *find_first(const struct allotment *allotment)
{
	const struct ledger_entry *first = NULL;

	for (size_t i = 0; i < allotment->count; i++) {
		const struct ledger_entry *other = &allotment->others[i];
		if (other->ticket != 0 && (!first || goes_before(allotment, other, first)))
			first = other;
	}
	return first;
}

const struct ledger_entry *allotment_ahead(const struct allotment *allotment)
{
	const struct ledger_entry *first = find_first(allotment);

	if (!first || is_pressing(allotment, allotment->own))
		return NULL;
	return goes_before(allotment, first, allotment->own) ? first : NULL;
}

const struct ledger_entry *allotment_before(const struct allotment *allotment)
{
	const struct ledger_entry *last = NULL;

	if (is_pressing(allotment, allotment->own))
		return NULL;
	for (size_t i = 0; i < allotment->count; i++) {
		const struct ledger_entry *other = &allotment->others[i];
		if (goes_before(allotment, other, allotment->own) &&
		    (!last || goes_before(allotment, last, other)))
			last = other;
	}
	return last;
}

bool allotment_awaited(const struct allotment *allotment)
{
	return find_first(allotment) != NULL;
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

int64_t allotment_users_gpus(const struct allotment *allotment)
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

/* How many GPUs this user's jobs may hold besides those they hold. */
static int64_t gpus_allowed(const struct allotment *allotment)
{
	int64_t limit = allotment->capacity->max_gpus;
	int64_t held = limit > 0 ? allotment_users_gpus(allotment) : 0;

	if (limit == 0)
		return INT64_MAX;
	return held < limit ? limit - held : 0;
}

struct share allotment_free(const struct allotment *allotment)
{
	const struct capacity *capacity = allotment->capacity;
	struct share left = {.memory = capacity->memory, .vcores = capacity->vcores};

	subtract(&left, &allotment->own->holds);
	for (size_t i = 0; i < allotment->count; i++)
		subtract(&left, &allotment->others[i].holds);
	for (size_t i = 0; i < capacity->gpus.count; i++)
		left.gpus += !is_held(allotment, capacity->gpus.items[i]);
	return left;
}

/* Of what there is less than a job needs. */
struct lack {
	bool memory, vcores, gpus;
	bool allowance; /* the user's jobs may not hold so many GPUs */
};

static struct lack find_lack(const struct allotment *allotment, const struct share *need)
{
	const struct capacity *capacity = allotment->capacity;
	struct share left = allotment_free(allotment);

	return (struct lack){.memory = need->memory > left.memory,
			     .vcores = capacity->vcores > 0 && need->vcores > left.vcores,
			     .gpus = need->gpus > left.gpus,
			     .allowance = need->gpus > gpus_allowed(allotment)};
}

static bool is_of_machine(const struct lack *lack)
{
	return lack->memory || lack->vcores || lack->gpus;
}

bool allotment_fits(const struct allotment *allotment, const struct share *need)
{
	struct lack lack = find_lack(allotment, need);

	return !is_of_machine(&lack) && !lack.allowance;
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

/* ---- why a job waits ---------------------------------------------------------------------- */

static void add_count(struct str_list *parts, int64_t count, const char *what)
{
	if (count > 0)
		str_list_add_format(parts, "%" PRId64 " %s%s", count, what, str_plural(count));
	else
		str_list_add_format(parts, "no %s", what);
}

/* "3.0 GiB and no GPU": as much as there is of what lacks. */
/* `needed`: the memory that is told beside it; -1: none. */
static char *lacking_text(const struct share *share, const struct lack *lack, int64_t needed)
{
	struct str_list parts cleanup_str_list = {0};

	if (lack->memory)
		str_list_take(&parts,
			      str_format_mib_beside(share->memory > 0 ? share->memory : 0, needed));
	if (lack->vcores)
		add_count(&parts, share->vcores, "vcore");
	if (lack->gpus)
		add_count(&parts, share->gpus, "GPU");
	return str_list_join(&parts, " and ");
}

/* The job's part of the things that lack; NULL: it holds none of them. */
static char *held_text(const struct ledger_entry *entry, const struct lack *lack)
{
	const struct lack held = {.memory = lack->memory && entry->holds.memory > 0,
				  .vcores = lack->vcores && entry->holds.vcores > 0,
				  .gpus = lack->gpus && entry->holds.gpus > 0};

	return is_of_machine(&held) ? lacking_text(&entry->holds, &held, -1) : NULL;
}

/* A job that waits, and was submitted within this one, which may wait for it. */
static const struct ledger_entry *find_waiting_child(const struct allotment *allotment,
						     const struct ledger_entry *parent)
{
	for (size_t i = 0; i < allotment->count; i++) {
		const struct ledger_entry *other = &allotment->others[i];
		if (other->ticket != 0 && str_equal(other->parent, parent->job))
			return other;
	}
	return NULL;
}

static void add_holder(const struct allotment *allotment, const struct ledger_entry *holder,
		       const char *held, struct str *text)
{
	const struct ledger_entry *child = find_waiting_child(allotment, holder);

	str_append_format(text, ", job %s holds %s", holder->job, held);
	if (str_equal(holder->job, allotment->own->parent))
		str_append(text, " and submitted this one");
	else if (child)
		str_append_format(text, " and submitted job %s, which waits, too", child->job);
}

/* This user's jobs. */
static void add_holders(const struct allotment *allotment, const struct lack *lack,
			struct str *text)
{
	char *own cleanup_free = held_text(allotment->own, lack);
	int named = 0;

	if (own)
		str_append_format(text, ", this job holds %s", own);
	for (size_t i = 0; i < allotment->count; i++) {
		char *held cleanup_free = held_text(&allotment->others[i], lack);
		if (held && ++named <= HOLDERS_NAMED)
			add_holder(allotment, &allotment->others[i], held, text);
	}
	if (named > HOLDERS_NAMED)
		str_append_format(text, " and %d more hold some", named - HOLDERS_NAMED);
}

static char *machine_text(const struct allotment *allotment, const struct lack *lack,
			  const struct share *need)
{
	struct share left = allotment_free(allotment);
	char *there cleanup_free = lacking_text(&left, lack, need->memory);
	char *others cleanup_free =
		lack->gpus ? neighbours_text(neighbours_of(allotment), &allotment->capacity->gpus)
			   : NULL;
	struct str text = {0};

	str_append_format(&text, "%s free", there);
	add_holders(allotment, lack, &text);
	if (others)
		str_append_format(&text, "; %s", others);
	return str_steal(&text);
}

/* Vcores only where they are counted. A job that has others for its work needs nothing itself. */
static char *wants_text(const struct share *share, bool with_vcores)
{
	const struct share shown = {share->memory > 0 ? share->memory : -1,
				    with_vcores && share->vcores > 0 ? share->vcores : -1,
				    share->gpus};
	char *text = share_text(&shown, " and ");

	if (!*text)
		mem_replace(&text, mem_strdup("its turn"));
	return text;
}

char *allotment_waiting(const struct allotment *allotment, const struct share *need)
{
	bool with_vcores = allotment->capacity->vcores > 0;
	const struct ledger_entry *ahead = allotment_ahead(allotment);
	struct lack lack = find_lack(allotment, need);
	struct str_list reasons cleanup_str_list = {0};

	if (is_of_machine(&lack))
		str_list_take(&reasons, machine_text(allotment, &lack, need));
	if (lack.allowance)
		str_list_add_format(&reasons,
				    "you hold %" PRId64 " of the %" PRId64
				    " GPUs that a user may hold (tony.local.max-gpus-per-user)",
				    allotment_users_gpus(allotment), allotment->capacity->max_gpus);
	if (!ahead && reasons.count == 0) /* an optional task gives way to all */
		ahead = find_first(allotment);
	if (ahead) {
		char *wanted cleanup_free = wants_text(&ahead->wants, with_vcores);
		str_list_add_format(&reasons, "job %s is first and waits for %s", ahead->job,
				    wanted);
	}
	char *needed cleanup_free = wants_text(need, with_vcores);
	char *why cleanup_free = str_list_join(&reasons, "; ");
	return mem_printf("waits for %s%s%s", needed, *why ? ": " : "", why);
}
