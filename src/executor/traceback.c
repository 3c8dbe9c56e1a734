#include "executor/traceback.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/aside.h"

enum { ABOVE_MAX = 6 }; /* lines between what says whose a traceback is, and its head */

const char traceback_head[] = "Traceback (most recent call last)";

bool traceback_begins_alike(const char *a, const char *b, size_t length)
{
	return strncmp(a, b, length) == 0;
}

static bool is_indented(const char *line)
{
	return isspace((unsigned char)*line) || str_is_blank(line);
}

bool traceback_is_exception(const char *line)
{
	static const char *const endings[] = {"Error", "Exception", "Interrupt", "Exit"};
	size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");

	if (length == 0 || !isalpha((unsigned char)line[0]) ||
	    (line[length] != ':' && line[length] != '\0'))
		return false;
	for (size_t i = 0; i < array_length(endings); i++) {
		size_t size = strlen(endings[i]);
		if (length >= size && strncmp(line + length - size, endings[i], size) == 0)
			return true;
	}
	return false;
}

bool traceback_has_paragraphs(const char *exception)
{
	return strstr(exception, "Exception encountered when calling") ||
	       strstr(exception, "Graph execution error");
}

/* Frames are indented: the exception is the first line below that is not. */
static size_t find_exception(const struct str_list *lines, size_t head, size_t prefix)
{
	for (size_t i = head + 1; i < lines->count; i++) {
		if (!traceback_begins_alike(lines->items[i], lines->items[head], prefix))
			continue; /* somebody else's, in between */
		const char *own = lines->items[i] + prefix;
		if (strstr(own, traceback_head))
			return TRACEBACK_NO_LINE;
		if (!is_indented(own))
			return i;
	}
	return TRACEBACK_NO_LINE;
}

/* The same where what stands before the head is no prefix: a progress bar that was left where it
 * was, or a frame around the traceback. */
static size_t find_exception_behind(const struct str_list *lines, size_t head)
{
	for (size_t i = head + 1; i < lines->count && !strstr(lines->items[i], traceback_head); i++)
		if (isalpha((unsigned char)*lines->items[i]))
			return i;
	return TRACEBACK_NO_LINE;
}

/* The row of the nearest line above, which says whose the traceback is; NULL: it has none. */
static const struct aside *find_above(const struct str_list *lines, struct traceback *traceback)
{
	size_t head = traceback->first;

	for (size_t i = head; i-- > 0 && head - i <= ABOVE_MAX;) {
		const char *line = lines->items[i], *own = line + traceback->prefix;
		if (!traceback_begins_alike(line, lines->items[head], traceback->prefix) ||
		    str_is_blank(own) || aside_is(own, ASIDE_BETWEEN))
			continue;
		const struct aside *row = aside_find(own);
		if (row && (row->kind == ASIDE_IGNORED || row->kind == ASIDE_OTHER))
			traceback->first = i;
		return row;
	}
	return NULL;
}

static bool has_prefix_of(const struct str_list *lines, const struct traceback *a,
			  const struct traceback *b)
{
	return a->prefix == b->prefix &&
	       traceback_begins_alike(lines->items[a->first], lines->items[b->first], a->prefix);
}

/* It came of the last one with the same prefix: what reached the top is this one. */
static void chain(const struct str_list *lines, const struct traceback_list *list,
		  struct traceback *traceback)
{
	for (size_t i = list->count; i-- > 0;) {
		struct traceback *before = &list->items[i];
		if (!has_prefix_of(lines, before, traceback))
			continue;
		traceback->cause = i;
		traceback->of = before->of;
		before->of = TRACEBACK_LED_ON;
		return;
	}
}

/* logging tells behind a traceback where, and what, it was to log. */
static size_t find_end_of_ignored(const struct str_list *lines, const struct traceback *traceback)
{
	size_t end = traceback->exception;

	for (size_t i = end + 1; i < lines->count; i++) {
		if (!traceback_begins_alike(lines->items[i], lines->items[end], traceback->prefix))
			continue;
		const char *own = lines->items[i] + traceback->prefix;
		if (!is_indented(own) && !aside_is(own, ASIDE_BEHIND))
			return end;
		end = i;
	}
	return end;
}

/* multiprocessing's tracker of shared memory is a process of its own, and goes on
 * after an error. */
static bool is_of_tracker(const struct str_list *lines, const struct traceback *traceback)
{
	for (size_t i = traceback->first + 1; i < traceback->exception; i++) {
		const char *line = lines->items[i];
		if (traceback_begins_alike(line, lines->items[traceback->exception],
					   traceback->prefix))
			return strstr(line, "/resource_tracker.py\"") &&
			       str_ends_with(line, ", in main");
	}
	return false;
}

static void judge(const struct str_list *lines, const struct traceback_list *list,
		  struct traceback *traceback)
{
	const struct aside *above = find_above(lines, traceback);

	if (above && above->kind == ASIDE_CHAIN)
		chain(lines, list, traceback);
	else if ((above && above->kind == ASIDE_IGNORED) || is_of_tracker(lines, traceback))
		traceback->of = TRACEBACK_IGNORED;
	else if (above && above->kind == ASIDE_OTHER)
		traceback->of = TRACEBACK_OTHER;
	if (traceback->of == TRACEBACK_IGNORED)
		traceback->last = find_end_of_ignored(lines, traceback);
}

static void add(const struct str_list *lines, size_t head, struct traceback_list *list)
{
	const char *line = lines->items[head];
	struct traceback found = {.of = TRACEBACK_PROGRAM, .first = head, .cause = TRACEBACK_NONE};

	found.prefix = (size_t)(strstr(line, traceback_head) - line);
	found.exception = find_exception(lines, head, found.prefix);
	if (found.exception == TRACEBACK_NO_LINE) {
		found.prefix = 0;
		found.exception = find_exception_behind(lines, head);
	}
	if (found.exception == TRACEBACK_NO_LINE)
		return;
	found.last = found.exception;
	judge(lines, list, &found);
	list->items = mem_grow(list->items, list->count, sizeof(found));
	list->items[list->count++] = found;
}

void traceback_find(const struct str_list *lines, struct traceback_list *list)
{
	*list = (struct traceback_list){0};
	for (size_t i = 0; i < lines->count; i++)
		if (strstr(lines->items[i], traceback_head))
			add(lines, i, list);
}

void traceback_list_finish(struct traceback_list *list)
{
	free(list->items);
	*list = (struct traceback_list){0};
}

bool traceback_has(const struct traceback *traceback, const struct str_list *lines, size_t line)
{
	return line >= traceback->first && line <= traceback->last &&
	       traceback_begins_alike(lines->items[line], lines->items[traceback->exception],
				      traceback->prefix);
}
