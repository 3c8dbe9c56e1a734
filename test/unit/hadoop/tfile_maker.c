#include "tfile_maker.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

#define PACKED_PART 10000 /* unpacked bytes of each of the zlib streams in a block */

static const char magic[16] = "\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50";

static void add_integer(struct str *bytes, uint64_t value, int size)
{
	while (size-- > 0)
		str_append_char(bytes, (char)(value >> 8 * size));
}

/* One byte, or the longest form: readers take any. */
void tfile_maker_number(struct str *bytes, int64_t number)
{
	if (number < -32 || number > 127)
		str_append_char(bytes, (char)-121);
	add_integer(bytes, (uint64_t)number, number < -32 || number > 127 ? 8 : 1);
}

static void add_counted(struct str *bytes, const struct str *part)
{
	tfile_maker_number(bytes, (int64_t)part->length);
	str_append_bytes(bytes, str_text(part), part->length);
}

static void add_text(struct str *bytes, const char *text)
{
	tfile_maker_number(bytes, (int64_t)strlen(text));
	str_append(bytes, text);
}

static const char *compression(const struct tfile_maker *maker)
{
	return maker->compression ? maker->compression : "none";
}

/* Several streams one after the other, as Hadoop writes them when it is flushed. */
static void pack(struct str *file, const struct str *block)
{
	for (size_t at = 0; at < block->length; at += PACKED_PART) {
		size_t part = block->length - at < PACKED_PART ? block->length - at : PACKED_PART;
		uLongf size = compressBound(part);
		char *packed cleanup_free = mem_alloc(size);
		if (compress((Bytef *)packed, &size, (const Bytef *)block->text + at, part) != Z_OK)
			abort();
		str_append_bytes(file, packed, size);
	}
}

/* Writes a block and what an index says of it. */
static void add_block(struct tfile_maker *maker, const struct str *block, struct str *index)
{
	size_t start = maker->file.length;

	if (str_equal(compression(maker), "gz"))
		pack(&maker->file, block);
	else
		str_append_bytes(&maker->file, str_text(block), block->length);
	tfile_maker_number(index, (int64_t)start);
	tfile_maker_number(index, (int64_t)(maker->file.length - start));
	tfile_maker_number(index, maker->told_raw ? maker->told_raw : (int64_t)block->length);
}

void tfile_maker_begin(struct tfile_maker *maker)
{
	str_append_bytes(&maker->file, magic, sizeof(magic));
}

void tfile_maker_add(struct tfile_maker *maker, const char *key, const char *value, size_t length,
		     size_t chunk)
{
	struct str bytes cleanup_str = {0};

	tfile_maker_utf(&bytes, key);
	if (maker->blocks == 0 && maker->entries == 0) {
		struct str first cleanup_str = {0};
		add_counted(&first, &bytes);
		add_counted(&maker->keys, &first);
	}
	str_truncate(&maker->last_key, 0);
	str_append_bytes(&maker->last_key, bytes.text, bytes.length);
	add_counted(&maker->block, &bytes);
	for (; length > chunk; value += chunk, length -= chunk) {
		tfile_maker_number(&maker->block, -(int64_t)chunk);
		str_append_bytes(&maker->block, value, chunk);
	}
	tfile_maker_number(&maker->block, (int64_t)length);
	str_append_bytes(&maker->block, value, length);
	maker->entries++;
}

void tfile_maker_end_block(struct tfile_maker *maker)
{
	struct str entry cleanup_str = {0};

	add_block(maker, &maker->block, &maker->regions);
	add_counted(&entry, &maker->last_key);
	tfile_maker_number(&entry, maker->entries);
	add_counted(&maker->keys, &entry);
	str_truncate(&maker->block, 0);
	maker->entries = 0;
	maker->blocks++;
}

static void add_part(struct tfile_maker *maker, const char *name, const struct str *part,
		     struct str *list)
{
	add_text(list, name);
	add_text(list, compression(maker));
	add_block(maker, part, list);
}

void tfile_maker_end(struct tfile_maker *maker)
{
	struct str blocks cleanup_str = {0};
	struct str meta cleanup_str = {0};
	struct str list cleanup_str = {0};

	if (maker->entries > 0)
		tfile_maker_end_block(maker);
	maker->told_raw = 0;
	add_text(&blocks, compression(maker));
	tfile_maker_number(&blocks, maker->blocks);
	str_append_bytes(&blocks, str_text(&maker->regions), maker->regions.length);
	add_integer(&meta, 1, 2); /* version 1.0, number of entries, comparator */
	add_integer(&meta, 0, 3);
	tfile_maker_number(&meta, 0);
	tfile_maker_number(&list, 3);
	add_part(maker, "data:BCFile.index", &blocks, &list);
	add_part(maker, "data:TFile.index", &maker->keys, &list);
	add_part(maker, "data:TFile.meta", &meta, &list);
	size_t start = maker->file.length;
	str_append_bytes(&maker->file, list.text, list.length);
	add_integer(&maker->file, start, 8);
	add_integer(&maker->file, 1, 2);
	add_integer(&maker->file, 0, 2);
	str_append_bytes(&maker->file, magic, sizeof(magic));
}

void tfile_maker_finish(struct tfile_maker *maker)
{
	str_finish(&maker->file);
	str_finish(&maker->block);
	str_finish(&maker->regions);
	str_finish(&maker->keys);
	str_finish(&maker->last_key);
}

void tfile_maker_utf(struct str *value, const char *text)
{
	add_integer(value, strlen(text), 2);
	str_append(value, text);
}

void tfile_maker_log(struct str *value, const char *name, const char *text, size_t length)
{
	char *digits cleanup_free = mem_printf("%zu", length);

	tfile_maker_utf(value, name);
	tfile_maker_utf(value, digits);
	str_append_bytes(value, text, length);
}

static int read_memory(void *data, int64_t offset, void *bytes, size_t length, struct err *err)
{
	struct tfile_memory *memory = data;

	if (offset < 0 || (int64_t)length > memory->input.length - offset)
		abort();
	memcpy(bytes, memory->bytes + offset, length);
	memory->bytes_read += (int64_t)length;
	if (length > memory->longest_read)
		memory->longest_read = length;
	return 0;
}

void tfile_memory_init(struct tfile_memory *memory, const void *bytes, size_t length)
{
	*memory = (struct tfile_memory){.bytes = bytes};
	memory->input = (struct tfile_input){
		.name = "memory", .length = (int64_t)length, .data = memory, .read = read_memory};
}
