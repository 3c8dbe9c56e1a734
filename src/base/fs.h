/*
 * Files. Paths are NUL-terminated; every descriptor opened here is close-on-exec.
 */
#ifndef TONY_BASE_FS_H
#define TONY_BASE_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

char *fs_join(const char *directory, const char *name); /* the caller frees; absolute name wins */
/* What stands behind the last slash; slashes at the end are kept. Points into path. */
const char *fs_basename(const char *path);
char *fs_dirname(const char *path);		      /* the caller frees */
char *fs_absolute(const char *path, struct err *err); /* lexical: against the current directory */
/* "~", "$HOME" or "${HOME}" before a slash or alone is what HOME says; other paths stay as they
 * are. NULL: HOME is not set. The caller frees. */
char *fs_expand_home(const char *path);
/* Whether an absolute path is the directory, or leads below it, as both are written. */
bool fs_is_below(const char *path, const char *directory);
bool fs_exists(const char *path);
/* -1: the file, which holds `what`, is not user_is_trusted()'s, or everybody on this machine may
 * read it, or others may write to it (user_write_remedy()). Anything but a regular file is fine. */
int fs_check_secret(const char *path, const char *what, struct err *err);
/* The same, and reads it, as fs_read_file() does: nobody can put another file in its place in
 * between. For mem_free_secret(). */
char *fs_read_secret(const char *path, const char *what, size_t cap, size_t *length,
		     struct err *err);
bool fs_is_directory(const char *path);
bool fs_has_entries(const char *path); /* a directory with something in it */
/* A file that this process may execute. */
bool fs_is_program(const char *path);
/* The first of that name in the directories of a PATH, as they stand there; NULL: none, also where
 * `path` is NULL. The caller frees. */
char *fs_find_program(const char *name, const char *path);

int64_t fs_modified_ms(const struct stat *status);
/* Users other than the owner may write to what has this mode. */
bool fs_others_may_write(mode_t mode);
/* The same, of a directory: they may replace what lies in it, which in a sticky one they may not.
 * By the mode alone, where the name services cannot be asked for private groups; else it is
 * user_replace_remedy(). In either case the directory's owner may. */
bool fs_others_may_replace(mode_t mode);

/* Opens what is at `path` below an open directory, to read. Every part of the path is opened by
 * itself, so that no symbolic link on the way, nor at the end, leads elsewhere; a FIFO is not
 * waited for. "": the directory itself. -1: errno; ELOOP or ENOTDIR where a link is. */
int fs_open_below(int directory, const char *path);

/* The whole file (NUL-terminated for convenience; *length excludes the NUL, and may be NULL).
 * Fails when it is larger than `cap` bytes or not a regular file. The caller frees. */
char *fs_read_file(const char *path, size_t cap, size_t *length, struct err *err);
/* The same of what is open, from where it stands; errors call it `name`. */
char *fs_read_descriptor(int fd, const char *name, size_t cap, size_t *length, struct err *err);
/* "a directory", "a FIFO, not a regular file": of what is no regular file. */
const char *fs_kind_name(mode_t mode);

/* The same for a file that nobody has named, but that is looked for where a user works, and whose
 * commands would run as him. It is the caller's or root's, and so are its directory and each link
 * at its place; no other user may write to it, nor to its directory unless that is sticky. Else it
 * is refused (ERR_CONFIG), with its owner or mode. `named`: the words that name it ("--conf_file
 * tony.xml"), with which it is read anyway. (Implemented in fs_own.c.) */
char *fs_read_own(const char *path, const char *named, size_t cap, size_t *length, struct err *err);
/* Such a file or directory, open to read; the caller closes. */
int fs_open_own(const char *path, struct err *err);
/* Whether fs_read_own() would accept this program or directory. False if it cannot be read. */
bool fs_is_own(const char *path);
/* Opens a directory that a user has named to write there (O_PATH). ERR_DENIED: its end is a
 * symbolic link that another user, not root, has put into a directory that others may write to, or
 * on the way is one in a directory that all may write to; it may lead anywhere. As the kernel's
 * fs.protected_symlinks, which a machine need not have set. `make`: the mode of directories that
 * are not there; 0: they are an error. The caller closes. (Implemented in fs_named.c.) */
