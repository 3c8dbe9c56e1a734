#include "job/awaited.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

void awaited_finish(struct awaited *awaited)
{
	mem_replace(&awaited->id, NULL);
}

int awaited_parse(const char *text, struct awaited *awaited, struct err *err)
{
	struct str_list parts cleanup_str_list = {0};
	int64_t submitted_ms;

	str_split(&parts, text, ':');
	if (parts.count != 3 || !*parts.items[0] ||
	    str_parse_int(parts.items[2], 0, INT64_MAX, &submitted_ms) < 0 ||
	    (!str_equal(parts.items[1], "success") && !str_equal(parts.items[1], "any")))
		return err_set(err, ERR_INPUT, "\"%.200s\" is not JOB:success:TIME or JOB:any:TIME",
			       text);
	*awaited = (struct awaited){mem_strdup(parts.items[0]), str_equal(parts.items[1], "any"),
				    submitted_ms};
	return 0;
}

char *awaited_format(const struct awaited *awaited)
{
	return mem_printf("%s:%s:%lld", awaited->id, awaited->any_end ? "any" : "success",
			  (long long)awaited->submitted_ms);
}
