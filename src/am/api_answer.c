/* Words that the answers of several handlers have. */
#include <string.h>

#include "am/api_internal.h"
#include "base/mem.h"

void api_answer_bad(struct http_request *request, const struct err *err)
{
	http_answer_error(request, 400, "bad-request", "%s", err_message(err));
}

void api_answer_empty(struct http_request *request)
{
	http_answer_json(request, 200, json_object());
}

char *api_task_name(const struct api *api, size_t number)
{
	const struct task *task = machine_task(api->host.machine, number);

	return job_task_name(api->host.job, task->type, task->index);
}

void api_answer_stale(struct http_request *request)
{
	http_answer_error(request, 409, "stale", "another attempt of this task is the valid one");
}
