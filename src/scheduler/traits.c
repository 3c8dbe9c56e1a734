/* The engines side by side: what each is. */
#include "base/mem.h"
#include "base/str.h"
#include "job/scheduler_list.h"
#include "scheduler/scheduler.h"

const struct scheduler_traits local_traits = {
	.name = "local",
	.folder = "jobs",
	.one_host = true,
	.shares_files = true,
	.has_tokens = true,
	.tells_neighbours = true,
	.tells_resources = true,
	.tells_history_trouble = true,
};

const struct scheduler_traits yarn_traits = {
	.name = "yarn",
	.folder = "yarn",
	.staged = true,
	.own_ids = true,
	.remote_am = true,
	.restarts_am = true,
	.has_proxy = true,
	.has_tokens = true,
	.renews_tokens = true,
	.names_users = true,
	.is_service = true,
	.tells_resources = true,
};

#define DECLARATION(engine) extern const struct scheduler_traits engine##_traits;
#define POINTER(engine)	    &engine##_traits,
SCHEDULER_LIST(DECLARATION, DECLARATION)

const struct scheduler_traits *scheduler_traits_of(const struct job *job)
{
	static const struct scheduler_traits *const all[] = {SCHEDULER_LIST(POINTER, POINTER)};

	for (size_t i = 0; i < array_length(all); i++)
		if (str_equal(all[i]->name, job->scheduler ? job->scheduler : all[0]->name))
			return all[i];
	return NULL;
}
