#include "am/split_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/job.h"
#include "protocol/message.h"

/* Of a value. */
enum { VALUE_CAP = 512, NUMBERS_MAX = 7 };

static bool has_only(const char *text, size_t most, const char *characters)
{
	size_t length = strlen(text);

	return length > 0 && length <= most && strspn(text, characters) == length;
}

bool split_is_name(const char *name)
{
	return has_only(name, SPLIT_NAME_MAX,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
}

bool split_is_fingerprint(const char *text)
{
	return has_only(text, SPLIT_FINGERPRINT_MAX, "0123456789abcdef");
}

/* ---- reading ------------------------------------------------------------------------------ */

struct number {
	int64_t least, most, value;
};

/* Exactly these, and no other word. */
static int read_numbers(char *const *words, size_t word_count, struct number *numbers, size_t count)
{
	if (word_count != count)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (str_parse_int(words[i], numbers[i].least, numbers[i].most, &numbers[i].value) <
		    0)
			return -1;
	return 0;
}

static int read_words(const void *value, size_t length, struct str_list *words)
{
	if (length > VALUE_CAP || memchr(value, '\0', length))
		return -1;
	char *text cleanup_free = mem_strndup(value, length);
	str_split(words, text, ' ');
	return 0;
}

int split_list_record_parse(const void *value, size_t length, struct split_list_record *record)
{
	struct str_list words cleanup_str_list = {0};
	struct number numbers[] = {{1, SPLIT_PASSES_MAX, 0}, {0, 1, 0},
				   {0, INT64_MAX, 0},	     {1, SPLIT_LEASE_MS_MAX, 0},
				   {-1, SPLITS_MAX, 0},	     {0, INT64_MAX, 0}};

	if (read_words(value, length, &words) < 0 || words.count == 0 ||
	    !split_is_fingerprint(words.items[0]) ||
	    read_numbers(words.items + 1, words.count - 1, numbers, array_length(numbers)) < 0)
		return -1;
	*record = (struct split_list_record){.passes = numbers[0].value,
					     .is_shuffled = numbers[1].value == 1,
					     .seed = (uint64_t)numbers[2].value,
					     .lease_ms = numbers[3].value,
					     .count = numbers[4].value,
					     .hash = (uint64_t)numbers[5].value};
	memcpy(record->fingerprint, words.items[0], strlen(words.items[0]) + 1);
	return 0;
}

static int read_open(char *const *words, size_t count, struct split_open *open)
{
	struct number numbers[] = {{SPLIT_LEASED, SPLIT_AHEAD, 0}, {0, JOB_MAX_TASKS - 1, 0},
				   {0, MESSAGE_COUNT_MAX, 0},	   {0, MESSAGE_COUNT_MAX, 0},
				   {0, MESSAGE_COUNT_MAX, 0},	   {0, MESSAGE_COUNT_MAX, 0},
				   {0, MESSAGE_AMOUNT_MAX, 0}};

	if (read_numbers(words, count, numbers, array_length(numbers)) < 0)
		return -1;
	open->state = (enum split_state)numbers[0].value;
	open->holder = (struct split_holder){(size_t)numbers[1].value, (int)numbers[2].value,
					     (int)numbers[3].value, (int)numbers[4].value,
					     (int)numbers[5].value};
	open->offset = numbers[6].value;
	return 0;
}

static int read_position(char *const *words, size_t count, struct split_position *position)
{
	struct number numbers[] = {{1, SPLIT_PASSES_MAX, 0}, {0, SPLITS_MAX, 0}};

	if (read_numbers(words, count, numbers, array_length(numbers)) < 0)
		return -1;
	*position = (struct split_position){numbers[0].value, (size_t)numbers[1].value};
	return 0;
}

static int read_split_id(char *const *parts, struct split_id *id)
{
	struct number numbers[] = {{1, SPLIT_PASSES_MAX, 0}, {0, SPLITS_MAX - 1, 0}};

	if (read_numbers(parts, 2, numbers, 2) < 0)
		return -1;
	*id = (struct split_id){numbers[0].value, (size_t)numbers[1].value};
	return 0;
}

static int read_count(const char *task, char *const *words, size_t count,
		      struct split_state_record *record)
{
	struct number number = {0, MESSAGE_AMOUNT_MAX, 0};
	int64_t of;

	if (str_parse_int(task, 0, JOB_MAX_TASKS - 1, &of) < 0 ||
	    read_numbers(words, count, &number, 1) < 0)
		return -1;
	record->task = (size_t)of;
	record->done = number.value;
	return 0;
}

static int read_state(const struct str_list *key, const struct str_list *words,
		      struct split_state_record *record)
{
	if (key->count == 1) {
		record->kind = SPLIT_POSITION;
		return read_position(words->items, words->count, &record->position);
	}
	if (key->count != 3)
		return -1;
	if (str_equal(key->items[1], "t")) {
		record->kind = SPLIT_COUNT;
		return read_count(key->items[2], words->items, words->count, record);
	}
	record->kind = SPLIT_OPEN;
	return read_split_id(key->items + 1, &record->open.id) < 0
		       ? -1
		       : read_open(words->items, words->count, &record->open);
}

int split_state_record_parse(const char *key, const void *value, size_t length,
			     struct split_state_record *record)
{
	struct str_list parts cleanup_str_list = {0}, words cleanup_str_list = {0};

	*record = (struct split_state_record){0};
	str_split(&parts, key, '/');
	if (parts.count == 0 || !split_is_name(parts.items[0]) ||
	    read_words(value, length, &words) < 0)
		return -1;
	memcpy(record->name, parts.items[0], strlen(parts.items[0]) + 1);
	return read_state(&parts, &words, record);
}

/* ---- writing ------------------------------------------------------------------------------ */

char *split_list_record_text(const struct split_list_record *record)
{
	return mem_printf("%s %" PRId64 " %d %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64,
			  record->fingerprint, record->passes, record->is_shuffled, record->seed,
			  record->lease_ms, record->count, record->hash);
}

char *split_state_record_key(const struct split_state_record *record)
{
	switch (record->kind) {
	case SPLIT_POSITION:
		break;
	case SPLIT_OPEN:
		return mem_printf("%s/%" PRId64 "/%zu", record->name, record->open.id.pass,
				  record->open.id.split);
	case SPLIT_COUNT:
		return mem_printf("%s/t/%zu", record->name, record->task);
	}
	return mem_strdup(record->name);
}

static char *open_text(const struct split_open *open)
{
	const struct split_holder *holder = &open->holder;

	return mem_printf("%d %zu %d %d %d %d %" PRId64, (int)open->state, holder->task,
			  holder->attempt, holder->epoch, holder->restart, holder->process,
			  open->offset);
}

char *split_state_record_text(const struct split_state_record *record)
{
	switch (record->kind) {
	case SPLIT_POSITION:
		break;
	case SPLIT_OPEN:
		return open_text(&record->open);
	case SPLIT_COUNT:
		return mem_printf("%" PRId64, record->done);
	}
	return mem_printf("%" PRId64 " %zu", record->position.pass, record->position.next);
}
