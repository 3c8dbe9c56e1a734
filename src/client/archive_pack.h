/* The other way round than archive.h: a directory, for those who unpack it elsewhere. */
#ifndef TONY_CLIENT_ARCHIVE_PACK_H
#define TONY_CLIENT_ARCHIVE_PACK_H

#include "base/err.h"

/* Writes the content of directory `source` to `fd` as tar.gz, names relative to it. Modes (but for
 * the special bits), times and symbolic links are kept; owners are not. An archive of another form
 * is unpacked (archive.h) and packed again. ERR_INPUT: there are devices, sockets or FIFOs in it.
 */
int archive_pack(const char *source, int fd, struct err *err);

/* Writes the file or directory `source` to `fd` as a tar, in which it is called `name`. Behind it
 * stands an empty file called `last`: a reader that finds it has all. */
int archive_pack_named(const char *source, const char *name, const char *last, int fd,
		       struct err *err);

#endif
