/* Any bytes as what an AM has kept of queues of splits: a pack of items is read within its bounds;
 * a record that is taken is written as it was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "am/split_items.h"
#include "am/split_record.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_pack(const uint8_t *data, size_t size)
{
	size_t count = split_items_check(data, size);

	for (size_t i = 0; i < count; i += 1 + count / 8) {
		struct str item cleanup_str = {0};
		split_items_get(data, size, i, &item);
		if (item.length > SPLIT_ITEM_MAX)
			BUG("an item of %zu bytes", item.length);
	}
}

static void read_list(const char *value, size_t length)
{
	struct split_list_record record, again;

	if (split_list_record_parse(value, length, &record) < 0)
		return;
	char *text cleanup_free = split_list_record_text(&record);
	if (split_list_record_parse(text, strlen(text), &again) < 0)
		BUG("a list's record is not read as it was written: %s", text);
	char *same cleanup_free = split_list_record_text(&again);
	if (!str_equal(text, same))
		BUG("a list's record is not read as it was written: %s", text);
}

static void read_state(const char *key, const char *value, size_t length)
{
	struct split_state_record record, again;

	if (split_state_record_parse(key, value, length, &record) < 0)
		return;
	char *other cleanup_free = split_state_record_key(&record);
	char *text cleanup_free = split_state_record_text(&record);
	if (split_state_record_parse(other, text, strlen(text), &again) < 0 ||
	    record.kind != again.kind || !str_equal(record.name, again.name))
		BUG("a state's record is not read as it was written: %s: %s", other, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);

	read_pack(data, size);
	read_list((const char *)data, size);
	if (end) {
		char *key cleanup_free = mem_strndup((const char *)data, (size_t)(end - data));
		read_state(key, (const char *)end + 1, size - (size_t)(end - data) - 1);
	}
	return 0;
}
