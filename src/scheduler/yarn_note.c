#include "scheduler/yarn_note.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "hadoop/webhdfs.h"
#include "scheduler/yarn_journal.h"

#define PREFIX "user.tony."

enum { HEAD_CAP = 21 }; /* "9223372036854775807\n" */

char *yarn_note_name(int am_attempt)
{
	return mem_printf(PREFIX "journal-%d", am_attempt);
}

static int attempt_of(const char *name)
{
	char *file cleanup_free =
		mem_printf("%s.jsonl", str_starts_with(name, PREFIX) ? name + strlen(PREFIX) : "");

	return yarn_journal_attempt(file);
}

/* ---- values ------------------------------------------------------------------------------- */

char *yarn_note_encode(int64_t offset, const char *bytes, size_t length)
{
	unsigned char packed[YARN_NOTE_VALUE_CAP];
	unsigned long packed_length = sizeof(packed);
	struct str text cleanup_str = {0};

	if (length > YARN_NOTE_CAP)
		return NULL;
	str_append_format(&text, "%lld\n", (long long)offset);
	str_append_bytes(&text, bytes, length);
	if (compress(packed, &packed_length, (const unsigned char *)text.text, text.length) != Z_OK)
		return NULL;
	size_t size = 2 * packed_length + 1;
	char *digits cleanup_free = mem_alloc(size);
	if (!OPENSSL_buf2hexstr_ex(digits, size, NULL, packed, (long)packed_length, '\0'))
		BUG("%zu bytes do not hold it", size);
	return mem_printf("0x%s", digits);
}

/* Text of at most `*length` bytes, which becomes how many there are; NULL: it is none of ours. */
static char *unpack(const char *value, unsigned long *length)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	unsigned char packed[YARN_NOTE_VALUE_CAP];
	size_t packed_length;

	if (!str_starts_with(value, "0x") || strspn(value + 2, digits) != strlen(value + 2) ||
	    !OPENSSL_hexstr2buf_ex(packed, sizeof(packed), &packed_length, value + 2, '\0'))
		return NULL;
	char *text cleanup_free = mem_alloc(*length);
	return uncompress((unsigned char *)text, length, packed, packed_length) == Z_OK
		       ? mem_steal(&text)
		       : NULL;
}

static bool decode(const char *value, int64_t *offset, struct str *bytes)
{
	unsigned long length = HEAD_CAP + YARN_NOTE_CAP;
	char *text cleanup_free = unpack(value, &length);
	char *end = text ? memchr(text, '\n', length) : NULL;

	if (!end)
		return false;
	*end++ = '\0';
	if (str_parse_int(text, 0, INT64_MAX, offset) < 0)
		return false;
	str_append_bytes(bytes, end, length - (size_t)(end - text));
	return true;
}

/* ---- what is found ------------------------------------------------------------------------ */

void yarn_found_finish(struct yarn_found *found)
{
	str_finish(&found->bytes);
}

void yarn_found_attribute(void *data, const char *name, const char *value)
{
	struct str bytes cleanup_str = {0};
	struct yarn_found *found = data;
	int attempt = attempt_of(name);
	int64_t offset;

	if (attempt <= found->note_attempt || attempt >= found->before ||
	    !decode(value, &offset, &bytes))
		return;
	found->note_attempt = attempt;
	found->offset = offset;
	str_finish(&found->bytes);
	found->bytes = bytes;
	bytes = (struct str){0};
	if (offset > 0)
		return;
	found->attempt = attempt;
	found->length = -1;
}

void yarn_found_file(void *data, const struct webhdfs_file *file)
{
	struct yarn_found *found = data;
	int attempt = yarn_journal_attempt(file->name);

	if (attempt == 0 || attempt < found->attempt || attempt >= found->before)
		return;
	found->attempt = attempt;
	found->length = file->length;
}

const char *yarn_found_rest(const struct yarn_found *found, int64_t length, size_t *rest_length)
{
	int64_t end = found->offset + (int64_t)found->bytes.length;

	*rest_length = 0;
	if (found->note_attempt != found->attempt || length < found->offset || length >= end)
		return "";
	*rest_length = (size_t)(end - length);
	return str_text(&found->bytes) + (length - found->offset);
}
