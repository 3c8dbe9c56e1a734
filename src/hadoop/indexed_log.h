/*
 * YARN's other format of aggregated logs (LogAggregationIndexedFileController, "IFile", Hadoop 3.1
 * and later). In a node's file the logs stand one after the other, each packed by itself; behind
 * them what is where, as a Java object, its length (4 bytes), and 32 bytes (36 before Hadoop 3.2)
 * that say whose file this is. Of an application whose logs are uploaded while it runs (rolling)
 * the file grows: each upload writes the list anew, with all that were before it.
 */
#ifndef TONY_HADOOP_INDEXED_LOG_H
#define TONY_HADOOP_INDEXED_LOG_H

#include "hadoop/container_log.h"

#define INDEXED_LOG_LIST_CAP (4 << 20) /* bytes: some 60,000 logs of one node */

struct indexed_log;

/* Is it such a file? `end`: where its last whole upload ends, at most input->length. NULL, without
 * an error: it is none. */
struct indexed_log *indexed_log_open(const struct tfile_input *input, int64_t end, struct err *err);
void indexed_log_close(struct indexed_log *log); /* NULL is fine */

size_t indexed_log_uploads(const struct indexed_log *log);
/* Adds the container's files of one upload, the oldest being 0. 1, or 0: it has none. */
int indexed_log_list(const struct indexed_log *log, size_t upload, const char *container,
		     struct container_log_files *files);

/* The bytes of one of them. */
struct tfile_block *indexed_log_block(const struct indexed_log *log,
				      const struct tfile_region *region);

#endif
