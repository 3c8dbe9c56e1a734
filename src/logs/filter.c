#include "logs/filter.h"

#include <stdlib.h>

#include "base/mem.h"
#include "logs/lines.h"

struct filter {
	struct log_source base;
	struct log_search search;
	struct log_source *source; /* of `lines` */
	struct log_lines *lines;
	size_t texts;	      /* that are looked for in each line */
	size_t work;	      /* bytes that they were looked for in, in this turn */
	struct log_span rest; /* of a line that was found */
	bool is_within;	      /* the next line is the rest of one that was found */
};

static void take_line(struct filter *filter, const struct log_line *line)
{
	filter->rest = (struct log_span){.bytes = line->text,
					 .length = line->length + line->has_newline,
					 .time_ms = line->time_ms,
					 .part = line->part,
					 .offset = line->offset};
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

static bool find_line(struct filter *filter)
{
	struct log_source *base = &filter->base;
	struct log_line line;

	base->is_busy = false;
	while (filter->work < LOG_TURN) {
		if (!log_lines_next(filter->lines, base->takes_begun, &line))
			return end_turn(filter, filter->source->is_busy);
		filter->work += (line.length + LOG_LINE_WORK) * filter->texts;
		bool is_found = filter->is_within ||
				log_search_finds(&filter->search, line.text, line.length);
		filter->is_within = false;
		if (is_found) {
			take_line(filter, &line);
			return true;
		}
	}
	return end_turn(filter, true);
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
	return true;
}

/* A position that was told within a line is one of a line that was found. */
static bool is_within_line(struct filter *filter, const struct log_position *position)
{
	struct log_position before = *position;
	struct log_span span;

	if (position->kind != LOG_AT_PART || position->number == 0)
		return false;
	before.number--;
	log_source_go(filter->source, &before);
	return log_source_next(filter->source, 1, &span) && span.part == before.part &&
	       span.offset == before.number && *span.bytes != '\n';
}

static void go(struct log_source *base, const struct log_position *position)
{
	struct filter *filter = (struct filter *)base;

	filter->rest.length = 0;
	filter->is_within = is_within_line(filter, position);
	log_lines_go(filter->lines, position);
}

static void tell(const struct log_source *base, char *position)
{
	const struct filter *filter = (const struct filter *)base;
	const struct log_position at = {
		.kind = LOG_AT_PART, .part = filter->rest.part, .number = filter->rest.offset};

	if (filter->rest.length > 0)
		log_position_format(&at, position);
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
	if (!search->text)
		return source;
	filter = mem_alloc(sizeof(*filter));
	filter->base = (struct log_source){.ops = &ops,
					   .attempt = source->attempt,
					   .cut = source->cut,
					   .takes_turns = true,
					   .takes_begun = search->takes_begun};
	filter->search = log_search_copy(search);
	filter->texts = log_search_prepare(&filter->search);
	filter->source = source;
	filter->lines = log_lines_create(source);
	return &filter->base;
}
