/* The completion scripts ask tony for words: `tony completion jobs|tags|tasks|types|queues|nodes
 * WORD`. */
#ifndef TONY_CLIENT_COMPLETION_WORDS_H
#define TONY_CLIENT_COMPLETION_WORDS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/opt.h"

/* "live", "ended" or "all": the jobs that a verb takes. */
const char *completion_jobs_of(const struct opt_table *verb);

/* True: `kind` is one of those above. Prints the words, one a line. Jobs are ids and names. `of`:
 * one of completion_jobs_of() for jobs and tags; a job, or NULL for the newest, for its tasks and
 * types; nothing that matters for queues and nodes, which are those of the scheduler that jobs go
 * to. */
bool completion_words(const char *kind, const char *of, struct err *err);

#endif
