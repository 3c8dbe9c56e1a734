/* Places that a user has named to write there. The path is walked part by part, and what is written
 * goes below a descriptor: another user can put a link into the way, but not between two looks. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"

enum {
	LINKS_MAX = 40, /* as the kernel counts them */
	TARGET_CAP = 4096,
};

struct walk {
	int at;	    /* the directory that is reached */
	char *path; /* of it, in messages */
	char *rest; /* of the way */
	int links;
	mode_t make; /* 0: what is not there is an error */
};

static void walk_finish(struct walk *walk)
{
	mem_cleanup_close(&walk->at);
	mem_cleanup_free(&walk->path);
	mem_cleanup_free(&walk->rest);
}
#define cleanup_walk __attribute__((cleanup(walk_finish)))

/* "nobody" of a user namespace may be anybody, even where this process is one, too. */
static bool is_own(uid_t owner)
{
	return user_is_trusted(owner) && user_is_told_apart(owner);
}

/* A link on the way may be that of a colleague, in a directory that his group writes to. */
static int check_link(int directory, const struct stat *link, bool is_last, const char *path,
		      struct err *err)
{
	struct stat above;

	if (is_own(link->st_uid) || fstat(directory, &above) < 0 ||
	    !(is_last ? fs_others_may_write(above.st_mode) : above.st_mode & S_IWOTH) ||
	    link->st_uid == above.st_uid)
		return 0;
	char *owner cleanup_free = user_name_of(link->st_uid);
	return err_set(err, ERR_DENIED,
		       "%s is a symbolic link of %s in a directory that others can write to: "
		       "tony writes to nothing that it leads to; name another place",
		       path, owner);
}

/* Links of /proc lead to what a process has open, whatever their text says. */
static bool is_in_proc(int directory)
{
	struct statfs system;

	return fstatfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

static int begin(struct walk *walk, const char *path, struct err *err)
{
	const char *from = *path == '/' ? "/" : ".";
	int at = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return err_set_errno(err, "%s", from);
	mem_cleanup_close(&walk->at);
	walk->at = at;
	mem_replace(&walk->path, mem_strdup(*path == '/' ? "/" : ""));
	return 0;
}

/* O_DIRECTORY: a file system that is mounted on demand is. */
static int open_part(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

static int make_part(const struct walk *walk, const char *name, const char *path, struct err *err)
{
	if (mkdirat(walk->at, name, walk->make) == 0 || errno == EEXIST)
		return 0;
	if (errno == ENOENT)
		return err_set(err, ERR_DENIED, "%s: nobody can make a directory there", path);
	return err_set_errno(err, "%s", path);
}

/* Puts where the link leads before the rest of the way. */
static int follow(struct walk *walk, int link, const char *path, struct err *err)
{
	char target[TARGET_CAP] = "";
	struct stat info;

	if (fstat(link, &info) < 0)
		return err_set_errno(err, "%s", path);
	bool is_last = walk->rest[strspn(walk->rest, "/")] == '\0';
	if (check_link(walk->at, &info, is_last, path, err) < 0)
		return -1;
	errno = ELOOP;
	if (++walk->links > LINKS_MAX || readlinkat(link, "", target, sizeof(target) - 1) < 0)
		return err_set_errno(err, "%s", path);
	mem_replace(&walk->rest, mem_printf("%s/%s", target, walk->rest));
	return *target == '/' ? begin(walk, target, err) : 0;
}

static int enter(struct walk *walk, const char *name, struct err *err)
{
	char *path cleanup_free = *walk->path ? fs_join(walk->path, name) : mem_strdup(name);
	int fd cleanup_close = open_part(walk->at, name);
	struct stat info;

	if (fd < 0 && errno == ENOENT && walk->make) {
		if (make_part(walk, name, path, err) < 0)
			return -1;
		fd = open_part(walk->at, name);
	}
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set_errno(err, "%s", path);
	if (S_ISLNK(info.st_mode) && !is_in_proc(walk->at))
		return follow(walk, fd, path, err);
	if (!S_ISDIR(info.st_mode)) {
		mem_cleanup_close(&fd);
		fd = openat(walk->at, name,
			    O_PATH | O_DIRECTORY | O_CLOEXEC |
				    (S_ISLNK(info.st_mode) ? 0 : O_NOFOLLOW));
	}
	if (fd < 0 && errno == ENOTDIR && walk->make)
		return err_set(err, ERR_INPUT, "%s: is not a directory", path);
	if (fd < 0)
		return err_set_errno(err, "%s", path);
	mem_cleanup_close(&walk->at);
	walk->at = mem_steal_fd(&fd);
	mem_replace(&walk->path, mem_steal(&path));
	return 0;
}

int fs_open_named(const char *path, mode_t make, struct err *err)
{
	struct walk walk cleanup_walk = {.at = -1, .rest = mem_strdup(path), .make = make};

	if (begin(&walk, path, err) < 0)
		return -1;
	for (;;) {
		const char *from = walk.rest + strspn(walk.rest, "/");
		size_t length = strcspn(from, "/");
		char *name cleanup_free = mem_strndup(from, length);
		if (!*name)
			return mem_steal_fd(&walk.at);
		mem_replace(&walk.rest, mem_strdup(from + length));
		if (enter(&walk, name, err) < 0)
			return -1;
	}
}

int fs_name_in(struct fs_named *named, const char *directory, const char *name, mode_t make,
	       struct err *err)
{
	*named = (struct fs_named){.directory = fs_open_named(directory, make, err)};
	if (named->directory < 0)
		return -1;
	named->path = mem_printf("/proc/self/fd/%d/%s", named->directory, name);
	return 0;
}

int fs_name_file(struct fs_named *named, const char *path, struct err *err)
{
	char *directory cleanup_free = fs_dirname(path);

	return fs_name_in(named, directory, fs_basename(path), 0, err);
}

int fs_name_linked(struct fs_named *named, const char *path, struct err *err)
{
	char *at cleanup_free = mem_strdup(path);

	for (int links = 0; fs_name_file(named, at, err) == 0; links++) {
		char target[TARGET_CAP] = "";
		int fd cleanup_close = open(named->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat info;
		if (fd < 0 || fstat(fd, &info) < 0 || !S_ISLNK(info.st_mode))
			return 0;
		if (check_link(named->directory, &info, true, at, err) < 0)
			break;
		errno = ELOOP;
		if (links == LINKS_MAX || readlinkat(fd, "", target, sizeof(target) - 1) < 0) {
			err_set_errno(err, "%s", at);
			break;
		}
		if (is_in_proc(named->directory))
			return 0;
		char *directory cleanup_free = fs_dirname(at);
		mem_replace(&at, fs_join(directory, target));
		fs_named_finish(named);
	}
	fs_named_finish(named);
	return -1;
}

void fs_named_finish(struct fs_named *named)
{
	if (named->path)
		close(named->directory);
	free(named->path);
	*named = (struct fs_named){.directory = -1};
}
