/* The one global: diagnostics to standard error, one line each:
 * "2026-11-21T06:14:11.123Z info am: text". Never log a token or an environment value. */
#ifndef TONY_BASE_LOG_H
#define TONY_BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

/* An audit line is written at every level. */
enum log_level {
	LOG_LEVEL_AUDIT,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* `who` names the speaker ("am", "exec worker:0") and is copied. Default: level WARNING. */
void log_open(const char *who, enum log_level level);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...)	 log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)	 log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)	 log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Warnings go there instead, one line each without its end, until this is called with NULL. */
typedef void log_take(void *data, const char *text);
void log_divert(log_take *take, void *data);

/* The text of an error that log_write() wrote, within `line`; NULL: it is another kind of line. */
const char *log_error_in(const char *line);
/* When log_write() wrote a line (ms, wall clock); 0: the line is something else. */
int64_t log_time_in(const char *line, size_t length);

/* Trouble with something that many try again and again: a warning, once within half a minute as
 * long as the trouble is with the same `subject`. */
void log_trouble(const char *subject, const char *text);
/* Says so if there was any of that. */
void log_trouble_over(const char *subject);

#endif
