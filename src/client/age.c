#include "client/age.h"

#include "base/str.h"

/* "--older-than 30" would mean seconds, and remove what its user wanted to keep. */
int age_check_unit(const char *option, const char *value, const char *example, struct err *err)
{
	double number;

	if (!value || str_parse_double(value, &number) < 0)
		return 0;
	return err_set(err, ERR_USAGE, "%s: \"%s\" has no unit; write %s%s", option, value, value,
		       example);
}

int age_parse(const char *option, const char *value, int64_t *ms, struct err *err)
{
	if (age_check_unit(option, value, "d", err) < 0)
		return -1;
	if (str_parse_duration(value, 1000, ms) < 0)
		return err_set(err, ERR_USAGE, "%s: \"%s\" is not a duration; write 30d or 12h",
			       option, value);
	return 0;
}
