/*
 * Brings a packed history (pack.h) into a store in HDFS, from within a container's event loop: all
 * files beside their place at once (a DataNode takes some 0.4 s for each), then one rename.
 */
#ifndef TONY_HISTORY_UPLOAD_H
#define TONY_HISTORY_UPLOAD_H

#include "hadoop/webhdfs_async.h"
#include "history/publish.h"

struct history_upload;

/* As history_publish(), with target->location as a path of `hdfs`. `done` is called once, from the
 * loop; `err` is NULL when the history is there. NULL: `directory` cannot be read. */
struct history_upload *history_upload_start(struct webhdfs_async *hdfs, const char *directory,
					    const struct history_target *target,
					    void (*done)(void *data, const struct err *err),
					    void *data, struct err *err);
/* Right after the start: all is brought, but does not appear at its place before
 * history_upload_decide(); false: it never does, `done` is told `why`, and nothing is left. */
void history_upload_hold(struct history_upload *upload);
void history_upload_decide(struct history_upload *upload, bool appears, const char *why);
/* Once `hdfs` is destroyed, or `done` was called. NULL is fine. */
void history_upload_destroy(struct history_upload *upload);

/* The same at once, for who has no loop. */
int history_upload(const struct webhdfs_options *options, const char *directory,
		   const struct history_target *target, struct err *err);

#endif
