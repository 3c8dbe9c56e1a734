#include "executor/backlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Bytes. Dropping many at once spares each new line moving all others. */
#define DROP_AT_LEAST (BACKLOG_CAP / 4)

void backlog_count_add(struct backlog_count *count, const char *bytes, size_t length)
{
	count->bytes += (int64_t)length;
	for (size_t i = 0; i < length; i++)
		count->lines += bytes[i] == '\n';
}

void backlog_take(struct backlog *backlog, size_t length)
{
	backlog->length -= length;
	if (backlog->length > 0)
		memmove(backlog->bytes, backlog->bytes + length, backlog->length);
}

static void drop_first(struct backlog *backlog, size_t length)
{
	backlog_count_add(&backlog->dropped, backlog->bytes, length);
	backlog_take(backlog, length);
}

void backlog_drop(struct backlog *backlog)
{
	drop_first(backlog, backlog->length);
}

/* Up to a line's end, where there is one. */
static void make_room(struct backlog *backlog, size_t least)
{
	if (least < DROP_AT_LEAST)
		least = DROP_AT_LEAST;
	if (least > backlog->length)
		least = backlog->length;
	const char *end =
		least == 0 ? NULL
			   : memchr(backlog->bytes + least - 1, '\n', backlog->length - least + 1);
	drop_first(backlog, end ? (size_t)(end + 1 - backlog->bytes) : backlog->length);
}

void backlog_add(struct backlog *backlog, const char *bytes, size_t length)
{
	if (length > BACKLOG_CAP) {
		backlog_drop(backlog);
		backlog_count_add(&backlog->dropped, bytes, length - BACKLOG_CAP);
		bytes += length - BACKLOG_CAP;
		length = BACKLOG_CAP;
	}
	if (!backlog->bytes)
		backlog->bytes = mem_alloc(BACKLOG_CAP);
	if (backlog->length + length > BACKLOG_CAP)
		make_room(backlog, backlog->length + length - BACKLOG_CAP);
	memcpy(backlog->bytes + backlog->length, bytes, length);
	backlog->length += length;
}

void backlog_finish(struct backlog *backlog)
{
	free(backlog->bytes);
	*backlog = (struct backlog){0};
}
