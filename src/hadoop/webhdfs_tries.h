/* When and where a call of WebHDFS is tried again: for both clients, which bring clock and
 * randomness. */
#ifndef TONY_HADOOP_WEBHDFS_TRIES_H
#define TONY_HADOOP_WEBHDFS_TRIES_H

#include "hadoop/webhdfs.h"
#include "net/backoff.h"

struct webhdfs_tries {
	const struct webhdfs_options *options; /* borrowed */
	size_t address;			       /* of the options': where the next try goes */
	bool is_harmless;		       /* may be repeated when it may have been done */
	bool is_unsure;			       /* a try failed that may have done it */
	int64_t deadline_ms;
	size_t round; /* addresses tried since the last pause */
	struct backoff backoff;
	char **failures; /* the last of each address; NULL: none */
};
#define cleanup_webhdfs_tries __attribute__((cleanup(webhdfs_tries_finish)))

/* Times are of clock_monotonic_ms(). */
void webhdfs_tries_begin(struct webhdfs_tries *tries, const struct webhdfs_options *options,
			 size_t address, bool is_harmless, int64_t now_ms);
void webhdfs_tries_finish(struct webhdfs_tries *tries);

/* A part is done for good: what comes next has all the time again. */
void webhdfs_tries_progress(struct webhdfs_tries *tries, int64_t now_ms);

/* After a try that came to `verdict` (not WEBHDFS_DONE) with `err` set: the pause in ms before the
 * next one; or -1: there is none, and `err` tells what all addresses had to say. `random`: any 64
 * bits. Clears `err` unless it ends. */
int64_t webhdfs_tries_next(struct webhdfs_tries *tries, enum webhdfs_verdict verdict,
			   int64_t now_ms, uint64_t random, struct err *err);

/* The address of the next try. */
const char *webhdfs_tries_server(const struct webhdfs_tries *tries);

#endif
