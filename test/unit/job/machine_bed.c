#include "machine_bed.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void add_type(struct job *job, const char *text)
{
	job->types = mem_realloc_array(job->types, job->type_count + 1, sizeof(*job->types));
	struct job_type *type = &job->types[job->type_count++];
	*type = (struct job_type){.processes = 1, .memory = 64, .vcores = 1, .stop_grace_ms = 1000};
	const char *equals = strchr(text, '=');
	type->name = mem_strndup(text, (size_t)(equals - text));
	type->instances = atoi(equals + 1);
	type->role = strstr(text, ":untracked") ? JOB_ROLE_UNTRACKED
		     : strstr(text, ":sidecar") ? JOB_ROLE_SIDECAR
						: JOB_ROLE_TRACKED;
}

struct bed *bed_create(const char *types)
{
	struct bed *bed = mem_alloc(sizeof(*bed));
	bed->now = 1000;
	bed->job = mem_alloc(sizeof(*bed->job));
	bed->job->heartbeat_interval_ms = 1000;
	bed->job->max_missed_heartbeats = 25;
	bed->job->retry_delay_ms = 200;
	struct str_list list cleanup_str_list = {0};
	str_split(&list, types, ' ');
	for (size_t i = 0; i < list.count; i++)
		add_type(bed->job, list.items[i]);
	return bed;
}

struct bed *bed_create_elastic(const char *types)
{
	struct bed *bed = bed_create(types);

	bed_type(bed, "worker")->min_instances = 2;
	bed_type(bed, "worker")->max_instances = 4;
	bed->job->elastic_settle_ms = BED_SETTLE_MS;
	return bed;
}

void bed_destroy(struct bed *bed)
{
	machine_destroy(bed->machine);
	action_list_finish(&bed->actions);
	job_destroy(bed->job);
	free(bed);
}

struct job_type *bed_type(struct bed *bed, const char *name)
{
	return &bed->job->types[job_find_type(bed->job, name)];
}

void bed_depend(struct bed *bed, const char *type, const char *on, bool on_start)
{
	struct job_type *t = bed_type(bed, type);
	t->dependencies = mem_realloc_array(t->dependencies, t->dependency_count + 1,
					    sizeof(*t->dependencies));
	t->dependencies[t->dependency_count++] = (struct job_dependency){
		.type = (size_t)job_find_type(bed->job, on), .on_start = on_start};
}

static bool feed(struct bed *bed, const struct machine_event *event)
{
	action_list_clear(&bed->actions);
	return machine_handle(bed->machine, event, bed->now, &bed->actions);
}

void bed_submit(struct bed *bed)
{
	bed->machine = machine_create(bed->job, 1);
	feed(bed, &(struct machine_event){.kind = EVENT_SUBMIT});
}

size_t bed_task(const struct bed *bed, const char *name)
{
	int64_t task = machine_find_task(bed->machine, name);
	if (task < 0)
		BUG("no task %s", name);
	return (size_t)task;
}

const struct task *bed_look(const struct bed *bed, const char *name)
{
	return machine_task(bed->machine, bed_task(bed, name));
}

struct machine_status bed_status(const struct bed *bed)
{
	struct machine_status status;
	machine_status(bed->machine, &status);
	return status;
}

static struct machine_event event_of(const struct bed *bed, enum machine_event_kind kind,
				     const char *name)
{
	const struct task *task = bed_look(bed, name);
	return (struct machine_event){.kind = kind,
				      .task = bed_task(bed, name),
				      .attempt = task->attempt,
				      .epoch = task->epoch,
				      .restart = task->restart};
}

bool bed_allocate(struct bed *bed, const char *name)
{
	struct machine_event event = event_of(bed, EVENT_ALLOCATED, name);
	event.container = "container";
	event.host = bed->host ? bed->host : "127.0.0.1";
	return feed(bed, &event);
}

bool bed_register_in(struct bed *bed, const char *name, int epoch, int process_epoch)
{
	struct machine_event event = event_of(bed, EVENT_REGISTERED, name);
	event.host = bed->host ? bed->host : "127.0.0.1";
	event.port = 4000;
	event.epoch = epoch;
	event.process_epoch = process_epoch;
	return feed(bed, &event);
}

