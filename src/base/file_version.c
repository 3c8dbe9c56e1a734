#include "base/file_version.h"

struct file_version file_version_of(const char *path)
{
	struct stat info;

	if (!path || stat(path, &info) < 0)
		return (struct file_version){0};
	return (struct file_version){info.st_dev, info.st_ino, info.st_mtim, info.st_ctim,
				     info.st_size};
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool file_version_equal(const struct file_version *a, const struct file_version *b)
{
	return a->device == b->device && a->number == b->number && a->size == b->size &&
	       is_same_time(&a->written, &b->written) && is_same_time(&a->changed, &b->changed);
}
