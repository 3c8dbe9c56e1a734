#include "hadoop/tfile_bytes.h"

#include <string.h>

#include "base/mem.h"

static int as_signed(unsigned char byte)
{
	return byte < 128 ? byte : byte - 256;
}

/* The first byte as a signed number: short numbers keep their highest bits in it, each size in a
 * range of its own around a middle; of long ones it says the length alone. */
size_t tfile_number_size(unsigned char first)
{
	int value = as_signed(first);

	if (value >= -32)
		return 1;
	if (value >= -72)
		return 2;
	if (value >= -104)
		return 3;
	if (value >= -120)
		return 4;
	return value >= -125 ? (size_t)(value + 130) : 0;
}

int64_t tfile_number_decode(const unsigned char *bytes)
{
	static const int middles[] = {0, 0, -52, -88, -112};
	size_t size = tfile_number_size(bytes[0]);
	size_t next = size <= 4 ? 1 : 2;
	int64_t high = size <= 4 ? as_signed(bytes[0]) - middles[size] : as_signed(bytes[1]);
	uint64_t value = (uint64_t)high;

	for (; next < size; next++)
		value = value << 8 | bytes[next];
	return (int64_t)value;
}

bool tfile_take_number(struct tfile_bytes *bytes, int64_t *value)
{
	size_t size = bytes->left > 0 ? tfile_number_size(bytes->at[0]) : 0;

	if (size == 0 || size > bytes->left)
		return false;
	*value = tfile_number_decode(bytes->at);
	bytes->at += size;
	bytes->left -= size;
	return true;
}

bool tfile_take_range(struct tfile_bytes *bytes, int64_t min, int64_t max, int64_t *value)
{
	struct tfile_bytes rest = *bytes;
	int64_t number;

	if (!tfile_take_number(&rest, &number) || number < min || number > max)
		return false;
	*bytes = rest;
	*value = number;
	return true;
}

bool tfile_take_bytes(struct tfile_bytes *bytes, size_t length, struct tfile_bytes *part)
{
	if (length > bytes->left)
		return false;
	*part = (struct tfile_bytes){.at = bytes->at, .left = length};
	bytes->at += length;
	bytes->left -= length;
	return true;
}

bool tfile_take_counted(struct tfile_bytes *bytes, size_t cap, struct tfile_bytes *part)
{
	struct tfile_bytes rest = *bytes;
	int64_t length;

	if (!tfile_take_range(&rest, 0, (int64_t)cap, &length) ||
	    !tfile_take_bytes(&rest, (size_t)length, part))
		return false;
	*bytes = rest;
	return true;
}

char *tfile_take_text(struct tfile_bytes *bytes, size_t cap)
{
	struct tfile_bytes rest = *bytes;
	struct tfile_bytes part;

	if (!tfile_take_counted(&rest, cap, &part) || memchr(part.at, '\0', part.left))
		return NULL;
	*bytes = rest;
	return mem_strndup((const char *)part.at, part.left);
}

bool tfile_take_region(struct tfile_bytes *bytes, struct tfile_region *region)
{
	struct tfile_bytes rest = *bytes;
	struct tfile_region found;

	if (!tfile_take_range(&rest, 0, INT64_MAX, &found.offset) ||
	    !tfile_take_range(&rest, 0, INT64_MAX - found.offset, &found.stored) ||
	    !tfile_take_range(&rest, 0, INT64_MAX, &found.raw))
		return false;
	*bytes = rest;
	*region = found;
	return true;
}
