/* Waiting for files to grow: journals and logs that somebody else writes. */
#ifndef TONY_CLIENT_FOLLOW_H
#define TONY_CLIENT_FOLLOW_H

#include <stdint.h>

#include "base/err.h"

/* Watches directories or files for any change. */
struct follow;
struct follow *follow_create(struct err *err);
void follow_destroy(struct follow *follow); /* NULL is fine */

/* `path` may be a file or a directory; watching twice, or what is not there, is fine. */
void follow_add(struct follow *follow, const char *path);

/* Readable when something changed; for callers with a poll loop of their own. */
int follow_fd(const struct follow *follow);
/* Forgets the changes seen so far. Call before looking at the files. */
void follow_drain(struct follow *follow);

/* Waits for a change since the last drain, for at most timeout_ms (also where the file system tells
 * of no changes). -1: a signal came. */
int follow_wait(struct follow *follow, int64_t timeout_ms);

#endif
