#include "logs/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define INDEX_STEP 16384 /* bytes of an index that are read one after the other */
#define FIRST_SIZE 4096	 /* bytes of a part that are read at first: there may be thousands */

/* A program can write there: no sum with the bytes of a file overflows. */
#define FROM_MAX ((int64_t)1 << 60)

int64_t log_part_from(const char *index, size_t length)
{
	static const char word[] = "from ";
	const char *end = memchr(index, '\n', length < LOG_FROM_MAX ? length : LOG_FROM_MAX);
	char *line cleanup_free = end ? mem_strndup(index, (size_t)(end - index)) : NULL;
	int64_t from;

	if (!line || !str_starts_with(line, word) ||
	    str_parse_int(line + strlen(word), 0, FROM_MAX, &from) < 0)
		return 0;
	return from;
}

/* ---- times -------------------------------------------------------------------------------- */

/* "time_ms offset" */
static void parse_entry(struct log_index *index, const char *line, size_t length)
{
	char *text cleanup_free = mem_strndup(line, length);
	char *offset = strchr(text, ' ');
	int64_t time_ms, next;

	if (!offset)
		return;
	*offset++ = '\0';
	if (str_parse_int(text, 0, INT64_MAX, &time_ms) < 0 ||
	    str_parse_int(offset, 0, INT64_MAX - 1, &next) < 0)
		return;
	index->next_ms = time_ms;
	index->next = next;
}

/* Bytes behind the last newline are the beginning of a line whose rest may come; a line that is too
 * long is none of ours. */
static bool read_index(struct log_part *part)
{
	struct log_index *index = &part->index;

	if (index->length == sizeof(index->bytes))
		index->length = 0;
	ssize_t got = part->read_times(part->data, index->offset, index->bytes + index->length,
				       sizeof(index->bytes) - index->length);
	if (got <= 0)
		return false;
	index->length += (size_t)got;
	index->offset += got;
	return true;
}

/* Goes to the next whole entry. It is written before the bytes that it is about: there is no new
 * one before more of the log is read. */
static void read_entry(struct log_part *part)
{
	struct log_index *index = &part->index;

	index->next = INT64_MAX;
	do {
		char *newline;
		while (index->next == INT64_MAX &&
		       (newline = memchr(index->bytes, '\n', index->length))) {
			size_t length = (size_t)(newline + 1 - index->bytes);
			parse_entry(index, index->bytes, length - 1);
			memmove(index->bytes, newline + 1, index->length - length);
			index->length -= length;
		}
	} while (index->next == INT64_MAX && read_index(part));
	if (index->next == INT64_MAX)
		index->may_grow = false;
}

/* Where the first whole entry behind `at` begins in the index, if it is about what lies before
 * `offset` of the log; -1: it is not, or there is none. */
static int64_t find_entry(const struct log_part *part, int64_t at, int64_t offset)
{
	struct log_index entry = {.next = INT64_MAX};
	ssize_t got = part->read_times(part->data, at, entry.bytes, sizeof(entry.bytes));
	const char *start = got > 0 ? memchr(entry.bytes, '\n', (size_t)got) : NULL;
	const char *end =
		start ? memchr(start + 1, '\n', (size_t)(entry.bytes + got - start - 1)) : NULL;

	if (end)
		parse_entry(&entry, start + 1, (size_t)(end - start - 1));
	return entry.next < offset ? at + (start + 1 - entry.bytes) : -1;
}

/* An index grows by up to ten entries a second, so what is far behind in it is found without
 * reading it from its beginning. */
static void skip_entries(struct log_part *part, int64_t offset)
{
	int64_t low = 0, high = INDEX_STEP, found;

	while (high < INT64_MAX / 2 && (found = find_entry(part, high, offset)) >= 0) {
		low = found;
		high *= 2;
	}
	while (high - low > INDEX_STEP) {
		int64_t middle = low + (high - low) / 2;
		found = find_entry(part, middle, offset);
		if (found >= 0)
			low = found;
		else
			high = middle;
	}
	part->index.offset = low;
}

static int64_t time_at(struct log_part *part, int64_t offset)
{
	struct log_index *index = &part->index;

	if (!part->read_times)
		return index->time;
	if (index->offset == 0 && offset > INDEX_STEP)
		skip_entries(part, offset);
	if (index->next == INT64_MAX && index->may_grow)
		read_entry(part);
	while (index->next <= offset) {
		index->time = index->next_ms;
		read_entry(part);
	}
	return index->time;
}

/* ---- bytes -------------------------------------------------------------------------------- */

void log_part_finish(struct log_part *part)
{
	free(part->buffer);
	*part = (struct log_part){0};
}

void log_part_begin(struct log_part *part, uint64_t id, int64_t offset)
{
	part->id = id;
	part->offset = offset;
	part->start = part->end = 0;
	part->index =
		(struct log_index){.time = part->index.time, .next = INT64_MAX, .may_grow = true};
}

void log_part_forget(struct log_part *part)
{
	free(mem_steal(&part->buffer));
	part->size = part->start = part->end = 0;
}

/* Where the first bytes were not all, there may be many. */
static void grow_buffer(struct log_part *part)
{
	const size_t size = part->size == 0 ? FIRST_SIZE : LOG_SPAN_MAX;

	if (size == part->size || (part->size > 0 && part->end < part->size))
		return;
	free(part->buffer);
	part->buffer = mem_alloc(size);
	part->size = size;
}

bool log_part_fill(struct log_part *part)
{
	grow_buffer(part);
	const size_t before = part->size < LOG_SPAN_MAX ? 0 : (size_t)(part->offset % LOG_SPAN_MAX);
	ssize_t got = part->read(part->data, part->offset, part->buffer, part->size - before);
	part->start = 0;
	part->end = got > 0 ? (size_t)got : 0;
	part->index.may_grow |= got > 0;
	return got > 0;
}

bool log_part_take(struct log_part *part, size_t most, struct log_span *span)
{
	size_t length = part->end - part->start;

	if (length == 0)
		return false;
	int64_t time = time_at(part, part->offset);
	if (length > most)
		length = most;
	if ((int64_t)length > part->index.next - part->offset)
		length = (size_t)(part->index.next - part->offset);
	*span = (struct log_span){
		.bytes = part->buffer + part->start,
		.length = length,
		.time_ms = time,
		.part = part->id,
		.offset = part->offset,
	};
	part->start += length;
	part->offset += (int64_t)length;
	return true;
}
