#include "net/http_url.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static int add(struct http_pairs *pairs, char *name, char *value)
{
	if (!name || !value || pairs->count == array_length(pairs->items)) {
		free(name);
		free(value);
		return -1;
	}
	pairs->items[pairs->count++] = (struct http_pair){.name = name, .value = value};
	return 0;
}

const char *http_pairs_find(const struct http_pairs *pairs, const char *name)
{
	for (size_t i = 0; i < pairs->count; i++) {
		if (strcmp(pairs->items[i].name, name) == 0)
			return pairs->items[i].value;
	}
	return NULL;
}

void http_pairs_finish(struct http_pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		free(pairs->items[i].name);
		free(pairs->items[i].value);
	}
	pairs->count = 0;
}

void http_url_encode(struct str *url, const char *text, const char *also)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789-._~";

	for (; *text; text++) {
		if (strchr(unreserved, *text) || strchr(also, *text))
			str_append_char(url, *text);
		else
			str_append_format(url, "%%%02X", (unsigned char)*text);
	}
}

int http_hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *place = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return place ? (int)(place - digits) : -1;
}

char *http_url_decode(const char *text, size_t length, bool plus)
{
	char *decoded cleanup_free = mem_alloc(length + 1);
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (c == '+' && plus)
			c = ' ';
		if (c == '%') {
			int high = i + 2 < length ? http_hex_digit(text[i + 1]) : -1;
			int low = i + 2 < length ? http_hex_digit(text[i + 2]) : -1;
			if (high < 0 || low < 0)
				return NULL;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (c == '\0')
			return NULL;
		decoded[used++] = c;
	}
	return mem_steal(&decoded);
}

static int add_parameter(struct http_pairs *pairs, const char *name, size_t name_length,
			 const char *value, size_t value_length)
{
	if (!pairs)
		return 0;
	return add(pairs, mem_strndup(name, name_length),
		   http_url_decode(value, value_length, false));
}

int http_url_match(const char *pattern, const char *target, struct http_pairs *pairs)
{
	const char *end = target + strcspn(target, "?");
	int result = 1;

	while (*pattern) {
		if (*pattern != '{') {
			if (target == end || *pattern++ != *target++)
				return 0;
			continue;
		}
		const char *name = pattern + 1;
		size_t name_length = strcspn(name, "*}");
		bool rest = name[name_length] == '*';
		size_t length = rest ? (size_t)(end - target) : strcspn(target, "/?");
		if (length == 0)
			return 0;
		if (add_parameter(pairs, name, name_length, target, length) < 0)
			result = -1;
		target += length;
		pattern = name + name_length + (rest ? 2 : 1);
	}
	return target == end ? result : 0;
}

int http_url_query(const char *target, struct http_pairs *pairs)
{
	const char *cursor = strchr(target, '?');

	while (cursor && *cursor) {
		cursor++;
		size_t length = strcspn(cursor, "&");
		size_t name = strcspn(cursor, "=&");
		const char *value = cursor + name + (name < length ? 1 : 0);
		if (length > 0 &&
		    add(pairs, http_url_decode(cursor, name, true),
			http_url_decode(value, (size_t)(cursor + length - value), true)) < 0)
			return -1;
		cursor += length;
	}
	return 0;
}
