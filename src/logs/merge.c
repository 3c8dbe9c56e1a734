#include "logs/merge.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"

enum {
	AWAKE_CAP = 256, /* logs that hold descriptors, and much memory, at a time */
	AWAKE_SHARE = 4, /* of the descriptors, two a log: half of them are for others */
	OTHERS = 32,	 /* descriptors that are for others in any case */
};

/* One log, with the line of it that comes next. */
struct entry {
	TAILQ_ENTRY(entry) link; /* while it is awake */
	size_t number;		 /* of all */
	const void *label;
	struct log_source *source; /* of the lines */
	struct log_lines *lines;
	struct log_line line;
	bool has_line;
	bool is_forgotten;   /* of the line nothing but its time is known: it comes once more */
	const bool *is_over; /* it gets no more; NULL: the caller tells */
	bool is_awake;
};

struct log_merge {
	struct entry **entries;
	size_t count;
	/* Each of them is in one of these: */
	struct entry **heap; /* with a line, the earliest first */
	size_t heap_count;
	struct entry **idle;	   /* without one */
	size_t idle_count, looked; /* the first of these were looked at since the last end */
	struct entry *told;	   /* the last line is its; NULL: none was told */
	const bool *is_over;	   /* of logs that are added */

	TAILQ_HEAD(awake, entry) awake; /* what was read last at the end */
	size_t awake_count, awake_most;
};

/* ---- descriptors and memory --------------------------------------------------------------- */

static size_t count_awake_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / AWAKE_SHARE > AWAKE_CAP)
		return AWAKE_CAP;
	return limit.rlim_cur >= OTHERS + AWAKE_SHARE
		       ? ((size_t)limit.rlim_cur - OTHERS) / AWAKE_SHARE
		       : 1;
}

static void put_to_rest(struct log_merge *merge, struct entry *entry)
{
	TAILQ_REMOVE(&merge->awake, entry, link);
	merge->awake_count--;
	entry->is_awake = false;
	entry->is_forgotten |= log_lines_rest(entry->lines, entry->has_line ? &entry->line : NULL);
}

/* It is to be read. The one that was not for the longest time makes room. */
static void wake(struct log_merge *merge, struct entry *entry)
{
	if (!entry->source->ops->rest)
		return;
	if (entry->is_awake)
		TAILQ_REMOVE(&merge->awake, entry, link);
	else
		merge->awake_count++;
	entry->is_awake = true;
	TAILQ_INSERT_TAIL(&merge->awake, entry, link);
	if (merge->awake_count > merge->awake_most)
		put_to_rest(merge, TAILQ_FIRST(&merge->awake));
}

/* ---- life --------------------------------------------------------------------------------- */

struct log_merge *log_merge_create(void)
{
	struct log_merge *merge = mem_alloc(sizeof(*merge));

	TAILQ_INIT(&merge->awake);
	merge->awake_most = count_awake_most();
	return merge;
}

void log_merge_destroy(struct log_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++) {
		log_lines_destroy(merge->entries[i]->lines);
		free(merge->entries[i]);
	}
	free(merge->entries);
	free(merge->heap);
	free(merge->idle);
	free(merge);
}

void log_merge_add(struct log_merge *merge, struct log_source *source, const void *label,
		   int64_t tail)
{
	struct entry *entry = mem_alloc(sizeof(*entry));
	size_t count = merge->count + 1;

	*entry = (struct entry){.number = merge->count,
				.label = label,
				.source = source,
				.lines = log_lines_create(source),
				.is_over = merge->is_over};
	merge->entries = mem_grow(merge->entries, merge->count, sizeof(struct entry *));
	merge->heap = mem_realloc_array(merge->heap, count, sizeof(struct entry *));
	merge->idle = mem_realloc_array(merge->idle, count, sizeof(struct entry *));
	merge->entries[merge->count++] = entry;
	merge->idle[merge->idle_count++] = entry;
	wake(merge, entry);
	if (tail >= 0)
		log_source_go(source, &(struct log_position){.kind = LOG_AT_TAIL, .number = tail});
}

void log_merge_bind(struct log_merge *merge, const bool *is_over)
{
	merge->is_over = is_over;
}

bool log_merge_is_away(const struct log_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		if (merge->entries[i]->source->is_away)
			return true;
	return false;
}

const char *log_merge_problem(const struct log_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++) {
		const char *problem = merge->entries[i]->source->problem;
		if (problem)
			return problem;
	}
	return NULL;
}

