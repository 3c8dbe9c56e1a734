/* The lines of a log that a search finds, as a log of its own: each whole, with its newline, and
 * with its place in the log that was searched. */
#ifndef TONY_LOGS_FILTER_H
#define TONY_LOGS_FILTER_H

#include "logs/search.h"
#include "logs/source.h"

/* For an event loop: what it returns takes turns. Takes `source`, and returns it where nothing is
 * searched for; copies `search`. */
struct log_source *log_filter_open(struct log_source *source, const struct log_search *search);

#endif
