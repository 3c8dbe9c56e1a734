#include "hadoop/tfile.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define TAIL_SIZE      28	   /* offset of the list of parts, version, magic */
#define PARTS_CAP      (64u << 10) /* bytes of that list */
#define PART_MAX       64
#define PART_NAME_CAP  256
#define FORMAT_VERSION 1 /* the major one, of TFile and of BCFile */

static const unsigned char magic[16] = {0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6,
					0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50};

/* A block, and what the index says of it. */
struct row {
	struct tfile_region region;
	struct tfile_bytes last_key; /* within file->index */
	int64_t entries;
};

struct tfile {
	struct tfile_input input;
	enum tfile_compression compression; /* of the blocks */
	struct row *rows;
	size_t count;
	struct str index; /* TFile.index */
};

/* ---- opening ------------------------------------------------------------------------------ */

static int say_flawed(const struct tfile *file, const char *what, struct err *err)
{
	return err_set(err, ERR_INPUT, "%s: its %s is flawed", file->input.name, what);
}

static bool lies_within(const struct tfile *file, const struct tfile_region *region)
{
	return region->offset + region->stored <= file->input.length;
}

static bool take_version(struct tfile_bytes *bytes)
{
	struct tfile_bytes version;

	return tfile_take_bytes(bytes, 4, &version) &&
	       (version.at[0] << 8 | version.at[1]) == FORMAT_VERSION;
}

/* The unpacked bytes of a region of at most INDEX_CAP; memory grows with what is really there. */
static int load(const struct tfile *file, const struct tfile_region *region,
		enum tfile_compression compression, struct str *bytes, struct err *err)
{
	char part[16384];
	int64_t left = region->raw;

	if (left > TFILE_INDEX_CAP)
		return err_set(err, ERR_INPUT,
			       "%s: its index is larger than tony reads (%u MiB); `yarn logs` does",
			       file->input.name, TFILE_INDEX_CAP >> 20);
	struct tfile_block *block = tfile_block_open(&file->input, region, compression);
	int result = 0;
	while (left > 0 && result == 0) {
		size_t length = left < (int64_t)sizeof(part) ? (size_t)left : sizeof(part);
		result = tfile_block_read(block, part, length, err);
		if (result == 0)
			str_append_bytes(bytes, part, length);
		left -= (int64_t)length;
	}
	tfile_block_close(block);
	return result;
}

static struct tfile_bytes as_bytes(const struct str *text)
{
	return (struct tfile_bytes){.at = (const unsigned char *)str_text(text),
				    .left = text->length};
}

/* Where the list of parts lies. */
static int read_tail(struct tfile *file, struct tfile_region *list, struct err *err)
{
	unsigned char tail[TAIL_SIZE];
	struct tfile_bytes version = {.at = tail + 8, .left = 4};
	const struct tfile_input *input = &file->input;
	uint64_t offset = 0;

	if (input->length < TAIL_SIZE)
		return err_set(err, ERR_NOT_FOUND, "%s is no TFile: too short", input->name);
	if (input->read(input->data, input->length - TAIL_SIZE, tail, TAIL_SIZE, err) < 0)
		return -1;
	if (memcmp(tail + 12, magic, sizeof(magic)) != 0)
		return err_set(err, ERR_NOT_FOUND,
			       "%s is no TFile, or it was never finished: it does not end as one",
			       input->name);
	if (!take_version(&version))
		return err_set(err, ERR_INPUT, "%s is a TFile of a newer version than tony reads",
			       input->name);
	for (int i = 0; i < 8; i++)
		offset = offset << 8 | tail[i];
	if (offset > (uint64_t)(input->length - TAIL_SIZE))
		return say_flawed(file, "end", err);
	list->offset = (int64_t)offset;
	list->stored = list->raw = input->length - TAIL_SIZE - list->offset;
	return list->raw <= PARTS_CAP ? 0 : say_flawed(file, "list of parts", err);
}

/* One entry of the list: name, compression, region. Loads the part if it is the one looked for. */
static int take_part(const struct tfile *file, struct tfile_bytes *list, const char *wanted,
		     struct str *part, bool *found, struct err *err)
{
	char *name cleanup_free = tfile_take_text(list, PART_NAME_CAP);
	char *packed cleanup_free = name ? tfile_take_text(list, PART_NAME_CAP) : NULL;
	struct tfile_region region;
	enum tfile_compression compression;

	if (!packed || !tfile_take_region(list, &region) || !lies_within(file, &region))
		return say_flawed(file, "list of parts", err);
	if (*found || !str_starts_with(name, "data:") || !str_equal(name + 5, wanted))
		return 0;
	*found = true;
	if (tfile_compression_parse(packed, &compression, err) < 0)
		return err_wrap(err, "%s", file->input.name);
	return load(file, &region, compression, part, err);
}

static int load_part(const struct tfile *file, const struct str *list, const char *name,
		     struct str *part, struct err *err)
{
	struct tfile_bytes rest = as_bytes(list);
	int64_t count;
	bool found = false;

