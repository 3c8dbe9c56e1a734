/* The lines of a log that a search finds, as a log of its own: each whole, with its newline, and
 * with its place in the log that was searched. */
#ifndef TONY_LOGS_FILTER_H
#define TONY_LOGS_FILTER_H

#include "logs/search.h"
#include "logs/source.h"

/* Each line counts so many bytes more in a turn: to begin with it costs something, too. */
#define LOG_LINE_WORK 64

/* For an event loop: what it returns takes turns. In one of them a text is looked for in LOG_TURN
 * bytes, several in so much less. Takes `source`, and returns it where nothing is searched for,
 * or what counts its lines; copies `search`. */
struct log_source *log_filter_open(struct log_source *source, const struct log_search *search);

#endif
