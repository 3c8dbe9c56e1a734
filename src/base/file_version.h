/* Whether a file is still the one that was read: also when another one was put in its place. */
#ifndef TONY_BASE_FILE_VERSION_H
#define TONY_BASE_FILE_VERSION_H

#include <stdbool.h>
#include <sys/stat.h>

struct file_version {
	dev_t device;
	ino_t number;
	struct timespec written, changed;
	off_t size;
};

/* All 0 where there is no such file. NULL: there is none. */
struct file_version file_version_of(const char *path);
bool file_version_equal(const struct file_version *a, const struct file_version *b);

#endif
