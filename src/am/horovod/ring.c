#include "am/horovod/ring.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct ring {
	struct ring_process *expected;
	size_t count;
	struct map *by_name;	/* of `expected` */
	struct str_list formed; /* names by rank */
	struct map *is_formed;	/* the same names */
	struct slots slots;	/* of the ring, as long as the same are expected */
};

struct ring *ring_create(void)
{
	struct ring *ring = mem_alloc(sizeof(*ring));

	ring->by_name = map_create(NULL);
	ring->is_formed = map_create(NULL);
	return ring;
}

static void forget_expected(struct ring *ring)
{
	for (size_t i = 0; i < ring->count; i++) {
		free(ring->expected[i].name);
		free(ring->expected[i].host);
	}
	free(ring->expected);
	map_destroy(ring->by_name);
	slots_finish(&ring->slots);
	ring->slots = (struct slots){0};
}

void ring_destroy(struct ring *ring)
{
	if (!ring)
		return;
	forget_expected(ring);
	str_list_finish(&ring->formed);
	map_destroy(ring->is_formed);
	free(ring);
}

void ring_expect(struct ring *ring, struct ring_process *processes, size_t count)
{
	forget_expected(ring);
	ring->expected = processes;
	ring->count = count;
	ring->by_name = map_create(NULL);
	for (size_t i = 0; i < count; i++) {
		processes[i].slot.name = processes[i].name;
		processes[i].slot.host = processes[i].host;
		map_set(ring->by_name, processes[i].name, &processes[i]);
	}
}

const struct ring_process *ring_find(const struct ring *ring, const char *name)
{
	return map_get(ring->by_name, name);
}

/* ---- forming ------------------------------------------------------------------------------ */

static bool all_ask(const struct ring *ring, const struct map *asking)
{
	for (size_t i = 0; i < ring->count; i++)
		if (!map_get(asking, ring->expected[i].name))
			return false;
	return ring->count > 0;
}

static void place(struct ring *ring)
{
	struct slots *slots = &ring->slots;

	slots_finish(slots);
	*slots = (struct slots){.items = mem_alloc_array(ring->count, sizeof(*slots->items))};
	for (size_t i = 0; i < ring->formed.count; i++) {
		const struct ring_process *process = ring_find(ring, ring->formed.items[i]);
		if (process)
			slots->items[slots->count++] = process->slot;
	}
	for (size_t i = 0; i < ring->count; i++)
		if (!map_get(ring->is_formed, ring->expected[i].name))
			slots->items[slots->count++] = ring->expected[i].slot;
	slots_number(slots);
}

static void remember(struct ring *ring, const char *name)
{
	str_list_add(&ring->formed, name);
	map_set(ring->is_formed, name, ring);
}

static void forget_formed(struct ring *ring)
{
	str_list_finish(&ring->formed);
	map_destroy(ring->is_formed);
	ring->is_formed = map_create(NULL);
}

bool ring_form(struct ring *ring, const struct map *asking)
{
	if (!all_ask(ring, asking))
		return false;
	place(ring);
	forget_formed(ring);
	for (size_t i = 0; i < ring->slots.count; i++) {
		const struct slot *slot = &ring->slots.items[i];
		struct ring_process *process = map_get(ring->by_name, slot->name);
		process->slot = *slot;
		remember(ring, slot->name);
	}
	return true;
}

const struct slots *ring_slots(const struct ring *ring)
{
	return &ring->slots;
}

const struct ring_process *ring_to_tell(const struct ring *ring, const struct map *asking)
{
	const char *first = ring->formed.count > 0 ? ring->formed.items[0] : NULL;

	if (!first || map_get(asking, first))
		return NULL;
	for (size_t i = 0; i < ring->count; i++) {
		const char *name = ring->expected[i].name;
		if (!map_get(ring->is_formed, name) && map_get(asking, name))
			return ring_find(ring, first);
	}
	return NULL;
}

/* ---- for the next AM ---------------------------------------------------------------------- */

void ring_list(const struct ring *ring, struct str_list *names)
{
	str_list_copy(names, &ring->formed);
}

void ring_restore(struct ring *ring, const struct str_list *names)
{
	forget_formed(ring);
	for (size_t i = 0; i < names->count; i++)
		remember(ring, names->items[i]);
}
