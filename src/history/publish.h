/*
 * Brings a packed history (pack.h) into a store that is a directory: copied beside its place,
 * synced, and renamed, so that who reads the store sees all of it or nothing. The store may be on
 * another file system.
 */
#ifndef TONY_HISTORY_PUBLISH_H
#define TONY_HISTORY_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Who may read what is published. */
struct history_access {
	mode_t directory, file; /* 0700 and 0600 ... */
};
/* Of "owner", "group" or "all", as the key tony.history.permissions has it; NULL, and all else:
 * the owner. */
struct history_access history_access_of(const char *permissions);

struct history_target {
	const char *location; /* absolute path; made, for its owner alone, where it is not there */
	int64_t submitted_ms;
	const char *job_id;
	int attempt; /* of who publishes, history_attempt(): others may be at it as well */
	struct history_access access;
};

/* A number that nobody else has taken, on whatever machine. */
int history_attempt(void);

/* Is it there already, published by this user? */
bool history_is_published(const struct history_target *target);

/* A history of this user's that is there already is left as it is, which is success. On failure (no
 * space, no permission, another user has taken its place ...) the store is as it was. The
 * directories of days get the permission bits of the location, so that a store in which everybody
 * may write remains one. No symbolic link below the location is followed. */
int history_publish(const char *directory, const struct history_target *target, struct err *err);

/* Looks whether permissions and owners let history_publish() do so, and makes nothing. -1: `err`
 * says why not. */
int history_check(const struct history_target *target, struct err *err);

#endif
