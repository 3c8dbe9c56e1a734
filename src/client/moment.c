#include "client/moment.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"

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
