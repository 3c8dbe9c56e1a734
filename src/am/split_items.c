#include "am/split_items.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

enum { STRIDE = 64 };

static void append_number(struct str *bytes, size_t number)
{
	for (; number >= 0x80; number >>= 7)
		str_append_char(bytes, (char)(number | 0x80));
	str_append_char(bytes, (char)number);
}

static size_t shared_beginning(const char *a, const char *b, size_t most)
{
	size_t shared = 0;

	while (shared < most && a[shared] == b[shared])
		shared++;
	return shared;
}

static size_t shared_end(const char *a, size_t a_length, const char *b, size_t b_length,
			 size_t most)
{
	size_t shared = 0;

	while (shared < most && a[a_length - shared - 1] == b[b_length - shared - 1])
		shared++;
	return shared;
}

static void append_item(struct str *bytes, const char *before, const char *item)
{
	size_t length = strlen(item), before_length = strlen(before);
	size_t most = length < before_length ? length : before_length;
	size_t beginning = shared_beginning(before, item, most);
	size_t end = shared_end(before, before_length, item, length, most - beginning);

	append_number(bytes, beginning);
	append_number(bytes, end);
	append_number(bytes, length - beginning - end);
	str_append_bytes(bytes, item + beginning, length - beginning - end);
}

static size_t stride_count(size_t count)
{
	return (count + STRIDE - 1) / STRIDE;
}

void split_items_pack(const struct str_list *items, struct str *bytes)
{
	size_t begin = bytes->length, strides = stride_count(items->count);
	uint32_t *head cleanup_free = mem_alloc_array(1 + strides, sizeof(*head));

	head[0] = htole32((uint32_t)items->count);
	str_append_bytes(bytes, head, (1 + strides) * sizeof(*head));
	for (size_t i = 0; i < items->count; i++) {
		if (i % STRIDE == 0)
			head[1 + i / STRIDE] = htole32((uint32_t)(bytes->length - begin));
		append_item(bytes, i % STRIDE == 0 ? "" : items->items[i - 1], items->items[i]);
	}
	memcpy(bytes->text + begin, head, (1 + strides) * sizeof(*head));
}

/* ---- reading ------------------------------------------------------------------------------ */

struct reader {
	const char *bytes;
	size_t at, length;
};

/* False: there is none. No number of a pack has more than two bytes. */
static bool read_number(struct reader *reader, size_t *number)
{
	*number = 0;
	for (unsigned int shift = 0; shift <= 7 && reader->at < reader->length; shift += 7) {
		unsigned char byte = (unsigned char)reader->bytes[reader->at++];
		*number |= (size_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* Makes `item`, which is the one before, the one that follows. */
static bool read_item(struct reader *reader, struct str *item)
{
	size_t beginning, end, between;

	if (!read_number(reader, &beginning) || !read_number(reader, &end) ||
	    !read_number(reader, &between) || between > reader->length - reader->at ||
	    beginning + end > item->length || beginning + between + end > SPLIT_ITEM_MAX)
		return false;
	char tail[SPLIT_ITEM_MAX];
	memcpy(tail, str_text(item) + item->length - end, end);
	str_truncate(item, beginning);
	str_append_bytes(item, reader->bytes + reader->at, between);
	str_append_bytes(item, tail, end);
	reader->at += between;
	return true;
}

static uint32_t read_head(const void *bytes, size_t number)
{
	uint32_t value;

	memcpy(&value, (const char *)bytes + number * sizeof(value), sizeof(value));
	return le32toh(value);
}

static bool read_all(struct reader *reader, size_t count)
{
	struct str item cleanup_str = {0};

	for (size_t i = 0; i < count; i++) {
		if (i % STRIDE == 0)
			str_truncate(&item, 0);
		if ((i % STRIDE == 0 && read_head(reader->bytes, 1 + i / STRIDE) != reader->at) ||
		    !read_item(reader, &item))
			return false;
	}
	return reader->at == reader->length;
}

size_t split_items_check(const void *bytes, size_t length)
{
	size_t count = length < sizeof(uint32_t) ? 0 : read_head(bytes, 0);
	struct reader reader = {bytes, (1 + stride_count(count)) * sizeof(uint32_t), length};

	return count > 0 && count <= SPLIT_ITEMS_MAX && reader.at <= length &&
			       read_all(&reader, count)
		       ? count
		       : 0;
}

void split_items_get(const void *bytes, size_t length, size_t number, struct str *item)
{
	struct reader reader = {bytes, read_head(bytes, 1 + number / STRIDE), length};
	struct str text cleanup_str = {0};

	for (size_t i = number / STRIDE * STRIDE; i <= number; i++)
		if (!read_item(&reader, &text))
			BUG("item %zu of a pack that was checked", i);
	str_append_bytes(item, text.text, text.length);
}
