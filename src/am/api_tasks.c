#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/timer.h"

static const char *const order_names[] = {
	[ORDER_WAIT] = "wait",
	[ORDER_RUN] = "run",
	[ORDER_STOP] = "stop",
	[ORDER_QUIT] = "quit",
};

static void on_expiry(evutil_socket_t fd, short what, void *data);

/* Tasks are set up when first heard of: a job may have 100,000 that never are. */
struct api_task *api_get_task(struct api *api, size_t number)
{
	struct api_task *task = &api->tasks[number];

	if (!task->api) {
		task->api = api;
		task->number = number;
		event_assign(&task->expiry, api->base, -1, 0, on_expiry, task);
	}
	return task;
}

void api_task_finish(struct api_task *task)
{
	event_del(&task->expiry);
	json_decref(task->pids);
	usage_destroy(task->usage);
	user_series_destroy(task->numbers);
	log_relays_destroy(mem_steal(&task->relays));
	free(task->log_dir);
	free(task->logs_told);
}

struct api_task *api_find_task(struct api *api, struct http_request *request)
{
	const char *name = http_request_parameter(request, "task");
	int64_t number = machine_find_task(api->host.machine, name);

	if (number < 0) {
		http_answer_error(request, 404, "not-found", "this job has no task of that name");
		return NULL;
	}
	return api_get_task(api, (size_t)number);
}

const struct program_use *api_program_use(const struct api *api, size_t task)
{
	return api->tasks[task].use;
}

const char *api_log_dir(const struct api *api, size_t task)
{
	return api->tasks[task].log_dir;
}

void api_set_log_dir(struct api *api, size_t task, const char *log_dir)
{
	mem_replace(&api_get_task(api, task)->log_dir, mem_strdup(log_dir));
}

static int present_attempt(const struct api_task *task)
{
	return machine_task(task->api->host.machine, task->number)->attempt;
}

static void answer_stale(struct http_request *request)
{
	http_answer_error(request, 409, "stale", "another attempt of this task is the valid one");
}

/* ---- orders ------------------------------------------------------------------------------- */

static bool is_to_start(const struct api_task *task, const struct order *order)
{
	return task->state == MESSAGE_WAITING || task->of.epoch != order->epoch ||
	       task->of.restart != order->restart;
}

/* A program starts once an AM that follows would know of it. That one might otherwise give up the
 * container of another task, whose address this program has been told. */
static struct order order_for(const struct api_task *task)
{
	struct order order = machine_order(task->api->host.machine, task->number);

	if (order.kind == ORDER_RUN && is_to_start(task, &order) && task->api->kept < task->ordered)
		order.kind = ORDER_WAIT;
	return order;
}

/* Whether the executor has something to do that its report does not show as done. */
static bool has_news(const struct api_task *task, const struct order *order)
{
	/* It registered with an AM before this one, and does so again when it hears of this one. */
	if (task->api->host.am_attempt > 1 && task->executor_attempt != task->of.attempt)
		return true;
	if (!log_relays_agree(task->relays, task->logs_told, task->logs_told_count))
		return true;
	switch (order->kind) {
	case ORDER_WAIT:
		return false;
	case ORDER_RUN:
		return is_to_start(task, order);
	case ORDER_STOP:
	case ORDER_QUIT:
		break;
	}
	return true;
}

static struct http_request *take_held(struct api_task *task)
{
	event_del(&task->expiry);
	return mem_steal(&task->held);
}

static void append_rest(struct api_task *task, const struct order *order, struct str *text)
{
	json_t *logs cleanup_json = log_relays_orders(task->relays);

	if (logs) {
		char *orders cleanup_free = json_text(logs);
		str_append_format(text, ",\"logs\":%s", orders);
	}
	if (order->kind == ORDER_QUIT &&
	    machine_task(task->api->host.machine, task->number)->cause.kind == CAUSE_PREEMPTED)
		str_append(text, ",\"preempted\":true");
	if (task->numbers)
		str_append_format(text, ",\"numbers\":%" PRId64, user_series_taken(task->numbers));
	str_append(text, "}");
}

