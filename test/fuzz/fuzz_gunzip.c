/* Any bytes as a compressed answer, whole and cut in two, which must not matter; and as what is
 * packed, which must come out again. */
#include <event2/buffer.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/gzip.h"

enum { CAP = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(void *data, const char *bytes, size_t length)
{
	struct str *text = data;

	if (text->length + length > CAP)
		return false;
	str_append_bytes(text, bytes, length);
	return true;
}

/* -1, or whether it is whole. */
static int unpack(const char *bytes, size_t length, size_t cut, struct str *text)
{
	struct gunzip *gunzip = gunzip_create();
	int result = gunzip_add(gunzip, bytes, cut, take, text, NULL);

	if (result == 0)
		result = gunzip_add(gunzip, bytes + cut, length - cut, take, text, NULL);
	if (result == 0)
		result = gunzip_is_whole(gunzip);
	else
		result = -1;
	gunzip_destroy(gunzip);
	return result;
}

static void pack(const char *bytes, size_t length, size_t cut)
{
	struct str text cleanup_str = {0};
	struct evbuffer *out = evbuffer_new();
	struct gzip_part *part = gzip_part_create(bytes, cut);
	struct gzip_body body;

	gzip_begin(&body, out);
	gzip_add_part(&body, part);
	gzip_add_plain(&body, bytes + cut, length - cut);
	gzip_end(&body);
	gzip_part_destroy(part);
	size_t packed = evbuffer_get_length(out);
	if (unpack((const char *)evbuffer_pullup(out, -1), packed, packed, &text) != 1 ||
	    text.length != length || (length > 0 && memcmp(text.text, bytes, length) != 0))
		abort();
	evbuffer_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str whole cleanup_str = {0}, parts cleanup_str = {0};

	if (size == 0 || size > CAP)
		return 0;
	char *bytes cleanup_free = mem_alloc(size);
	memcpy(bytes, data + 1, size - 1);
	size_t length = size - 1, cut = length * data[0] / 256;
	int at_once = unpack(bytes, length, length, &whole);
	int in_two = unpack(bytes, length, cut, &parts);
	if (at_once != in_two)
		abort();
	if (at_once >= 0 &&
	    (whole.length != parts.length ||
	     (whole.length > 0 && memcmp(whole.text, parts.text, whole.length) != 0)))
		abort();
	pack(bytes, length, cut);
	return 0;
}
