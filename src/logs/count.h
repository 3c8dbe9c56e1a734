/* How many lines a log has, for a reader that does not want the lines: it numbers those behind
 * them. */
#ifndef TONY_LOGS_COUNT_H
#define TONY_LOGS_COUNT_H

#include "logs/source.h"

/* Bytes, and up to LOG_SPAN_MAX more, whose lines are told together. */
#define LOG_COUNT_STEP (1 << 20)

/* For each LOG_COUNT_STEP of a part a span of one byte, a newline: its `time_ms` is how many lines
 * end there, its `offset` where the next ones are counted from. Of what is left behind the last
 * span of a part nothing is told. In turns of LOG_TURN bytes. Takes `source`. */
struct log_source *log_count_open(struct log_source *source);

#endif
