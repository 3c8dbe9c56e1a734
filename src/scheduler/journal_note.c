#include "scheduler/journal_note.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "store/store.h"

#define PREFIX "journal-"
#define SUFFIX ".jsonl"

enum { HEAD_CAP = 21 }; /* "9223372036854775807\n" */

char *journal_copy_name(int am_attempt)
{
	return mem_printf(PREFIX "%d" SUFFIX, am_attempt);
}

char *journal_note_name(int am_attempt)
{
	return mem_printf(PREFIX "%d", am_attempt);
}

/* Of "journal-2" and `suffix`; 0: it is none. */
static int attempt_of(const char *name, const char *suffix)
{
	int64_t attempt = 0;

	if (!str_starts_with(name, PREFIX) || !str_ends_with(name, suffix))
		return 0;
	const char *start = name + strlen(PREFIX);
	if (strlen(start) < strlen(suffix))
		return 0;
	char *number cleanup_free = mem_strndup(start, strlen(start) - strlen(suffix));
	return str_parse_int(number, 1, INT32_MAX, &attempt) < 0 ? 0 : (int)attempt;
}

/* Of a file in the job's directory; 0: it is no journal. */
static int parse_attempt(const char *name)
{
	return attempt_of(name, SUFFIX);
}

/* ---- values ------------------------------------------------------------------------------- */

int journal_note_encode(int64_t offset, const char *bytes, size_t length, struct str *value)
{
	unsigned char packed[JOURNAL_NOTE_VALUE_CAP];
	unsigned long packed_length = sizeof(packed);
	struct str text cleanup_str = {0};

	if (length > JOURNAL_NOTE_CAP)
		return -1;
	str_append_format(&text, "%lld\n", (long long)offset);
	str_append_bytes(&text, bytes, length);
	if (compress(packed, &packed_length, (const unsigned char *)text.text, text.length) != Z_OK)
		return -1;
	str_append_bytes(value, (const char *)packed, packed_length);
	return 0;
}

static bool decode(const char *packed, size_t packed_length, int64_t *offset, struct str *bytes)
{
	unsigned long length = HEAD_CAP + JOURNAL_NOTE_CAP;
	char *text cleanup_free = mem_alloc(length);

	if (uncompress((unsigned char *)text, &length, (const unsigned char *)packed,
		       packed_length) != Z_OK)
		return false;
	char *end = memchr(text, '\n', length);
	if (!end)
		return false;
	*end++ = '\0';
	if (str_parse_int(text, 0, INT64_MAX, offset) < 0)
		return false;
	str_append_bytes(bytes, end, length - (size_t)(end - text));
	return true;
}

/* ---- what is found ------------------------------------------------------------------------ */

void journal_found_finish(struct journal_found *found)
{
	str_finish(&found->bytes);
}

void journal_found_note(void *data, const char *name, const char *packed, size_t length)
{
	struct str bytes cleanup_str = {0};
	struct journal_found *found = data;
	int attempt = attempt_of(name, "");
	int64_t offset;

	if (attempt <= found->note_attempt || attempt >= found->before ||
	    !decode(packed, length, &offset, &bytes))
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

void journal_found_file(void *data, const struct store_item *item)
{
	struct journal_found *found = data;
	int attempt = parse_attempt(item->name);

	if (attempt == 0 || attempt < found->attempt || attempt >= found->before)
		return;
	found->attempt = attempt;
	found->length = item->length;
}

const char *journal_found_rest(const struct journal_found *found, int64_t length,
			       size_t *rest_length)
{
	int64_t end = found->offset + (int64_t)found->bytes.length;

	*rest_length = 0;
	if (found->note_attempt != found->attempt || length < found->offset || length >= end)
		return "";
	*rest_length = (size_t)(end - length);
	return str_text(&found->bytes) + (length - found->offset);
}
