#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

static int restart_task(void *data, const struct verb_call *call, struct err *err)
{
	struct opened opened cleanup_opened = {0};

	if (call->operands->count != 2)
		return err_set(err, ERR_USAGE, "usage: %s", verb_restart.options.usage);
	const char *task = call->operands->items[1];
	if (opened_find(&opened, call->operands->items[0], err) < 0 ||
	    opened_check_one_task(&opened, task, err) < 0)
		return -1;
	char *path cleanup_free = mem_printf("/v1/tasks/%s/restart", task);
	json_t *answer cleanup_json = opened_ask(&opened, "POST", path, "{}", err);
	if (!answer)
		return -1;
	printf("%s of %s restarts\n", task, opened.id);
	return 0;
}

const struct verb verb_restart = {
	.options =
		{
			.verb = "restart",
			.usage = "tony restart JOB TASK",
			.jobs = OPT_JOBS_LIVE,
			.summary = "restart the program of one task in its container",
			.description = "The program is ended (SIGTERM, grace, SIGKILL) and started "
				       "again on the "
				       "same port. Costs none of the task's restarts.",
		},
	.run = restart_task,
};
