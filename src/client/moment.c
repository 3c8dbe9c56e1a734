#include "client/moment.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"

/* Of the calendar: mktime() and timegm() take February 30 for a day in March. */
static int check_day(const char *text, struct err *err)
{
	struct tm moment = {0};

	if (!strptime(text, "%Y-%m-%d", &moment))
		return 0;
	struct tm day = {
		.tm_year = moment.tm_year, .tm_mon = moment.tm_mon, .tm_mday = moment.tm_mday};
	timegm(&day);
	return day.tm_mday == moment.tm_mday
		       ? 0
		       : err_set(err, ERR_USAGE, "\"%s\": there is no such day", text);
}

/* What may stand behind the seconds: a fraction, and "Z". */
static bool ends_moment(const char *text)
{
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	return *text == '\0' || str_equal(text, "Z");
}

static bool parse_date(const char *text, int64_t *ms)
{
	struct tm moment = {0};
	const char *rest = strptime(text, "%Y-%m-%d", &moment);

	if (rest && *rest == 'T')
		rest = strptime(rest, "T%H:%M:%S", &moment);
	if (!rest || !ends_moment(rest))
		return false;
	*ms = (int64_t)timegm(&moment) * 1000;
	return true;
}

int moment_parse(const char *option, const char *text, int64_t *ms, struct err *err)
{
	int64_t ago;

	if (check_day(text, err) < 0)
		return err_wrap(err, "%s", option);
	if (parse_date(text, ms))
		return 0;
	if (str_parse_duration(text, 1000, &ago) < 0)
		return err_set(err, ERR_USAGE,
			       "%s: \"%s\" is neither a time ago nor a moment; write 5m or "
			       "2026-11-21T06:14:11Z",
			       option, text);
	*ms = clock_wall_ms() - ago;
	return 0;
}

/* The next time that a clock shows it. */
static bool parse_clock(const char *text, int64_t now_ms, int64_t *ms)
{
	time_t now = (time_t)(now_ms / 1000);
	struct tm moment;

	localtime_r(&now, &moment);
	const char *rest = strptime(text, "%H:%M", &moment);
	if (!rest || *rest)
		return false;
	moment.tm_sec = 0;
	moment.tm_isdst = -1;
	*ms = (int64_t)mktime(&moment) * 1000;
	if (*ms <= now_ms) {
		moment.tm_mday++;
		moment.tm_isdst = -1;
		*ms = (int64_t)mktime(&moment) * 1000;
	}
	return true;
}

static bool parse_coming_date(const char *text, int64_t *ms)
{
	struct tm moment = {.tm_isdst = -1};
	const char *rest = strptime(text, "%Y-%m-%d", &moment);
	const char *time = rest && *rest == 'T' ? rest + 1 : NULL;

	if (time && !(rest = strptime(time, "%H:%M:%S", &moment)))
		rest = strptime(time, "%H:%M", &moment);
	if (!rest || (*rest && !str_equal(rest, "Z")))
		return false;
	*ms = (int64_t)(*rest ? timegm(&moment) : mktime(&moment)) * 1000;
	return true;
}

int moment_parse_coming(const char *text, int64_t *ms, struct err *err)
{
	static const char now[] = "now+";
	int64_t now_ms = clock_wall_ms(), in_ms;

	if (check_day(text, err) < 0)
		return -1;
	if (str_starts_with(text, now) && str_parse_duration(text + strlen(now), 1000, &in_ms) == 0)
		*ms = now_ms + in_ms;
	else if (!parse_clock(text, now_ms, ms) && !parse_coming_date(text, ms))
		return err_set(err, ERR_USAGE,
			       "\"%s\" is no time; write now+1h, 22:00 or 2026-11-21T06:14:11",
			       text);
	return 0;
}
