/* Any bytes as a metrics.jsonl: what is made of it are figures that every rule can look at. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/json.h"
#include "base/mem.h"

static const char job_text[] =
	"{\"format\":1,\"id\":\"fuzz\",\"name\":\"\",\"user\":\"\",\"framework\":\"generic\","
	"\"mode\":\"gang\",\"submitted_ms\":0,\"fail_fast\":false,\"stop_after_chief\":false,"
	"\"retry_count\":0,\"infrastructure_retry_count\":0,\"retry_delay_ms\":0,"
	"\"application_timeout_ms\":0,\"allocation_timeout_ms\":0,\"registration_timeout_ms\":0,"
	"\"execution_timeout_ms\":0,\"executor_give_up_ms\":0,\"heartbeat_interval_ms\":10,"
	"\"max_missed_heartbeats\":1,\"metrics_interval_ms\":0,\"gpu_metrics\":false,"
	"\"error_lines\":0,\"log_rotate_bytes\":0,\"log_keep\":0,\"types\":[{\"name\":\"worker\","
	"\"instances\":3,\"processes\":1,\"memory\":4096,\"vcores\":4,\"gpus\":2,\"command\":\"\","
	"\"role\":\"tracked\",\"stop_on_failure\":false,\"max_restarts\":0,\"hold_port\":false,"
	"\"isolation\":\"none\",\"stop_grace_ms\":0,\"frozen_timeout_ms\":0},{\"name\":\"ps\","
	"\"instances\":2,\"processes\":1,\"memory\":4096,\"vcores\":4,\"gpus\":0,\"command\":\"\","
	"\"role\":\"tracked\",\"stop_on_failure\":false,\"max_restarts\":0,\"hold_port\":false,"
	"\"isolation\":\"none\",\"stop_grace_ms\":0,\"frozen_timeout_ms\":0}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct job_view *make_view(void)
{
	struct job_view *view = job_view_create(job_from_text(job_text, strlen(job_text), NULL));

	view->state = JOB_SUCCEEDED;
	view->begun_ms = view->running_ms = 1;
	view->ended_ms = 100000000;
	for (size_t i = 0; i < view->task_count; i++) {
		view->tasks[i].state = TASK_SUCCEEDED;
		view->tasks[i].attempt = 1;
	}
	return view;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct job_view *view;
	struct advice_list list cleanup_advice_list = {0};

	if (!view)
		view = make_view();
	struct advise_input input = {.view = view, .now_ms = view->ended_ms};
	advise_uses_read(&input.uses, view->job, (const char *)data, size);
	advise(&input, &list);
	json_t *object cleanup_json = advice_list_to_json(&list);
	char *text cleanup_free = json_text(object);
	if (!text)
		abort();
	advise_uses_finish(&input.uses);
	return 0;
}
