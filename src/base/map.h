/* A hash map from strings (copied) to pointers (borrowed, or freed by `free_value` when given).
 * Iteration is in order of insertion; a removed key leaves no trace in it. */
#ifndef TONY_BASE_MAP_H
#define TONY_BASE_MAP_H

#include <stddef.h>

struct map;
struct map *map_create(void (*free_value)(void *value));     /* NULL: values are borrowed */
void map_destroy(struct map *map);			     /* NULL is fine */
void map_set(struct map *map, const char *key, void *value); /* replaces (and frees) an old value */
void *map_get(const struct map *map, const char *key);	     /* NULL: not there */
void map_remove(struct map *map, const char *key);
size_t map_count(const struct map *map);

/* for (size_t i = 0; map_next(map, &i, &key, &value);) */
int map_next(const struct map *map, size_t *cursor, const char **key, void **value);

#endif
