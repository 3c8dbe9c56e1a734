#include "executor/mask.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct word {
	char *bytes;
	size_t length;
	size_t kept; /* so many bytes of it, or more, may be its beginning */
};

struct mask_words {
	struct word *items; /* sorted */
	size_t count;
	size_t first[UCHAR_MAX + 2]; /* of those that begin with a byte; behind them, of the next */
};

/* ---- words -------------------------------------------------------------------------------- */

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

static void add_word(struct mask_words *words, const char *bytes, size_t length, size_t kept)
{
	while (length > 0 && is_blank(bytes[length - 1]))
		length--;
	for (; length > 0 && is_blank(*bytes); bytes++)
		length--;
	if (length < MASK_LEAST)
		return;
	struct word word = {mem_alloc(length), length, kept};
	memcpy(word.bytes, bytes, length);
	words->items = mem_grow(words->items, words->count, sizeof(word));
	words->items[words->count++] = word;
}

/* A key of several lines is printed line by line, maybe behind something else. */
static void add_lines(struct mask_words *words, const char *bytes, size_t length)
{
	while (length > 0) {
		const char *end = memchr(bytes, '\n', length);
		size_t line = end ? (size_t)(end - bytes) : length;
		add_word(words, bytes, line, 1);
		line += end != NULL;
		bytes += line;
		length -= line;
	}
}

static int compare(const void *a, const void *b)
{
	const struct word *one = a, *other = b;

	return (unsigned char)*one->bytes - (unsigned char)*other->bytes;
}

struct mask_words *mask_words_create(const struct job_secrets *secrets, const char *token)
{
	struct mask_words *words = mem_alloc(sizeof(*words));

	*words = (struct mask_words){0};
	for (size_t i = 0; i < secrets->count; i++)
		if (secrets->items[i].value)
			add_lines(words, secrets->items[i].value, secrets->items[i].length);
	if (token)
		add_word(words, token, strlen(token), MASK_TOKEN_LEAST);
	if (words->count == 0) {
		free(words);
		return NULL;
	}
	qsort(words->items, words->count, sizeof(*words->items), compare);
	for (size_t i = 0; i < words->count; i++)
		words->first[(unsigned char)*words->items[i].bytes + 1]++;
	for (size_t byte = 0; byte <= UCHAR_MAX; byte++)
		words->first[byte + 1] += words->first[byte];
	return words;
}

void mask_words_destroy(struct mask_words *words)
{
	for (size_t i = 0; words && i < words->count; i++) {
		explicit_bzero(words->items[i].bytes, words->items[i].length);
		free(words->items[i].bytes);
	}
	if (words)
		free(words->items);
	free(words);
}

/* ---- texts -------------------------------------------------------------------------------- */

static inline bool begins_word(const struct mask_words *words, char byte)
{
	size_t number = (unsigned char)byte;

	return words->first[number] < words->first[number + 1];
}

/* The length of the longest word that stands there. *is_open: the text ends within a word. */
static size_t find_word(const struct mask_words *words, const char *text, size_t length,
			bool *is_open)
{
	size_t byte = (unsigned char)*text, longest = 0;

	*is_open = false;
	for (size_t i = words->first[byte]; i < words->first[byte + 1]; i++) {
		const struct word *word = &words->items[i];
		size_t common = word->length < length ? word->length : length;
		if (memcmp(word->bytes, text, common) != 0)
			continue;
		if (common < word->length)
			*is_open = *is_open || common >= word->kept;
		else if (word->length > longest)
			longest = word->length;
	}
	return longest;
}

/* Appends the text to `out`, and returns how much of it: the rest may be the beginning of a word,
 * unless nothing more comes. */
static size_t copy(const struct mask_words *words, const char *text, size_t length, bool is_end,
		   struct str *out)
{
	size_t at = 0, from = 0;
	bool is_open;

	while (at < length) {
		if (!begins_word(words, text[at])) {
			at++;
			continue;
		}
		size_t found = find_word(words, text + at, length - at, &is_open);
		if (is_open && !is_end)
			break;
		if (found == 0) {
			at++;
			continue;
		}
		str_append_bytes(out, text + from, at - from);
		str_append(out, JOB_SECRET_HIDDEN);
		at += found;
		from = at;
	}
	if (at > from)
		str_append_bytes(out, text + from, at - from);
	return at;
}

void mask_text(const struct mask_words *words, char **text)
{
	struct str masked cleanup_str = {0};

	if (!words || !*text)
		return;
	copy(words, *text, strlen(*text), true, &masked);
	mem_replace(text, str_steal(&masked));
}

void mask_feed(struct mask *mask, const char *bytes, size_t length, struct str *out)
{
	struct str *held = &mask->held;

	if (held->length == 0) {
		size_t copied = copy(mask->words, bytes, length, false, out);
		str_append_bytes(held, bytes + copied, length - copied);
		return;
	}
	str_append_bytes(held, bytes, length);
	size_t copied = copy(mask->words, str_text(held), held->length, false, out);
	if (copied == 0)
		return;
	memmove(held->text, held->text + copied, held->length - copied);
	str_truncate(held, held->length - copied);
}

void mask_end(struct mask *mask, struct str *out)
{
	copy(mask->words, str_text(&mask->held), mask->held.length, true, out);
	str_truncate(&mask->held, 0);
}

void mask_finish(struct mask *mask)
{
	str_finish_secret(&mask->held);
}
