/*
 * The event files (TensorBoard's: "tfevents" is in their names) in and below the location of a
 * store, and a copy of them. They are read with the portal's rights, and anybody may have
 * said which directory it is: so it, the directories in it and the files must be one user's, each.
 */
#ifndef TONY_PORTAL_EVENT_FILES_H
#define TONY_PORTAL_EVENT_FILES_H

#include "store/store.h"

enum {
	EVENT_FILES_MAX = 1000,		    /* files that are copied */
	EVENT_FILES_DIRECTORIES_MAX = 1000, /* that are looked into, that itself included */
	EVENT_FILES_DEPTH = 8,		    /* directories in each other below it */
};
#define EVENT_FILES_CAP ((int64_t)1 << 30) /* bytes of all files */

struct event_files {
	struct store *store; /* without a loop */
	const char *owner;   /* whose all of it must be */
	int64_t cap;	     /* bytes */
};

/* Brings `target`, a directory that nobody else writes to, to what is there now: of a file that has
 * grown the rest, what is new or was written anew, and nothing that is gone. Of more than `cap`
 * bytes or EVENT_FILES_MAX files the newest; *left_out says so, or is NULL; the caller frees.
 * ERR_DENIED: not all of it is the owner's. What was copied before a failure stays. */
int event_files_copy(const struct event_files *files, const char *target, char **left_out,
		     struct err *err);

#endif
