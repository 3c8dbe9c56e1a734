#include "logs/merge.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

/* One log, with the line of it that comes next. */
struct entry {
	const void *label;
	struct log_source *source; /* of the lines */
	struct log_lines *lines;
	struct log_line line;
	bool has_line, is_drained;
};

struct log_merge {
	struct entry *entries;
	size_t count;
};

struct log_merge *log_merge_create(void)
{
	return mem_alloc(sizeof(struct log_merge));
}

void log_merge_destroy(struct log_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++)
		log_lines_destroy(merge->entries[i].lines);
	free(merge->entries);
	free(merge);
}

void log_merge_add(struct log_merge *merge, struct log_source *source, const void *label,
		   int64_t tail)
{
	merge->entries =
		mem_realloc_array(merge->entries, merge->count + 1, sizeof(*merge->entries));
	merge->entries[merge->count++] =
		(struct entry){.label = label, .source = source, .lines = log_lines_create(source)};
	if (tail >= 0)
		log_source_go(source, &(struct log_position){.kind = LOG_AT_TAIL, .number = tail});
}

bool log_merge_is_away(const struct log_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		if (merge->entries[i].source->is_away)
			return true;
	return false;
}

const char *log_merge_problem(const struct log_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++) {
		const char *problem = merge->entries[i].source->problem;
		if (problem)
			return problem;
	}
	return NULL;
}

static void fetch(struct entry *entry, bool to_the_end)
{
	if (entry->has_line || entry->is_drained)
		return;
	entry->has_line = log_lines_next(entry->lines, to_the_end, &entry->line);
	entry->is_drained = !entry->has_line;
	/* tony's own logs have no index beside them, but a time in each line. */
	if (entry->has_line && entry->line.time_ms == 0)
		entry->line.time_ms = log_time_in(entry->line.text, entry->line.length);
}

bool log_merge_next(struct log_merge *merge, bool to_the_end, struct log_line *line,
		    const void **label)
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

bool log_merge_begun(const struct log_merge *merge, struct log_line *line, const void **label)
{
	bool found = false;

	for (size_t i = 0; i < merge->count; i++) {
		struct log_line begun;
		if (!log_lines_begun(merge->entries[i].lines, &begun) ||
		    (found && begun.time_ms < line->time_ms))
			continue;
		found = true;
		*line = begun;
		*label = merge->entries[i].label;
	}
	return found;
}
