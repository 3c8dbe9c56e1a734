/*
 * Lines of a journal that no AM would write, well framed, but saying anything; the machine that is
 * restored from them; a storm of events. Whatever comes, the numbers of tasks add up, the deadline
 * moves on, what has a container has its name, and a job that is killed ends.
 *
 * The first byte is the number of lines, 8 bytes each; then events, 6 bytes each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/view.h"

enum { LINE_BYTES = 8, EVENT_BYTES = 6, WALL = 1000000 };

#define type_text(name, instances, role, restarts, more)                                           \
	"{\"name\":\"" name "\",\"instances\":" instances ",\"processes\":1,\"memory\":0,"         \
	"\"vcores\":0,\"gpus\":0,\"command\":\"\",\"role\":\"" role                                \
	"\",\"stop_on_failure\":false,"                                                            \
	"\"max_restarts\":" restarts ",\"hold_port\":false,\"isolation\":\"none\","                \
	"\"stop_grace_ms\":1000,\"frozen_timeout_ms\":0" more "}"

#define stage_text   ",\"depends_on\":[{\"type\":\"prepare\",\"on_start\":false}]"
#define prepare_text type_text("prepare", "1", "tracked", "0", "")
#define worker_text  type_text("worker", "2", "tracked", "2", stage_text)
#define elastic_text                                                                               \
	type_text("worker", "1", "tracked", "2",                                                   \
		  stage_text ",\"min_instances\":1,\"max_instances\":2")
#define ps_text	   type_text("ps", "1", "untracked", "0", "")
#define board_text type_text("board", "1", "sidecar", "0", "")
#define group_text                                                                                 \
	"{\"type\":\"worker\",\"group\":\"g\",\"members\":[\"prepare\"],\"timeout_ms\":2000,"      \
	"\"ignored\":true}"

#define job_text(mode, workers)                                                                    \
	"{\"format\":1,\"id\":\"fuzz\",\"name\":\"\",\"user\":\"\",\"framework\":\"generic\","     \
	"\"mode\":\"" mode "\",\"submitted_ms\":0,\"fail_fast\":false,\"stop_after_chief\":false," \
	"\"retry_count\":3,\"infrastructure_retry_count\":3,\"retry_delay_ms\":100,"               \
	"\"application_timeout_ms\":0,\"allocation_timeout_ms\":5000,"                             \
	"\"registration_timeout_ms\":5000,\"execution_timeout_ms\":0,\"executor_give_up_ms\":0,"   \
	"\"heartbeat_interval_ms\":100,\"max_missed_heartbeats\":5,\"metrics_interval_ms\":0,"     \
	"\"gpu_metrics\":false,\"error_lines\":0,\"log_rotate_bytes\":0,\"log_keep\":0,"           \
	"\"types\":[" prepare_text "," workers "," ps_text "," board_text "],"                     \
	"\"group_timeouts\":[" group_text "]}"

static const char *const tasks[] = {"prepare:0", "worker:0", "worker:1", "ps:0", "board:0"};

/* The largest one stands for the largest number that a record may hold. */
static int number(uint8_t byte)
{
	return byte == UINT8_MAX ? INT32_MAX : byte;
}

static json_t *job_record(const uint8_t *bytes)
{
	json_t *record = json_object();

	json_set_text(record, "ev", "job");
	json_set_text(record, "to", job_state_name((enum job_state)(bytes[1] % JOB_STATE_COUNT)));
	json_set_int(record, "epoch", number(bytes[2]));
	json_set_int(record, "retries", number(bytes[3]));
	json_set_int(record, "infrastructure_retries", number(bytes[4]));
	json_set_int(record, "streak", number(bytes[5]));
	json_set_int(record, "pause", number(bytes[6]));
	if (bytes[7] & 0x80)
		json_object_set_new(record, "wanted", json_pack("{si}", "worker", 2));
	if (bytes[7] & 1)
		json_set_text(
			record, "outcome",
			job_state_name((enum job_state)((bytes[7] & 0x7f) / 2 % JOB_STATE_COUNT)));
	return record;
}

static json_t *task_record(const uint8_t *bytes)
{
	json_t *record = json_object();

	json_set_text(record, "ev", "task");
	json_set_text(record, "task", tasks[bytes[0] % array_length(tasks)]);
	json_set_text(record, "to",
		      task_state_name((enum task_state)(bytes[1] % TASK_STATE_COUNT)));
	json_set_int(record, "attempt", number(bytes[2]));
	json_set_int(record, "epoch", number(bytes[3]));
	json_set_int(record, "restart", number(bytes[4]));
	json_set_int(record, "restarts_used", number(bytes[5]));
	json_set_int(record, "misses", number(bytes[4]));
	json_set_int(record, "pause", number(bytes[6]));
	json_set_int(record, "port", number(bytes[6]));
	json_set_bool(record, "up", bytes[7] & 1);
	json_set_bool(record, "rejoin", bytes[7] & 2);
	json_set_bool(record, "restarting", bytes[7] & 4);
	json_set_text(record, "container", bytes[7] & 8 ? "c" : NULL);
	json_set_text(record, "host", bytes[7] & 16 ? "h" : NULL);
	if (bytes[7] & 32)
		json_object_set_new(record, "cause", json_pack("{ss}", "kind", "exit"));
	return record;
}

