#include "base/mem.h"
#include "base/str.h"
#include "scheduler/local.h"
#include "scheduler/scheduler.h"
#include "scheduler/yarn_client.h"

static const struct scheduler_client_ops *const schedulers[] = {
	&local_scheduler_client,
	&yarn_scheduler_client,
};

const struct scheduler_client_ops *scheduler_client_find(const char *name)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_equal(schedulers[i]->name, name))
			return schedulers[i];
	}
	return NULL;
}

const struct scheduler_client_ops *scheduler_client_at(size_t index)
{
	return index < array_length(schedulers) ? schedulers[index] : NULL;
}

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
