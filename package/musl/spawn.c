#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include <spawn.h>

int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from)
{
	DIR *open_ones = opendir("/proc/self/fd");
	const struct dirent *entry;
	int error = open_ones ? 0 : errno;

	while (error == 0 && (entry = readdir(open_ones))) {
		const int fd = atoi(entry->d_name);
		if (*entry->d_name != '.' && fd >= from && fd != dirfd(open_ones))
			error = posix_spawn_file_actions_addclose(actions, fd);
	}
	if (open_ones)
		closedir(open_ones);
	return error;
}