/* ---- order -------------------------------------------------------------------------------- */

static bool is_before(const struct entry *left, const struct entry *right)
{
	return left->line.time_ms < right->line.time_ms ||
	       (left->line.time_ms == right->line.time_ms && left->number < right->number);
}

static void push_heap(struct log_merge *merge, struct entry *entry)
{
	size_t at = merge->heap_count++;

	for (; at > 0 && is_before(entry, merge->heap[(at - 1) / 2]); at = (at - 1) / 2)
		merge->heap[at] = merge->heap[(at - 1) / 2];
	merge->heap[at] = entry;
}

/* The heap is not empty. */
static struct entry *pop_heap(struct log_merge *merge)
{
	struct entry *first = merge->heap[0];
	struct entry *last = merge->heap[--merge->heap_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < merge->heap_count) {
		if (child + 1 < merge->heap_count &&
		    is_before(merge->heap[child + 1], merge->heap[child]))
			child++;
		if (!is_before(merge->heap[child], last))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = last;
	return first;
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool fetch(struct log_merge *merge, struct entry *entry, bool to_the_end)
{
	wake(merge, entry);
	entry->is_forgotten = false;
	to_the_end |= entry->is_over && *entry->is_over;
	entry->has_line = log_lines_next(entry->lines, to_the_end, &entry->line);
	/* tony's own logs have no index beside them, but a time in each line. */
	if (entry->has_line && entry->line.time_ms == 0)
		entry->line.time_ms = log_time_in(entry->line.text, entry->line.length);
	return entry->has_line;
}

static void look_at_idle(struct log_merge *merge, bool to_the_end)
{
	size_t idle = merge->looked;

	for (size_t i = merge->looked; i < merge->idle_count; i++) {
		struct entry *entry = merge->idle[i];
		if (fetch(merge, entry, to_the_end))
			push_heap(merge, entry);
		else
			merge->idle[idle++] = entry;
	}
	merge->idle_count = merge->looked = idle;
}

static bool tell(struct log_merge *merge, struct entry *entry, struct log_line *line,
		 const void **label)
{
	merge->told = entry;
	entry->has_line = false;
	*line = entry->line;
	*label = entry->label;
	return true;
}

static void add_idle(struct log_merge *merge, struct entry *entry)
{
	merge->looked += merge->looked == merge->idle_count;
	merge->idle[merge->idle_count++] = entry;
}

/* The log that was told last goes on. True: with the rest of its line, before all others. */
static bool take_rest(struct log_merge *merge, bool to_the_end)
{
	struct entry *told = merge->told;
	const bool goes_on = told && told->line.goes_on;

	if (!told)
		return false;
	if (fetch(merge, told, to_the_end)) {
		if (goes_on)
			return true;
		push_heap(merge, told);
	} else {
		add_idle(merge, told);
	}
	merge->told = NULL;
	return false;
}

bool log_merge_next(struct log_merge *merge, bool to_the_end, struct log_line *line,
		    const void **label)
{
	if (take_rest(merge, to_the_end))
		return tell(merge, merge->told, line, label);
	look_at_idle(merge, to_the_end);
	while (merge->heap_count > 0) {
		struct entry *first = pop_heap(merge);
		if (!first->is_forgotten || fetch(merge, first, to_the_end))
			return tell(merge, first, line, label);
		add_idle(merge, first); /* its part was deleted meanwhile */
	}
	merge->looked = 0;
	return false;
}

bool log_merge_begun(const struct log_merge *merge, struct log_line *line, const void **label)
{
	bool found = false;

	for (size_t i = 0; i < merge->count; i++) {
		struct log_line begun;
		if (!log_lines_begun(merge->entries[i]->lines, &begun) ||
		    (found && begun.time_ms < line->time_ms))
			continue;
		found = true;
		*line = begun;
		*label = merge->entries[i]->label;
	}
	return found;
}

bool log_merge_each_begun(const struct log_merge *merge, size_t *log, struct log_line *line,
			  const void **label)
{
	for (; *log < merge->count; ++*log) {
		*label = merge->entries[*log]->label;
		if (log_lines_begun(merge->entries[*log]->lines, line))
			return true;
	}
	return false;
}

bool log_merge_take_begun(struct log_merge *merge, size_t log, struct log_line *line)
{
	return log_lines_take_begun(merge->entries[log]->lines, line);
}
