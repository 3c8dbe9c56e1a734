/* Raw sockets against a server in the same process: both ends run on one loop, so a test waits for
 * what must happen, and the test's own timeout ends it when that never does. */
#ifndef TONY_TEST_NET_PEER_H
#define TONY_TEST_NET_PEER_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>

#include "base/str.h"

struct peer {
	int fd; /* -1: closed by peer_close() */
	struct str received;
	bool ended; /* the other side closed, or broke it */
	struct event event;
};

void peer_open(struct peer *peer, struct event_base *base, const char *address);
/* Of a socket that somebody else connected: takes `fd`. */
void peer_take(struct peer *peer, struct event_base *base, int fd);
void peer_close(struct peer *peer);
void peer_send(struct peer *peer, const char *text);
void peer_send_bytes(struct peer *peer, const void *bytes, size_t length);

/* Runs the loop until the text was received; fails when the connection ends before. */
void peer_expect(struct peer *peer, struct event_base *base, const char *text);
void peer_expect_end(struct peer *peer, struct event_base *base);
void peer_forget(struct peer *peer); /* what was received so far */

/* A listener of the loopback, whose answers a test makes up; the caller closes and frees. */
int peer_listen(char **address);

void run_until(struct event_base *base, const bool *flag);
/* Lets everything happen that can without waiting. */
void run_idle(struct event_base *base);

/* As many descriptors as this process may have. */
void raise_file_limit(void);

#endif
