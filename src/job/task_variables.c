#include "job/task_variables.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

static const char *const names[] = {
	"TONY_AGENT",	       "TONY_AM_URL",	      "TONY_ARRAY_ID",	   "TONY_ARRAY_TASK_ID",
	"TONY_CHECKPOINT_DIR", "TONY_CLUSTER_FILE",   "TONY_CONTAINER",	   "TONY_EPOCH",
	"TONY_FILES",	       "TONY_FRAMEWORK",      "TONY_GUARDIAN_PID", "TONY_HOST",
	"TONY_JOB_ID",	       "TONY_JOB_NAME",	      "TONY_METRICS_FILE", "TONY_OUTPUT_DIR",
	"TONY_PORT",	       "TONY_PREEMPTED",      "TONY_PROCESS",	   "TONY_PROCESS_COUNT",
	"TONY_PROGRESS_FILE",  "TONY_RESTART",	      "TONY_SWEEP",	   "TONY_TRIAL",
	"TONY_TASK",	       "TONY_TASK_ATTEMPT",   "TONY_TASK_COUNT",   "TONY_TASK_INDEX",
	"TONY_TASK_TYPE",      "TONY_TASK_VARIABLES", "TONY_TOKEN_FILE",   "TONY_SESSION",
	"TONY_UI_PATH",
};

bool task_variables_have(const char *name)
{
	for (size_t i = 0; i < array_length(names); i++)
		if (str_equal(names[i], name))
			return true;
	return false;
}

void task_variables_unset(void)
{
	const char *list = getenv("TONY_TASK_VARIABLES");
	struct str_list named cleanup_str_list = {0};

	str_split(&named, list ? list : "", ' ');
	for (size_t i = 0; i < named.count; i++)
		unsetenv(named.items[i]);
	for (size_t i = 0; i < array_length(names); i++)
		if (!str_equal(names[i], "TONY_CONTAINER"))
			unsetenv(names[i]);
}
