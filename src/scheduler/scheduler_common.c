/* Words that all engines use. */
#include "base/mem.h"
#include "base/str.h"
#include "scheduler/scheduler.h"

int scheduler_err_several(const char *id, const struct str_list *ids, struct err *err)
{
	enum { NAMED_AT_MOST = 5 };
	struct str_list named cleanup_str_list = {0};

	for (size_t i = 0; i < ids->count && i < NAMED_AT_MOST; i++)
		str_list_add(&named, ids->items[i]);
	char *text cleanup_free = str_list_join(&named, ", ");
	return err_set(err, ERR_USAGE, "\"%s\" fits %zu jobs (%s%s); write more of the id", id,
		       ids->count, text, ids->count > NAMED_AT_MOST ? ", ..." : "");
}