int fs_open_named(const char *path, mode_t make, struct err *err);

/* A file that a user has named to write there. */
struct fs_named {
	int directory; /* is open, by fs_open_named() */
	char *path;    /* below that descriptor, "/proc/self/fd/9/name": no user can lead it
			* elsewhere; for messages err_rename() has the other one */
};
/* `name` in that directory. Nothing need be there. The caller ends it, also after an error. */
int fs_name_in(struct fs_named *named, const char *directory, const char *name, mode_t make,
	       struct err *err);
int fs_name_file(struct fs_named *named, const char *path, struct err *err);
/* Follows symbolic links at the end of `path`, and names the place they lead to. A link of /proc is
 * not followed: a process has open what it leads to. */
int fs_name_linked(struct fs_named *named, const char *path, struct err *err);
void fs_named_finish(struct fs_named *named);
#define cleanup_named __attribute__((cleanup(fs_named_finish)))

/* All of these bytes of what is open, from `offset` on; errors call it `name`. A file that ends
 * before is an error (ERR_IO). */
int fs_read_at(int fd, const char *name, int64_t offset, void *bytes, size_t length,
	       struct err *err);

/* Replaces the file so that a reader sees the old or the new content, never a part (write to a
 * sibling, fsync, rename). */
int fs_write_file(const char *path, const void *bytes, size_t length, mode_t mode, struct err *err);
/* The same without the fsync, for what says nothing any more once this machine has stopped, such as
 * the address of a process: after a power failure the file may be empty. */
int fs_write_volatile(const char *path, const void *bytes, size_t length, mode_t mode,
		      struct err *err);
/* Writes it in place, for its owner only and through no symbolic link: for a file that no process
 * reads at that time. */
int fs_write_private(const char *path, const void *bytes, size_t length, struct err *err);
int fs_write_all(int fd, const void *bytes, size_t length,
		 struct err *err); /* retries short writes */

int fs_make_directories(const char *path, mode_t mode,
			struct err *err); /* existing ones are fine */

/* "/data (ext4: 0 B of 100.0 GiB free)": the file system in which `path` is, or would be. The
 * caller frees. (Implemented in fs_room.c.) */
char *fs_describe_room(const char *path);
/* Whether a file could be made at `path`, an existing directory or one that would be made: what is
 * there can be written to, and its file system has bytes and inodes left, or counts none and lets
 * this process make a directory. A quota shows only when something is written. */
int fs_check_room(const char *path, struct err *err);
/* ERR_IO: a file system is mounted on `path`, or below it. */
int fs_check_unmounted(const char *path, struct err *err);
/* An errno of a write to `path`, in words: "no space left on /data (ext4: ...)", "the quota on
 * /home (nfs4: ...) is used up", or as strerror() has it. The caller frees. */
char *fs_describe_errno(const char *path, int number);
/* Where `err` says that there is no room for `path` (ERR_NO_SPACE, ERR_QUOTA): appends which file
 * system is meant, and what to do. Returns -1. */
int fs_explain_room(const char *path, struct err *err);

/* Waits for the exclusive lock (flock) on the file, which is made when it is not there; who holds
 * the lock may remove it. The caller closes the descriptor, and the lock is free; or -1. */
int fs_lock(const char *path, struct err *err);

/* Removes a file or tree without following symbolic links; absent is fine. Nothing goes of what is
 * mounted on the tree's root or below (ERR_IO). */
int fs_remove_tree(const char *path, struct err *err);
/* The same of `name` in the open directory `at`. `shown`: its path, in messages. */
int fs_remove_tree_at(int at, const char *name, const char *shown, struct err *err);
/* The same of all that is in the open directory `fd`, which is itself in the open directory `above`
 * and stays. */
int fs_empty_tree(int above, int fd, const char *shown, struct err *err);
/* The same of a tree of this user's. ERR_DENIED: a directory in it is another one's. That one stays
 * with all that is in it, and so does what was still to be removed. */
