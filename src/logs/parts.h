/*
 * A log of a container that has ended, in parts, oldest first, each with the index of times beside
 * it: what a history or a cluster keeps. It does not grow. A part is called by its number.
 */
#ifndef TONY_LOGS_PARTS_H
#define TONY_LOGS_PARTS_H

#include "base/err.h"
#include "base/str.h"
#include "logs/part.h"

/* The first member of every source's own struct. */
struct log_parts {
	struct log_source base;
	const struct log_parts_ops *ops;
	struct log_parts_item {
		int64_t length;
		bool has_times; /* there is an index beside it */
	} * items;
	size_t count;
	/* The source's own. */
	size_t number; /* of the part being read, once it was begun */
	bool has_begun;
	bool seeks_end; /* it looks in that part for: */
	struct log_tail tail;
	struct log_part part;
};

struct log_parts_ops {
	/* Up to `length` bytes of a part, or of the index beside it; 0: it ends before; -1: error.
	 * Going on where the last read ended costs nothing, anything else may. */
	ssize_t (*read)(struct log_parts *log, size_t part, bool times, int64_t offset, void *bytes,
			size_t length, struct err *err);
	/* As log_source_rest(). NULL: it holds nothing. */
	void (*rest)(struct log_parts *log);
	void (*destroy)(struct log_parts *log); /* frees the struct, and `items` */
};

/* Makes a source of what has `ops` and {0} else; `items` and `count` may be set later. */
void log_parts_init(struct log_parts *log);

/* Sets its `cut`, as the index of the oldest part says. */
void log_parts_find_cut(struct log_parts *log);

/* A log that consists of this text, which is copied. The caller destroys it. */
struct log_source *log_of_text(const char *text);

/* The end of a log that does not grow, at most `most` bytes of it, in memory, as one part; what
 * stood before is its `cut`. `source` stays the caller's. NULL: `err`. */
struct log_source *log_keep_end(struct log_source *source, size_t most, struct err *err);

/* The same text once more, from its beginning on, with a position of its own. */
struct log_source *log_text_share(const struct log_source *text);

/* Which of these files are parts of the log `name`, oldest first: "stdout.2", "stdout.1",
 * "stdout". Sets *parts, which the caller frees, to their indexes in `names`; returns their
 * number. */
size_t log_parts_find(const struct str_list *names, const char *name, size_t **parts);

#endif
