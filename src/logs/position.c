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

struct extent {
	log_read_at *read;
	void *data;
	int64_t length;
};

/* Counts the ends of lines from `start` on that have more behind them, up to `most`; *position is
 * behind the last one counted. */
static int64_t count_ends(const struct extent *extent, int64_t start, int64_t most,
			  int64_t *position)
{
	char block[16384];
	int64_t count = 0;
	ssize_t got;

	*position = start;
	for (int64_t offset = start;
	     count < most && (got = extent->read(extent->data, offset, block, sizeof(block))) > 0;
	     offset += got) {
		for (ssize_t i = 0; i < got && count < most; i++) {
			if (block[i] != '\n' || offset + i + 1 >= extent->length)
				continue;
			count++;
			*position = offset + i + 1;
		}
	}
	return count;
}

int64_t log_find_tail(log_read_at *read, void *data, int64_t length, int64_t *lines)
{
	const struct extent extent = {read, data, length};
	int64_t position;

	for (int64_t window = FIRST_WINDOW;; window *= WINDOW_STEP) {
		int64_t start = window < length ? length - window : 0;
		int64_t ends = count_ends(&extent, start, INT64_MAX, &position);
		if (ends >= *lines) {
			count_ends(&extent, start, ends - *lines + 1, &position);
			*lines = 0;
			return position;
		}
		if (start == 0) {
			*lines -= ends + (length > 0); /* the first line has no end before it */
			return 0;
		}
	}
}
