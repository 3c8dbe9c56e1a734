/* Waiting for files to grow: journals and logs that somebody else writes. */
#ifndef TONY_CLIENT_FOLLOW_H
#define TONY_CLIENT_FOLLOW_H

#include <stdint.h>

/* Watches directories for any change in them. Where the kernel does not tell
 * (fs.dir-notify-enable), changes are found out by the waits' timeouts alone. One of these at a
 * time drains what is told to the process. */
struct follow;
struct follow *follow_create(void);
void follow_destroy(struct follow *follow); /* NULL is fine */

/* Watching twice, or what is not there, is fine. */
void follow_add(struct follow *follow, const char *path);

/* Readable when something changed; for callers with a poll loop of their own. May be -1, which
 * poll() passes over. */
int follow_fd(const struct follow *follow);
/* Forgets the changes seen so far. Call before looking at the files. */
void follow_drain(struct follow *follow);

/* For how long such a loop may wait of `wait_ms` before it looks at the files by itself. */
int follow_limit_ms(const struct follow *follow, int64_t wait_ms);

/* Waits for a change since the last drain, for at most timeout_ms and never longer than a second:
 * not every file system tells of changes. */
void follow_wait(struct follow *follow, int64_t timeout_ms);

#endif