static void fold(struct job_view *view, const uint8_t *bytes)
{
	json_t *record cleanup_json = bytes[0] & 0x80 ? job_record(bytes) : task_record(bytes);
	char *text cleanup_free = json_text(record);
	struct journal_line line = {.sequence = view->sequence + 1,
				    .time_ms = WALL + view->sequence * 10,
				    .text = text,
				    .length = strlen(text)};

	if (job_view_add(view, &line, NULL) < 0)
		abort();
}

static void check(const struct machine *machine)
{
	struct machine_status status;
	size_t sum = 0;

	machine_status(machine, &status);
	for (int i = 0; i < TASK_STATE_COUNT; i++)
		sum += status.tasks_in[i];
	if (sum != machine_task_count(machine))
		abort();
	for (size_t i = 0; i < machine_task_count(machine); i++) {
		const struct task *task = machine_task(machine, i);
		machine_order(machine, i);
		/* An executor that registered first has told its port; the name comes later. */
		if (task->has_container && task->state < TASK_SUCCEEDED && !task->container &&
		    task->port == 0)
			abort();
	}
}

struct storm {
	struct machine *machine;
	struct action_list actions;
	int64_t now;
};

static void feed(struct storm *storm, const struct machine_event *event)
{
	action_list_clear(&storm->actions);
	machine_handle(storm->machine, event, storm->now, &storm->actions);
	check(storm->machine);
}

/* Until `until`: a deadline that stands still is a loop without an end. */
static void pass(struct storm *storm, int64_t until)
{
	int at_once = 0;

	for (int64_t due; (due = machine_deadline(storm->machine)) <= until;) {
		at_once = due > storm->now ? 0 : at_once + 1;
		if (at_once > 10)
			abort();
		storm->now = due > storm->now ? due : storm->now;
		feed(storm, &(struct machine_event){.kind = EVENT_TICK});
	}
	storm->now = until;
}

/* Of the present, or a little beside it. */
static void strike(struct storm *storm, const uint8_t *bytes)
{
	size_t number_of = bytes[1] % array_length(tasks);
	const struct task *task = machine_task(storm->machine, number_of);
	struct cause cause = {.kind = (enum cause_kind)(bytes[4] % CAUSE_KIND_COUNT)};
	struct machine_event event = {
		.kind = (enum machine_event_kind)(bytes[0] % EVENT_KIND_COUNT),
		.task = number_of,
		.type = bytes[2] % 5,
		.count = bytes[3] % 4,
		.attempt = task->attempt + (bytes[2] & 15 ? 0 : -1),
		.epoch = task->epoch + (bytes[2] & 16 ? 0 : 1),
		.restart = task->restart + (bytes[2] >= 250 ? 1 : 0),
		.container = "new",
		.host = "h",
		.port = 4000,
		.cause = bytes[4] & 0x80 ? &cause : NULL,
	};

	if (event.kind != EVENT_KILL || bytes[5] == 0)
		feed(storm, &event);
	pass(storm, storm->now + bytes[3] * bytes[3]);
}

static void end(struct storm *storm)
{
	struct machine_status status;

	feed(storm, &(struct machine_event){.kind = EVENT_SUBMIT});
	feed(storm, &(struct machine_event){.kind = EVENT_KILL});
	pass(storm, storm->now + 3600000);
	machine_status(storm->machine, &status);
	if (!job_state_is_final(status.state))
		abort();
}

static void run(const char *text, const uint8_t *bytes, size_t length)
{
	struct job *job = job_from_text(text, strlen(text), NULL);
	struct job_view *view = job_view_create(job);
	size_t lines = length > 0 ? *bytes++ : 0;
	struct storm storm = {.now = 5000};

	for (length -= length > 0; lines > 0 && length >= LINE_BYTES; lines--) {
		fold(view, bytes);
		bytes += LINE_BYTES;
		length -= LINE_BYTES;
	}
	storm.machine = machine_restore(job, 1, view, storm.now, WALL + 2000);
	check(storm.machine);
	machine_resume(storm.machine, storm.now, &storm.actions);
	check(storm.machine);
	for (; length >= EVENT_BYTES; bytes += EVENT_BYTES, length -= EVENT_BYTES)
		strike(&storm, bytes);
	end(&storm);
	machine_destroy(storm.machine);
	action_list_finish(&storm.actions);
	job_view_destroy(view);
	job_destroy(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	run(job_text("gang", worker_text), bytes, length);
	run(job_text("fcfs", worker_text), bytes, length);
	run(job_text("gang", elastic_text), bytes, length);
	return 0;
}
