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
	bool was_told;	       /* the line was returned: it is over, */
	size_t carry;	       /* but for so many bytes at its end: a character that was cut */
	bool continues;	       /* what comes next is the rest of a line that was told in part */
};

static void take_bytes(struct log_lines *lines, size_t length)
{
	lines->span.bytes += length;
	lines->span.length -= length;
	lines->span.offset += (int64_t)length;
}

/* Without a character at its end that is not all there. */
static size_t cut_at_character(const char *text, size_t length)
{
	for (size_t back = 1; back <= 3 && back <= length; back++) {
		const unsigned char byte = (unsigned char)text[length - back];
		const size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		if (byte < 0x80 || byte >= 0xc0)
			return whole > back ? length - back : length;
	}
	return length;
}

static bool tell_line(struct log_lines *lines, const char *text, size_t length, bool has_newline,
		      struct log_line *line)
{
	*line = (struct log_line){.text = text,
				  .length = length,
				  .has_newline = has_newline,
				  .continues = lines->continues,
				  .time_ms = lines->first.time_ms,
				  .part = lines->first.part,
				  .offset = lines->first.offset};
	lines->was_told = true;
	lines->continues = false;
	return true;
}

/* Of the line that was begun. */
static bool tell_piece(struct log_lines *lines, struct log_line *line)
{
	const size_t length = cut_at_character(lines->line, lines->length);

	lines->carry = lines->length - length;
	tell_line(lines, lines->line, length, false, line);
	line->goes_on = lines->continues = true;
	return true;
}

static bool tell_begun(struct log_lines *lines, bool has_newline, struct log_line *line)
{
	return tell_line(lines, lines->line ? lines->line : "", lines->length, has_newline, line);
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
	lines->line[lines->length] =
		'\0'; /* for readers of texts: AddressSanitizer's of regexec() */
	take_bytes(lines, length);
}

static bool take_newline(struct log_lines *lines)
{
	if (lines->span.length == 0 || *lines->span.bytes != '\n')
		return false;
	take_bytes(lines, 1);
	return true;
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
	if (lines->length == 0 && newline) {
		take_bytes(lines, length + 1);
		return tell_line(lines, text, length, true, line);
	}
	add_bytes(lines, length);
	if (take_newline(lines)) {
		lines->line[lines->length] = '\n';
		return tell_begun(lines, true, line);
	}
	return lines->length == LOG_LINE_CAP && lines->span.length > 0 && tell_piece(lines, line);
}

/* The span is what follows the line that was begun. */
static bool has_rest(const struct log_lines *lines)
{
	return lines->span.part == lines->first.part &&
	       lines->span.offset == lines->first.offset + (int64_t)lines->length;
}

/* The span is the next part of the log, which was rotated within the line. */
static bool is_rotated(const struct log_lines *lines)
{
	return lines->source->ops->joins_parts && lines->span.part != lines->first.part &&
	       lines->span.offset == 0;
}

/* The line that was told is over. */
static void forget_told(struct log_lines *lines)
{
	const size_t told = lines->length - lines->carry;

	if (lines->was_told && lines->carry > 0) {
		memmove(lines->line, lines->line + told, lines->carry);
		lines->first.offset += (int64_t)told;
	}
	if (lines->was_told)
		lines->length = lines->carry;
	lines->carry = 0;
	lines->was_told = false;
}

bool log_lines_next(struct log_lines *lines, bool to_the_end, struct log_line *line)
{
	struct log_source *source = lines->source;

	forget_told(lines);
	for (;;) {
		if (lines->span.length == 0 &&
		    !log_source_next(source, LOG_SPAN_MAX, &lines->span)) {
			bool is_end = (to_the_end || !source->ops->grows) && !source->is_busy;
			return is_end && (lines->length > 0 || lines->continues) &&
			       tell_open(lines, line);
		}
		/* The part gets no more, or a search goes on further below: the line that was begun
		 * has no newline. */
		if (lines->length > 0 && !has_rest(lines)) {
			tell_begun(lines, false, line);
			line->goes_on = lines->continues = is_rotated(lines);
			return true;
		}
		if (take_line(lines, line))
			return true;
	}
}

bool log_lines_begun(const struct log_lines *lines, struct log_line *line)
{
	*line = (struct log_line){.text = lines->line,
				  .length = cut_at_character(lines->line, lines->length),
				  .continues = lines->continues,
				  .time_ms = lines->first.time_ms,
				  .part = lines->first.part,
				  .offset = lines->first.offset};
	return line->length > 0 && !lines->was_told;
}

bool log_lines_take_begun(struct log_lines *lines, struct log_line *line)
{
	return lines->length > 0 && !lines->was_told &&
	       cut_at_character(lines->line, lines->length) > 0 && tell_piece(lines, line);
}

/* Where that begins which was not told, if some of it is here. */
static bool find_untold(const struct log_lines *lines, struct log_position *at)
{
	const size_t left = lines->was_told ? lines->carry : lines->length;
	const struct log_span *first = left > 0 ? &lines->first : &lines->span;
	const size_t told = left > 0 ? lines->length - left : 0;

	*at = (struct log_position){
		.kind = LOG_AT_PART, .part = first->part, .number = first->offset + (int64_t)told};
	return left > 0 || lines->span.length > 0;
}

void log_lines_tell(const struct log_lines *lines, char *position)
{
	struct log_position at;

	if (find_untold(lines, &at))
		log_position_format(&at, position);
	else
		log_source_tell(lines->source, position);
}

bool log_lines_rest(struct log_lines *lines, const struct log_line *told)
{
	struct log_source *source = lines->source;
	const bool is_small = lines->size + source->held <= LOG_REST_BYTES;
	const bool continues = told ? told->continues : lines->continues;
	struct log_position at;
	const bool holds = find_untold(lines, &at) || told;

	if (told) {
		at.part = told->part;
		at.number = told->offset;
	}
	const bool forgets = source->ops->rest && !is_small && holds;
	if (forgets) {
		log_lines_go(lines, &at);
		lines->continues = continues;
		free(mem_steal(&lines->line));
		lines->size = 0;
	}
	log_source_rest(source);
	return forgets && told;
}

void log_lines_go(struct log_lines *lines, const struct log_position *position)
{
	lines->length = lines->carry = lines->span.length = 0;
	lines->continues = false;
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
