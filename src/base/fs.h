/*
 * Files. Paths are NUL-terminated; every descriptor opened here is close-on-exec.
 */
#ifndef TONY_BASE_FS_H
#define TONY_BASE_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

char *fs_join(const char *directory, const char *name); /* the caller frees; absolute name wins */
/* What stands behind the last slash; slashes at the end are kept. Points into path. */
const char *fs_basename(const char *path);
char *fs_dirname(const char *path);		      /* the caller frees */
char *fs_absolute(const char *path, struct err *err); /* lexical: against the current directory */
bool fs_exists(const char *path);
bool fs_is_directory(const char *path);

/* The whole file (NUL-terminated for convenience; *length excludes the NUL, and may be NULL).
 * Fails when it is larger than `cap` bytes or not a regular file. The caller frees. */
char *fs_read_file(const char *path, size_t cap, size_t *length, struct err *err);

/* Replaces the file so that a reader sees the old or the new content, never a part (write to a
 * sibling, fsync, rename). */
int fs_write_file(const char *path, const void *bytes, size_t length, mode_t mode, struct err *err);
int fs_write_all(int fd, const void *bytes, size_t length,
		 struct err *err); /* retries short writes */

int fs_make_directories(const char *path, mode_t mode,
			struct err *err); /* existing ones are fine */

/* Removes a file or tree without following symbolic links; absent is fine. */
int fs_remove_tree(const char *path, struct err *err);

/* Makes `target` a copy of the file or directory tree `source`: modes, times and symbolic links
 * kept; devices, sockets and FIFOs are an error. File content is shared by reflink where the file
 * system can; otherwise files up to 1 MiB are copied and larger ones hard-linked when
 * `may_hard_link` (only for sources that nobody writes), else copied. An existing directory
 * `target` is merged into (files replaced). */
int fs_clone_tree(const char *source, const char *target, bool may_hard_link, struct err *err);

/* SHA-256, lower-case hex, of the file; of a tree: over names, modes, link targets, contents, in
 * sorted order. The caller frees. (Implemented in fs_hash.c: links with OpenSSL's libcrypto.) */
char *fs_hash_tree(const char *path, struct err *err);

#endif
