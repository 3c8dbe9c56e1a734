/* The engines side by side: what each is. */
#include "scheduler/scheduler.h"

const struct scheduler_traits local_traits = {
	.name = "local",
	.folder = "jobs",
	.one_host = true,
	.shares_files = true,
	.tells_neighbours = true,
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
	.is_service = true,
};
