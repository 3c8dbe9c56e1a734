#include "net/gzip.h"

#include <event2/buffer.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/mem.h"

enum {
	STORED_MAX = 65535, /* of one block that is not compressed */
	PIECE_BYTES = 16 * 1024,
	RAW = -MAX_WBITS,      /* neither header nor trailer */
	GZIP = 16 + MAX_WBITS, /* both, checked */
};

struct gzip_part {
	struct evbuffer *blocks; /* of deflate, whole ones, none of them the last; end on a byte */
	unsigned long checksum, length;
};

/* zlib has no other way to say that there is no memory. */
static void need(int result)
{
	if (result != Z_OK)
		BUG("zlib: %d", result);
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The checksum of both, one behind the other. */
static void join(unsigned long *checksum, unsigned long *length, unsigned long other,
		 unsigned long other_length)
{
	*checksum = crc32_combine(*checksum, other, (z_off_t)other_length);
	*length += other_length;
}

struct gzip_part *gzip_part_create(const char *bytes, size_t length)
{
	struct gzip_part *part = mem_alloc(sizeof(*part));
	z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)length};
	unsigned char piece[PIECE_BYTES];

	need(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW, 8, Z_DEFAULT_STRATEGY));
	part->blocks = evbuffer_new();
	do {
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		deflate(&stream, Z_SYNC_FLUSH);
		evbuffer_add(part->blocks, piece, sizeof(piece) - stream.avail_out);
	} while (stream.avail_out == 0);
	deflateEnd(&stream);
	part->checksum = crc32_z(0, (const Bytef *)bytes, length);
	part->length = length;
	return part;
}

void gzip_part_destroy(struct gzip_part *part)
{
	if (!part)
		return;
	evbuffer_free(part->blocks);
	free(part);
}

void gzip_begin(struct gzip_body *body, struct evbuffer *out)
{
	static const unsigned char head[10] = {0x1f, 0x8b, Z_DEFLATED, [9] = 255 /* no system */};

	*body = (struct gzip_body){.out = out};
	evbuffer_add(out, head, sizeof(head));
}

void gzip_add_part(struct gzip_body *body, const struct gzip_part *part)
{
	evbuffer_add_buffer_reference(body->out, part->blocks);
	join(&body->checksum, &body->length, part->checksum, part->length);
}

/* Both formats have the least byte first. */
static void add_number(struct evbuffer *out, unsigned long number, size_t size)
{
	for (; size > 0; size--, number >>= 8)
		evbuffer_add(out, &(unsigned char){number & 0xff}, 1);
}

static void add_stored(struct evbuffer *out, const char *bytes, size_t length, bool is_last)
{
	add_number(out, is_last, 1);
	add_number(out, length, 2);
	add_number(out, ~length, 2);
	evbuffer_add(out, bytes, length);
}

void gzip_add_plain(struct gzip_body *body, const char *bytes, size_t length)
{
	unsigned long checksum = crc32_z(0, (const Bytef *)bytes, length);

	join(&body->checksum, &body->length, checksum, length);
	while (length > 0) {
		size_t some = length < STORED_MAX ? length : STORED_MAX;
		add_stored(body->out, bytes, some, false);
		bytes += some;
		length -= some;
	}
}

void gzip_end(struct gzip_body *body)
{
	add_stored(body->out, "", 0, true);
	add_number(body->out, body->checksum, 4);
	add_number(body->out, body->length, 4);
}

/* ---- reading ------------------------------------------------------------------------------ */

struct gunzip {
	z_stream stream;
	bool is_whole;
};

struct gunzip *gunzip_create(void)
{
	struct gunzip *gunzip = mem_alloc(sizeof(*gunzip));

	need(inflateInit2(&gunzip->stream, GZIP));
	return gunzip;
}

void gunzip_destroy(struct gunzip *gunzip)
{
	if (!gunzip)
		return;
	inflateEnd(&gunzip->stream);
	free(gunzip);
}

int gunzip_add(struct gunzip *gunzip, const char *bytes, size_t length,
	       bool (*take)(void *data, const char *bytes, size_t length), void *data,
	       struct err *err)
{
	z_stream *stream = &gunzip->stream;
	unsigned char piece[PIECE_BYTES];
	int result = Z_OK;

	stream->next_in = (Bytef *)bytes;
	stream->avail_in = (uInt)length;
	/* A full piece may not have been all of it, even when there is no input left. */
	do {
		if (gunzip->is_whole)
			return stream->avail_in == 0
				       ? 0
				       : err_set(err, ERR_INPUT, "bytes behind the gzip's end");
		stream->next_out = piece;
		stream->avail_out = sizeof(piece);
		result = inflate(stream, Z_NO_FLUSH);
		if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
			return err_set(err, ERR_INPUT, "a damaged gzip");
		gunzip->is_whole = result == Z_STREAM_END;
		size_t some = sizeof(piece) - stream->avail_out;
		if (some > 0 && !take(data, (const char *)piece, some))
			return 1;
	} while (stream->avail_in > 0 || stream->avail_out == 0);
	return 0;
}

bool gunzip_is_whole(const struct gunzip *gunzip)
{
	return gunzip->is_whole;
}