	if (!tfile_take_range(&rest, 0, PART_MAX, &count))
		return say_flawed(file, "list of parts", err);
	while (count-- > 0)
		if (take_part(file, &rest, name, part, &found, err) < 0)
			return -1;
	return found ? 0 : err_set(err, ERR_INPUT, "%s: it has no %s", file->input.name, name);
}

/* BCFile.index: the blocks' compression, their number, and where they are. */
static int read_blocks(struct tfile *file, const struct str *part, struct err *err)
{
	struct tfile_bytes rest = as_bytes(part);
	char *packed cleanup_free = tfile_take_text(&rest, PART_NAME_CAP);
	int64_t count;

	if (!packed || !tfile_take_range(&rest, 0, TFILE_BLOCK_MAX, &count) ||
	    (size_t)count > rest.left)
		return say_flawed(file, "list of blocks", err);
	if (tfile_compression_parse(packed, &file->compression, err) < 0)
		return err_wrap(err, "%s", file->input.name);
	file->rows = mem_alloc_array((size_t)count, sizeof(*file->rows));
	for (; (int64_t)file->count < count; file->count++) {
		struct tfile_region *region = &file->rows[file->count].region;
		if (!tfile_take_region(&rest, region) || !lies_within(file, region))
			return say_flawed(file, "list of blocks", err);
	}
	return 0;
}

/* TFile.index: the first key (there is none in an empty file), then for each block its last key and
 * its number of entries, all of them behind their length. */
static int read_index(struct tfile *file, struct err *err)
{
	struct tfile_bytes rest = as_bytes(&file->index);
	struct tfile_bytes part;

	if (file->count > 0 && !tfile_take_counted(&rest, 2 * TFILE_KEY_CAP, &part))
		return say_flawed(file, "index", err);
	for (size_t i = 0; i < file->count; i++) {
		struct row *row = &file->rows[i];
		if (!tfile_take_counted(&rest, 2 * TFILE_KEY_CAP, &part) ||
		    !tfile_take_counted(&part, TFILE_KEY_CAP, &row->last_key) ||
		    !tfile_take_range(&part, 1, INT64_MAX, &row->entries))
			return say_flawed(file, "index", err);
	}
	return 0;
}

static int read_parts(struct tfile *file, const struct str *list, struct err *err)
{
	struct str meta cleanup_str = {0};
	struct str blocks cleanup_str = {0};

	if (load_part(file, list, "TFile.meta", &meta, err) < 0)
		return -1;
	struct tfile_bytes version = as_bytes(&meta);
	if (!take_version(&version))
		return say_flawed(file, "version", err);
	if (load_part(file, list, "BCFile.index", &blocks, err) < 0 ||
	    load_part(file, list, "TFile.index", &file->index, err) < 0)
		return -1;
	return read_blocks(file, &blocks, err) < 0 ? -1 : read_index(file, err);
}

struct tfile *tfile_open(const struct tfile_input *input, struct err *err)
{
	struct tfile *file = mem_alloc(sizeof(*file));
	struct tfile_region region;
	struct str list cleanup_str = {0};

	file->input = *input;
	if (read_tail(file, &region, err) == 0 &&
	    load(file, &region, TFILE_NONE, &list, err) == 0 && read_parts(file, &list, err) == 0)
		return file;
	tfile_close(file);
	return NULL;
}

void tfile_close(struct tfile *file)
{
	if (!file)
		return;
	free(file->rows);
	str_finish(&file->index);
	free(file);
}

/* ---- entries ------------------------------------------------------------------------------ */

struct tfile_cursor {
	const struct tfile *file;
	struct tfile_block *block; /* NULL: none is open */
	size_t number;		   /* of that block, or of the next one */
	int64_t entries_left;	   /* of the block, behind the present one */
	int64_t left;		   /* of the present chunk */
	bool is_last;		   /* that is the last of the value; true before the first entry */
	struct str key;
};

struct tfile_cursor *tfile_cursor_create(const struct tfile *file)
{
	struct tfile_cursor *cursor = mem_alloc(sizeof(*cursor));

	cursor->file = file;
	cursor->is_last = true;
	return cursor;
}

void tfile_cursor_destroy(struct tfile_cursor *cursor)
{
	if (!cursor)
		return;
	tfile_block_close(cursor->block);
	str_finish(&cursor->key);
	free(cursor);
}

struct tfile_bytes tfile_cursor_key(const struct tfile_cursor *cursor)
{
	return as_bytes(&cursor->key);
}

static void leave_block(struct tfile_cursor *cursor)
{
	tfile_block_close(cursor->block);
	cursor->block = NULL;
	cursor->left = 0;
	cursor->is_last = true;
}

static void enter_block(struct tfile_cursor *cursor, size_t number)
{
	const struct row *row = &cursor->file->rows[number];

	leave_block(cursor);
	cursor->number = number;
	cursor->block =
		tfile_block_open(&cursor->file->input, &row->region, cursor->file->compression);
	cursor->entries_left = row->entries;
}

