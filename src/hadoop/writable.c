#include "hadoop/writable.h"

#include <string.h>

#include "base/mem.h"

/* The first byte is the number itself from -112 on; below, it says how many bytes follow (1 to 8,
 * big end first), and from -121 on down that the number is their ones' complement. */
enum { SMALLEST = -112, NEGATIVE = -120 };

bool writable_take_number(struct writable *from, int64_t *value)
{
	if (from->left == 0)
		return false;
	int first = from->at[0] < 128 ? from->at[0] : from->at[0] - 256;
	size_t count = 0;
	uint64_t bits = 0;

	if (first < NEGATIVE)
		count = (size_t)(NEGATIVE - first);
	else if (first < SMALLEST)
		count = (size_t)(SMALLEST - first);
	if (from->left < 1 + count)
		return false;
	for (size_t i = 1; i <= count; i++)
		bits = bits << 8 | from->at[i];
	if (count == 0)
		*value = first;
	else
		*value = (int64_t)(first < NEGATIVE ? ~bits : bits);
	from->at += 1 + count;
	from->left -= 1 + count;
	return true;
}

bool writable_take_count(struct writable *from, size_t cap, size_t *count)
{
	struct writable rest = *from;
	int64_t value;

	if (!writable_take_number(&rest, &value) || value < 0 || (uint64_t)value > cap)
		return false;
	*from = rest;
	*count = (size_t)value;
	return true;
}

bool writable_take_bytes(struct writable *from, const unsigned char **bytes, size_t *length)
{
	struct writable rest = *from;

	if (!writable_take_count(&rest, rest.left, length) || *length > rest.left)
		return false;
	*bytes = rest.at;
	*from = (struct writable){rest.at + *length, rest.left - *length};
	return true;
}

bool writable_take_text(struct writable *from, char **text)
{
	struct writable rest = *from;
	const unsigned char *bytes;
	size_t length;

	if (!writable_take_bytes(&rest, &bytes, &length) ||
	    !str_is_utf8((const char *)bytes, length))
		return false;
	*text = mem_strndup((const char *)bytes, length);
	*from = rest;
	return true;
}

void writable_put_number(struct str *out, int64_t value)
{
	uint64_t bits = (uint64_t)(value < 0 ? ~value : value);
	int count = 0;

	if (value >= SMALLEST && value <= 127) {
		str_append_char(out, (char)value);
		return;
	}
	while (count < 8 && bits >> (8 * count))
		count++;
	str_append_char(out, (char)((value < 0 ? NEGATIVE : SMALLEST) - count));
	while (count-- > 0)
		str_append_char(out, (char)(bits >> (8 * count)));
}

void writable_put_bytes(struct str *out, const void *bytes, size_t length)
{
	writable_put_number(out, (int64_t)length);
	str_append_bytes(out, bytes, length);
}

void writable_put_text(struct str *out, const char *text)
{
	writable_put_bytes(out, text, strlen(text));
}
