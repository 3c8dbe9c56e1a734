/* The messages of executors. */
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "protocol/registration.h"

static struct machine_event event_of(const struct api_task *task, enum machine_event_kind kind,
				     const struct program_identity *of)
{
	return (struct machine_event){
		.kind = kind,
		.task = task->number,
		.attempt = of->attempt,
		.epoch = of->epoch,
		.restart = of->restart,
	};
}

static bool deliver(const struct api_task *task, const struct machine_event *event)
{
	return task->api->host.deliver(task->api->host.data, event);
}

/* The beat last: its web interface is that of a process which has started. */
static void tell_beat(const struct api_task *task, const struct heartbeat *message)
{
	const struct task *known = machine_task(task->api->host.machine, task->number);
	struct machine_event started = event_of(task, EVENT_STARTED, &message->of);
	struct machine_event beat = event_of(task, EVENT_BEAT, &message->of);

	if (message->activity == ACTIVITY_RUNNING && !known->process_up)
		deliver(task, &started);
	beat.ui_port = message->ui_port;
	deliver(task, &beat);
}

/* When all are silent at once it is this machine, or the network around it, that stood still. */
static void note_silence(struct api_task *task, int attempt)
{
	struct api *api = task->api;
	int64_t now = clock_monotonic_ms();
	int64_t interval_ms = api_beat_interval(api->host.job, api->task_count);

	if (now - api->beats.last_at > 2 * interval_ms)
		api->beats.resumed_at = now;
	if (task->usage && task->beat_attempt == attempt && task->beat_at > 0 &&
	    task->beat_at >= api->beats.resumed_at)
		usage_add_silence(task->usage, now - task->beat_at, interval_ms);
	task->beat_at = api->beats.last_at = now;
	task->beat_attempt = attempt;
}

/* The journal gets a line when it begins, each time that it has doubled, and at the end. */
static void take_loss(struct api_task *task, const struct lost_output *lost, bool has_ended)
{
	int64_t known = task->lost_attempt == lost->attempt ? task->lost_bytes : 0;

	if (lost->bytes <= known || (lost->bytes / 2 < known && !has_ended))
		return;
	task->lost_bytes = lost->bytes;
	task->lost_attempt = lost->attempt;
	task->api->host.output_lost(task->api->host.data, task->number, lost);
}

static bool is_same_program(const struct program_identity *a, const struct program_identity *b)
{
	return a->attempt == b->attempt && a->epoch == b->epoch && a->restart == b->restart;
}

/* The journal gets a line for the first one, and each time that their number has doubled. */
static void take_restarts(struct api_task *task, const struct program_identity *of,
			  const struct inner_restarts *restarts)
{
	int64_t known = is_same_program(&task->restarted, of) ? task->restarts_inside : 0;

	if (restarts->count == 0 || restarts->count < 2 * known)
		return;
	task->restarts_inside = restarts->count;
	task->restarted = *of;
	task->api->host.restarted_inside(task->api->host.data, task->number, restarts->count,
					 restarts->text);
}

static bool is_present_program(const struct api_task *task, const struct program_identity *of)
{
	const struct task *known = machine_task(task->api->host.machine, task->number);

	return known->attempt == of->attempt && known->epoch == of->epoch &&
	       known->restart == of->restart && !known->process_up;
}

/* Beats repeat it. */
static void take_use(struct api_task *task, const struct program_identity *of,
		     const struct program_use *use)
{
	const struct program_identity *told = &task->used_by;

	if (use->ms == 0 || !is_present_program(task, of) || is_same_program(told, of))
		return;
	task->used_by = *of;
	api_task_measure_end(task, of, use);
	task->api->host.used(task->api->host.data, task->number, use);
}

/* The journal gets a line when it begins, and when it is over. */
static void take_checkpoint_trouble(struct api_task *task, const char *trouble, int64_t lasts_ms)
{
	int64_t since_ms = task->trouble_since_ms;

	if ((since_ms > 0) == (trouble != NULL))
		return;
	int64_t now = clock_wall_ms();
	if (trouble)
		since_ms = lasts_ms < now ? now - lasts_ms : 1; /* whatever an executor says */
	task->trouble_since_ms = trouble ? since_ms : 0;
	task->api->host.checkpoint_trouble(task->api->host.data, task->number, trouble, since_ms);
}

static void take_storing(struct api_task *task, const struct heartbeat *message)
{
	task->has_storing = message->has_storing;
	task->storing = message->storing;
	take_checkpoint_trouble(task, message->checkpoint_trouble, message->storing.trouble_ms);
}

