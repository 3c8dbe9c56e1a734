#include "logs/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct log_lines {
	struct log_source *source;
	struct log_span span;  /* its bytes are taken from the front */
	char *line;	       /* begun, not yet ended */
	size_t length, size;   /* of it; of its memory: at most LOG_LINE_CAP */
	struct log_span first; /* without bytes: the span of its first byte, from there on */
	bool was_told;	       /* the line was returned: it is over */
};

static void take_bytes(struct log_lines *lines, size_t length)
{
	lines->span.bytes += length;
	lines->span.length -= length;
	lines->span.offset += (int64_t)length;
}

static bool tell_line(struct log_lines *lines, const char *text, size_t length, bool has_newline,
		      struct log_line *line)
{
	*line = (struct log_line){.text = text,
				  .length = length,
				  .has_newline = has_newline,
				  .time_ms = lines->first.time_ms,
				  .part = lines->first.part,
				  .offset = lines->first.offset};
	lines->was_told = true;
	return true;
}

static bool tell_begun(struct log_lines *lines, bool has_newline, struct log_line *line)
{
	return tell_line(lines, lines->line, lines->length, has_newline, line);
}

static bool tell_open(struct log_lines *lines, struct log_line *line)
{
	tell_begun(lines, false, line);
	line->is_open = lines->source->ops->grows;
	return true;
}

/* Of thousands of logs most have short lines. */
static void make_room(struct log_lines *lines, size_t length)
{
	if (length <= lines->size)
		return;
	lines->size = length > LOG_LINE_CAP / 2 ? LOG_LINE_CAP + 1 : length * 2;
	lines->line = mem_realloc_array(lines->line, lines->size, 1);
}

/* Adds bytes to the line that was begun. */
static void add_bytes(struct log_lines *lines, size_t length)
{
	make_room(lines, lines->length + length + 1);
	memcpy(lines->line + lines->length, lines->span.bytes, length);
	lines->length += length;
	take_bytes(lines, length);
}

/* A line out of the span, or the end of the one that was begun. */
static bool take_line(struct log_lines *lines, struct log_line *line)
{
	const char *text = lines->span.bytes;
	size_t room = LOG_LINE_CAP - lines->length;
	size_t there = lines->span.length < room ? lines->span.length : room;
	const char *newline = memchr(text, '\n', there);
	size_t length = newline ? (size_t)(newline - text) : there;

	if (lines->length == 0)
		lines->first = lines->span;
	if (lines->length == 0 && (newline || length == LOG_LINE_CAP)) {
		take_bytes(lines, length + (newline != NULL));
		return tell_line(lines, text, length, newline != NULL, line);
	}
	add_bytes(lines, length);
	if (newline) {
		lines->line[lines->length] = '\n';
		take_bytes(lines, 1);
	}
	return (newline || lines->length == LOG_LINE_CAP) &&
	       tell_begun(lines, newline != NULL, line);
}

/* The span is what follows the line that was begun. */
static bool goes_on(const struct log_lines *lines)
{
	return lines->span.part == lines->first.part &&
	       lines->span.offset == lines->first.offset + (int64_t)lines->length;
}

bool log_lines_next(struct log_lines *lines, bool to_the_end, struct log_line *line)
{
	struct log_source *source = lines->source;

	if (lines->was_told)
		lines->length = 0;
	lines->was_told = false;
	for (;;) {
		if (lines->span.length == 0 &&
		    !log_source_next(source, LOG_SPAN_MAX, &lines->span)) {
			bool is_end = (to_the_end || !source->ops->grows) && !source->is_busy;
			return is_end && lines->length > 0 && tell_open(lines, line);
		}
		/* The part gets no more, or a search goes on further below: the line that was begun
		 * has no newline. */
		if (lines->length > 0 && !goes_on(lines))
			return tell_begun(lines, false, line);
		if (take_line(lines, line))
			return true;
	}
}

bool log_lines_begun(const struct log_lines *lines, struct log_line *line)
{
	*line = (struct log_line){
		.text = lines->line, .length = lines->length, .time_ms = lines->first.time_ms};
	return lines->length > 0 && !lines->was_told;
}

void log_lines_tell(const struct log_lines *lines, char *position)
{
	const bool has_begun = lines->length > 0 && !lines->was_told;
	const struct log_span *next = has_begun ? &lines->first : &lines->span;
	const struct log_position at = {
		.kind = LOG_AT_PART, .part = next->part, .number = next->offset};

	if (has_begun || next->length > 0)
		log_position_format(&at, position);
	else
		log_source_tell(lines->source, position);
}

bool log_lines_rest(struct log_lines *lines, const struct log_line *told)
{
	struct log_source *source = lines->source;
	const bool has_begun = lines->length > 0 && !lines->was_told;
	const bool is_small = lines->size + source->held <= LOG_REST_BYTES;
	struct log_position at = {
		.kind = LOG_AT_PART, .part = lines->span.part, .number = lines->span.offset};

	if (told || has_begun) {
		at.part = told ? told->part : lines->first.part;
		at.number = told ? told->offset : lines->first.offset;
	}
	const bool forgets =
		source->ops->rest && !is_small && (told || has_begun || lines->span.length > 0);
	if (forgets) {
		log_lines_go(lines, &at);
		free(mem_steal(&lines->line));
		lines->size = 0;
	}
	log_source_rest(source);
	return forgets && told;
}

void log_lines_go(struct log_lines *lines, const struct log_position *position)
{
	lines->length = lines->span.length = 0;
	log_source_go(lines->source, position);
}

struct log_lines *log_lines_create(struct log_source *source)
{
	struct log_lines *lines = mem_alloc(sizeof(*lines));

	lines->source = source;
	return lines;
}

void log_lines_destroy(struct log_lines *lines)
{
	if (!lines)
		return;
	log_source_destroy(lines->source);
	free(lines->line);
	free(lines);
}
