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

json_t *program_use_to_json(const struct program_use *use)
{
	json_t *object = json_object();

	json_set_int(object, "ms", use->ms);
	json_set_int(object, "cpu_ms", use->cpu_ms);
	json_set_int(object, "max_rss_bytes", use->max_rss_bytes);
	set_positive(object, "max_pss_bytes", use->max_pss_bytes);
	return object;
}

json_t *record_am(int am_attempt, int64_t pid, const char *address, const char *container)
{
	json_t *record = begin("am");

	json_set_int(record, "attempt", am_attempt);
	json_set_int(record, "pid", pid);
	json_set_text(record, "address", address);
	json_set_text(record, "container", container);
	json_set_text(record, "version", TONY_VERSION);
	return record;
}

static void set_exempt(json_t *record, const struct job *job, const struct machine *machine)
{
	json_t *names = json_array();

	for (size_t i = 0; i < job->type_count; i++)
		if (machine_type_is_exempt(machine, i))
			json_array_append_new(names, json_string(job->types[i].name));
	if (json_array_size(names) > 0)
		json_object_set(record, "exempt", names);
	json_decref(names);
}

/* Of the types of which another number is wanted than at the start. */
static void set_wanted(json_t *record, const struct job *job, const struct machine *machine)
{
	json_t *wanted cleanup_json = json_object();

	for (size_t i = 0; i < job->type_count; i++)
		if (machine_wanted(machine, i) != job->types[i].instances)
			json_set_int(wanted, job->types[i].name, machine_wanted(machine, i));
	if (json_object_size(wanted) > 0)
		json_object_set(record, "wanted", wanted);
}

static void set_cause(json_t *record, const struct job *job, const struct machine *machine,
		      const struct machine_status *status)
{
	if (status->cause->kind == CAUSE_NONE)
		return;
	cause_set_member(record, status->cause);
	if (status->cause_task >= 0)
		set_task_name(record, "cause_task", job,
			      machine_task(machine, (size_t)status->cause_task));
	if (status->cause_epoch != status->epoch)
		json_set_int(record, "cause_epoch", status->cause_epoch);
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
	set_positive(record, "preemptions", status.preemptions);
	set_positive(record, "streak", status.streak);
	set_positive(record, "pause", status.pause_ms);
	set_exempt(record, job, machine);
	set_wanted(record, job, machine);
	if (to == JOB_FINISHING || job_state_is_final(to))
		json_set_text(record, "outcome", job_state_name(status.outcome));
	set_cause(record, job, machine, &status);
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
	set_positive(record, "door", task->door);
	json_set_text(record, "log_dir", log_dir);
	set_positive(record, "misses", task->misses);
	if (task->blames_peer)
		json_set_bool(record, "blames_peer", true);
	if (task->moved)
		json_set_bool(record, "moved", true);
	json_set_text(record, "blamed", task->blamed);
	set_positive(record, "ports_lost", task->ports_lost);
	if (task->port_missed)
		json_set_bool(record, "port_missed", true);
	if (task->port_open)
		json_set_bool(record, "port_open", true);
	if (task->rejoin) {
		json_set_bool(record, "rejoin", true);
		if (task->ask_not_before > 0)
			set_positive(record, "pause", task->ask_not_before - task->state_since);
	}
	if (task->restarting) {
		json_set_bool(record, "restarting", true);
		set_positive(record, "pause", task->start_not_before - task->state_since);
	}
	cause_set_member(record, &task->cause);
	return record;
}

void record_add_use(json_t *record, const struct program_use *use)
{
	json_set_int(record, "used_ms", use->ms);
	json_set_int(record, "used_cpu_ms", use->cpu_ms);
	json_set_int(record, "used_rss_bytes", use->max_rss_bytes);
	set_positive(record, "used_pss_bytes", use->max_pss_bytes);
}