static void answer_order(struct api_task *task, const struct order *order)
{
	struct api *api = task->api;
	struct str text cleanup_str = {0}, rest cleanup_str = {0};

	str_append_format(&text, "{\"am_attempt\":%d,\"order\":\"%s\",\"epoch\":%d,\"restart\":%d",
			  api->host.am_attempt, order_names[order->kind], order->epoch,
			  order->restart);
	append_rest(task, order, &rest);
	if (order->kind == ORDER_RUN && is_to_start(task, order)) {
		str_append(&text, ",\"cluster\":");
		api_spec_answer(api, take_held(task), text.text, rest.text);
	} else {
		str_append(&text, rest.text);
		http_answer_bytes(take_held(task), 200, "application/json", text.text, text.length);
	}
}

static void answer_held(struct api_task *task)
{
	struct order order = order_for(task);

	if (task->of.attempt != present_attempt(task))
		answer_stale(take_held(task));
	else
		answer_order(task, &order);
}

/* Answers the held beat if there is reason to. */
void api_task_settle(struct api_task *task)
{
	if (!task->held)
		return;
	struct order order = order_for(task);
	if (task->of.attempt != present_attempt(task) || has_news(task, &order))
		answer_held(task);
}

static void on_expiry(evutil_socket_t fd, short what, void *data)
{
	answer_held(data);
}

static void on_closed(void *data)
{
	take_held(data);
}

int64_t api_hold_time(int64_t now_ms, int64_t interval_ms, size_t task, size_t task_count)
{
	int64_t place_ms = interval_ms * (int64_t)task / (int64_t)task_count;
	int64_t beyond_ms = (now_ms + interval_ms - place_ms) % interval_ms;
	int64_t most_ms = interval_ms * 3 / 8;

	if (beyond_ms > interval_ms * 15 / 16)
		beyond_ms -= interval_ms;
	return interval_ms - (beyond_ms < most_ms ? beyond_ms : most_ms);
}

static void hold(struct api_task *task, struct http_request *request)
{
	const struct api *api = task->api;

	task->held = request;
	http_request_hold(request, on_closed, task);
	timer_start(&task->expiry,
		    api_hold_time(clock_monotonic_ms(), api->host.job->heartbeat_interval_ms,
				  task->number, api->task_count));
	api_task_settle(task);
}

void api_tasks_go_on(struct api *api, int64_t before)
{
	for (size_t i = 0; i < api->task_count; i++)
		if (api->tasks[i].ordered > before)
			api_task_settle(&api->tasks[i]);
}

void api_tasks_answer_all(struct api *api)
{
	for (size_t i = 0; i < api->task_count; i++) {
		if (api->tasks[i].held)
			answer_held(&api->tasks[i]);
	}
}

/* ---- messages ----------------------------------------------------------------------------- */

static struct machine_event event_of(const struct api_task *task, enum machine_event_kind kind,
				     const struct message_identity *of)
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
static void tell_beat(const struct api_task *task, const struct message_beat *message)
{
	const struct task *known = machine_task(task->api->host.machine, task->number);
	struct machine_event started = event_of(task, EVENT_STARTED, &message->of);
	struct machine_event beat = event_of(task, EVENT_BEAT, &message->of);

	if (message->state == MESSAGE_RUNNING && !known->process_up)
		deliver(task, &started);
	beat.ui_port = message->ui_port;
	deliver(task, &beat);
}

