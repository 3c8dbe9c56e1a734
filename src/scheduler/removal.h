/* The removal of ended jobs: a verb begins it, and the schedulers tell in it what they removed. */
#ifndef TONY_SCHEDULER_REMOVAL_H
#define TONY_SCHEDULER_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct removal {
	bool is_dry;	 /* nothing is removed, and all is told as if it were */
	int64_t wait_ms; /* for processes of an ended job that still bring its history away */

	/* Of the present job. */
	int64_t bytes;		 /* of regular files */
	struct str_list removed; /* paths and URLs */
	struct str_list stays;	 /* "PATH: why it is not removed" */

	/* Of all of them: contents of the cache that the jobs had, and directories that live jobs
	 * use, each with the id of its job. */
	struct str_list sources;
	struct str_list used, users;
	bool has_used;
};
void removal_finish(struct removal *removal);
#define cleanup_removal __attribute__((cleanup(removal_finish)))

/* The next job. */
void removal_begin(struct removal *removal);

/* Removes a file or tree of this machine, once it is measured. Symbolic links are not followed, and
 * nothing there is fine. `name`: what the user is told; NULL: nothing. */
int removal_remove(struct removal *removal, const char *path, const char *name, struct err *err);

#endif
