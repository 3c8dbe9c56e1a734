#include "logs/count.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct counter {
	struct log_source base;
	struct log_source *source;
	size_t work;	       /* bytes that were looked at in this turn */
	bool has_begun;	       /* these are set: */
	uint64_t part;	       /* that is counted */
	int64_t start, offset; /* where what was not told yet begins, and ends */
	int64_t lines;	       /* that end there */
};

static void add(struct counter *counter, const struct log_span *span)
{
	const char *end = span->bytes + span->length;

	if (!counter->has_begun || span->part != counter->part || span->offset != counter->offset) {
		counter->has_begun = true;
		counter->part = span->part;
		counter->start = span->offset;
		counter->lines = 0;
	}
	for (const char *at = span->bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++)
		counter->lines++;
	counter->offset = span->offset + (int64_t)span->length;
	counter->work += span->length;
}

static bool end_turn(struct counter *counter, bool is_busy)
{
	counter->work = 0;
	counter->base.is_busy = is_busy;
	if (!counter->base.problem)
		counter->base.problem = mem_strdup(counter->source->problem);
	return false;
}

static bool next(struct log_source *base, size_t most, struct log_span *span)
{
	struct counter *counter = (struct counter *)base;
	struct log_span read;

	base->is_busy = false;
	while (counter->work < LOG_TURN) {
		if (!log_source_next(counter->source, LOG_SPAN_MAX, &read))
			return end_turn(counter, counter->source->is_busy);
		add(counter, &read);
		if (counter->offset - counter->start < LOG_COUNT_STEP)
			continue;
		*span = (struct log_span){.bytes = "\n",
					  .length = 1,
					  .time_ms = counter->lines,
					  .part = counter->part,
					  .offset = counter->offset};
		counter->start = counter->offset;
		counter->lines = 0;
		return true;
	}
	return end_turn(counter, true);
}

static void go(struct log_source *base, const struct log_position *position)
{
	struct counter *counter = (struct counter *)base;

	counter->has_begun = false;
	log_source_go(counter->source, position);
}

/* A reader that goes on there counts again what was not told yet. */
static void tell(const struct log_source *base, char *position)
{
	const struct counter *counter = (const struct counter *)base;
	const struct log_position at = {
		.kind = LOG_AT_PART, .part = counter->part, .number = counter->start};

	if (counter->has_begun)
		log_position_format(&at, position);
	else
		log_source_tell(counter->source, position);
}

static void destroy(struct log_source *base)
{
	log_source_destroy(((struct counter *)base)->source);
	free(base);
}

struct log_source *log_count_open(struct log_source *source)
{
	static const struct log_source_ops ops = {
		.grows = true, .next = next, .go = go, .tell = tell, .destroy = destroy};
	struct counter *counter = mem_alloc(sizeof(*counter));

	counter->base = (struct log_source){
		.ops = &ops, .attempt = source->attempt, .cut = source->cut, .takes_turns = true};
	counter->source = source;
	return &counter->base;
}
