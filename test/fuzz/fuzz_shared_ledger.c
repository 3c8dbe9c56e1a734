/* Any bytes as another user's entry of the shared ledger: what is taken can be shown and summed up,
 * and is written as it is read. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "scheduler/shared_ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct shared_entry *read)
{
	struct shared_entry again cleanup_shared_entry = {0};
	char *line cleanup_free = shared_entry_format(read->sequence, read->user, &read->entry);

	if (read->entry.holds.memory < 0 || read->entry.holds.memory > (int64_t)1 << 40)
		BUG("%lld MiB", (long long)read->entry.holds.memory);
	if (!str_is_utf8(read->user, strlen(read->user)) || strpbrk(read->entry.job, "\n\033 "))
		BUG("\"%s\" of \"%s\"", read->entry.job, read->user);
	if (strlen(line) <= SHARED_ENTRY_SLOT &&
	    shared_entry_parse(line, strlen(line), &again, NULL) < 0)
		BUG("not read again: %s", line);
	if (again.user && !str_equal(again.user, read->user))
		BUG("%s is not %s", again.user, read->user);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shared_entry entry cleanup_shared_entry = {0};

	if (shared_entry_parse((const char *)data, size, &entry, NULL) == 0)
		check(&entry);
	return 0;
}
