#include "client/log_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- times -------------------------------------------------------------------------------- */

/* "time_ms offset\n" */
static bool parse_entry(struct log_lines *lines, const char *line)
{
	int64_t time, offset;

	if (sscanf(line, "%" SCNd64 " %" SCNd64, &time, &offset) != 2)
		return false;
	lines->entry_time = time;
	lines->entry_offset = offset;
	return true;
}

/* Reads the next whole entry of the index. An entry is written before the bytes that it is about:
 * there is no new one before more of the log is read. */
static void read_entry(struct log_lines *lines)
{
	char line[64];
	FILE *times = lines->times;

	lines->entry_offset = INT64_MAX;
	for (long start = ftell(times); fgets(line, sizeof(line), times); start = ftell(times)) {
		if (!strchr(line, '\n') && feof(times)) {
			fseek(times, start, SEEK_SET); /* torn: the rest may come */
			break;
		}
		if (parse_entry(lines, line))
			return;
	}
	clearerr(times);
	lines->times_may_grow = false;
}

static int64_t time_at(struct log_lines *lines, int64_t offset)
{
	if (!lines->times)
		return lines->time;
	if (lines->entry_offset == INT64_MAX && lines->times_may_grow)
		read_entry(lines);
	while (lines->entry_offset <= offset) {
		lines->time = lines->entry_time;
		read_entry(lines);
	}
	return lines->time;
}

/* ---- lines -------------------------------------------------------------------------------- */

void log_lines_begin(struct log_source *source, int64_t offset, FILE *times)
{
	struct log_lines *lines = &source->lines;

	mem_cleanup_file(&lines->times);
	lines->times = times;
	lines->offset = offset;
	lines->start = lines->end = 0;
	lines->entry_offset = INT64_MAX;
	lines->times_may_grow = true;
}

static bool read_more(struct log_source *source)
{
	struct log_lines *lines = &source->lines;
	size_t there = lines->end - lines->start;

	if (!lines->buffer)
		lines->buffer = mem_alloc(LOG_LINE_CAP);
	if (lines->start > 0)
		memmove(lines->buffer, lines->buffer + lines->start, there);
	lines->start = 0;
	lines->end = there;
	ssize_t got = source->ops->read(source, lines->buffer + there, LOG_LINE_CAP - there);
	if (got <= 0)
		return false;
	lines->end += (size_t)got;
	lines->times_may_grow = true;
	return true;
}

static bool take_line(struct log_lines *lines, size_t length, bool has_newline,
		      struct log_line *line)
{
	size_t bytes = length + has_newline;

	*line = (struct log_line){.text = lines->buffer + lines->start,
				  .length = length,
				  .has_newline = has_newline,
				  .time_ms = time_at(lines, lines->offset)};
	lines->start += bytes;
	lines->offset += (int64_t)bytes;
	return true;
}

bool log_lines_rest(struct log_source *source, struct log_line *line)
{
	struct log_lines *lines = &source->lines;
	size_t there = lines->end - lines->start;

	return there > 0 && take_line(lines, there, false, line);
}

bool log_lines_begun(const struct log_source *source, struct log_line *line)
{
	const struct log_lines *lines = &source->lines;

	*line = (struct log_line){.text = lines->buffer + lines->start,
				  .length = lines->end - lines->start,
				  .time_ms = lines->time};
	return line->length > 0;
}

/* A line out of the buffer. */
static bool take_buffered(struct log_lines *lines, struct log_line *line)
{
	size_t there = lines->end - lines->start;

	if (there == 0)
		return false; /* there may be no buffer yet */
	const char *text = lines->buffer + lines->start;
	const char *newline = memchr(text, '\n', there);
	if (newline)
		return take_line(lines, (size_t)(newline - text), true, line);
	return there == LOG_LINE_CAP && take_line(lines, there, false, line);
}

bool log_lines_next(struct log_source *source, struct log_line *line)
{
	do {
		if (take_buffered(&source->lines, line))
			return true;
	} while (read_more(source));
	return false;
}

/* ---- any source --------------------------------------------------------------------------- */

bool log_source_next(struct log_source *source, bool to_the_end, struct log_line *line)
{
	return source->ops->next(source, to_the_end, line);
}

void log_source_seek_tail(struct log_source *source, int64_t lines)
{
	source->ops->seek_tail(source, lines);
}

bool log_source_begun(const struct log_source *source, struct log_line *line)
{
	return source->ops->begun(source, line);
}

bool log_source_is_away(const struct log_source *source)
{
	return source->is_away;
}

const char *log_source_problem(const struct log_source *source)
{
	return source->problem;
}

void log_source_destroy(struct log_source *source)
{
	if (!source)
		return;
	mem_cleanup_file(&source->lines.times);
	free(source->lines.buffer);
	free(source->problem);
	source->ops->destroy(source);
}
