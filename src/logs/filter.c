#include "logs/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "logs/count.h"
#include "logs/lines.h"

enum { NOWHERE = -1 };

struct filter {
	struct log_source base;
	struct log_search search;
	struct log_source *source; /* of `lines` */
	struct log_lines *lines;
	size_t texts;	      /* that are looked for in each line */
	size_t work;	      /* bytes that they were looked for in, in this turn */
	struct log_span rest; /* of a line that was found */
	/* Where reading began. The line around it is searched whole, and told from there on. */
	struct log_position from;
	int64_t start;	/* of this line, until it was read; NOWHERE: there is none */
	bool is_within; /* `from` is behind a piece of a long line that was found: the next follows
			 */
	bool has_ended; /* with the line that begins here: */
	struct log_position begun;
};

/* Without so many bytes at its beginning. */
static void take_line(struct filter *filter, const struct log_line *line, int64_t before)
{
	filter->rest =
		(struct log_span){.bytes = line->text + before,
				  .length = line->length + line->has_newline - (size_t)before,
				  .time_ms = line->time_ms,
				  .part = line->part,
				  .offset = line->offset + before};
}

/* Nothing was found. */
static bool end_turn(struct filter *filter, bool is_busy)
{
	filter->work = 0;
	filter->base.is_busy = is_busy;
	if (!filter->base.problem)
		filter->base.problem = mem_strdup(filter->source->problem);
	return false;
}

static bool is_found(struct filter *filter, const struct log_line *line)
{
	const struct log_position *from = &filter->from;
	bool is_rest =
		filter->is_within && line->part == from->part && line->offset <= from->number;

	filter->is_within = false;
	return is_rest || log_search_finds(&filter->search, line->text, line->length);
}

/* False: none of it is to be told. */
static bool take_if_found(struct filter *filter, const struct log_line *line)
{
	const struct log_position *from = &filter->from;
	bool found = is_found(filter, line);
	/* It may begin some bytes before, within a character. */
	int64_t before =
		filter->start != NOWHERE && line->part == from->part && line->offset < from->number
			? from->number - line->offset
			: 0;

	filter->start = before > (int64_t)line->length + line->has_newline ? line->offset : NOWHERE;
	filter->has_ended = line->is_open;
	filter->begun = (struct log_position){
		.kind = LOG_AT_PART, .part = line->part, .number = line->offset + before};
	if (before >= (int64_t)line->length + line->has_newline)
		filter->is_within = found;
	else if (found)
		take_line(filter, line, before);
	return found && !filter->is_within;
}

static bool find_line(struct filter *filter)
{
	struct log_source *base = &filter->base;
	struct log_line line;

	base->is_busy = false;
	while (!filter->has_ended && filter->work < LOG_TURN) {
		if (!log_lines_next(filter->lines, base->takes_begun, &line))
			return end_turn(filter, filter->source->is_busy);
		filter->work += (line.length + LOG_LINE_WORK) * filter->texts;
		if (take_if_found(filter, &line))
			return true;
	}
	return end_turn(filter, !filter->has_ended);
}

static bool next(struct log_source *base, size_t most, struct log_span *span)
{
	struct filter *filter = (struct filter *)base;
	struct log_span *rest = &filter->rest;

	if (rest->length == 0 && !find_line(filter))
		return false;
	*span = *rest;
	if (span->length > most)
		span->length = most;
	rest->bytes += span->length;
	rest->length -= span->length;
	rest->offset += (int64_t)span->length;
	base->is_over = filter->has_ended && rest->length == 0;
	return true;
}

/* Where the line begins that has the byte before `end`, or, of a long one, its last LOG_LINE_CAP
 * bytes; `end`: such a byte is not there, or ends a line. */
static int64_t find_line_start(struct filter *filter, const struct log_position *end, int64_t most)
{
	struct log_position at = *end;
	struct log_span span;

	at.number = end->number > most ? end->number - most : 0;
	int64_t start = at.number;
	log_source_go(filter->source, &at);
	while (at.number < end->number &&
	       log_source_next(filter->source, (size_t)(end->number - at.number), &span) &&
	       span.part == at.part && span.offset == at.number) {
		const char *newline = memrchr(span.bytes, '\n', span.length);
		if (newline)
			start = span.offset + (newline - span.bytes) + 1;
		at.number += (int64_t)span.length;
	}
	return at.number == end->number ? start : end->number;
}

static void go(struct log_source *base, const struct log_position *position)
{
	struct filter *filter = (struct filter *)base;

	struct log_position start = *position;

	filter->rest.length = 0;
	filter->has_ended = filter->is_within = base->is_over = false;
	filter->from = *position;
	filter->start = NOWHERE;
	if (position->kind == LOG_AT_PART) {
		/* Most often a line begins there, and one byte tells. */
		start.number = find_line_start(filter, position, 1);
		if (start.number < position->number)
			start.number = find_line_start(filter, position, LOG_LINE_CAP);
		filter->start = start.number;
	}
	log_lines_go(filter->lines, &start);
}

static void tell(const struct log_source *base, char *position)
{
	const struct filter *filter = (const struct filter *)base;
	const struct log_position at = {
		.kind = LOG_AT_PART, .part = filter->rest.part, .number = filter->rest.offset};

	if (filter->rest.length > 0)
		log_position_format(&at, position);
	else if (filter->has_ended)
		log_position_format(&filter->begun, position);
	else if (filter->start != NOWHERE)
		log_position_format(&filter->from, position);
	else
		log_lines_tell(filter->lines, position);
}

static void destroy(struct log_source *base)
{
	struct filter *filter = (struct filter *)base;

	log_lines_destroy(filter->lines);
	log_search_finish(&filter->search);
	free(filter);
}

struct log_source *log_filter_open(struct log_source *source, const struct log_search *search)
{
	static const struct log_source_ops ops = {
		.grows = true, .next = next, .go = go, .tell = tell, .destroy = destroy};
	struct filter *filter;

	source->takes_turns = true;
	if (search->counts)
		return log_count_open(source);
	if (!search->text)
		return source;
	filter = mem_alloc(sizeof(*filter));
	filter->base = (struct log_source){.ops = &ops,
					   .attempt = source->attempt,
					   .cut = source->cut,
					   .takes_turns = true,
					   .takes_begun = search->takes_begun};
	filter->start = NOWHERE;
	filter->search = log_search_copy(search);
	filter->texts = log_search_prepare(&filter->search);
	filter->source = source;
	filter->lines = log_lines_create(source);
	return &filter->base;
}
