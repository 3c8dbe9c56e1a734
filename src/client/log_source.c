/* A log that is a file of this machine. */
#include "client/log_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/log_lines.h"
#include "job/log_reader.h"

struct file_source {
	struct log_source base;
	struct log_reader *reader;
	struct log_span span; /* its bytes are taken from the front */
	uint64_t part;	      /* of the line that was begun */
	char *line;	      /* begun, not yet ended: of LOG_LINE_CAP bytes; NULL: none ever was */
	size_t length;
	int64_t time;  /* of its first byte */
	bool was_told; /* the line was returned: it is over */
};

static void take(struct file_source *source, size_t length)
{
	source->span.bytes += length;
	source->span.length -= length;
}

static bool tell(struct file_source *source, struct log_line told, struct log_line *line)
{
	told.time_ms = source->time;
	*line = told;
	source->was_told = true;
	return true;
}

static bool tell_begun(struct file_source *source, bool has_newline, struct log_line *line)
{
	return tell(source, (struct log_line){source->line, source->length, has_newline, 0}, line);
}

/* Adds bytes to the line that was begun. */
static void add(struct file_source *source, size_t length)
{
	if (!source->line)
		source->line = mem_alloc(LOG_LINE_CAP);
	memcpy(source->line + source->length, source->span.bytes, length);
	source->length += length;
	take(source, length);
}

/* A line out of the span, or the end of the one that was begun. */
static bool take_line(struct file_source *source, struct log_line *line)
{
	const char *text = source->span.bytes;
	size_t room = LOG_LINE_CAP - source->length;
	size_t there = source->span.length < room ? source->span.length : room;
	const char *newline = memchr(text, '\n', there);
	size_t length = newline ? (size_t)(newline - text) : there;

	if (source->length == 0) {
		source->time = source->span.time_ms;
		source->part = source->span.part;
	}
	if (source->length == 0 && (newline || length == LOG_LINE_CAP)) {
		take(source, length + (newline != NULL));
		return tell(source, (struct log_line){text, length, newline != NULL, 0}, line);
	}
	add(source, length);
	if (newline)
		take(source, 1);
	return (newline || source->length == LOG_LINE_CAP) &&
	       tell_begun(source, newline != NULL, line);
}

static bool next(struct log_source *base, bool to_the_end, struct log_line *line)
{
	struct file_source *source = (struct file_source *)base;

	if (source->was_told)
		source->length = 0;
	source->was_told = false;
	for (;;) {
		if (source->span.length == 0 &&
		    !log_reader_next(source->reader, LOG_SPAN_MAX, &source->span))
			return to_the_end && source->length > 0 && tell_begun(source, false, line);
		/* A part that gets no more, and did not end with a newline. */
		if (source->length > 0 && source->span.part != source->part)
			return tell_begun(source, false, line);
		if (take_line(source, line))
			return true;
	}
}

static bool begun(const struct log_source *base, struct log_line *line)
{
	const struct file_source *source = (const struct file_source *)base;

	*line = (struct log_line){
		.text = source->line, .length = source->length, .time_ms = source->time};
	return source->length > 0 && !source->was_told;
}

static void seek_tail(struct log_source *base, int64_t lines)
{
	struct file_source *source = (struct file_source *)base;
	char position[LOG_POSITION_SIZE];

	snprintf(position, sizeof(position), "tail:%" PRId64, lines);
	log_reader_seek(source->reader, position);
}

static void destroy(struct log_source *base)
{
	struct file_source *source = (struct file_source *)base;

	log_reader_destroy(source->reader);
	free(source->line);
	free(source);
}

struct log_source *log_source_create(const char *path)
{
	static const struct log_source_ops ops = {
		.next = next, .begun = begun, .seek_tail = seek_tail, .destroy = destroy};
	struct file_source *source = mem_alloc(sizeof(*source));

	source->base.ops = &ops;
	source->reader = log_reader_create(path);
	return &source->base;
}
