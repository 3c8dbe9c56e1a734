/* How many tasks of the elastic types are wanted, changed by the user while the job runs. */
#include <stdlib.h>

#include "am/api_internal.h"
#include "am/command.h"
#include "base/json.h"
#include "base/mem.h"

/* {"wanted": {"worker": 8}}, of all elastic types. */
static json_t *describe(const struct api *api)
{
	const struct job *job = api->host.job;
	json_t *wanted = json_object();

	for (size_t i = 0; i < job->type_count; i++)
		if (job_type_is_elastic(&job->types[i]))
			json_set_int(wanted, job->types[i].name,
				     machine_wanted(api->host.machine, i));
	return json_pack("{s:o}", "wanted", wanted);
}

/* False: the job's size is settled. */
static bool scale(struct api *api, const int *wanted)
{
	for (size_t i = 0; i < api->host.job->type_count; i++) {
		const struct machine_event event = {
			.kind = EVENT_SCALE, .type = i, .count = wanted[i]};
		if (wanted[i] >= 0 && !api->host.deliver(api->host.data, &event))
			return false;
	}
	return true;
}

void api_handle_scale(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	int *wanted cleanup_free = mem_alloc_array(api->host.job->type_count, sizeof(*wanted));
	size_t length;

	const char *body = http_request_body(request, &length);
	if (command_parse_scale(api->host.job, wanted, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	bool scales = scale(api, wanted);
	char *text cleanup_free = mem_strndup(body, length);
	api_audit(api, request, "scale", scales ? "done" : "conflict", text);
	if (scales)
		api_answer_when_kept(api, request, describe(api));
	else
		http_answer_error(request, 409, "conflict",
				  "the job is ending: a task of it has ended for good");
}
