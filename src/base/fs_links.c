/* Where symbolic links of a tree lead, a link that leads over others included. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

enum { DEPTH_CAP = 128, LINK_CAP = 4096, CHAIN_CAP = 40 };

struct search {
	const struct fs_span *laid;
	struct map *targets;
	dev_t device; /* of the tree: what is mounted in it is not looked at */
};

static int compare_times(struct timespec a, struct timespec b)
{
	if (a.tv_sec != b.tv_sec)
		return a.tv_sec < b.tv_sec ? -1 : 1;
	return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

bool fs_span_has(const struct fs_span *span, struct timespec time)
{
	return compare_times(span->from, time) <= 0 && compare_times(time, span->to) <= 0;
}

static char *name_file(const struct stat *info)
{
	return mem_printf("%jx:%jx", (uintmax_t)info->st_dev, (uintmax_t)info->st_ino);
}

bool fs_is_link_target(const struct map *targets, const struct stat *info)
{
	char *name cleanup_free = map_count(targets) > 0 ? name_file(info) : NULL;

	return name && map_get(targets, name);
}

static void follow_link(const struct search *search, int directory, const char *name, int chain);

/* Looks at every part of the path that a link of `directory` has as its text. */
static void follow_path(const struct search *search, int directory, const char *path, int chain)
{
	for (const char *end = path + (*path == '/'); *end; end += strspn(end, "/")) {
		end += strcspn(end, "/");
		char *part cleanup_free = mem_strndup(path, (size_t)(end - path));
		struct stat info;
		if (fstatat(directory, part, &info, AT_SYMLINK_NOFOLLOW) < 0)
			return;
		if (S_ISLNK(info.st_mode))
			follow_link(search, directory, part, chain);
		if (!S_ISLNK(info.st_mode) && end[strspn(end, "/")])
			continue;
		char *name cleanup_free = name_file(&info);
		map_set(search->targets, name, search->targets);
	}
}

static void follow_link(const struct search *search, int directory, const char *name, int chain)
{
	char text[LINK_CAP];
	ssize_t length = readlinkat(directory, name, text, sizeof(text) - 1);
	char *above cleanup_free = fs_dirname(name);
	int at cleanup_close = openat(directory, above, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (length < 0 || at < 0 || chain == CHAIN_CAP)
		return;
	text[length] = '\0';
	follow_path(search, at, text, chain + 1);
}

/* `directory` is taken. */
static void search_directory(const struct search *search, int directory, int depth)
{
	DIR *dir cleanup_dir = directory < 0 ? NULL : fdopendir(directory);
	const struct dirent *entry;
	struct stat info;

	if (!dir || depth > DEPTH_CAP || fstat(directory, &info) < 0 ||
	    info.st_dev != search->device)
		return;
	while ((entry = readdir(dir))) {
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..") ||
		    (entry->d_type != DT_LNK && entry->d_type != DT_DIR &&
		     entry->d_type != DT_UNKNOWN) ||
		    fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(info.st_mode))
			search_directory(search,
					 openat(directory, entry->d_name,
						O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
					 depth + 1);
		else if (S_ISLNK(info.st_mode) && !fs_span_has(search->laid, info.st_ctim))
			follow_link(search, directory, entry->d_name, 0);
	}
}

struct map *fs_find_link_targets(const char *root, const struct fs_span *laid)
{
	struct search search = {.laid = laid, .targets = map_create(NULL)};
	int directory = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (directory >= 0 && fstat(directory, &info) == 0)
		search.device = info.st_dev;
	search_directory(&search, directory, 0);
	return search.targets;
}
