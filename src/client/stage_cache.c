#include "client/stage_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/archive.h"

/* A crash must not leave a directory that looks whole and is not: its content goes to the disk
 * before its name does. */
static int publish(const char *unpacked, const char *directory, struct err *err)
{
	int fd cleanup_close = open(unpacked, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0 || rename(unpacked, directory) < 0)
		return err_set_errno(err, "%s", directory);
	return 0;
}

static int unpack(const char *archive, const char *directory, struct err *err)
{
	char *unpacked cleanup_free = mem_printf("%s.part", directory);

	/* Only who holds the lock writes here: what is there is from one that was killed. */
	if (fs_remove_tree(unpacked, err) < 0 || archive_unpack(archive, unpacked, NULL, err) < 0)
		return -1;
	if (publish(unpacked, directory, err) == 0)
		return 0;
	fs_remove_tree(unpacked, NULL);
	return -1;
}

char *stage_cache_unpack(const char *cache, const char *archive, struct err *err)
{
	char *hash cleanup_free = fs_hash_tree(archive, err);

	if (!hash || fs_make_directories(cache, 0700, err) < 0)
		return NULL;
	char *directory cleanup_free = fs_join(cache, hash);
	if (fs_is_directory(directory))
		return mem_steal(&directory);
	char *lock_path cleanup_free = mem_printf("%s.lock", directory);
	int held cleanup_close = fs_lock(lock_path, err);
	if (held < 0 || (!fs_is_directory(directory) && unpack(archive, directory, err) < 0))
		return NULL;
	return mem_steal(&directory);
}
