/*
 * Archives from users: zip, tar, tar.gz (tgz), tar.zst, tar.xz and tar.bz2, told by their content.
 *
 * An archive is taken as written by an enemy. Refused, with the entry's name: absolute names, "..",
 * names through a symbolic link, links that lead out, devices, sockets and FIFOs, set-user-id and
 * set-group-id files, encrypted entries, absurd names, and bombs (archive_limits). On any refusal
 * nothing is left, and nothing was written outside of `target`.
 *
 * One absolute link is fine: to a python in /usr/bin or /usr/local/bin, as every virtual
 * environment has one.
 */
#ifndef TONY_CLIENT_ARCHIVE_H
#define TONY_CLIENT_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct archive_limits {
	uint64_t bytes; /* unpacked, over all entries */
	uint64_t entries;
	uint64_t ratio;	     /* unpacked to packed bytes ... */
	uint64_t ratio_from; /* ... asked once this many bytes are unpacked */
};

/* By the first bytes of the file. False also for what cannot be read. */
bool archive_is_archive(const char *path);

/* Unpacks into `target`, which is made and must not exist. Modes (but for the special bits),
 * times and symbolic links are kept; owners are not. Of an archive in which no file is executable,
 * as of one made on Windows, scripts and programs (#!, ELF) become executable to all who may read
 * them. NULL limits: the default ones. */
int archive_unpack(const char *path, const char *target, const struct archive_limits *limits,
		   struct err *err);

/* The same from memory. */
int archive_unpack_bytes(const void *bytes, size_t length, const char *target,
			 const struct archive_limits *limits, struct err *err);

/* The same of a tar that is read from a descriptor, as a copy: the modes of files are those that
 * stand there, without what the umask takes away. Left out, and logged as a warning, are symbolic
 * links that lead out, devices, sockets, FIFOs, and set-user-id and set-group-id files. */
int archive_unpack_stream(int fd, const char *target, const struct archive_limits *limits,
			  struct err *err);

/* Tells the names of its entries, as they stand there, until `visit` returns false. Nothing is
 * unpacked; of a packed tar all before the last name told is read. */
int archive_visit(const char *path, bool (*visit)(void *data, const char *name), void *data,
		  struct err *err);

#endif
