/*
 * Brings a packed history (pack.h) into a store, from within a container's event loop: all files
 * beside their place at once (a DataNode of HDFS takes some 0.4 s for each), then one rename. A
 * store of objects renames nothing: they go to their place, and the summary, without which no
 * reader takes the others for a history, is the last. After a failure they stay there.
 */
#ifndef TONY_HISTORY_UPLOAD_H
#define TONY_HISTORY_UPLOAD_H

#include "history/publish.h"
#include "store/store.h"

struct history_upload;

/* As history_publish(), with the location of `store` in place of target->location. `done` is called
 * once, from the loop; `err` is NULL when the history is there. NULL: `directory` cannot be read.
 */
struct history_upload *history_upload_start(struct store *store, const char *directory,
					    const struct history_target *target,
					    void (*done)(void *data, const struct err *err),
					    void *data, struct err *err);
/* Right after the start: all is brought, but does not appear at its place before
 * history_upload_decide(); false: it never does, `done` is told `why`, and nothing is left. */
void history_upload_hold(struct history_upload *upload);
void history_upload_decide(struct history_upload *upload, bool appears, const char *why);
/* Once `store` is closed, or `done` was called. NULL is fine. */
void history_upload_destroy(struct history_upload *upload);

/* The same for a process that waits, with a store without a loop. */
int history_upload(struct store *store, const char *directory, const struct history_target *target,
		   struct err *err);

#endif
