/* A task as its executor knows it, and the beat of it that is held until there is something to do.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/timer.h"

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
	free(task->pids);
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

void api_set_checkpoint_trouble(struct api *api, size_t task, int64_t since_ms)
{
	api_get_task(api, task)->trouble_since_ms = since_ms;
}

int api_task_attempt(const struct api_task *task)
{
	return machine_task(task->api->host.machine, task->number)->attempt;
}

/* ---- orders ------------------------------------------------------------------------------- */

static bool is_to_start(const struct api_task *task, const struct order *order)
{
	return task->activity == ACTIVITY_WAITING || task->of.epoch != order->epoch ||
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

/* Others than its executor has. */
static bool has_new_tokens(const struct api_task *task)
{
	const struct new_tokens *newest = &task->api->tokens;

	return newest->bytes && newest->number > task->tokens;
}

/* Whether the executor has something to do that its report does not show as done. */
static bool has_news(const struct api_task *task, const struct order *order)
{
	/* It registered with an AM before this one, and does so again when it hears of this one. */
	if (task->api->host.am_attempt > 1 && task->executor_attempt != task->of.attempt)
		return true;
	if (!log_relays_agree(task->relays, task->logs_told, task->logs_told_count) ||
	    has_new_tokens(task) || api_session_has_news(task))
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

static void answer_order(struct api_task *task, const struct order *order)
{
	struct api *api = task->api;
	const struct task *known = machine_task(api->host.machine, task->number);
	struct orders orders = {
		.am_attempt = api->host.am_attempt,
		.order = *order,
		.preempted = order->kind == ORDER_QUIT && known->cause.kind == CAUSE_PREEMPTED,
		.numbers = task->numbers ? user_series_taken(task->numbers) : -1,
	};
	struct str front cleanup_str = {0}, rear cleanup_str = {0};
	bool has_cluster = order->kind == ORDER_RUN && is_to_start(task, order);

	if (has_new_tokens(task))
		orders.tokens = api->tokens;
	orders.log_count = log_relays_orders(task->relays, orders.logs);
	orders.session_count = api_session_orders(task, orders.sessions);
	orders_encode(&orders, has_cluster, &front, &rear);
	if (has_cluster) {
		api_spec_answer(api, take_held(task), front.text, rear.text);
		return;
	}
	str_append(&front, rear.text);
	http_answer_bytes(take_held(task), 200, "application/json", front.text, front.length);
}

void api_task_answer(struct api_task *task)
{
	struct order order = order_for(task);

	if (task->of.attempt != api_task_attempt(task))
		api_answer_stale(take_held(task));
	else
		answer_order(task, &order);
}

/* Answers the held beat if there is reason to. */
void api_task_settle(struct api_task *task)
{
	if (!task->held)
		return;
	struct order order = order_for(task);
	if (task->of.attempt != api_task_attempt(task) || has_news(task, &order))
		api_task_answer(task);
}

static void on_expiry(evutil_socket_t fd, short what, void *data)
{
	api_task_answer(data);
}

static void on_closed(void *data)
{
	take_held(data);
}

enum { TASKS_AN_INTERVAL = 250, INTERVALS_MOST = 4 };

int64_t api_beat_interval(const struct job *job, size_t task_count)
{
	int64_t interval_ms = job->heartbeat_interval_ms;
	int64_t most_ms = job_heartbeat_timeout_ms(job) / 5;
	size_t intervals = task_count / TASKS_AN_INTERVAL;
	int64_t wanted_ms =
		interval_ms * (int64_t)(intervals < INTERVALS_MOST ? intervals : INTERVALS_MOST);

	if (wanted_ms > most_ms)
		wanted_ms = most_ms;
	return wanted_ms > interval_ms ? wanted_ms : interval_ms;
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

void api_task_hold(struct api_task *task, struct http_request *request)
{
	const struct api *api = task->api;

	task->held = request;
	http_request_hold(request, on_closed, task);
	timer_start(&task->expiry, api_hold_time(clock_monotonic_ms(),
						 api_beat_interval(api->host.job, api->task_count),
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
			api_task_answer(&api->tasks[i]);
	}
}
