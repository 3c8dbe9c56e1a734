#include "client/log_merge.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

/* One file, with the line of it that comes next. */
struct entry {
	char *label;
	struct log_source *source;
	struct log_line line;
	bool has_line, is_drained;
};

struct log_merge {
	struct entry *entries;
	size_t count;
	struct map *paths; /* those that have an entry */
};

struct log_merge *log_merge_create(void)
{
	struct log_merge *merge = mem_alloc(sizeof(*merge));

	merge->paths = map_create(NULL);
	return merge;
}

void log_merge_destroy(struct log_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++) {
		free(merge->entries[i].label);
		log_source_destroy(merge->entries[i].source);
	}
	free(merge->entries);
	map_destroy(merge->paths);
	free(merge);
}

void log_merge_add_source(struct log_merge *merge, struct log_source *source, const char *label,
			  int64_t tail)
{
	merge->entries =
		mem_realloc_array(merge->entries, merge->count + 1, sizeof(*merge->entries));
	merge->entries[merge->count++] =
		(struct entry){.label = mem_strdup(label), .source = source};
	if (tail >= 0)
		log_source_seek_tail(source, tail);
}

void log_merge_add(struct log_merge *merge, const char *path, const char *label, int64_t tail)
{
	if (map_get(merge->paths, path))
		return;
	map_set(merge->paths, path, merge);
	log_merge_add_source(merge, log_source_create(path), label, tail);
}

const char *log_merge_problem(const struct log_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++) {
		const char *problem = log_source_problem(merge->entries[i].source);
		if (problem)
			return problem;
	}
	return NULL;
}

static void fetch(struct entry *entry, bool to_the_end)
{
	if (entry->has_line || entry->is_drained)
		return;
	entry->has_line = log_source_next(entry->source, to_the_end, &entry->line);
	entry->is_drained = !entry->has_line;
	/* tony's own logs have no index beside them, but a time in each line. */
	if (entry->has_line && entry->line.time_ms == 0)
		entry->line.time_ms = log_time_in(entry->line.text, entry->line.length);
}

bool log_merge_next(struct log_merge *merge, bool to_the_end, struct log_line *line,
		    const char **label)
{
	struct entry *first = NULL;

	for (size_t i = 0; i < merge->count; i++) {
		struct entry *entry = &merge->entries[i];
		fetch(entry, to_the_end);
		if (entry->has_line && (!first || entry->line.time_ms < first->line.time_ms))
			first = entry;
	}
	if (!first) {
		for (size_t i = 0; i < merge->count; i++)
			merge->entries[i].is_drained = false;
		return false;
	}
	first->has_line = false;
	*line = first->line;
	*label = first->label;
	return true;
}
