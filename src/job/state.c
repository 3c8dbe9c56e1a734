#include <string.h>

#include "base/mem.h"
#include "job/machine.h"

static const char *const task_names[TASK_STATE_COUNT] = {
	[TASK_WAITING] = "waiting",	  [TASK_REQUESTED] = "requested",
	[TASK_ALLOCATED] = "allocated",	  [TASK_LAUNCHING] = "launching",
	[TASK_REGISTERED] = "registered", [TASK_RUNNING] = "running",
	[TASK_STOPPING] = "stopping",	  [TASK_SUCCEEDED] = "succeeded",
	[TASK_FAILED] = "failed",	  [TASK_LOST] = "lost",
	[TASK_STOPPED] = "stopped",
};

static const char *const job_names[JOB_STATE_COUNT] = {
	[JOB_SUBMITTED] = "submitted", [JOB_FORMING] = "forming",     [JOB_RUNNING] = "running",
	[JOB_REFORMING] = "reforming", [JOB_FINISHING] = "finishing", [JOB_SUCCEEDED] = "succeeded",
	[JOB_FAILED] = "failed",       [JOB_KILLED] = "killed",
};

static int find(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

const char *task_state_name(enum task_state state)
{
	return task_names[state];
}

const char *job_state_name(enum job_state state)
{
	return job_names[state];
}

const enum job_state job_state_order[JOB_STATE_COUNT] = {
	JOB_RUNNING,   JOB_REFORMING, JOB_FORMING, JOB_FINISHING,
	JOB_SUBMITTED, JOB_FAILED,    JOB_KILLED,  JOB_SUCCEEDED,
};

bool job_state_is_final(enum job_state state)
{
	return state == JOB_SUCCEEDED || state == JOB_FAILED || state == JOB_KILLED;
}

int job_state_exit_code(enum job_state state)
{
	if (state == JOB_SUCCEEDED)
		return 0;
	return state == JOB_KILLED ? 8 : 1;
}

int task_state_parse(const char *name)
{
	return find(task_names, array_length(task_names), name);
}

int job_state_parse(const char *name)
{
	return find(job_names, array_length(job_names), name);
}
