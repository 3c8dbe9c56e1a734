/*
 * Where event files are read (event_files.h): HDFS, or this machine. Names are relative to the
 * directory of `files`; "" is that itself. A file or directory is told as HDFS tells it.
 */
#ifndef TONY_PORTAL_EVENT_SOURCE_H
#define TONY_PORTAL_EVENT_SOURCE_H

#include "portal/event_files.h"

struct event_source {
	int (*stat)(const struct event_files *files, const char *name, struct webhdfs_file *file,
		    struct err *err);
	/* Calls `visit` for each file and directory in a directory. */
	int (*list)(const struct event_files *files, const char *name,
		    void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		    struct err *err);
	/* As webhdfs_read(). */
	int (*read)(const struct event_files *files, const char *name, int64_t offset,
		    int64_t length, bool (*on_bytes)(void *data, const char *bytes, size_t length),
		    void *data, struct err *err);
};

/* Neither a symbolic link below the directory is followed, nor is a file or directory opened and
 * read that is not the owner's (ERR_DENIED), however quickly another takes its place. */
extern const struct event_source event_source_local;
extern const struct event_source event_source_hdfs;

#endif
