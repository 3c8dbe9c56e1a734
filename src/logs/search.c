#include "logs/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "logs/lines.h"

struct log_search log_search_copy(const struct log_search *search)
{
	struct log_search copy = *search;

	copy.text = search->text ? mem_strdup(search->text) : NULL;
	return copy;
}

void log_search_finish(struct log_search *search)
{
	free(search->text);
	*search = (struct log_search){0};
}

bool log_search_is_valid(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length <= LOG_SEARCH_MAX && text[0] != '\n' &&
	       text[length - 1] != '\n' && !strstr(text, "\n\n") && str_is_utf8(text, length);
}

bool log_search_is_same(const struct log_search *left, const struct log_search *right)
{
	return str_equal(left->text, right->text) && left->any_case == right->any_case &&
	       left->takes_begun == right->takes_begun && left->counts == right->counts;
}

static void fold(const char *text, size_t length, char *folded)
{
	for (size_t i = 0; i < length; i++)
		folded[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] | 0x20) : text[i];
}

size_t log_search_prepare(struct log_search *search)
{
	size_t count = 1;

	if (search->any_case)
		fold(search->text, strlen(search->text), search->text);
	for (const char *text = search->text; (text = strchr(text, '\n')); text++)
		count++;
	return count;
}

static bool has_one(const char *text, const char *line, size_t length)
{
	size_t left = strlen(text);

	for (;;) {
		const char *end = memchr(text, '\n', left);
		size_t count = end ? (size_t)(end - text) : left;
		if (memmem(line, length, text, count))
			return true;
		if (!end)
			return false;
		text += count + 1;
		left -= count + 1;
	}
}

/* Apart from those that need no copy: room of this size on the stack costs more than a search. */
static __attribute__((noinline)) bool finds_in_copy(const struct log_search *search,
						    const char *line, size_t length)
{
	char copy[LOG_LINE_CAP];

	if (search->any_case)
		fold(line, length, copy);
	else
		memcpy(copy, line, length);
	return (search->any_case && has_one(search->text, copy, length)) ||
	       (memchr(copy, '\x1b', length) &&
		has_one(search->text, copy, escape_strip(copy, length)));
}

bool log_search_finds(const struct log_search *search, const char *line, size_t length)
{
	if (search->any_case)
		return finds_in_copy(search, line, length);
	return has_one(search->text, line, length) ||
	       (memchr(line, '\x1b', length) && finds_in_copy(search, line, length));
}
