/* Time series as JSON text: what thousands of tasks have is written without building a tree. */
#ifndef TONY_AM_SERIES_TEXT_H
#define TONY_AM_SERIES_TEXT_H

#include <jansson.h>

#include "base/str.h"
#include "job/series.h"

void series_write_number(struct str *text, double value); /* NAN is null */

/* Append "[1795000000000, ...]", of each point one. */
void series_write_times(struct str *text, const struct series_point *points, size_t count);
void series_write_steps(struct str *text, const struct series_point *points, size_t count);
void series_write_values(struct str *text, const struct series_point *points, size_t count);

/* Reads one of them again; no time is after `now_ms`. False: it is none. */
bool series_parse_time(const json_t *value, int64_t now_ms, int64_t *time_ms);
double series_parse_value(const json_t *value); /* NAN: there is none */

#endif
