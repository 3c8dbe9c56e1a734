#include "job/record.h"

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"

static json_t *begin(const char *event)
{
	json_t *record = json_object();

	json_set_text(record, "ev", event);
	return record;
}

static void set_task_name(json_t *record, const char *member, const struct job *job,
			  const struct task *task)
{
	char *name cleanup_free = job_task_name(job, task->type, task->index);

	json_set_text(record, member, name);
}

static void set_positive(json_t *record, const char *member, int64_t value)
{
	if (value > 0)
		json_set_int(record, member, value);
}

json_t *record_am(int am_attempt, int64_t pid, const char *address)
{
	json_t *record = begin("am");

	json_set_int(record, "attempt", am_attempt);
	json_set_int(record, "pid", pid);
	json_set_text(record, "address", address);
	json_set_text(record, "version", TONY_VERSION);
	return record;
}

json_t *record_job(const struct job *job, const struct machine *machine, enum job_state from,
		   enum job_state to)
{
	struct machine_status status;
	json_t *record = begin("job");

	machine_status(machine, &status);
	json_set_text(record, "from", job_state_name(from));
	json_set_text(record, "to", job_state_name(to));
	json_set_int(record, "epoch", status.epoch);
	json_set_int(record, "retries", status.retries_used);
	json_set_int(record, "infrastructure_retries", status.infrastructure_retries_used);
	if (to == JOB_FINISHING || job_state_is_final(to))
		json_set_text(record, "outcome", job_state_name(status.outcome));
	cause_set_member(record, status.cause);
	if (status.cause->kind != CAUSE_NONE && status.cause_task >= 0)
		set_task_name(record, "cause_task", job,
			      machine_task(machine, (size_t)status.cause_task));
	return record;
}

json_t *record_task(const struct job *job, const struct task *task, enum task_state from,
		    enum task_state to, const char *log_dir)
{
	json_t *record = begin("task");

	set_task_name(record, "task", job, task);
	json_set_text(record, "from", task_state_name(from));
	json_set_text(record, "to", task_state_name(to));
	json_set_int(record, "attempt", task->attempt);
	json_set_int(record, "epoch", task->epoch);
	json_set_int(record, "restart", task->restart);
	json_set_int(record, "restarts_used", task->restarts_used);
	json_set_bool(record, "up", task->process_up);
	json_set_text(record, "container", task->container);
	json_set_text(record, "host", task->host);
	set_positive(record, "port", task->port);
	set_positive(record, "ui_port", task->ui_port);
	json_set_text(record, "log_dir", log_dir);
	cause_set_member(record, &task->cause);
	return record;
}

json_t *record_note(const struct job *job, const struct task *task, const char *text)
{
	json_t *record = begin("note");

	json_set_text(record, "text", text);
	if (task)
		set_task_name(record, "task", job, task);
	return record;
}

json_t *record_waiting(const char *text)
{
	json_t *record = begin("waiting");

	json_set_text(record, "text", text);
	return record;
}

json_t *record_final(enum job_state state, const char *message)
{
	json_t *record = begin("final");

	json_set_text(record, "state", job_state_name(state));
	json_set_text(record, "message", message);
	return record;
}
