#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static void reserve(struct str *str, size_t more)
{
	size_t needed;

	if (__builtin_add_overflow(str->length, more, &needed) || needed > SIZE_MAX / 2 - 1)
		BUG("a text of %zu + %zu bytes", str->length, more);
	if (needed < str->capacity)
		return;
	size_t capacity = str->capacity ? str->capacity : 32;
	while (capacity <= needed)
		capacity *= 2;
	str->text = mem_realloc_array(str->text, capacity, 1);
	str->capacity = capacity;
}

void str_append_bytes(struct str *str, const void *bytes, size_t length)
{
	reserve(str, length);
	if (length > 0)
		memcpy(str->text + str->length, bytes, length);
	str->length += length;
	str->text[str->length] = '\0';
}

void str_append(struct str *str, const char *text)
{
	str_append_bytes(str, text, strlen(text));
}

void str_append_char(struct str *str, char c)
{
	str_append_bytes(str, &c, 1);
}

/* A spreadsheet takes what begins so for a formula, whoever has written it; a number is none. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text);
}

void str_append_csv(struct str *str, const char *text)
{
	str_append_char(str, '"');
	if (is_formula(text))
		str_append_char(str, '\'');
	for (; *text; text++) {
		if (*text == '"')
			str_append_char(str, '"');
		str_append_char(str, *text);
	}
	str_append_char(str, '"');
}

static void append_vformat(struct str *str, const char *format, va_list args)
{
	char *text cleanup_free = mem_vprintf(format, args);

	str_append(str, text);
}

void str_append_format(struct str *str, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append_vformat(str, format, args);
	va_end(args);
}

void str_truncate(struct str *str, size_t length)
{
	if (length >= str->length)
		return;
	str->length = length;
	str->text[length] = '\0';
}

const char *str_text(const struct str *str)
{
	return str->text ? str->text : "";
}

char *str_steal(struct str *str)
{
	char *text = str->text ? str->text : mem_strdup("");

	*str = (struct str){0};
	return text;
}

void str_finish(struct str *str)
{
	free(str->text);
	*str = (struct str){0};
}

void str_finish_secret(struct str *str)
{
	if (str->text)
		explicit_bzero(str->text, str->length);
	str_finish(str);
}

void str_list_take(struct str_list *list, char *text)
{
	/* Grows at powers of two only, counting the NULL at the end. */
	size_t slots = list->count + 2;

	if (!list->items || ((slots - 1) & (slots - 2)) == 0)
		list->items = mem_realloc_array(list->items, 2 * slots, sizeof(*list->items));
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
}

void str_list_add(struct str_list *list, const char *text)
{
	str_list_take(list, mem_strdup(text));
}

void str_list_add_format(struct str_list *list, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	str_list_take(list, mem_vprintf(format, args));
	va_end(args);
}

void str_list_copy(struct str_list *to, const struct str_list *from)
{
	for (size_t i = 0; i < from->count; i++)
		str_list_add(to, from->items[i]);
}

bool str_list_has(const struct str_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], text) == 0)
			return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void str_list_sort(struct str_list *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), compare);
}

char *str_list_join(const struct str_list *list, const char *separator)
{
	struct str joined = {0};

	for (size_t i = 0; i < list->count; i++) {
		if (i > 0)
			str_append(&joined, separator);
		str_append(&joined, list->items[i]);
	}
	return str_steal(&joined);
}

void str_list_finish(struct str_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct str_list){0};
}

bool str_is_blank(const char *text)
{
	return text[strspn(text, " \t")] == '\0';
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

void str_split(struct str_list *list, const char *text, char separator)
{
	for (const char *start = text;;) {
		const char *end = strchrnul(start, separator);
		const char *first = start, *last = end;

		while (first < last && is_blank(*first))
			first++;
		while (last > first && is_blank(last[-1]))
			last--;
		if (last > first)
			str_list_take(list, mem_strndup(first, (size_t)(last - first)));
		if (!*end)
			return;
		start = end + 1;
	}
}

bool str_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_is_http_url(const char *text)
{
	size_t scheme = str_starts_with(text, "http://")    ? strlen("http://")
			: str_starts_with(text, "https://") ? strlen("https://")
							    : 0;

	return scheme > 0 && text[scheme] != '\0' && text[scheme] != '/';
}

const char *str_after_form(const char *text, const char *form)
{
	for (; *form; form++, text++) {
		bool fits = *form == '0'   ? isdigit((unsigned char)*text)
			    : *form == 'x' ? isxdigit((unsigned char)*text)
					   : *form == *text;
		if (!fits)
			return NULL;
	}
	return text;
}

bool str_ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);

	return length >= tail && memcmp(text + length - tail, suffix, tail) == 0;
}

bool str_ends_with_part(const char *text, const char *part, char separator)
{
	size_t length = strlen(text), tail = strlen(part);

	return str_ends_with(text, part) &&
	       (length == tail || text[length - tail - 1] == separator);
}

bool str_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

const char *str_plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

bool str_equal_nocase(const char *a, const char *b)
{
	return a && b ? strcasecmp(a, b) == 0 : a == b;
}

bool str_has_any_nocase(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

static bool same_letter(char a, char b)
{
	bool letters = ((a ^ b) == 0x20) && ((a | 0x20) >= 'a') && ((a | 0x20) <= 'z');

	return a == b || letters;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits (insert, delete, change, swap neighbours) from a to b; case does not count. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows = strlen(a) + 1, width = strlen(b) + 1;
	size_t *cells cleanup_free = mem_alloc_array(rows * width, sizeof(*cells));

	for (size_t i = 0; i < rows; i++) {
		size_t *row = cells + i * width;
		row[0] = i;
		for (size_t j = 1; j < width; j++) {
			if (i == 0) {
				row[j] = j;
				continue;
			}
			const size_t *above = row - width;
			bool same = same_letter(a[i - 1], b[j - 1]);
			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				row[j] = least(row[j], (above - width)[j - 2] + 1);
		}
	}
	return cells[rows * width - 1];
}

const char *str_nearest(const char *text, const char *const *candidates, size_t count)
{
	enum { LONGEST = 200 }; /* nobody mistypes a longer name; bounds the work */
	const char *nearest = NULL;
	size_t best = SIZE_MAX, length = strlen(text);

	if (length > LONGEST)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t other = strlen(candidates[i]);
		size_t longer = length > other ? length : other;
		if (longer > LONGEST || 3 * (longer - least(length, other)) > longer)
			continue;
		size_t distance = edit_distance(text, candidates[i]);
		if (3 * distance <= longer && distance < best) {
			best = distance;
			nearest = candidates[i];
		}
	}
	return nearest;
}
