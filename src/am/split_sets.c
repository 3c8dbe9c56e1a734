#include "am/split_sets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "am/kept_kv.h"
#include "am/split_items.h"
#include "base/map.h"
#include "base/mem.h"

struct split_sets {
	struct map *sets;
	struct kept_kv *lists, *states; /* split_record.h says how */
	size_t task_count;
};

static void destroy_set(void *data)
{
	struct split_set *set = data;

	split_queue_destroy(set->queue);
	free(set->firsts);
	free(set);
}

/* ---- what changes is kept ----------------------------------------------------------------- */

static void keep_state(const struct split_set *set, struct split_state_record *record,
		       bool is_closed)
{
	memcpy(record->name, set->name, sizeof(record->name));
	char *key cleanup_free = split_state_record_key(record);
	char *text cleanup_free = split_state_record_text(record);

	if (is_closed)
		kept_kv_delete(set->sets->states, key);
	else
		kept_kv_put(set->sets->states, key, text, strlen(text));
}

static void on_changed(void *data, const struct split_open *open, bool is_closed)
{
	keep_state(data, &(struct split_state_record){.kind = SPLIT_OPEN, .open = *open},
		   is_closed);
}

static void on_moved(void *data, const struct split_position *position)
{
	keep_state(data,
		   &(struct split_state_record){.kind = SPLIT_POSITION, .position = *position},
		   false);
}

static void on_counted(void *data, size_t task, int64_t done)
{
	keep_state(data,
		   &(struct split_state_record){.kind = SPLIT_COUNT, .task = task, .done = done},
		   false);
}

/* ---- what was kept ------------------------------------------------------------------------ */

struct restoration {
	struct split_sets *sets;
	struct split_set *set;
	bool is_for_positions;
	int64_t now;
};

static void restore_state(void *data, const char *key, const void *value, size_t length)
{
	const struct restoration *restoration = data;
	struct split_queue *queue = restoration->set->queue;
	struct split_state_record record;

	if (split_state_record_parse(key, value, length, &record) < 0 ||
	    !str_equal(record.name, restoration->set->name) ||
	    (record.kind == SPLIT_POSITION) != restoration->is_for_positions)
		return;
	switch (record.kind) {
	case SPLIT_POSITION:
		split_queue_restore_position(queue, &record.position);
		break;
	case SPLIT_OPEN:
		split_queue_restore_open(queue, &record.open, restoration->now);
		break;
	case SPLIT_COUNT:
		split_queue_restore_count(queue, record.task, record.done);
		break;
	}
}

static void make_queue(struct split_set *set, int64_t now)
{
	struct restoration restoration = {set->sets, set, true, now};

	set->queue = split_queue_create(&(struct split_queue_options){
		.count = set->item_count,
		.task_count = set->sets->task_count,
		.passes = set->list.passes,
		.is_shuffled = set->list.is_shuffled,
		.seed = set->list.seed,
		.lease_ms = set->list.lease_ms,
		.changed = on_changed,
		.moved = on_moved,
		.counted = on_counted,
		.data = set,
	});
	kept_kv_each(set->sets->states, restore_state, &restoration);
	restoration.is_for_positions = false;
	kept_kv_each(set->sets->states, restore_state, &restoration);
	split_queue_restore_end(set->queue);
}

static void restore_list(void *data, const char *key, const void *value, size_t length)
{
	const struct restoration *restoration = data;
	struct split_list_record list;

	if (!split_is_name(key) || split_list_record_parse(value, length, &list) < 0)
		return;
	struct split_set *set = split_sets_add(restoration->sets, key, list.fingerprint);
	if (set) {
		set->list = list;
		set->is_listed = true;
	}
}

static void add_pack(struct split_set *set, size_t count)
{
	set->firsts = mem_grow(set->firsts, set->pack_count, sizeof(*set->firsts));
	set->firsts[set->pack_count++] = set->item_count;
	set->item_count += count;
}

static char *pack_key(const struct split_set *set, size_t first)
{
	return mem_printf("%s/%zu", set->name, first);
}

/* One after the other, as far as there are any. */
static void restore_packs(struct split_set *set)
{
	const void *bytes;
	size_t length, count;

	for (;;) {
		char *key cleanup_free = pack_key(set, set->item_count);
		if (kept_kv_get(set->sets->lists, key, &bytes, &length) != KV_OK ||
		    (count = split_items_check(bytes, length)) == 0)
			return;
		add_pack(set, count);
	}
}

struct split_sets *split_sets_open(const char *list_file, const char *state_file, size_t task_count,
				   int64_t now)
{
	struct split_sets *sets = mem_alloc(sizeof(*sets));
	struct restoration restoration = {.sets = sets};
	struct split_set *set;

	sets->sets = map_create(destroy_set);
	sets->task_count = task_count;
	sets->lists = kept_kv_open("the list of splits", SPLIT_LISTS_MAX, list_file);
	sets->states = kept_kv_open("the queue of splits", KV_TOTAL_MAX, state_file);
	kept_kv_keep_beginning(sets->lists);
	kept_kv_keep_beginning(sets->states);
	kept_kv_each(sets->lists, restore_list, &restoration);
	for (size_t i = 0; (set = split_sets_next(sets, &i));) {
		restore_packs(set);
		if (set->list.count == (int64_t)set->item_count)
			make_queue(set, now);
		else
			split_set_clear(set);
	}
	return sets;
}

