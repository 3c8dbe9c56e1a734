#include "scheduler/removal.h"

#include <sys/stat.h>

#include "base/fs.h"

void removal_begin(struct removal *removal)
{
	str_list_finish(&removal->removed);
	str_list_finish(&removal->stays);
	removal->bytes = 0;
}

void removal_finish(struct removal *removal)
{
	removal_begin(removal);
	str_list_finish(&removal->sources);
	str_list_finish(&removal->used);
	str_list_finish(&removal->users);
}

int removal_remove(struct removal *removal, const char *path, const char *name, struct err *err)
{
	struct fs_tree_size size = {0};
	struct stat info;

	if (lstat(path, &info) < 0)
		return 0;
	if (S_ISDIR(info.st_mode))
		fs_measure_tree(path, INT64_MAX, &size);
	else if (S_ISREG(info.st_mode))
		size.bytes = info.st_size;
	if (!removal->is_dry && fs_remove_tree(path, err) < 0)
		return -1;
	removal->bytes += size.bytes;
	if (name)
		str_list_add(&removal->removed, name);
	return 0;
}
