/* The text of one entry of the shared ledger: "CHECKSUM SEQUENCE USER {the ledger's entry}". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "scheduler/shared_ledger.h"
#include "scheduler/state_dir.h"

#define MEMORY_LIMIT ((int64_t)1 << 40) /* MiB, as of a job's task: sums do not overflow */

enum { CHECKSUM_LENGTH = 8, WORD_CAP = 128 };

void shared_entry_finish(struct shared_entry *entry)
{
	free(entry->user);
	ledger_entry_finish(&entry->entry);
	*entry = (struct shared_entry){0};
}

/* It is shown to people: one word of plain letters, as a job's name is. */
static bool is_word(const char *text)
{
	return strlen(text) < WORD_CAP && state_dir_is_job_id(text);
}

char *shared_entry_format(int64_t sequence, const char *user, const struct ledger_entry *entry)
{
	struct ledger_entry told = *entry;

	told.ticket = 0;
	told.wants = (struct share){0};
	char *text cleanup_free = ledger_format(&told);
	char *body cleanup_free = mem_printf(" %" PRId64 " %s %s", sequence,
					     user && is_word(user) ? user : "-", text);
	return mem_printf("%08" PRIx32 "%s\n", crc32c(body, strlen(body)), body);
}

static bool is_sane(const struct shared_entry *entry)
{
	const struct ledger_entry *holds = &entry->entry;

	return (str_equal(entry->user, "-") || is_word(entry->user)) && is_word(holds->job) &&
	       holds->holds.memory <= MEMORY_LIMIT && holds->holds.vcores <= MEMORY_LIMIT;
}

/* `line` has no newline any more. */
static int parse_line(char *line, struct shared_entry *entry)
{
	char *body = strchr(line, ' ');
	char checksum[CHECKSUM_LENGTH + 1];

	if (!body || body - line != CHECKSUM_LENGTH)
		return -1;
	snprintf(checksum, sizeof(checksum), "%08" PRIx32, crc32c(body, strlen(body)));
	if (strncmp(line, checksum, CHECKSUM_LENGTH) != 0)
		return -1;
	char *sequence = body + 1, *user = strchr(sequence, ' ');
	char *text = user ? strchr(user + 1, ' ') : NULL;
	if (!text)
		return -1;
	*user++ = '\0';
	*text++ = '\0';
	if (str_parse_int(sequence, 0, INT64_MAX - 1, &entry->sequence) < 0 ||
	    ledger_parse(text, strlen(text), &entry->entry, NULL) < 0)
		return -1;
	entry->user = mem_strdup(user);
	return is_sane(entry) ? 0 : -1;
}

static int parse_slot(const char *bytes, size_t length, struct shared_entry *entry)
{
	const char *end = memchr(bytes, '\n', length);

	if (!end || memchr(bytes, '\0', (size_t)(end - bytes)))
		return -1;
	char *line cleanup_free = mem_strndup(bytes, (size_t)(end - bytes));
	if (parse_line(line, entry) == 0)
		return 0;
	shared_entry_finish(entry);
	return -1;
}

int shared_entry_parse(const char *bytes, size_t length, struct shared_entry *entry,
		       struct err *err)
{
	struct shared_entry found = {0};
	bool has_any = false;

	for (size_t at = 0; at < length; at += SHARED_ENTRY_SLOT) {
		size_t room = length - at < SHARED_ENTRY_SLOT ? length - at : SHARED_ENTRY_SLOT;
		if (parse_slot(bytes + at, room, &found) < 0)
			continue;
		if (!has_any || found.sequence > entry->sequence) {
			struct shared_entry older = *entry;
			*entry = found;
			found = older;
		}
		has_any = true;
		shared_entry_finish(&found);
	}
	return has_any ? 0 : err_set(err, ERR_INPUT, "no whole entry");
}
