#include "logs/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROTATED_MAX 1000000 /* "stdout.1000000" is no part that tony made */

/* ---- reading ------------------------------------------------------------------------------ */

static ssize_t read_bytes(void *data, int64_t offset, void *bytes, size_t length)
{
	struct log_parts *log = data;
	struct err err cleanup_err = {0};

	if (log->base.problem)
		return -1;
	ssize_t got = log->ops->read(log, log->number, false, offset, bytes, length, &err);
	if (got < 0)
		log->base.problem = mem_strdup(err_message(&err));
	return got;
}

/* Lines without a time are better than none. */
static ssize_t read_times(void *data, int64_t offset, void *bytes, size_t length)
{
	struct log_parts *log = data;

	return log->ops->read(log, log->number, true, offset, bytes, length, NULL);
}

void log_parts_find_cut(struct log_parts *log)
{
	char text[LOG_FROM_MAX];
	ssize_t got = log->count > 0 && log->items[0].has_times
			      ? log->ops->read(log, 0, true, 0, text, sizeof(text), NULL)
			      : -1;

	log->base.cut = got > 0 ? log_part_from(text, (size_t)got) : 0;
}

static void begin_part(struct log_parts *log, size_t number, int64_t offset)
{
	log->has_begun = true;
	log->seeks_end = false;
	log->number = number;
	log->part.read_times = log->items[number].has_times ? read_times : NULL;
	log_part_begin(&log->part, number, offset);
}

static void enter_part(struct log_parts *log, size_t number)
{
	log->number = number;
	log_tail_enter(&log->tail, log->items[number].length);
}

/* To the last lines, or bytes. In turns, each of them in one part, where these are taken. */
static void seek_end(struct log_parts *log)
{
	const int64_t most = log->base.takes_turns ? LOG_TURN : INT64_MAX;

	do {
		if (!log_tail_find(&log->tail, read_bytes, log, most))
			continue;
		if (log->tail.missing > 0 && log->number > 0)
			enter_part(log, log->number - 1);
		else
			begin_part(log, log->number, log->tail.position);
	} while (log->seeks_end && !log->base.takes_turns);
	log->base.is_busy = log->seeks_end;
}

static void forget(struct log_parts *log)
{
	log_part_forget(&log->part);
	log->base.held = 0;
}

/* At its end nothing is opened again. */
static bool fill(struct log_parts *log)
{
	bool got = log->part.offset < log->items[log->number].length && log_part_fill(&log->part);

	log->base.held = log->part.size;
	return got;
}

static bool next(struct log_source *base, size_t most, struct log_span *span)
{
	struct log_parts *log = (struct log_parts *)base;

	if (log->count == 0)
		return false;
	if (!log->has_begun)
		begin_part(log, 0, 0);
	base->is_busy = false;
	if (log->seeks_end)
		seek_end(log);
	if (log->seeks_end)
		return false;
	while (!log_part_take(&log->part, most, span)) {
		if (fill(log))
			continue;
		if (base->problem || log->number + 1 >= log->count) {
			forget(log);
			return false;
		}
		begin_part(log, log->number + 1, 0);
	}
	return true;
}

static int64_t measure(struct log_source *base)
{
	const struct log_parts *log = (const struct log_parts *)base;
	int64_t length = 0;

	for (size_t i = 0; i < log->count; i++)
		length += log->items[i].length;
	return length;
}

/* ---- positions ---------------------------------------------------------------------------- */

static void go(struct log_source *base, const struct log_position *position)
{
	struct log_parts *log = (struct log_parts *)base;
	int64_t number = position->number;

	if (log->count == 0)
		return;
	forget(log);
	const size_t last = log->count - 1;
	const int64_t length = log->items[last].length;
	switch (position->kind) {
	case LOG_AT_OLDEST:
		begin_part(log, 0, 0);
		break;
	case LOG_AT_OFFSET:
		if (number < 0)
			number = length + number > 0 ? length + number : 0;
		begin_part(log, last, number < length ? number : length);
		break;
	case LOG_AT_TAIL:
	case LOG_AT_LAST:
		log->has_begun = log->seeks_end = true;
		log_tail_begin(&log->tail, position);
		enter_part(log, last);
		seek_end(log);
		break;
	case LOG_AT_PART:
		if (position->part > last)
			begin_part(log, 0, 0);
		else
			begin_part(log, (size_t)position->part, number);
	}
}

static void rest(struct log_source *base)
{
	struct log_parts *log = (struct log_parts *)base;

	if (log->ops->rest)
		log->ops->rest(log);
}

static void destroy(struct log_source *base)
{
	struct log_parts *log = (struct log_parts *)base;

	log_part_finish(&log->part);
	log->ops->destroy(log);
}