/* Reads the key of the next entry of the block. */
static int enter_entry(struct tfile_cursor *cursor, struct err *err)
{
	char part[1024];
	int64_t length;

	if (tfile_block_read_number(cursor->block, &length, err) < 0)
		return -1;
	if (length < 0 || length > TFILE_KEY_CAP)
		return say_flawed(cursor->file, "block", err);
	str_truncate(&cursor->key, 0);
	while (length > 0) {
		size_t size = length < (int64_t)sizeof(part) ? (size_t)length : sizeof(part);
		if (tfile_block_read(cursor->block, part, size, err) < 0)
			return -1;
		str_append_bytes(&cursor->key, part, size);
		length -= (int64_t)size;
	}
	cursor->entries_left--;
	cursor->left = 0;
	cursor->is_last = false;
	return 1;
}

int tfile_cursor_next(struct tfile_cursor *cursor, struct err *err)
{
	if (cursor->block && cursor->entries_left == 0) {
		leave_block(cursor);
		cursor->number++;
	}
	if (cursor->block) {
		if (tfile_cursor_skip(cursor, INT64_MAX, err) < 0)
			return -1;
	} else {
		if (cursor->number == cursor->file->count)
			return 0;
		enter_block(cursor, cursor->number);
	}
	return enter_entry(cursor, err);
}

static bool is_key(const struct tfile_bytes *bytes, const void *key, size_t length)
{
	return bytes->left == length && (length == 0 || memcmp(bytes->at, key, length) == 0);
}

/* The last entry of a block may be huge: its key is in the index, so that it is gone through only
 * if it is the one. Those before it are small together, or the block had ended. */
static int find_in_block(struct tfile_cursor *cursor, size_t number, const void *key, size_t length,
			 struct err *err)
{
	const struct row *row = &cursor->file->rows[number];
	bool may_be_last = is_key(&row->last_key, key, length);

	if (row->entries == 1 && !may_be_last)
		return 0;
	enter_block(cursor, number);
	for (;;) {
		if (enter_entry(cursor, err) < 0)
			return -1;
		struct tfile_bytes found = tfile_cursor_key(cursor);
		if (is_key(&found, key, length))
			return 1;
		if (cursor->entries_left == 0 || (cursor->entries_left == 1 && !may_be_last))
			return 0;
		if (tfile_cursor_skip(cursor, INT64_MAX, err) < 0)
			return -1;
	}
}

int tfile_cursor_find(struct tfile_cursor *cursor, const void *key, size_t length, struct err *err)
{
	int found = 0;

	for (size_t i = 0; i < cursor->file->count && found == 0; i++)
		found = find_in_block(cursor, i, key, length, err);
	if (found == 0) {
		leave_block(cursor);
		cursor->number = cursor->file->count;
	}
	return found;
}

/* ---- values ------------------------------------------------------------------------------- */

/* Makes `left` of the present chunk more than 0, unless the value ends here. */
static int enter_chunk(struct tfile_cursor *cursor, struct err *err)
{
	int64_t length;

	while (cursor->left == 0 && !cursor->is_last) {
		if (tfile_block_read_number(cursor->block, &length, err) < 0)
			return -1;
		if (length < -INT32_MAX || length > INT32_MAX)
			return say_flawed(cursor->file, "block", err);
		cursor->is_last = length >= 0;
		cursor->left = length < 0 ? -length : length;
	}
	return 0;
}

ssize_t tfile_cursor_read(struct tfile_cursor *cursor, void *bytes, size_t length, struct err *err)
{
	if (enter_chunk(cursor, err) < 0)
		return -1;
	if ((int64_t)length > cursor->left)
		length = (size_t)cursor->left;
	if (length == 0)
		return 0;
	if (tfile_block_read(cursor->block, bytes, length, err) < 0)
		return -1;
	cursor->left -= (int64_t)length;
	return (ssize_t)length;
}

int64_t tfile_cursor_skip(struct tfile_cursor *cursor, int64_t length, struct err *err)
{
	int64_t passed = 0;

	while (passed < length) {
		if (enter_chunk(cursor, err) < 0)
			return -1;
		if (cursor->left == 0)
			break;
		int64_t part = length - passed < cursor->left ? length - passed : cursor->left;
		if (tfile_block_skip(cursor->block, part, err) < 0)
			return -1;
		cursor->left -= part;
		passed += part;
	}
	return passed;
}

struct tfile_position tfile_cursor_tell(const struct tfile_cursor *cursor)
{
	return (struct tfile_position){.block = cursor->number,
				       .offset = cursor->block ? tfile_block_offset(cursor->block)
							       : 0,
				       .left = cursor->left,
				       .is_last = cursor->is_last,
				       .entries_left = cursor->entries_left};
}

int tfile_cursor_seek(struct tfile_cursor *cursor, const struct tfile_position *position,
		      struct err *err)
{
	enter_block(cursor, position->block);
	cursor->entries_left = position->entries_left;
	cursor->left = position->left;
	cursor->is_last = position->is_last;
	str_truncate(&cursor->key, 0);
	return tfile_block_skip(cursor->block, position->offset, err);
}