/* When all are silent at once it is this machine, or the network around it, that stood still. */
static void note_silence(struct api_task *task, int attempt)
{
	struct api *api = task->api;
	int64_t now = clock_monotonic_ms(), interval_ms = api->host.job->heartbeat_interval_ms;

	if (now - api->beat_at > 2 * interval_ms)
		api->resumed_at = now;
	if (task->usage && task->beat_attempt == attempt && task->beat_at > 0 &&
	    task->beat_at >= api->resumed_at)
		usage_add_silence(task->usage, now - task->beat_at, interval_ms);
	task->beat_at = api->beat_at = now;
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

static bool is_present_program(const struct api_task *task, const struct message_identity *of)
{
	const struct task *known = machine_task(task->api->host.machine, task->number);

	return known->attempt == of->attempt && known->epoch == of->epoch &&
	       known->restart == of->restart && !known->process_up;
}

/* Beats repeat it. */
static void take_use(struct api_task *task, const struct message_identity *of,
		     const struct program_use *use)
{
	const struct message_identity *told = &task->used_by;

	if (use->ms == 0 || !is_present_program(task, of) ||
	    (told->attempt == of->attempt && told->epoch == of->epoch &&
	     told->restart == of->restart))
		return;
	task->used_by = *of;
	api_task_measure_end(task, of, use);
	task->api->host.used(task->api->host.data, task->number, use);
}

/* The journal gets a line when it begins, and when it is over. */
static void take_checkpoint_trouble(struct api_task *task, const char *trouble)
{
	if (task->has_checkpoint_trouble == (trouble != NULL))
		return;
	task->has_checkpoint_trouble = trouble != NULL;
	task->api->host.checkpoint_trouble(task->api->host.data, task->number, trouble);
}

static void take_beat(struct api_task *task, struct message_beat *message)
{
	/* An executor that lost its connection comes back on another one. */
	if (task->held)
		answer_held(task);
	task->of = message->of;
	task->state = message->state;
	note_silence(task, message->of.attempt);
	if (message->log_count > task->logs_told_count)
		task->logs_told = mem_realloc_array(task->logs_told, message->log_count,
						    sizeof(*task->logs_told));
	for (size_t i = 0; i < message->log_count; i++)
		task->logs_told[i] = message->logs[i];
	task->logs_told_count = message->log_count;
	if (message->pids) {
		json_decref(task->pids);
		task->pids = mem_steal(&message->pids);
	}
	if (message->has_metrics)
		api_task_measure(task, &message->of, &message->metrics);
	api_task_take_numbers(task, message->of.attempt, &message->numbers);
	take_loss(task, &message->lost, message->state == MESSAGE_EXITED);
	take_use(task, &message->of, &message->use);
	take_checkpoint_trouble(task, message->checkpoint_trouble);
	tell_beat(task, message);
}

void api_handle_beat(void *data, struct http_request *request)
{
	struct api *api = data;
	struct api_task *task = api_find_task(api, request);
	struct err err cleanup_err = {0};
	struct message_beat message;
	size_t length;

	if (!task)
		return;
	const char *body = http_request_body(request, &length);
	if (message_parse_beat(&message, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	if (message.of.attempt != present_attempt(task)) {
		answer_stale(request);
	} else {
		take_beat(task, &message);
		hold(task, request);
	}
	message_beat_finish(&message);
}

static void answer_registered(struct api *api, struct http_request *request)
{
	json_t *answer = json_object();

	json_set_int(answer, "am_attempt", api->host.am_attempt);
	json_set_int(answer, "beat_interval_ms", api->host.job->heartbeat_interval_ms);
	json_set_int(answer, "give_up_ms", api->host.job->executor_give_up_ms);
	http_answer_json(request, 200, answer);
}

static bool take_register(struct api_task *task, struct message_register *message)
{
	struct machine_event event = event_of(task, EVENT_REGISTERED, &message->of);

	if (message->of.attempt != present_attempt(task))
		return false;
	/* Before the event: what follows from it tells the addresses and where the logs are. */
	api_cluster_changed(task->api);
	mem_replace(&task->log_dir, mem_steal(&message->log_dir));
	task->executor_pid = message->pid;
	task->executor_attempt = message->of.attempt;
	api_logs_check(task);
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
	struct message_register message;
	size_t length;

	if (!task)
		return;
	const char *body = http_request_body(request, &length);
	if (message_parse_register(&message, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	if (take_register(task, &message))
		answer_registered(api, request);
	else
		answer_stale(request);
	message_register_finish(&message);
}

static bool take_exit(struct api_task *task, struct message_exit *message)
{
	struct machine_event event = event_of(task, EVENT_EXITED, &message->of);

	event.cause = &message->cause;
	if (message->has_metrics)
		api_task_measure(task, &message->of, &message->metrics);
	if (message->use.ms > 0) {
		api_task_measure_end(task, &message->of, &message->use);
		task->use = &message->use;
	}
	api_task_take_numbers(task, message->of.attempt, &message->numbers);
	take_loss(task, &message->lost, true);
	bool is_heard = deliver(task, &event);
	task->use = NULL;
	return is_heard;
}

void api_handle_exit(void *data, struct http_request *request)
{
	struct api *api = data;
	struct api_task *task = api_find_task(api, request);
	struct err err cleanup_err = {0};
	struct message_exit message;
	size_t length;

	if (!task)
		return;
	const char *body = http_request_body(request, &length);
	if (message_parse_exit(&message, body, length, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	if (message.of.attempt == present_attempt(task) && take_exit(task, &message))
		api_answer_when_kept(api, request, json_object());
	else
		answer_stale(request);
	message_exit_finish(&message);
}
