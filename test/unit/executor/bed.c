#include "bed.h"

#include "../base/patience.h"
#include "../base/scratch.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"

struct job *bed_job(const char *command)
{
	struct job *job = mem_alloc(sizeof(*job));

	/* Processes of a job are found, and ended, by its id: others test at the same time. */
	*job = (struct job){
		.id = mem_printf("tony-20261121-061400-%d", (int)getpid()),
		.name = mem_strdup("digits"),
		.user = mem_strdup("ada"),
		.framework = mem_strdup("generic"),
		.heartbeat_interval_ms = 1000,
		.max_missed_heartbeats = 25,
		.executor_give_up_ms = PATIENCE_MS,
		.error_lines = 20,
		.types = mem_alloc(sizeof(*job->types)),
		.type_count = 1,
		.config = json_object(),
	};
	job->types[0] = (struct job_type){
		.name = mem_strdup("worker"),
		.instances = 1,
		.processes = 1,
		.command = mem_strdup(command),
		.role = JOB_ROLE_TRACKED,
		.hold_port = true,
		.stop_grace_ms = PATIENCE_MS,
	};
	return job;
}

static bool holds_number(const char *path, int *number)
{
	char *text cleanup_free = fs_read_file(path, 4096, NULL, NULL);

	if (!text || !strchr(text, '\n'))
		return false;
	*number = atoi(text);
	return true;
}

int bed_await_number(void **state, const char *name)
{
	const char *path = scratch_path(state, name);
	int number;

	wait_until(holds_number(path, &number));
	return number;
}

void bed_await_end(int pid)
{
	struct proc_id id;

	wait_until(!proc_identify(pid, &id) || !proc_is_alive(&id));
}
