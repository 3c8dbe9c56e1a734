/* Several logs as one stream of lines, in the order in which they were written. */
#ifndef TONY_LOGS_MERGE_H
#define TONY_LOGS_MERGE_H

#include "logs/lines.h"

struct log_merge;
struct log_merge *log_merge_create(void);
void log_merge_destroy(struct log_merge *merge); /* NULL is fine */

/* `source` is taken. `label` is borrowed, and comes back with every line of it. `tail` >= 0: begins
 * that many lines before the present end. */
void log_merge_add(struct log_merge *merge, struct log_source *source, const void *label,
		   int64_t tail);
/* Logs that are added from now on get no more once *is_over is true, which is to outlive them:
 * their last lines without a newline count. NULL: others tell. */
void log_merge_bind(struct log_merge *merge, const bool *is_over);

/* False: no (whole) line now in any log; the next call looks at all of them again. With
 * `to_the_end` last lines without a newline count too. The text is valid until the next
 * call. */
bool log_merge_next(struct log_merge *merge, bool to_the_end, struct log_line *line,
		    const void **label);
/* Of the lines that were begun and have no newline yet the one begun last; false: there is none. */
bool log_merge_begun(const struct log_merge *merge, struct log_line *line, const void **label);
/* All of them, one after the other: *log, 0 at first, says which it is; the caller adds 1. */
bool log_merge_each_begun(const struct log_merge *merge, size_t *log, struct log_line *line,
			  const void **label);
/* As log_lines_take_begun() of that log. */
bool log_merge_take_begun(struct log_merge *merge, size_t log, struct log_line *line);

/* Why lines of a log are missing; NULL: none is known to be. */
const char *log_merge_problem(const struct log_merge *merge);
/* It is that an AM does not answer: it is being replaced, or its job has just ended. */
bool log_merge_is_away(const struct log_merge *merge);

#endif
