#include "hadoop/tfile_block.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/str.h"

#define FIRST_WINDOW (16u << 10) /* bytes of the first fetch: many logs are small */

struct tfile_block {
	const struct tfile_input *input;
	int64_t next, end;     /* in the file: what is fetched next, and where the block ends */
	int64_t taken;	       /* tfile_block_offset() */
	unsigned char *buffer; /* of `window` bytes */
	size_t window, start, have; /* buffer[start] to [have - 1] are fetched and not yet used */
	bool is_packed;
	z_stream unpacker;
};

int tfile_compression_parse(const char *name, enum tfile_compression *compression, struct err *err)
{
	if (str_equal(name, "none"))
		*compression = TFILE_NONE;
	else if (str_equal(name, "gz"))
		*compression = TFILE_GZ;
	else if (str_equal(name, "lzo"))
		return err_set(
			err, ERR_INPUT,
			"compressed with lzo, which tony does not read; `yarn logs` does, or "
			"have yarn.nodemanager.log-aggregation.compression-type set to gz");
	else
		return err_set(err, ERR_INPUT,
			       "compressed with \"%.20s\", which tony does not know", name);
	return 0;
}

struct tfile_block *tfile_block_open(const struct tfile_input *input,
				     const struct tfile_region *region,
				     enum tfile_compression compression)
{
	struct tfile_block *block = mem_alloc(sizeof(*block));

	*block = (struct tfile_block){.input = input,
				      .next = region->offset,
				      .end = region->offset + region->stored,
				      .is_packed = compression == TFILE_GZ};
	if (block->is_packed && inflateInit(&block->unpacker) != Z_OK)
		BUG("zlib cannot begin");
	return block;
}

void tfile_block_close(struct tfile_block *block)
{
	if (!block)
		return;
	if (block->is_packed)
		inflateEnd(&block->unpacker);
	free(block->buffer);
	free(block);
}

int64_t tfile_block_offset(const struct tfile_block *block)
{
	return block->taken;
}

static int say_short(const struct tfile_block *block, struct err *err)
{
	return err_set(err, ERR_INPUT, "%s: a block ends at byte %" PRId64 ", in the middle of it",
		       block->input->name, block->end);
}

/* Fetches what comes next; the buffer is used up. Who reads on gets more at a time. */
static int fetch(struct tfile_block *block, struct err *err)
{
	int64_t left = block->end - block->next;

	if (left == 0)
		return say_short(block, err);
	if (block->window < TFILE_WINDOW) {
		block->window = block->window == 0 ? FIRST_WINDOW : 2 * block->window;
		free(block->buffer);
		block->buffer = mem_alloc(block->window);
	}
	size_t length = left < (int64_t)block->window ? (size_t)left : block->window;
	block->start = block->have = 0;
	if (block->input->read(block->input->data, block->next, block->buffer, length, err) < 0)
		return -1;
	block->have = length;
	block->next += (int64_t)length;
	return 0;
}

static int read_plain(struct tfile_block *block, unsigned char *bytes, size_t length,
		      struct err *err)
{
	while (length > 0) {
		if (block->start == block->have && fetch(block, err) < 0)
			return -1;
		size_t there = block->have - block->start;
		size_t part = length < there ? length : there;
		memcpy(bytes, block->buffer + block->start, part);
		block->start += part;
		bytes += part;
		length -= part;
	}
	return 0;
}

static int skip_plain(struct tfile_block *block, int64_t length, struct err *err)
{
	int64_t there = (int64_t)(block->have - block->start);

	if (length <= there) {
		block->start += (size_t)length;
		return 0;
	}
	if (length - there > block->end - block->next)
		return say_short(block, err);
	block->next += length - there;
	block->start = block->have = block->window = 0;
	return 0;
}

/* One step of zlib. Hadoop's writer ends a stream and begins another wherever it was flushed: one
 * block may hold several, one after the other. */
static int unpack(struct tfile_block *block, struct err *err)
{
	z_stream *unpacker = &block->unpacker;

	if (block->start == block->have && fetch(block, err) < 0)
		return -1;
	unpacker->next_in = block->buffer + block->start;
	unpacker->avail_in = (uInt)(block->have - block->start);
	int result = inflate(unpacker, Z_NO_FLUSH);
	block->start = block->have - unpacker->avail_in;
	if (result == Z_STREAM_END)
		result = inflateReset(unpacker);
	if (result != Z_OK && result != Z_BUF_ERROR)
		return err_set(err, ERR_INPUT, "%s: cannot be unpacked near byte %" PRId64 ": %s",
			       block->input->name, block->next,
			       unpacker->msg ? unpacker->msg : zError(result));
	return 0;
}

static int read_packed(struct tfile_block *block, unsigned char *bytes, size_t length,
		       struct err *err)
{
	while (length > 0) {
		uInt part = length < TFILE_WINDOW ? (uInt)length : TFILE_WINDOW;
		block->unpacker.next_out = bytes;
		block->unpacker.avail_out = part;
		if (unpack(block, err) < 0)
			return -1;
		part -= block->unpacker.avail_out;
		bytes += part;
		length -= part;
	}
	return 0;
}

static int skip_packed(struct tfile_block *block, int64_t length, struct err *err)
{
	unsigned char scratch[16384];

	while (length > 0) {
		size_t part = length < (int64_t)sizeof(scratch) ? (size_t)length : sizeof(scratch);
		if (read_packed(block, scratch, part, err) < 0)
			return -1;
		length -= (int64_t)part;
	}
	return 0;
}

int tfile_block_read(struct tfile_block *block, void *bytes, size_t length, struct err *err)
{
	int result = block->is_packed ? read_packed(block, bytes, length, err)
				      : read_plain(block, bytes, length, err);

	block->taken += (int64_t)length;
	return result;
}

int tfile_block_skip(struct tfile_block *block, int64_t length, struct err *err)
{
	int result =
		block->is_packed ? skip_packed(block, length, err) : skip_plain(block, length, err);

	block->taken += length;
	return result;
}

int tfile_block_read_number(struct tfile_block *block, int64_t *value, struct err *err)
{
	unsigned char bytes[9] = {0};

	if (tfile_block_read(block, bytes, 1, err) < 0)
		return -1;
	size_t size = tfile_number_size(bytes[0]);
	if (size == 0)
		return err_set(err, ERR_INPUT, "%s: no number begins with byte 0x%02x",
			       block->input->name, bytes[0]);
	if (tfile_block_read(block, bytes + 1, size - 1, err) < 0)
		return -1;
	*value = tfile_number_decode(bytes);
	return 0;
}
