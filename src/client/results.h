/* The files of TONY_OUTPUT_DIR, and how they come home: a directory for each task, "worker-0". */
#ifndef TONY_CLIENT_RESULTS_H
#define TONY_CLIENT_RESULTS_H

#include "client/opened.h"

/* Where they are: a directory of this machine or a URL. NULL: nowhere, it is a job of another
 * version. The caller frees. */
char *results_place(const struct opened *opened);

/* Whether such a place is a URL. */
bool results_are_stored(const char *place);

/* Such a directory of this machine, open; through a link that its user has put there, where nobody
 * else could (fs_open_own()). ERR_DENIED: it is another user's by now, or no directory, as where
 * others could put something in its place. `user`: the one whose job is taken as it is
 * (results_user()), or NULL. -1: ERR_NOT_FOUND where nothing is there. */
int results_open(const char *directory, const char *user, struct err *err);

/* The user of another user's job, or NULL. */
const char *results_user(const struct opened *opened);

/* Whether results_open() opens it, and it holds any file: each task finds its own, which is empty.
 */
bool results_are_in(const char *directory, const char *user);

/* Brings all that is stored so far to `directory`/<id>. A file appears there as a whole; what is
 * there under another name stays. 1: there is nothing (yet). */
int results_bring(const struct opened *opened, const char *directory, struct err *err);

/* For a verb that has waited for the end of the job, and ends with `code`: brings the results to
 * where the job's submitter wants them, unless they are in a store and that is to stay so. Returns
 * the verb's code, which is of a failure to do so where the job succeeded. */
int results_conclude(const struct opened *opened, int code);

#endif
