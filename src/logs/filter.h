/* The lines of a log that a search finds, as a log of its own: each whole, with its newline, and
 * with its place in the log that was searched. */
#ifndef TONY_LOGS_FILTER_H
#define TONY_LOGS_FILTER_H

#include "logs/search.h"
#include "logs/source.h"

/* Takes `source`, and returns it where nothing is searched for; copies `search`. So that an event
 * loop may read it, it gives nothing, and `is_busy`, when it has searched LOG_TURN bytes. */
#define LOG_TURN (256 << 10)
struct log_source *log_filter_open(struct log_source *source, const struct log_search *search);

#endif
