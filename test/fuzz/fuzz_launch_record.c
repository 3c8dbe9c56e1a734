/* Any bytes as the file that tells which process is a container's executor: what is taken is within
 * its bounds, and is written as it is read. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "scheduler/launch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct launch_record *record)
{
	struct launch_record again cleanup_launch_record = {0};
	char *text cleanup_free = launch_record_text(record);

	if (record->am_attempt < 0 || record->executor.pid < 0)
		BUG("process %d of AM %d", (int)record->executor.pid, record->am_attempt);
	if (launch_record_parse(text, strlen(text), &again, NULL) < 0)
		BUG("not read again: %s", text);
	char *second cleanup_free = launch_record_text(&again);
	if (strcmp(text, second) != 0)
		BUG("%s is not %s", second, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct launch_record record cleanup_launch_record = {0};

	if (launch_record_parse((const char *)data, size, &record, NULL) == 0)
		check(&record);
	return 0;
}
