/* Files that lie in a store, for a process that waits. The store is reached as
 * job_stores_open_place() says. */
#ifndef TONY_SCHEDULER_FETCH_H
#define TONY_SCHEDULER_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct job;

/* Is the place in a remote store? */
bool fetch_is_needed(const char *place);

/* Brings the file or directory at `url` to this machine as `target`, which must not be there: see
 * store_fetch(). */
int fetch_tree(const struct job *job, const char *url, const char *target, struct err *err);

/* Is it there? A file that stage() has sent is kept for as long as if it had been sent now. -1:
 * ERR_NOT_FOUND, or what kept the store from answering. */
int fetch_keep(const struct job *job, const char *url, struct err *err);

/* A file of at most `cap` bytes, appended to `bytes`. */
int fetch_text(const char *url, size_t cap, struct str *bytes, struct err *err);

/* How much is there, "file://" and a path of this machine or a URL, and how new: of a directory the
 * newest in it counts. ERR_NOT_FOUND: nothing is there. */
struct fetch_measure {
	int64_t bytes, newest_ms;
};
int fetch_measure(const struct job *job, const char *url, struct fetch_measure *measure,
		  struct err *err);

struct fetch_results_watch {
	/* Whether the file `name`, "worker-0/model", need not be fetched. */
	bool (*is_there)(void *data, const char *name, int64_t length, int64_t modified_ms);
	/* How many bytes have come, of all that are to come. False ends it (ERR_FAILED). */
	bool (*progress)(void *data, int64_t bytes, int64_t total);
	void *data;
	/* Whose the job is, where that is another user; NULL: this one's. Where files have owners
	 * nothing is read that is neither his nor this user's: ERR_DENIED. */
	const char *user;
};

/* Brings what tasks have stored below job->output_dir, a URL, to `target`, which must not be there:
 * a directory for each task. It is reached as job->stores says, else as all others are. 1: nothing
 * is stored (yet). */
int fetch_results(const struct job *job, const char *target,
		  const struct fetch_results_watch *watch, struct err *err);

#endif
