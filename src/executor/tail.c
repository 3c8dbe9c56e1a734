#include "executor/tail.h"

#include <ctype.h>
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

static bool is_blank(const char *line)
{
	return line[strspn(line, " \t")] == '\0';
}

/* "}", "^^^^": of something that began further up. */
static bool has_no_word(const char *line)
{
	while (*line && !isalnum((unsigned char)*line) && !((unsigned char)*line & 0x80))
		line++;
	return *line == '\0';
}

/* "I0000 00:00:1795255901.215822   11536 port.cc:153] ...": what Google's libraries tell all along,
 * information and warnings. Their errors begin with E or F. */
static bool is_chatter(const char *line)
{
	return (line[0] == 'I' || line[0] == 'W') && strspn(line + 1, "0123456789") == 4 &&
	       line[5] == ' ' && strstr(line, "] ");
}

/* "train.py:3: DeprecationWarning: ...", "WARNING:root:...", "warning: ...". */
static bool is_warning(const char *line)
{
	static const char *const words[] = {"Warning: ", "warning: ", "WARNING", "warnings.warn("};

	for (size_t i = 0; i < array_length(words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* A line that tells of no end: also the line of source that Python prints below a warning. */
static bool is_aside(const struct str_list *lines, size_t i)
{
	const char *line = lines->items[i];

	return is_chatter(line) || is_warning(line) ||
	       (i > 0 && line[0] == ' ' && strstr(lines->items[i - 1], "Warning: "));
}

/* "ValueError: no data", "torch.cuda.OutOfMemoryError: ...", "KeyboardInterrupt": what Python
 * prints below a traceback, recognised by its name when the traceback itself has scrolled away. */
bool tail_is_exception(const char *line)
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

#define NO_LINE SIZE_MAX

static const char traceback_head[] = "Traceback (most recent call last)";

/* The last line that is the head of one. */
static size_t find_head(const struct str_list *lines)
{
	for (size_t i = lines->count; i-- > 0;)
		if (strstr(lines->items[i], traceback_head))
			return i;
	return NO_LINE;
}

static bool begins_alike(const char *a, const char *b, size_t length)
{
	return strncmp(a, b, length) == 0;
}

/* The exception below the last traceback: frames are indented, it is the first line that is not.
 * Launchers and loggers put a prefix ("[rank1]: ") before every line. */
static size_t find_traceback(const struct str_list *lines, size_t *prefix)
{
	size_t head = find_head(lines);

	if (head == NO_LINE)
		return NO_LINE;
	const char *line = lines->items[head];
	*prefix = (size_t)(strstr(line, traceback_head) - line);
	for (size_t i = head + 1; i < lines->count; i++) {
		if (!begins_alike(lines->items[i], line, *prefix))
			continue; /* somebody else's, in between */
		const char *own = lines->items[i] + *prefix;
		if (!isspace((unsigned char)*own) && !is_blank(own))
			return i;
	}
	return NO_LINE;
}

/* The same where what stands before the head is no prefix: a progress bar that was left where it
 * was, or a frame around the traceback. */
static size_t find_traceback_behind(const struct str_list *lines)
{
	size_t head = find_head(lines);

	for (size_t i = head; head != NO_LINE && ++i < lines->count;)
		if (isalpha((unsigned char)*lines->items[i]))
			return i;
	return NO_LINE;
}

static size_t find_exception(const struct str_list *lines)
{
	for (size_t i = lines->count; i-- > 0;)
		if (tail_is_exception(lines->items[i]))
			return i;
	return NO_LINE;
}

static bool speaks_of_error(const char *line)
{
	static const char *const words[] = {
		"terminate called",
		"what():",
		"Segmentation fault",
		"error:",
		"Error:",
		"ERROR",
		"fatal:",
		"Fatal",
		"FATAL",
		"panic:",
		"Assertion",
		"Aborted",
		"command not found",
		"not found",
		"No such file",
		"Permission denied",
		"CUDA error",
		"NCCL error",
		"out of memory",
		"Address already in use",
	};

	for (size_t i = 0; i < array_length(words); i++) {
		if (strstr(line, words[i]))
			return true;
	}
	return false;
}

static size_t find_error(const struct str_list *lines)
{
	for (size_t i = lines->count; i-- > 0;)
		if (speaks_of_error(lines->items[i]) && !is_aside(lines, i))
			return i;
	return NO_LINE;
}

/* "------------" */
static bool is_rule(const char *line)
{
	return line[0] == '-' && strspn(line, "-") == strlen(line);
}

/* Of a paragraph between two rules at the end, as Open MPI prints them, the first line. */
static size_t find_framed(const struct str_list *lines)
{
	size_t i = lines->count, first = NO_LINE;

	while (i > 0 && is_blank(lines->items[i - 1]))
		i--;
	if (i == 0 || !is_rule(lines->items[i - 1]))
		return NO_LINE;
	while (--i > 0 && !is_rule(lines->items[i - 1]))
		if (!has_no_word(lines->items[i - 1]))
			first = i - 1;
	return i > 0 ? first : NO_LINE; /* 0: its beginning has scrolled away */
}

static size_t find_last(const struct str_list *lines)
{
	for (size_t i = lines->count; i-- > 0;)
		if (!has_no_word(lines->items[i]) && !is_aside(lines, i))
			return i;
	return NO_LINE;
}

/* ---- messages of several lines ------------------------------------------------------------ */

/* Keras and TensorFlow leave a line blank, PyTorch indents, others end the first line by a colon.
 * Without one of these what follows is of somebody else. */
static bool goes_on(const char *line, const char *next)
{
	return is_blank(next) || isspace((unsigned char)*next) || str_ends_with(line, ":");
}

static bool ends_message(const struct str_list *lines, size_t i, const char *own)
{
	static const char *const words[] = {"During handling of the above", "The above exception",
					    "Exception ignored in"};

	for (size_t k = 0; k < array_length(words); k++)
		if (str_starts_with(own, words[k]))
			return true;
	return strstr(own, traceback_head) || is_rule(own) || is_aside(lines, i) ||
	       (own[0] == '[' && own[1] != '[');
}

/* The lines of the message that begins at `first`, without what stands before each. */
static void collect_message(const struct str_list *lines, size_t first, size_t prefix,
			    struct str_list *parts)
{
	const char *head = lines->items[first];

	str_list_add(parts, head);
	for (size_t i = first + 1; i < lines->count; i++) {
		if (!begins_alike(lines->items[i], head, prefix))
			continue;
		const char *own = lines->items[i] + prefix;
		if ((parts->count == 1 && !goes_on(head, own)) || ends_message(lines, i, own))
			return;
		str_list_add(parts, own);
	}
}

/* The first line, and of the others as many of the last as fit. */
static char *join_message(const struct str_list *parts)
{
	struct str text = {0};
	size_t length = strlen(parts->items[0]), from = parts->count;

	while (from > 1 && length + strlen(parts->items[from - 1]) < TAIL_MESSAGE_CAP)
		length += strlen(parts->items[--from]) + 1;
	str_append(&text, parts->items[0]);
	if (from > 1 && from < parts->count)
		str_append(&text, " ...");
	for (size_t i = from; i < parts->count; i++) {
		const char *part = parts->items[i] + strspn(parts->items[i], " \t");
		if (*part)
			str_append_format(&text, " %s", part);
	}
	return str_steal(&text);
}

static char *take_message(const struct str_list *lines, size_t first, size_t prefix)
{
	struct str_list parts cleanup_str_list = {0};

	collect_message(lines, first, prefix, &parts);
	return join_message(&parts);
}

/* ------------------------------------------------------------------------------------------- */

char *tail_headline(const struct str_list *lines, bool of_errors)
{
	size_t prefix = 0, i = find_traceback(lines, &prefix);

	if (i == NO_LINE) {
		prefix = 0;
		i = find_exception(lines);
	}
	if (i != NO_LINE)
		return take_message(lines, i, prefix);
	i = find_traceback_behind(lines);
	if (i == NO_LINE)
		i = find_error(lines);
	if (i == NO_LINE)
		i = find_framed(lines);
	if (i == NO_LINE && !of_errors)
		i = find_last(lines);
	return i == NO_LINE ? NULL : mem_strdup(lines->items[i] + strspn(lines->items[i], " \t"));
}

/* The last line before `end` that has `text` in it; 0 also when there is none. */
static size_t find_before(const struct str_list *lines, size_t end, const char *text)
{
	while (end > 0 && !strstr(lines->items[--end], text))
		;
	return end;
}

/* Of a rank that a signal ended, the report says so, and there is nothing better to quote. */
static bool tells_signal(const struct str_list *lines, size_t i)
{
	for (; i < lines->count; i++)
		if (strstr(lines->items[i], "exitcode") && strstr(lines->items[i], ": -"))
			return true;
	return false;
}

char *tail_headline_of_rank(const struct str_list *all)
{
	size_t root = find_before(all, all->count, "Root Cause (first observed failure)");
	size_t failed = find_before(all, root, "ChildFailedError");
	size_t end = find_before(all, failed, traceback_head);

	if (end > 0 && strstr(all->items[end - 1], "failed (exitcode: "))
		end--; /* torchrun's, too */
	struct str_list ranks = {.items = all->items, .count = end};
	return tells_signal(all, root) ? NULL : tail_headline(&ranks, false);
}
