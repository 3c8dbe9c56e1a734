/*
 * Copies of files and trees, by sharing content where the file system can. Everything below the two
 * roots is reached by openat() without following symbolic links, so neither tree can lead
 * elsewhere; the one exception are links of the source, and only with FS_CLONE_FROM_OUTSIDE.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

enum { DEPTH_CAP = 128, LARGE = 1 << 20, PIECE = 8 << 20 };

struct clone {
	unsigned how;			    /* enum fs_clone */
	bool no_reflink;		    /* tried once, not to be had here */
	struct stat target_root;	    /* to notice a target inside of the source */
	struct str path;		    /* of the entry at hand, for messages */
	const struct fs_clone_watch *watch; /* NULL: nobody is told */
	int64_t bytes;			    /* copied so far */
	struct err *err;
};

static int fail(struct clone *clone)
{
	return err_set_errno(clone->err, "%s", str_text(&clone->path));
}

/* Something of the source could not be reached. */
static int fail_unless_vanished(struct clone *clone)
{
	if (errno != ENOENT || !clone->watch || !clone->watch->vanished)
		return fail(clone);
	clone->watch->vanished(clone->watch->data, str_text(&clone->path));
	return 0;
}

static bool is_there(const struct clone *clone, const struct stat *info)
{
	return clone->watch && clone->watch->is_there &&
	       clone->watch->is_there(clone->watch->data, str_text(&clone->path), info);
}

static int tell_progress(struct clone *clone, int64_t more)
{
	clone->bytes += more;
	if (!clone->watch || !clone->watch->progress ||
	    clone->watch->progress(clone->watch->data, clone->bytes))
		return 0;
	return err_set(clone->err, ERR_FAILED, "interrupted");
}

static int copy_by_hand(struct clone *clone, int from, int to)
{
	char buffer[65536];

	for (;;) {
		ssize_t got = read(from, buffer, sizeof(buffer));
		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return fail(clone);
		if (got > 0 && fs_write_all(to, buffer, (size_t)got, clone->err) < 0)
			return err_wrap(clone->err, "%s", str_text(&clone->path));
		if (got > 0 && tell_progress(clone, got) < 0)
			return -1;
	}
}

