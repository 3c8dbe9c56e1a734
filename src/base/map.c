#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"

struct entry {
	char *key; /* NULL: removed, kept until the next rebuild so that cursors stay valid */
	void *value;
	uint64_t hash;
};

/* Entries lie in order of insertion; `slots` (open addressing, a power of two, at least twice the
 * entries) holds their positions plus one, 0 for an empty slot. */
struct map {
	struct entry *entries;
	size_t used;	 /* entries in use, removed ones included */
	size_t capacity; /* of entries; there are 2 * capacity slots */
	size_t live;
	uint32_t *slots;
	void (*free_value)(void *value);
};

/* Strangers may choose keys: without the numbers of this process they do not know which of them
 * meet in one slot. */
static uint64_t hash_key(const char *key)
{
	static uint64_t seed, factor; /* odd: 0 is none yet */

	if (factor == 0) {
		seed = random_u64();
		factor = random_u64() | 1;
	}
	uint64_t hash = seed;
	for (const unsigned char *c = (const unsigned char *)key; *c; c++)
		hash = (hash ^ *c) * factor;
	return hash ^ (hash >> 32);
}

struct map *map_create(void (*free_value)(void *value))
{
	struct map *map = mem_alloc(sizeof(*map));

	map->free_value = free_value;
	return map;
}

static void drop(struct map *map, struct entry *entry)
{
	if (map->free_value)
		map->free_value(entry->value);
	free(entry->key);
	entry->key = NULL;
	entry->value = NULL;
}

void map_destroy(struct map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->used; i++) {
		if (map->entries[i].key)
			drop(map, &map->entries[i]);
	}
	free(map->entries);
	free(map->slots);
	free(map);
}

static struct entry *find(const struct map *map, const char *key)
{
	if (map->capacity == 0)
		return NULL;

	uint64_t hash = hash_key(key);
	size_t mask = 2 * map->capacity - 1;
	for (size_t slot = hash & mask; map->slots[slot]; slot = (slot + 1) & mask) {
		struct entry *entry = &map->entries[map->slots[slot] - 1];
		if (entry->key && entry->hash == hash && strcmp(entry->key, key) == 0)
			return entry;
	}
	return NULL;
}

static void index_entry(struct map *map, size_t position)
{
	size_t mask = 2 * map->capacity - 1;
	size_t slot = map->entries[position].hash & mask;

	while (map->slots[slot])
		slot = (slot + 1) & mask;
	map->slots[slot] = (uint32_t)(position + 1);
}

/* Closes the gaps of removed entries and makes room for as many again. */
static void rebuild(struct map *map)
{
	size_t live = 0;

	for (size_t i = 0; i < map->used; i++) {
		if (map->entries[i].key)
			map->entries[live++] = map->entries[i];
	}
	map->used = live;
	map->capacity = 8;
	while (map->capacity < 2 * live)
		map->capacity *= 2;
	map->entries = mem_realloc_array(map->entries, map->capacity, sizeof(*map->entries));
	free(map->slots);
	map->slots = mem_alloc_array(2 * map->capacity, sizeof(*map->slots));
	for (size_t i = 0; i < live; i++)
		index_entry(map, i);
}

void map_set(struct map *map, const char *key, void *value)
{
	struct entry *entry = find(map, key);

	if (entry) {
		if (map->free_value && entry->value != value)
			map->free_value(entry->value);
		entry->value = value;
		return;
	}
	if (map->used == map->capacity)
		rebuild(map);
	map->entries[map->used] =
		(struct entry){.key = mem_strdup(key), .value = value, .hash = hash_key(key)};
	index_entry(map, map->used++);
	map->live++;
}

void *map_get(const struct map *map, const char *key)
{
	struct entry *entry = find(map, key);

	return entry ? entry->value : NULL;
}

void map_remove(struct map *map, const char *key)
{
	struct entry *entry = find(map, key);

	if (!entry)
		return;
	drop(map, entry);
	map->live--;
}

size_t map_count(const struct map *map)
{
	return map->live;
}

int map_next(const struct map *map, size_t *cursor, const char **key, void **value)
{
	while (*cursor < map->used) {
		const struct entry *entry = &map->entries[(*cursor)++];
		if (!entry->key)
			continue;
		if (key)
			*key = entry->key;
		if (value)
			*value = entry->value;
		return 1;
	}
	return 0;
}
