#include "executor/tail.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void tail_init(struct tail *tail, int lines)
{
	*tail = (struct tail){.listed = (size_t)lines};
	if (lines == 0)
		return;
	tail->capacity = lines > TAIL_DEPTH ? (size_t)lines : TAIL_DEPTH;
	tail->lines = mem_alloc_array(tail->capacity, sizeof(*tail->lines));
}

static void end_line(struct tail *tail)
{
	char **slot = &tail->lines[tail->next];

	mem_replace(slot, str_printable(tail->line, tail->length));
	tail->next = (tail->next + 1) % tail->capacity;
	if (tail->count < tail->capacity)
		tail->count++;
	tail->length = 0;
}

static void feed_byte(struct tail *tail, char byte)
{
	if (escape_takes(&tail->escape, byte)) {
		if (tail->escape.final == 'K' && tail->returned)
			tail->length = 0; /* the line is erased */
		return;
	}
	bool returned = tail->returned;

	tail->returned = byte == '\r';
	if (byte == '\n') {
		end_line(tail);
	} else if (byte != '\r') {
		if (returned)
			tail->length = 0;
		if (tail->length < TAIL_LINE_CAP)
			tail->line[tail->length++] = byte;
	}
}

void tail_feed(struct tail *tail, const char *bytes, size_t length)
{
	if (tail->capacity == 0)
		return;
	for (size_t i = 0; i < length; i++)
		feed_byte(tail, bytes[i]);
}

void tail_end(struct tail *tail)
{
	if (tail->length > 0)
		end_line(tail);
}

void tail_finish(struct tail *tail)
{
	for (size_t i = 0; i < tail->count; i++)
		free(tail->lines[i]);
	free(tail->lines);
	*tail = (struct tail){0};
}

static void list_last(const struct tail *tail, size_t count, struct str_list *lines)
{
	size_t first = tail->count < tail->capacity ? 0 : tail->next;

	for (size_t i = tail->count - count; i < tail->count; i++)
		str_list_add(lines, tail->lines[(first + i) % tail->capacity]);
}

void tail_list(const struct tail *tail, struct str_list *lines)
{
	list_last(tail, tail->count < tail->listed ? tail->count : tail->listed, lines);
}

void tail_list_all(const struct tail *tail, struct str_list *lines)
{
	list_last(tail, tail->count, lines);
}