static int copy_content(struct clone *clone, int from, int to)
{
	for (;;) {
		ssize_t copied = copy_file_range(from, NULL, to, NULL, PIECE, 0);
		if (copied < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
			return fail(clone);
		/* Other errors: not between these two file systems. 0: the end, or one that
		 * only read() knows to be none (/proc). Both files stand where it stopped. */
		if (copied <= 0)
			return copy_by_hand(clone, from, to);
		if (tell_progress(clone, copied) < 0)
			return -1;
	}
}

static bool reflink(struct clone *clone, int from, int to)
{
	if (clone->no_reflink)
		return false;
	if (ioctl(to, FICLONE, from) == 0)
		return true;
	clone->no_reflink = true;
	return false;
}

static int copy_attributes(struct clone *clone, int fd, const struct stat *info)
{
	const struct timespec times[] = {info->st_atim, info->st_mtim};

	mode_t more = clone->how & FS_CLONE_WRITABLE ? S_IWUSR : 0;
	mode_t kept = clone->how & FS_CLONE_NO_SET_ID ? 01777 : 07777;

	if (fchmod(fd, (info->st_mode & kept) | more) < 0 || futimens(fd, times) < 0)
		return fail(clone);
	return 0;
}

/* Makes room for what is no directory. */
static int clear(struct clone *clone, int at, const char *name)
{
	if (unlinkat(at, name, 0) < 0 && errno != ENOENT)
		return fail(clone);
	return 0;
}

struct place {
	int from_at;
	const char *from_name;
	int to_at;
	const char *to_name;
};

static int clone_file(struct clone *clone, const struct place *place, int from,
		      const struct stat *info)
{
	if (clear(clone, place->to_at, place->to_name) < 0)
		return -1;
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int to cleanup_close = openat(place->to_at, place->to_name, flags, 0600);
	if (to < 0)
		return fail(clone);
	if (!reflink(clone, from, to)) {
		if ((clone->how & FS_CLONE_HARD_LINK) && info->st_size > LARGE) {
			if (clear(clone, place->to_at, place->to_name) < 0)
				return -1;
			if (linkat(place->from_at, place->from_name, place->to_at, place->to_name,
				   AT_SYMLINK_FOLLOW) == 0)
				return 0;
			close(mem_steal_fd(&to));
			to = openat(place->to_at, place->to_name, flags, 0600);
			if (to < 0)
				return fail(clone);
		}
		if (copy_content(clone, from, to) < 0)
			return -1;
	} else if (tell_progress(clone, info->st_size) < 0) {
		return -1;
	}
	return copy_attributes(clone, to, info);
}

static int make_link(struct clone *clone, const struct place *place, const char *target,
		     const struct stat *info)
{
	const struct timespec times[] = {info->st_atim, info->st_mtim};

	if (clear(clone, place->to_at, place->to_name) < 0)
		return -1;
	if (symlinkat(target, place->to_at, place->to_name) < 0 ||
	    utimensat(place->to_at, place->to_name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(clone);
	return 0;
}

/* Does a relative link, `depth` directories below the root, climb over it? */
static bool leads_out(const char *target, int depth)
{
	struct str_list steps cleanup_str_list = {0};

	if (*target == '/')
		return false;
	str_split(&steps, target, '/');
	for (size_t i = 0; i < steps.count && depth >= 0; i++) {
		if (str_equal(steps.items[i], ".."))
			depth--;
		else if (*steps.items[i] && !str_equal(steps.items[i], "."))
			depth++;
	}
	return depth < 0;
}

/* What a link of the source leads to, for a copy that stands elsewhere: a file's content; a
 * directory stays where it is. A link that leads nowhere does so in the copy, too. */
static int clone_outside(struct clone *clone, const struct place *place, const char *target,
			 const struct stat *link)
{
	struct stat info;

	if (fstatat(place->from_at, place->from_name, &info, 0) < 0)
		return make_link(clone, place, target, link);
	if (S_ISDIR(info.st_mode)) {
		char *directory cleanup_free = realpath(str_text(&clone->path), NULL);
		return directory ? make_link(clone, place, directory, link) : fail(clone);
	}
	if (!S_ISREG(info.st_mode))
		return err_set(clone->err, ERR_INPUT,
			       "%s: leads to what is neither a file nor a directory",
			       str_text(&clone->path));
	if (is_there(clone, &info))
		return tell_progress(clone, info.st_size);
	int from cleanup_close =
		openat(place->from_at, place->from_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return from < 0 ? fail(clone) : clone_file(clone, place, from, &info);
}

static int clone_link(struct clone *clone, const struct place *place, int depth,
		      const struct stat *info)
{
	char target[4097];
	ssize_t length = readlinkat(place->from_at, place->from_name, target, sizeof(target) - 1);

	if (length < 0)
		return fail_unless_vanished(clone);
	target[length] = '\0';
	if ((clone->how & FS_CLONE_FROM_OUTSIDE) && leads_out(target, depth))
		return clone_outside(clone, place, target, info);
	return make_link(clone, place, target, info);
}

static int clone_directory(struct clone *clone, int from, int to, int depth);

/* The directory `name`, made or (when it is one already) merged into; its descriptor. */
static int make_directory(struct clone *clone, int at, const char *name)
{
	struct stat info;

	if (mkdirat(at, name, 0700) < 0) {
		if (errno != EEXIST || fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
			return fail(clone);
		if (!S_ISDIR(info.st_mode) &&
		    (clear(clone, at, name) < 0 || mkdirat(at, name, 0700) < 0))
			return fail(clone);
	}
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? fail(clone) : fd;
}

static int clone_subdirectory(struct clone *clone, const struct place *place, int depth)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int from cleanup_close = openat(place->from_at, place->from_name, flags);
	struct stat info;

	if (from < 0 || fstat(from, &info) < 0)
		return fail_unless_vanished(clone);
	int to cleanup_close = make_directory(clone, place->to_at, place->to_name);
	if (to < 0 || clone_directory(clone, from, to, depth) < 0)
		return -1;
	return copy_attributes(clone, to, &info);
}

static int pass_over(struct clone *clone)
{
	const char *path = str_text(&clone->path);

	if (!clone->watch || !clone->watch->passed_over)
		return err_set(clone->err, ERR_INPUT,
			       "%s: is neither a file, a directory nor a symbolic link", path);
	clone->watch->passed_over(clone->watch->data, path);
	return 0;
}

static int clone_entry(struct clone *clone, const struct place *place, int depth)
{
	struct stat info;

	if (fstatat(place->from_at, place->from_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_unless_vanished(clone);
	if (S_ISDIR(info.st_mode))
		return clone_subdirectory(clone, place, depth + 1);
	if (S_ISLNK(info.st_mode))
		return clone_link(clone, place, depth, &info);
	if (!S_ISREG(info.st_mode))
		return pass_over(clone);
	if (is_there(clone, &info))
		return tell_progress(clone, info.st_size);
	int from cleanup_close = openat(place->from_at, place->from_name,
					O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (from < 0)
		return fail_unless_vanished(clone);
	return clone_file(clone, place, from, &info);
}

static int check_directory(struct clone *clone, int from, int depth)
{
	struct stat info;

	if (depth > DEPTH_CAP)
		return err_set(clone->err, ERR_INPUT, "%s: nested deeper than %d directories",
			       str_text(&clone->path), DEPTH_CAP);
	if (fstat(from, &info) < 0)
		return fail(clone);
	if (info.st_dev == clone->target_root.st_dev && info.st_ino == clone->target_root.st_ino)
		return err_set(clone->err, ERR_INPUT, "%s: the copy would lie inside of its source",
			       str_text(&clone->path));
	return 0;
}

static int clone_directory(struct clone *clone, int from, int to, int depth)
{
	size_t length = clone->path.length;
	const struct dirent *entry;

	if (check_directory(clone, from, depth) < 0)
		return -1;
	int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir cleanup_dir = again < 0 ? NULL : fdopendir(again);
	if (!dir)
		return fail_unless_vanished(clone);
	while ((entry = readdir(dir))) {
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
			continue;
		struct place place = {from, entry->d_name, to, entry->d_name};
		str_append_char(&clone->path, '/');
		str_append(&clone->path, entry->d_name);
		if (clone_entry(clone, &place, depth) < 0)
			return -1;
		str_truncate(&clone->path, length);
	}
	return 0;
}

/* Other than below, the roots may be symbolic links: the caller named them. */
static int clone_root(struct clone *clone, const char *source, const char *target)
{
	int from cleanup_close = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;

	if (from < 0 || fstat(from, &info) < 0)
		return fail(clone);
	if (S_ISREG(info.st_mode)) {
		struct place place = {AT_FDCWD, source, AT_FDCWD, target};
		struct stat old;
		if (lstat(target, &old) == 0 && old.st_dev == info.st_dev &&
		    old.st_ino == info.st_ino)
			return 0; /* the same file: nothing to copy, and a lot to lose */
		return clone_file(clone, &place, from, &info);
	}
	if (!S_ISDIR(info.st_mode))
		return err_set(clone->err, ERR_INPUT, "%s: is neither a file nor a directory",
			       source);
	if (mkdir(target, 0700) < 0 && errno != EEXIST)
		return err_set_errno(clone->err, "%s", target);
	int to cleanup_close = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0 || fstat(to, &clone->target_root) < 0)
		return err_set_errno(clone->err, "%s", target);
	if (clone_directory(clone, from, to, 0) < 0)
		return -1;
	return copy_attributes(clone, to, &info);
}

int fs_clone_tree(const char *source, const char *target, unsigned how, struct err *err)
{
	return fs_clone_tree_watched(source, target, how, NULL, err);
}

int fs_clone_tree_watched(const char *source, const char *target, unsigned how,
			  const struct fs_clone_watch *watch, struct err *err)
{
	struct clone clone = {.how = how, .watch = watch, .err = err};

	str_append(&clone.path, source);
	int failed = clone_root(&clone, source, target);
	str_finish(&clone.path);
	return failed ? err_wrap(err, "copy to %s", target) : 0;
}
