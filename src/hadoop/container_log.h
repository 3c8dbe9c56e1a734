/*
 * The log files of one container in one of YARN's aggregated files (Hadoop's AggregatedLogFormat):
 * a TFile per node and application, in which a container's id is the key, and the value its files
 * one after the other: name and length (in decimal) as Java's writeUTF() has them, and the bytes.
 * YARN's other format is read as this one is (indexed_log.h).
 */
#ifndef TONY_HADOOP_CONTAINER_LOG_H
#define TONY_HADOOP_CONTAINER_LOG_H

#include "hadoop/tfile.h"

#define CONTAINER_LOG_FILES_MAX 16384 /* of one container; more are not listed */

struct indexed_log;

struct container_log_file {
	char *name; /* "stdout": without a slash */
	int64_t length;
	const struct tfile *file;	/* in which it is; NULL: in the other */
	struct tfile_position position; /* there */
	const struct indexed_log *indexed;
	struct tfile_region region; /* there */
};

struct container_log_files {
	struct container_log_file *items; /* in the order in which they are stored */
	size_t count;
	/* What stands behind the last of them cannot be understood, so that files may be missing:
	 * a file became shorter while the NodeManager read it. */
	bool is_cut;
};
#define cleanup_container_log_files __attribute__((cleanup(container_log_files_finish)))

/* Adds the container's files. 1; 0: the container is not in it; -1: error. */
int container_log_list(const struct tfile *file, const char *container,
		       struct container_log_files *files, struct err *err);
void container_log_files_finish(struct container_log_files *files);

const struct container_log_file *container_log_find(const struct container_log_files *files,
						    const char *name); /* NULL: none */

struct container_log;

/* The bytes of one file from `offset` on (behind its end: none). */
struct container_log *container_log_open(const struct container_log_file *log, int64_t offset,
					 struct err *err);
void container_log_close(struct container_log *log); /* NULL is fine */
/* Up to `length` bytes; 0: the end; -1: error. */
ssize_t container_log_read(struct container_log *log, void *bytes, size_t length, struct err *err);

#endif
