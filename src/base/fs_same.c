/*
 * Taking back a copy: what nobody has changed goes, what is new or changed stays. Both trees are
 * walked by openat() without following symbolic links.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

enum { DEPTH_CAP = 128, CHUNK = 65536, LINK_CAP = 4096 };

/* An entry of both trees. */
struct pair {
	int from_at, to_at;
	const char *name;
	const struct removal *removal;
	struct stat from, to;
};

struct removal {
	const struct fs_copy *copy;
	const struct map *targets; /* of links that stay */
};

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* The times of a directory change with its entries, so its birth counts. False: it is not told. */
static bool was_born_within(const struct fs_span *span, int directory)
{
	struct statx info;

	return statx(directory, "", AT_EMPTY_PATH, STATX_BTIME, &info) == 0 &&
	       (info.stx_mask & STATX_BTIME) &&
	       fs_span_has(span, (struct timespec){info.stx_btime.tv_sec, info.stx_btime.tv_nsec});
}

/* 1: alike up to the end of the first; 0: not; -1: errno. */
static int compare_content(int from, int to)
{
	char left[CHUNK], right[CHUNK];

	for (;;) {
		ssize_t got = read(from, left, sizeof(left));
		if (got <= 0)
			return got == 0 ? 1 : -1;
		for (ssize_t have = 0; have < got;) {
			ssize_t more = read(to, right + have, (size_t)(got - have));
			if (more <= 0)
				return (int)more;
			have += more;
		}
		if (memcmp(left, right, (size_t)got) != 0)
			return 0;
	}
}

/* Size and time spare the reading of most that was changed; only the content proves that a file was
 * not: tools set times back, too. */
static int is_same_file(const struct pair *pair)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	bool is_partial = pair->removal->copy->is_partial;

	if (is_partial ? pair->from.st_size < pair->to.st_size
		       : pair->from.st_size != pair->to.st_size ||
				 !is_same_time(pair->from.st_mtim, pair->to.st_mtim))
		return 0;
	int from cleanup_close = openat(pair->from_at, pair->name, flags);
	int to cleanup_close = openat(pair->to_at, pair->name, flags);
	if (from < 0 || to < 0)
		return -1;
	return is_partial ? compare_content(to, from) : compare_content(from, to);
}

static int is_same_link(const struct pair *pair)
{
	char left[LINK_CAP], right[LINK_CAP];
	ssize_t length = readlinkat(pair->from_at, pair->name, left, sizeof(left));
	ssize_t other = readlinkat(pair->to_at, pair->name, right, sizeof(right));

	if (length < 0 || other < 0)
		return -1;
	return length == other && memcmp(left, right, (size_t)length) == 0;
}

static int remove_same(int from, int to, const struct removal *removal, int depth);

static int take_directory(const struct pair *pair, int depth)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int from cleanup_close = openat(pair->from_at, pair->name, flags);
	int to cleanup_close = openat(pair->to_at, pair->name, flags);

	if (from < 0 || to < 0)
		return -1;
	if (!was_born_within(&pair->removal->copy->laid, to))
		return 0;
	/* Nothing can be removed from a read-only one. */
	bool changed = !(pair->to.st_mode & S_IWUSR) && fchmod(to, pair->to.st_mode | 0700) == 0;
	int result = remove_same(from, to, pair->removal, depth + 1);
	if (unlinkat(pair->to_at, pair->name, AT_REMOVEDIR) == 0)
		return result;
	int error = errno;
	if (changed)
		fchmod(to, pair->to.st_mode & 07777);
	errno = error;
	return errno == ENOTEMPTY || errno == EEXIST ? result : -1;
}

static int take_entry(struct pair *pair, int depth)
{
	if (fstatat(pair->from_at, pair->name, &pair->from, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (fstatat(pair->to_at, pair->name, &pair->to, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if ((pair->from.st_mode & S_IFMT) != (pair->to.st_mode & S_IFMT) ||
	    fs_is_link_target(pair->removal->targets, &pair->to))
		return 0;
	if (S_ISDIR(pair->to.st_mode))
		return take_directory(pair, depth);
	if (!fs_span_has(&pair->removal->copy->laid, pair->to.st_ctim))
		return 0;
	int same = S_ISREG(pair->to.st_mode)   ? is_same_file(pair)
		   : S_ISLNK(pair->to.st_mode) ? is_same_link(pair)
					       : 0;
	if (same <= 0)
		return same;
	return unlinkat(pair->to_at, pair->name, 0);
}

/* An entry that fails keeps no other one. */
static int remove_same(int from, int to, const struct removal *removal, int depth)
{
	int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir cleanup_dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;
	int result = 0, error = 0;

	if (!dir)
		return -1;
	if (depth > DEPTH_CAP) {
		errno = ELOOP;
		return -1;
	}
	while ((entry = readdir(dir))) {
		struct pair pair = {
			.from_at = from, .to_at = to, .name = entry->d_name, .removal = removal};
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
			continue;
		if (take_entry(&pair, depth) == 0)
			continue;
		result = -1;
		error = errno;
	}
	errno = error;
	return result;
}

/* A program may have put a link in the place of any directory: then it is no copy any more. */
static int open_below(const char *root, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct str_list parts cleanup_str_list = {0};
	int fd = open(root, flags);

	str_split(&parts, name, '/');
	for (size_t i = 0; fd >= 0 && i < parts.count; i++) {
		int above cleanup_close = fd;
		fd = openat(above, parts.items[i], flags);
	}
	return fd;
}

int fs_remove_same(const char *source, const char *root, const char *name,
		   const struct fs_copy *copy, struct err *err)
{
	int from cleanup_close = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int to cleanup_close = from < 0 ? -1 : open_below(root, name);

	if (from < 0)
		return err_set_errno(err, "%s", source);
	if (to < 0)
		return err_set_errno(err, "%s/%s", root, name);
	struct map *targets = fs_find_link_targets(root, &copy->laid);
	const struct removal removal = {.copy = copy, .targets = targets};
	struct stat info = {0};
	bool changed = fstat(to, &info) == 0 && !(info.st_mode & S_IWUSR) &&
		       fchmod(to, info.st_mode | S_IRWXU) == 0;
	int result = remove_same(from, to, &removal, 0);
	if (result < 0)
		err_set_errno(err, "%s/%s", root, name);
	if (changed)
		fchmod(to, info.st_mode & 07777);
	map_destroy(targets);
	return result;
}
