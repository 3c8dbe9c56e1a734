/*
 * The index beside a log file, "<file>.times": a line "wall_ms offset" says that the bytes of the
 * log from that offset on were written then. `tony logs` merges and picks lines by it. It costs the
 * job nothing: an entry that cannot be written is left out, and the bytes then count to the entry
 * before. Where older parts were rotated away its first line is "from N": so many bytes of the log
 * stood before this part.
 */
#ifndef TONY_EXECUTOR_LOG_TIMES_H
#define TONY_EXECUTOR_LOG_TIMES_H

#include <stdint.h>

#define LOG_TIMES_STEP_MS 100 /* entries are at least this far apart, but those of a turn: */

/* Which of a task's streams was written last. A stream that follows another one has an entry of its
 * own, with a time behind the other's, so that readers see the order in which they were read. */
struct log_turn {
	const struct log_times *last; /* never looked into */
	int64_t last_ms;	      /* of its entry */
	int64_t second_ms;	      /* since when: */
	int count;		      /* of turns */
};

struct log_times {
	struct log_turn *turn; /* NULL: it is alone */
	int fd;		       /* -1: there is none */
	int64_t size;	       /* of the index: whole entries */
	int64_t last_ms;
	int64_t from; /* bytes that stood before the log's part */
};

/* Goes on where the index of the log ends; that of an empty log begins anew. `from`: of a part that
 * follows another one; -1: what its index says. */
void log_times_open(struct log_times *times, const char *log, int64_t log_size, int64_t from);
void log_times_close(struct log_times *times);

/* Bytes are about to be appended to the log, which is `offset` bytes long. */
void log_times_mark(struct log_times *times, int64_t offset, int64_t now_ms);

/* To be called before the log itself is renamed. */
void log_times_rename(const char *log, const char *new_log);

#endif