bool bed_register(struct bed *bed, const char *name)
{
	int epoch = machine_order(bed->machine, bed_task(bed, name)).epoch;
	return bed_register_in(bed, name, epoch, 0);
}

bool bed_start_of(struct bed *bed, const char *name, int epoch, int restart)
{
	struct machine_event event = event_of(bed, EVENT_STARTED, name);
	event.epoch = epoch;
	event.restart = restart;
	return feed(bed, &event);
}

bool bed_come(struct bed *bed, const char *name)
{
	return bed_allocate(bed, name) && bed_register(bed, name);
}

bool bed_start(struct bed *bed, const char *name)
{
	struct machine_event event = event_of(bed, EVENT_STARTED, name);
	return feed(bed, &event);
}

bool bed_exit(struct bed *bed, const char *name, int code)
{
	struct cause cause = {.kind = code ? CAUSE_EXIT : CAUSE_NONE,
			      .exit_code = code,
			      .text = code ? "exited" : NULL};
	struct machine_event event = event_of(bed, EVENT_EXITED, name);
	event.cause = &cause;
	return feed(bed, &event);
}

bool bed_exit_blaming(struct bed *bed, const char *name)
{
	struct cause cause = {.kind = CAUSE_EXIT,
			      .exit_code = 1,
			      .text = "exited",
			      .headline = "RuntimeError: Connection reset by peer"};
	struct machine_event event = event_of(bed, EVENT_EXITED, name);
	event.cause = &cause;
	return feed(bed, &event);
}

bool bed_lose(struct bed *bed, const char *name, enum cause_kind kind)
{
	struct cause cause = {.kind = kind};
	struct machine_event event = event_of(bed, EVENT_CONTAINER_ENDED, name);
	event.cause = &cause;
	return feed(bed, &event);
}

bool bed_gone(struct bed *bed, const char *name)
{
	return bed_lose(bed, name, CAUSE_NONE);
}

bool bed_beat(struct bed *bed, const char *name)
{
	struct machine_event event = event_of(bed, EVENT_BEAT, name);
	return feed(bed, &event);
}

bool bed_serve(struct bed *bed, const char *name, int ui_port)
{
	struct machine_event event = event_of(bed, EVENT_BEAT, name);
	event.ui_port = ui_port;
	return feed(bed, &event);
}

bool bed_scale(struct bed *bed, const char *type, int count)
{
	return feed(bed, &(struct machine_event){.kind = EVENT_SCALE,
						 .type = (size_t)job_find_type(bed->job, type),
						 .count = count});
}

void bed_stand_still(struct bed *bed, int64_t ms)
{
	bed->now += ms;
	feed(bed, &(struct machine_event){.kind = EVENT_TICK});
}

void bed_pass(struct bed *bed, int64_t ms)
{
	int64_t until = bed->now + ms;
	for (int64_t due = machine_deadline(bed->machine); due <= until;
	     due = machine_deadline(bed->machine)) {
		bed->now = due > bed->now ? due : bed->now + 1;
		feed(bed, &(struct machine_event){.kind = EVENT_TICK});
	}
	bed->now = until;
}

void bed_bring_up(struct bed *bed, const char *type)
{
	int number = job_find_type(bed->job, type);
	int count = bed->job->types[number].instances;
	bool (*const steps[])(struct bed *, const char *) = {bed_allocate, bed_register, bed_start};
	for (size_t step = 0; step < array_length(steps); step++)
		for (int i = 0; i < count; i++) {
			char *name cleanup_free = mem_printf("%s:%d", type, i);
			steps[step](bed, name);
		}
}

void bed_drain(struct bed *bed)
{
	for (size_t task = 0; task < machine_task_count(bed->machine); task++) {
		const struct task *t = machine_task(bed->machine, task);
		struct machine_event event = {
			.kind = EVENT_CONTAINER_ENDED, .task = task, .attempt = t->attempt};
		if (t->has_container)
			feed(bed, &event);
	}
}

bool bed_acted(const struct bed *bed, enum action_kind kind, const char *name)
{
	for (size_t i = 0; i < bed->actions.count; i++)
		if (bed->actions.items[i].kind == kind &&
		    bed->actions.items[i].task == bed_task(bed, name))
			return true;
	return false;
}
