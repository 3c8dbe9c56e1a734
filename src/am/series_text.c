#include "am/series_text.h"

#include <inttypes.h>
#include <math.h>

void series_write_number(struct str *text, double value)
{
	if (isnan(value))
		str_append(text, "null");
	else if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value)
		str_append_format(text, "%.0f", value);
	else
		str_append_format(text, "%.7g", value);
}

void series_write_times(struct str *text, const struct series_point *points, size_t count)
{
	str_append(text, "[");
	for (size_t i = 0; i < count; i++)
		str_append_format(text, "%s%" PRId64, i > 0 ? "," : "", points[i].time_ms);
	str_append(text, "]");
}

void series_write_steps(struct str *text, const struct series_point *points, size_t count)
{
	str_append(text, "[");
	for (size_t i = 0; i < count; i++)
		str_append_format(text, "%s%" PRId64, i > 0 ? "," : "", points[i].step);
	str_append(text, "]");
}

void series_write_values(struct str *text, const struct series_point *points, size_t count)
{
	str_append(text, "[");
	for (size_t i = 0; i < count; i++) {
		str_append(text, i > 0 ? "," : "");
		series_write_number(text, points[i].value);
	}
	str_append(text, "]");
}

bool series_parse_time(const json_t *value, int64_t now_ms, int64_t *time_ms)
{
	*time_ms = json_integer_value(value);
	return json_is_integer(value) && *time_ms >= 0 && *time_ms <= now_ms;
}

double series_parse_value(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
