/* Jobs that tony rm has removed, history and all. The ResourceManager lists them on: by that list
 * they would be found, and nothing of them is to be had. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/state_dir.h"
#include "scheduler/yarn_reports.h"

#define KEPT_MS (365 * (int64_t)86400000) /* by then a ResourceManager has forgotten the job */

char *yarn_removed_directory(void)
{
	char *state cleanup_free = state_dir_find(NULL);

	return state ? fs_join(state, "removed") : NULL;
}

void yarn_removed_note(const char *id)
{
	char *directory cleanup_free = yarn_removed_directory();
	char *path cleanup_free = directory ? fs_join(directory, id) : NULL;

	if (path && state_dir_make(directory, NULL) == 0)
		fs_write_file(path, "", 0, 0600, NULL);
}

bool yarn_removed_has(const char *directory, const char *id)
{
	char *path cleanup_free = directory ? fs_join(directory, id) : NULL;

	return path && fs_exists(path);
}

void yarn_removed_age(int64_t now_ms)
{
	char *path cleanup_free = yarn_removed_directory();
	DIR *directory cleanup_dir = path ? opendir(path) : NULL;
	const struct dirent *entry;
	struct stat info;

	while (directory && (entry = readdir(directory)))
		if (yarn_is_id(entry->d_name) &&
		    fstatat(dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		    fs_modified_ms(&info) <= now_ms - KEPT_MS)
			unlinkat(dirfd(directory), entry->d_name, 0);
}