json_t *record_avoid(const char *host)
{
	json_t *record = begin("avoid");

	json_set_text(record, "host", host);
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

json_t *record_output(const struct job *job, const struct task *task,
		      const struct lost_output *lost)
{
	json_t *record = begin("output");

	set_task_name(record, "task", job, task);
	json_set_int(record, "attempt", lost->attempt);
	json_set_int(record, "lines", lost->lines);
	json_set_int(record, "bytes", lost->bytes);
	json_set_text(record, "text", lost->text);
	return record;
}

/* `over`: the sentence when there is no more of it. */
static void set_trouble(json_t *record, const char *trouble, const char *over, int64_t since_ms,
			int64_t now_ms)
{
	char *lasted cleanup_free = str_format_duration(now_ms > since_ms ? now_ms - since_ms : 0);
	char *end cleanup_free = mem_printf("%s, after %s", over, lasted);

	json_set_text(record, "text", trouble ? trouble : end);
	if (trouble)
		json_set_bool(record, "trouble", true);
	json_set_int(record, "since_ms", since_ms);
}

json_t *record_checkpoints(const struct job *job, const struct task *task, const char *trouble,
			   int64_t since_ms, int64_t now_ms)
{
	json_t *record = begin("checkpoints");

	set_task_name(record, "task", job, task);
	set_trouble(record, trouble, "all is well with its checkpoints again", since_ms, now_ms);
	return record;
}

json_t *record_store(const char *trouble, int64_t since_ms, int64_t now_ms)
{
	json_t *record = begin("store");

	set_trouble(record, trouble, "what is kept of the job is written again", since_ms, now_ms);
	return record;
}

json_t *record_waiting(const char *text)
{
	json_t *record = begin("waiting");

	json_set_text(record, "text", text);
	return record;
}

json_t *record_tracking(const char *run, const char *page)
{
	json_t *record = begin("tracking");

	json_set_text(record, "run", run);
	json_set_text(record, "page", page);
	json_set_text(record, "text", page);
	return record;
}

json_t *record_start(bool released, const struct str_list *met)
{
	json_t *record = begin("start");

	if (released)
		json_set_bool(record, "released", true);
	if (met->count > 0)
		json_set_list(record, "met", met);
	return record;
}

json_t *record_final(enum job_state state, const char *message, const struct cause *cause)
{
	json_t *record = begin("final");

	json_set_text(record, "state", job_state_name(state));
	json_set_text(record, "message", message);
	if (cause)
		cause_set_member(record, cause);
	return record;
}

void record_set_notices_due(json_t *final)
{
	json_set_bool(final, "notices_due", true);
}

void record_set_ended(json_t *final, int64_t time_ms)
{
	if (time_ms > 0)
		json_set_int(final, "ended_ms", time_ms);
}

static json_t *repeat(const json_t *last)
{
	json_t *record = json_copy((json_t *)last);

	if (!json_object_get(record, "ended_ms"))
		json_object_set(record, "ended_ms", json_object_get(last, "t"));
	return record;
}

json_t *record_notices(const json_t *last, json_t *notices)
{
	json_t *record = repeat(last);

	json_object_del(record, "notices_due");
	json_object_set_new(record, "notices", notices);
	return record;
}

json_t *record_notice(const char *of, const char *text, bool failed)
{
	json_t *notice = json_object();

	json_set_text(notice, "of", of);
	json_set_text(notice, "text", text);
	if (failed)
		json_set_bool(notice, "failed", true);
	return notice;
}

json_t *record_history_trouble(const json_t *last, const char *text)
{
	json_t *record = repeat(last);

	json_set_text(record, "history_trouble", text);
	return record;
}

bool record_is_final(const struct journal_line *line)
{
	json_t *record cleanup_json = journal_line_record(line, NULL);
	return str_equal(json_string_value(json_object_get(record, "ev")), "final");
}

bool record_ends_journal(const char *path)
{
	char *text cleanup_free = NULL;
	struct journal_line line;

	return journal_read_last(path, &text, &line) && record_is_final(&line);
}

bool record_has_notices_due(const struct journal_line *line)
{
	json_t *record cleanup_json = journal_line_record(line, NULL);
	return json_is_true(json_object_get(record, "notices_due"));
}