int fs_empty_tree_of(int above, int fd, uid_t owner, const char *shown, struct err *err);

enum fs_clone {
	/* Files over 1 MiB may be hard-linked: only for sources that nobody writes. */
	FS_CLONE_HARD_LINK = 1 << 0,
	/* For a tree of the user's, which is to be of use elsewhere: in place of a relative
	 * symbolic link that leads out of `source` stands the file's content, or an absolute link
	 * to the directory. */
	FS_CLONE_FROM_OUTSIDE = 1 << 1,
	/* What is read-only in the source can be written by the copy's owner. */
	FS_CLONE_WRITABLE = 1 << 2,
	/* The copy has no set-user-ID nor set-group-ID bit. */
	FS_CLONE_NO_SET_ID = 1 << 3,
};

/* Makes `target` a copy of the file or directory tree `source`: modes, times and symbolic links
 * kept; devices, sockets and FIFOs are an error. File content is shared by reflink where the file
 * system can, else copied. An existing directory `target` is merged into (files replaced). `how`:
 * of enum fs_clone. */
int fs_clone_tree(const char *source, const char *target, unsigned how, struct err *err);

/* The same, with somebody to be told. Each function may be NULL. */
struct fs_clone_watch {
	/* Between pieces of some MiB: how much content was copied so far. False ends it
	 * (ERR_FAILED). */
	bool (*progress)(void *data, int64_t bytes);
	/* Devices, sockets and FIFOs below `source` are no error, but passed over. */
	void (*passed_over)(void *data, const char *path);
	/* An entry that is removed or renamed while the copy is made is no error, but left out. */
	void (*vanished)(void *data, const char *path);
	/* Whether the regular file at `path`, or that to which its link leads, is passed over: it
	 * need not be copied, or must not. */
	bool (*is_there)(void *data, const char *path, const struct stat *info);
	void *data;
};
int fs_clone_tree_watched(const char *source, const char *target, unsigned how,
			  const struct fs_clone_watch *watch, struct err *err);

/* How many files, of whichever kind, a tree has, and how long the regular ones are. Stops after
 * `cap` of them. Directories that cannot be read count as one file. (Implemented in fs_measure.c.)
 */
struct fs_tree_size {
	int64_t bytes, files;
	bool is_more;
};
void fs_measure_tree(const char *path, int64_t cap, struct fs_tree_size *size);

struct fs_span {
	struct timespec from, to; /* both included */
};
bool fs_span_has(const struct fs_span *span, struct timespec time); /* in fs_links.c */

/* The files and directories that symbolic links below `root` lead to, other links on the way
 * included. Links whose status changed within `laid` are passed over. The caller destroys the map.
 * (Implemented in fs_links.c.) */
struct map *fs_find_link_targets(const char *root, const struct fs_span *laid);
bool fs_is_link_target(const struct map *targets, const struct stat *info);

struct fs_copy {
	struct fs_span laid; /* when it was made */
	bool is_partial;     /* it was broken off: a file may have no more than the beginning of its
			      * content, and not yet its time */
};

/* Removes from a directory, once a copy of directory `source`, what nobody has changed since: files
 * of the same size, time and content, symbolic links to the same place, and directories that are in
 * `source`, too, and empty then. The copy was made within copy->laid: files whose status changed,
 * and directories that were born, at another time are no part of it (they were moved or mounted
 * there) and stay. So does what a link of another time below `root` leads to, a directory with all
 * that it holds. The directory is `name` ("." or "data/images") below `root`, itself stays, and is
 * not reached through symbolic links below or in place of `root` (ENOTDIR or ELOOP). An entry that
 * cannot be read stays, and is an error after the rest was done. (Implemented in fs_same.c.) */
int fs_remove_same(const char *source, const char *root, const char *name,
		   const struct fs_copy *copy, struct err *err);

/* SHA-256, lower-case hex, of the file; of a tree: over names, modes, link targets, contents, in
 * sorted order. The caller frees. (Implemented in fs_hash.c: links with OpenSSL's libcrypto.) */
char *fs_hash_tree(const char *path, struct err *err);

#endif