void split_sets_close(struct split_sets *sets)
{
	if (!sets)
		return;
	map_destroy(sets->sets);
	kept_kv_close(sets->lists);
	kept_kv_close(sets->states);
	free(sets);
}

static bool are_complete(const struct split_sets *sets)
{
	const struct split_set *set;

	for (size_t i = 0; (set = split_sets_next(sets, &i));)
		if (!set->queue)
			return false;
	return true;
}

void split_sets_tell_changes(struct split_sets *sets, void (*changed)(void *data, const char *path),
			     void *data)
{
	const char *list = are_complete(sets) ? kept_kv_changed(sets->lists) : NULL;
	const char *state = kept_kv_changed(sets->states);

	if (list)
		changed(data, list);
	if (state)
		changed(data, state);
}

int split_sets_mend(struct split_sets *sets, struct err *err)
{
	return kept_kv_mend(sets->lists, err) < 0 ? -1 : kept_kv_mend(sets->states, err);
}

/* ---- sets and lists ----------------------------------------------------------------------- */

struct split_set *split_sets_find(const struct split_sets *sets, const char *name)
{
	return map_get(sets->sets, name);
}

struct split_set *split_sets_next(const struct split_sets *sets, size_t *cursor)
{
	const char *name;
	void *set;

	return map_next(sets->sets, cursor, &name, &set) ? set : NULL;
}

struct split_set *split_sets_add(struct split_sets *sets, const char *name, const char *fingerprint)
{
	if (map_count(sets->sets) >= SPLIT_SETS_MAX)
		return NULL;
	struct split_set *set = mem_alloc(sizeof(*set));
	memcpy(set->name, name, strlen(name) + 1);
	memcpy(set->list.fingerprint, fingerprint, strlen(fingerprint) + 1);
	set->list.count = -1;
	set->sets = sets;
	map_set(sets->sets, name, set);
	return set;
}

static void keep_list(const struct split_set *set)
{
	char *text cleanup_free = split_list_record_text(&set->list);

	kept_kv_put(set->sets->lists, set->name, text, strlen(text));
}

void split_set_clear(struct split_set *set)
{
	char *packs cleanup_free = mem_printf("%s/", set->name);

	kept_kv_delete_under(set->sets->lists, packs);
	set->list.count = -1;
	set->item_count = set->pack_count = 0;
	set->is_listed = false;
}

/* FNV-1a of the items with their ends, in 63 bits. */
#define HASH_BASIS ((uint64_t)0x4bf29ce484222325)
#define HASH_PRIME ((uint64_t)0x100000001b3)

static uint64_t hash_items(uint64_t hash, const struct str_list *items)
{
	for (size_t i = 0; i < items->count; i++)
		for (size_t at = 0, length = strlen(items->items[i]); at <= length; at++)
			hash = ((hash ^ (unsigned char)items->items[i][at]) * HASH_PRIME) &
			       INT64_MAX;
	return hash;
}

void split_set_begin(struct split_set *set, const struct split_list_record *list)
{
	set->list = *list;
	set->list.count = -1;
	set->list.hash = HASH_BASIS;
	set->is_listed = true;
	keep_list(set);
}

int split_set_add(struct split_set *set, size_t first, const struct str_list *items)
{
	struct str bytes cleanup_str = {0};

	if (set->queue || first > set->item_count || first + items->count <= set->item_count)
		return 0;
	size_t known = set->item_count - first;
	const struct str_list news = {items->items + known, items->count - known};
	if (set->item_count + news.count > SPLITS_MAX)
		return -1;
	split_items_pack(&news, &bytes);
	char *key cleanup_free = pack_key(set, set->item_count);
	if (kept_kv_put(set->sets->lists, key, bytes.text, bytes.length) != KV_OK)
		return -1;
	add_pack(set, news.count);
	set->list.hash = hash_items(set->list.hash, &news);
	return 0;
}

/* States of that name are of another list, of which the AM before could not keep all. */
void split_set_complete(struct split_set *set, int64_t now)
{
	char *states cleanup_free = mem_printf("%s/", set->name);

	kept_kv_delete(set->sets->states, set->name);
	kept_kv_delete_under(set->sets->states, states);
	set->list.count = (int64_t)set->item_count;
	keep_list(set);
	make_queue(set, now);
}

void split_set_item(const struct split_set *set, size_t number, struct str *text)
{
	size_t low = 0, high = set->pack_count, length;
	const void *bytes;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (set->firsts[middle] <= number)
			low = middle;
		else
			high = middle;
	}
	char *key cleanup_free = pack_key(set, set->firsts[low]);
	if (kept_kv_get(set->sets->lists, key, &bytes, &length) != KV_OK)
		BUG("the list of %s has no item %zu", set->name, number);
	split_items_get(bytes, length, number - set->firsts[low], text);
}

size_t split_set_lease(struct split_set *set, const struct split_holder *holder, size_t count,
		       int64_t now, struct split_open *leases)
{
	bool is_full = kept_kv_total(set->sets->states) > KV_TOTAL_MAX / 2;

	return split_queue_lease(set->queue, holder, count, is_full, now, leases);
}
