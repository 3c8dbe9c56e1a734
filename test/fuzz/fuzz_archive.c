/* Any bytes as an archive: nothing may appear beside the target, nothing may stay after a refusal,
 * and what was taken must be removable. */
#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/archive.h"

static const struct archive_limits limits = {
	.bytes = 1 << 20, .entries = 200, .ratio = 100, .ratio_from = 1 << 16};

static char base[] = "/tmp/tony-fuzz-archive-XXXXXX";

static void remove_base(void)
{
	fs_remove_tree(base, NULL);
}

static size_t count_entries(const char *path)
{
	DIR *directory cleanup_dir = opendir(path);
	size_t count = 0;

	while (readdir(directory))
		count++;
	return count;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (!mkdtemp(base))
		abort();
	atexit(remove_base);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct err err cleanup_err = {0};
	char *target cleanup_free = fs_join(base, "target");
	int result = archive_unpack_bytes(bytes, length, target, &limits, &err);

	if ((result < 0) != (err.kind != ERR_NONE) || fs_exists(target) != (result == 0))
		abort();
	if (count_entries(base) != (result == 0 ? 3 : 2)) /* with "." and ".." */
		abort();
	if (fs_remove_tree(target, NULL) < 0)
		abort();
	return 0;
}
