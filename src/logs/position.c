#include "logs/position.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define FIRST_WINDOW (64 << 10) /* bytes at the end in which the last lines are looked for */
#define WINDOW_STEP  8		/* how much more is looked at when they are not there */

static int parse_part(const char *text, struct log_position *position)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || strspn(text, "0123456789abcdef") != (size_t)(colon - text))
		return -1;
	position->part = strtoull(text, NULL, 16);
	return str_parse_int(colon + 1, 0, INT64_MAX, &position->number);
}

int log_position_parse(const char *text, struct log_position *position)
{
	*position = (struct log_position){.kind = LOG_AT_OLDEST};
	if (strlen(text) >= LOG_POSITION_SIZE)
		return -1;
	if (str_equal(text, "oldest"))
		return 0;
	position->kind = LOG_AT_OFFSET;
	if (str_starts_with(text, "offset:"))
		return str_parse_int(text + strlen("offset:"), INT64_MIN, INT64_MAX,
				     &position->number);
	position->kind = LOG_AT_TAIL;
	if (str_starts_with(text, "tail:"))
		return str_parse_int(text + strlen("tail:"), 0, INT64_MAX, &position->number);
	position->kind = LOG_AT_PART;
	return str_starts_with(text, "at:") ? parse_part(text + strlen("at:"), position) : -1;
}

bool log_position_is_valid(const char *text)
{
	struct log_position position;

	return log_position_parse(text, &position) == 0;
}

void log_position_format(const struct log_position *position, char *text)
{
	switch (position->kind) {
	case LOG_AT_OLDEST:
		snprintf(text, LOG_POSITION_SIZE, "oldest");
		return;
	case LOG_AT_OFFSET:
		snprintf(text, LOG_POSITION_SIZE, "offset:%" PRId64, position->number);
		return;
	case LOG_AT_TAIL:
		snprintf(text, LOG_POSITION_SIZE, "tail:%" PRId64, position->number);
		return;
	case LOG_AT_PART:
		snprintf(text, LOG_POSITION_SIZE, "at:%" PRIx64 ":%" PRId64, position->part,
			 position->number);
		return;
	case LOG_AT_LAST:
		BUG("a position without a text");
	}
}

/* ---- the tail ----------------------------------------------------------------------------- */

void log_tail_begin(struct log_tail *tail, const struct log_position *position)
{
	*tail = (struct log_tail){.missing = position->number,
				  .in_lines = position->kind == LOG_AT_TAIL};
}

/* Counts from `start` on, up to `most` ends of lines. */
static void begin_count(struct log_tail *tail, int64_t start, int64_t most)
{
	tail->start = tail->offset = start;
	tail->ends = 0;
	tail->most = most;
}

static void begin_window(struct log_tail *tail, int64_t window)
{
	begin_count(tail, window < tail->length ? tail->length - window : 0, INT64_MAX);
}

void log_tail_enter(struct log_tail *tail, int64_t length)
{
	tail->length = length;
	begin_window(tail, FIRST_WINDOW);
}

/* Counts the ends of lines that have more behind them. `position` is behind the last one. */
static void count_ends(struct log_tail *tail, const char *bytes, size_t length)
{
	const char *end = bytes + length;

	for (const char *next = bytes; tail->ends < tail->most && next < end; next++) {
		next = memchr(next, '\n', (size_t)(end - next));
		if (!next || tail->offset + (next - bytes) + 1 == tail->length)
			break;
		tail->ends++;
		tail->position = tail->offset + (next - bytes) + 1;
	}
	tail->offset += (int64_t)length;
}

/* Up to `most` bytes; what was read. 0: all that is to be counted was. */
static int64_t read_block(struct log_tail *tail, log_read_at *read, void *data, int64_t most)
{
	char block[16384];
	int64_t length = tail->length - tail->offset;

	if (length > most)
		length = most;
	if (length > (int64_t)sizeof(block))
		length = sizeof(block);
	if (tail->ends == tail->most || length == 0)
		return 0;
	ssize_t got = read(data, tail->offset, block, (size_t)length);
	if (got <= 0)
		return 0;
	count_ends(tail, block, (size_t)got);
	return got;
}

/* The count says where the end begins, or where to count next (false). */
static bool weigh_count(struct log_tail *tail)
{
	if (tail->most < INT64_MAX) {
		tail->missing = 0;
		return true;
	}
	if (tail->ends >= tail->missing) {
		begin_count(tail, tail->start, tail->ends - tail->missing + 1);
		return false;
	}
	if (tail->start > 0) {
		begin_window(tail, (tail->length - tail->start) * WINDOW_STEP);
		return false;
	}
	tail->missing -= tail->ends + (tail->length > 0); /* the first line has no end before it */
	tail->position = 0;
	return true;
}

bool log_tail_find(struct log_tail *tail, log_read_at *read, void *data, int64_t most)
{
	if (tail->missing == 0 || !tail->in_lines) {
		tail->position = tail->missing < tail->length ? tail->length - tail->missing : 0;
		tail->missing -= tail->length - tail->position;
		return true;
	}
	while (most > 0) {
		int64_t got = read_block(tail, read, data, most);
		if (got == 0 && weigh_count(tail))
			return true;
		most -= got;
	}
	return false;
}