static void take_beat(struct api_task *task, struct heartbeat *message)
{
	/* An executor that lost its connection comes back on another one. */
	if (task->held)
		api_task_answer(task);
	task->of = message->of;
	task->activity = message->activity;
	task->tokens = message->tokens;
	note_silence(task, message->of.attempt);
	if (message->log_count > task->logs_told_count)
		task->logs_told = mem_realloc_array(task->logs_told, message->log_count,
						    sizeof(*task->logs_told));
	for (size_t i = 0; i < message->log_count; i++)
		task->logs_told[i] = message->logs[i];
	task->logs_told_count = message->log_count;
	free(task->pids);
	task->pids = mem_steal(&message->pids);
	task->pid_count = message->pid_count;
	if (message->account.has_metrics)
		api_task_measure(task, &message->of, &message->account.metrics);
	api_task_take_numbers(task, message->of.attempt, &message->account.numbers);
	take_loss(task, &message->account.lost, message->activity == ACTIVITY_EXITED);
	take_restarts(task, &message->of, &message->account.restarts);
	take_use(task, &message->of, &message->account.use);
	take_storing(task, message);
	tell_beat(task, message);
}

void api_handle_beat(void *data, struct http_request *request)
{
	struct api *api = data;
	struct api_task *task = api_find_task(api, request);
	struct err err cleanup_err = {0};
	struct heartbeat message;
	size_t length;

	if (!task)
		return;
	const char *body = http_request_body(request, &length);
	if (heartbeat_decode(&message, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	if (message.of.attempt != api_task_attempt(task)) {
		api_answer_stale(request);
	} else {
		take_beat(task, &message);
		api_task_hold(task, request);
	}
	heartbeat_finish(&message);
}

static void answer_registered(struct api *api, struct http_request *request)
{
	char *answer cleanup_free = registered_encode(&(struct registered){
		.am_attempt = api->host.am_attempt,
		.heartbeat_interval_ms = api_beat_interval(api->host.job, api->task_count),
		.give_up_ms = api->host.job->executor_give_up_ms,
	});

	http_answer_bytes(request, 200, "application/json", answer, strlen(answer));
}

static bool take_register(struct api_task *task, struct registration *message)
{
	struct machine_event event = event_of(task, EVENT_REGISTERED, &message->of);

	if (message->of.attempt != api_task_attempt(task))
		return false;
	/* Before the event: what follows from it tells the addresses and where the logs are. */
	api_cluster_changed(task->api);
	mem_replace(&task->log_dir, mem_steal(&message->log_dir));
	task->executor_pid = message->pid;
	task->executor_attempt = message->of.attempt;
	api_tokens_inherit(task->api, &message->tokens);
	api_logs_check(task);
	/* A program may end before they look again. */
	api_logs_wake_task(task);
	event.process_epoch = message->process_epoch;
	event.host = message->host;
	event.port = message->port;
	event.door = message->door;
	return deliver(task, &event);
}

void api_handle_register(void *data, struct http_request *request)
{
	struct api *api = data;
	struct api_task *task = api_find_task(api, request);
	struct err err cleanup_err = {0};
	struct registration message;
	size_t length;

	if (!task)
		return;
	const char *body = http_request_body(request, &length);
	if (registration_decode(&message, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	if (take_register(task, &message))
		answer_registered(api, request);
	else
		api_answer_stale(request);
	registration_finish(&message);
}

static bool take_exit(struct api_task *task, struct exit_report *message)
{
	struct machine_event event = event_of(task, EVENT_EXITED, &message->of);

	event.cause = &message->cause;
	if (message->account.has_metrics)
		api_task_measure(task, &message->of, &message->account.metrics);
	if (message->account.use.ms > 0) {
		api_task_measure_end(task, &message->of, &message->account.use);
		task->use = &message->account.use;
	}
	api_task_take_numbers(task, message->of.attempt, &message->account.numbers);
	take_loss(task, &message->account.lost, true);
	take_restarts(task, &message->of, &message->account.restarts);
	/* All was stored before a success is told, and no beat may follow it. */
	if (message->cause.kind == CAUSE_NONE && message->of.attempt == api_task_attempt(task))
		take_checkpoint_trouble(task, NULL, 0);
	bool is_heard = deliver(task, &event);
	task->use = NULL;
	return is_heard;
}

void api_handle_exit(void *data, struct http_request *request)
{
	struct api *api = data;
	struct api_task *task = api_find_task(api, request);
	struct err err cleanup_err = {0};
	struct exit_report message;
	size_t length;

	if (!task)
		return;
	const char *body = http_request_body(request, &length);
	if (exit_report_decode(&message, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	if (message.of.attempt == api_task_attempt(task) && take_exit(task, &message))
		api_answer_when_kept(api, request, json_object());
	else
		api_answer_stale(request);
	exit_report_finish(&message);
}