void log_parts_init(struct log_parts *log)
{
	static const struct log_source_ops ops = {.joins_parts = true,
						  .next = next,
						  .go = go,
						  .rest = rest,
						  .length = measure,
						  .destroy = destroy};

	log->base.ops = &ops;
	log->part.read = read_bytes;
	log->part.data = log;
}

/* ---- in memory ---------------------------------------------------------------------------- */

struct shared_text {
	size_t holders;
	struct str text, times;
};

struct text_log {
	struct log_parts base;
	struct log_parts_item item;
	struct shared_text *shared;
};

static ssize_t read_text(struct log_parts *base, size_t part, bool times, int64_t offset,
			 void *bytes, size_t length, struct err *err)
{
	const struct text_log *log = (const struct text_log *)base;
	const struct str *text = times ? &log->shared->times : &log->shared->text;
	size_t left = offset < (int64_t)text->length ? text->length - (size_t)offset : 0;

	if (length > left)
		length = left;
	if (length > 0)
		memcpy(bytes, text->text + offset, length);
	return (ssize_t)length;
}

static void destroy_text(struct log_parts *base)
{
	struct text_log *log = (struct text_log *)base;

	if (--log->shared->holders == 0) {
		str_finish(&log->shared->text);
		str_finish(&log->shared->times);
		free(log->shared);
	}
	free(log);
}

static struct log_source *open_text(struct shared_text *shared)
{
	static const struct log_parts_ops ops = {.read = read_text, .destroy = destroy_text};
	struct text_log *log = mem_alloc(sizeof(*log));

	log->shared = shared;
	shared->holders++;
	log->item = (struct log_parts_item){.length = (int64_t)shared->text.length,
					    .has_times = shared->times.length > 0};
	log->base = (struct log_parts){.ops = &ops, .items = &log->item, .count = 1};
	log_parts_init(&log->base);
	return &log->base.base;
}

struct log_source *log_of_text(const char *text)
{
	struct shared_text *shared = mem_alloc(sizeof(*shared));

	str_append(&shared->text, text);
	return open_text(shared);
}

struct log_source *log_text_share(const struct log_source *base)
{
	const struct text_log *text = (const struct text_log *)base;
	struct log_source *log = open_text(text->shared);

	log->attempt = base->attempt;
	log->cut = base->cut;
	return log;
}

struct log_source *log_keep_end(struct log_source *source, size_t most, struct err *err)
{
	const struct log_position last = {.kind = LOG_AT_LAST, .number = (int64_t)most};
	struct shared_text *shared = mem_alloc(sizeof(*shared));
	struct log_source *end = open_text(shared);
	struct str *text = &shared->text;
	struct log_span span;
	int64_t time_ms = 0;

	log_source_go(source, &last);
	while (text->length < most && log_source_next(source, most - text->length, &span)) {
		if (span.time_ms != time_ms)
			str_append_format(&shared->times, "%" PRId64 " %zu\n", span.time_ms,
					  text->length);
		time_ms = span.time_ms;
		str_append_bytes(text, span.bytes, span.length);
	}
	if (source->problem) {
		err_set(err, ERR_INPUT, "%s", source->problem);
		log_source_destroy(end);
		return NULL;
	}
	((struct text_log *)end)->item = (struct log_parts_item){
		.length = (int64_t)text->length, .has_times = shared->times.length > 0};
	end->attempt = source->attempt;
	end->cut = source->cut + log_source_length(source) - (int64_t)text->length;
	return end;
}

/* ---- names -------------------------------------------------------------------------------- */

struct found {
	int64_t number; /* how often it was rotated: 0 for the last part */
	size_t index;
};

/* "stdout" is 0, "stdout.3" is 3; anything else is no part: -1. */
static int64_t part_number(const char *file, const char *name)
{
	size_t length = strlen(name);
	int64_t number;

	if (strncmp(file, name, length) != 0)
		return -1;
	if (file[length] == '\0')
		return 0;
	if (file[length] != '.' || str_parse_int(file + length + 1, 1, ROTATED_MAX, &number) < 0)
		return -1;
	return number;
}

static int older_first(const void *left, const void *right)
{
	const struct found *a = left;
	const struct found *b = right;

	return a->number == b->number ? 0 : a->number > b->number ? -1 : 1;
}

size_t log_parts_find(const struct str_list *names, const char *name, size_t **parts)
{
	struct found *found = mem_alloc_array(names->count, sizeof(*found));
	size_t count = 0;

	for (size_t i = 0; i < names->count; i++) {
		int64_t number = part_number(names->items[i], name);
		if (number >= 0)
			found[count++] = (struct found){.number = number, .index = i};
	}
	if (count > 1)
		qsort(found, count, sizeof(*found), older_first);
	*parts = mem_alloc_array(count, sizeof(**parts));
	for (size_t i = 0; i < count; i++)
		(*parts)[i] = found[i].index;
	free(found);
	return count;
}
