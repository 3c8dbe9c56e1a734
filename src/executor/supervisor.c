#include "executor/supervisor_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "executor/checkpoints.h"
#include "executor/executor.h"
#include "executor/link.h"
#include "executor/localize.h"
#include "executor/log_send.h"
#include "executor/metrics.h"
#include "executor/mirror.h"
#include "executor/port.h"
#include "executor/program.h"
#include "executor/run.h"
#include "framework/framework.h"
#include "job/cause_json.h"

enum {
	LAST_REPORT_MS = 3000, /* for an exit report, when ordered to leave */
	LAST_LOGS_MS = 3000,   /* for the last bytes of logs that somebody follows */
	LAST_STORE_MS = 30000, /* for the last checkpoint, where it has to be stored elsewhere */
};

void supervisor_set_timer(struct event *timer, int64_t ms)
{
	struct timeval time = clock_timeval(ms);

	evtimer_add(timer, &time);
}

/* ---- leaving ------------------------------------------------------------------------------ */

static void leave(struct supervisor *supervisor, int code)
{
	int64_t limit = supervisor->type->stop_grace_ms + LAST_REPORT_MS;

	if (supervisor->leaving)
		return;
	supervisor->leaving = true;
	supervisor->code = code;
	supervisor_set_timer(supervisor->leave_timer,
			     limit + (supervisor->checkpoints ? LAST_STORE_MS : 0));
	supervisor_pursue(supervisor);
}

static void go(struct supervisor *supervisor)
{
	program_destroy(supervisor->program);
	supervisor->program = NULL;
	event_base_loopbreak(supervisor->base);
}

static void on_leave_timer(evutil_socket_t fd, short what, void *data)
{
	go(data);
}

static void on_signal(evutil_socket_t signal, short what, void *data)
{
	struct supervisor *supervisor = data;

	log_info("%s", proc_signal_name((int)signal));
	if (supervisor->leaving)
		go(supervisor); /* twice: at once */
	leave(supervisor, EXECUTOR_ENDED);
}

static void on_guardian_gone(evutil_socket_t fd, short what, void *data)
{
	struct supervisor *supervisor = data;

	log_error("the guardian was killed; ending all it watched over");
	guard_end_tree(supervisor->guard);
	supervisor->code = EXECUTOR_ENDED;
	go(supervisor);
}

static void on_link_ended(void *data, enum link_end how, const char *text)
{
	static const int codes[] = {
		[LINK_STALE] = EXECUTOR_STALE,
		[LINK_REFUSED] = EXECUTOR_REFUSED,
		[LINK_SILENT] = EXECUTOR_SILENCE,
	};

	log_error("leaving: %s", text);
	leave(data, codes[how]);
}

/* ---- messages ----------------------------------------------------------------------------- */

static json_t *on_state(void *data)
{
	static const char *const names[] = {"waiting", "running", "exited"};
	const struct supervisor *supervisor = data;
	bool waiting = supervisor->activity == ACTIVITY_WAITING;
	json_t *body = json_object();

	json_set_int(body, "epoch", waiting ? supervisor->registered_epoch : supervisor->epoch);
	json_set_int(body, "restart", waiting ? 0 : supervisor->restart);
	json_set_text(body, "state", names[supervisor->activity]);
	json_object_set_new(body, "pids", program_pids(supervisor->program));
	if (supervisor->ui_is_served)
		json_set_int(body, "ui_port", supervisor->ui_port.number);
	json_t *logs = log_send_numbers(supervisor->logs);
	if (logs)
		json_object_set_new(body, "logs", logs);
	if (supervisor->metrics)
		json_object_set(body, "metrics", supervisor->metrics);
	return body;
}

static void enter(struct supervisor *supervisor)
{
	json_t *body = json_object();

	json_set_int(body, "epoch", supervisor->registered_epoch);
	json_set_text(body, "host", supervisor->settings->host);
	json_set_int(body, "port", supervisor->port.number);
	json_set_int(body, "pid", getpid());
	json_set_text(body, "log_dir", supervisor->settings->log_dir);
	link_register(supervisor->link, body);
}

void supervisor_report(struct supervisor *supervisor, const struct cause *cause)
{
	json_t *body = json_object();

	json_set_int(body, "epoch", supervisor->epoch);
	json_set_int(body, "restart", supervisor->restart);
	cause_set_json(body, "cause", cause);
	if (supervisor->metrics)
		json_object_set(body, "metrics", supervisor->metrics);
	supervisor->activity = ACTIVITY_EXITED;
	log_info("process %d of epoch %d %s", supervisor->restart, supervisor->epoch,
		 cause->text ? cause->text : "succeeded");
	link_report(supervisor->link, body);
	link_changed(supervisor->link);
}

static void on_reported(void *data)
{
	supervisor_pursue(data);
}

/* ---- orders ------------------------------------------------------------------------------- */

static bool stop_is_due(const struct supervisor *supervisor)
{
	int epoch = supervisor->goal.epoch;

	if (supervisor->goal.kind != ORDER_STOP)
		return false;
	if (supervisor->activity == ACTIVITY_WAITING)
		return epoch > supervisor->registered_epoch;
	return epoch >= supervisor->epoch && epoch >= supervisor->registered_epoch;
}

bool supervisor_run_is_due(const struct supervisor *supervisor)
{
	const struct order *goal = &supervisor->goal;

	if (goal->kind != ORDER_RUN || goal->epoch < supervisor->registered_epoch)
		return false;
	if (supervisor->activity == ACTIVITY_WAITING)
		return true;
	return goal->epoch > supervisor->epoch ||
	       (goal->epoch == supervisor->epoch && goal->restart > supervisor->restart);
}

static void obey_stop(struct supervisor *supervisor)
{
	struct err err cleanup_err = {0};

	if (supervisor_take_ports(supervisor, &err) < 0) {
		log_error("%s", err_message(&err));
		leave(supervisor, EXECUTOR_FAILED);
		return;
	}
	supervisor->registered_epoch = supervisor->goal.epoch;
	supervisor->activity = ACTIVITY_WAITING;
	log_info("stopped for epoch %d", supervisor->registered_epoch);
	enter(supervisor);
}

/* Everything was reported. Who follows a log gets its end, if the AM is there to take it. */
static void finish_logs(struct supervisor *supervisor)
{
	bool is_heard = supervisor->code == EXECUTOR_DONE || supervisor->code == EXECUTOR_ENDED;

	if (!supervisor->is_last && is_heard) {
		supervisor->is_last = true;
		supervisor_set_timer(supervisor->leave_timer, LAST_LOGS_MS);
		log_send_end(supervisor->logs);
	}
	if (!is_heard || log_send_is_done(supervisor->logs))
		event_base_loopbreak(supervisor->base);
}

/* ---- obeying ------------------------------------------------------------------------------ */

void supervisor_pursue(struct supervisor *supervisor)
{
	bool stop = stop_is_due(supervisor), run = supervisor_run_is_due(supervisor);

	if (!supervisor->leaving && !stop && !run)
		return;
	if (supervisor->program)
		program_stop(supervisor->program); /* and on from on_program_ended() */
	else if (supervisor->is_moving)
		return; /* and on from on_stored() or on_fetched() */
	else if (supervisor->leaving && !link_is_reporting(supervisor->link))
		finish_logs(supervisor);
	else if (!supervisor->leaving && stop)
		obey_stop(supervisor);
	else if (!supervisor->leaving)
		supervisor_begin_run(supervisor);
}

static void on_order(void *data, const struct link_order *order)
{
	struct supervisor *supervisor = data;

	supervisor->am_attempt = order->am_attempt;
	supervisor->goal = order->order;
	if (order->order.kind == ORDER_RUN) {
		json_decref(supervisor->cluster);
		supervisor->cluster = json_incref((json_t *)order->cluster);
	}
	if (log_send_order(supervisor->logs, order->logs))
		link_changed(supervisor->link);
	if (order->order.kind == ORDER_QUIT)
		leave(supervisor, EXECUTOR_DONE);
	else
		supervisor_pursue(supervisor);
}

static void on_log_sent(void *data)
{
	struct supervisor *supervisor = data;

	link_changed(supervisor->link);
}

static void on_logs_done(void *data)
{
	supervisor_pursue(data);
}

/* ---- begin and end ------------------------------------------------------------------------ */

static int connect_link(struct supervisor *supervisor, struct err *err)
{
	const struct settings *settings = supervisor->settings;
	struct link_options options = {
		.base = supervisor->base,
		.address = settings->am_address,
		.token = settings->token,
		.task = settings->task,
		.attempt = settings->attempt,
		.give_up_ms = settings->job->executor_give_up_ms,
		.events =
			{
				.state = on_state,
				.order = on_order,
				.reported = on_reported,
				.ended = on_link_ended,
				.data = supervisor,
			},
	};

	struct log_send_options logs = {
		.base = supervisor->base,
		.address = settings->am_address,
		.token = settings->token,
		.task = settings->task,
		.attempt = settings->attempt,
		.log_dir = settings->log_dir,
		.sent = on_log_sent,
		.done = on_logs_done,
		.data = supervisor,
	};

	supervisor->link = link_create(&options, err);
	supervisor->logs = supervisor->link ? log_send_create(&logs, err) : NULL;
	return supervisor->logs ? 0 : err_wrap(err, "TONY_AM_ADDRESS");
}

/* Told only when a start is ordered: the AM then knows it for the task's own failure, which another
 * container would not change. */
static void localize(struct supervisor *supervisor)
{
	struct err err cleanup_err = {0};

	if (localize_files(&supervisor->type->files, supervisor->settings->work_dir, &err) == 0)
		return;
	log_error("%s", err_message(&err));
	supervisor->trouble = mem_strdup(err_message(&err));
}

static void watch(struct supervisor *supervisor)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	for (size_t i = 0; i < array_length(numbers); i++) {
		supervisor->signals[i] =
			evsignal_new(supervisor->base, numbers[i], on_signal, supervisor);
		evsignal_add(supervisor->signals[i], NULL);
	}
	supervisor->metrics_timer =
		evtimer_new(supervisor->base, supervisor_on_metrics_timer, supervisor);
	supervisor->ui_timer = evtimer_new(supervisor->base, supervisor_on_ui_timer, supervisor);
	supervisor->leave_timer = evtimer_new(supervisor->base, on_leave_timer, supervisor);
	if (!supervisor->guard)
		return;
	supervisor->guardian = event_new(supervisor->base, supervisor->guard->fd, EV_READ,
					 on_guardian_gone, supervisor);
	event_add(supervisor->guardian, NULL);
}

static void init(struct supervisor *supervisor, const struct settings *settings)
{
	const struct job *job = settings->job;

	supervisor->settings = settings;
	supervisor->type = &job->types[settings->type];
	supervisor->base = event_base_new();
	supervisor->port.fd = supervisor->ui_port.fd = -1;
	memory_init(&supervisor->memory, supervisor->type->memory, settings->cgroup,
		    settings->memory_watch);
	if (job->gpu_metrics && supervisor->type->gpus > 0)
		supervisor->gpu = gpu_create(supervisor->base,
					     job->gpu_command ? job->gpu_command : "nvidia-smi",
					     getenv("CUDA_VISIBLE_DEVICES"));
}

static void finish(struct supervisor *supervisor)
{
	struct event *events[] = {
		supervisor->metrics_timer, supervisor->ui_timer,   supervisor->leave_timer,
		supervisor->guardian,	   supervisor->signals[0], supervisor->signals[1],
		supervisor->signals[2],
	};

	program_destroy(supervisor->program);
	log_send_destroy(supervisor->logs);
	mirror_destroy(supervisor->checkpoints);
	link_destroy(supervisor->link);
	gpu_destroy(supervisor->gpu);
	for (size_t i = 0; i < array_length(events); i++) {
		if (events[i])
			event_free(events[i]);
	}
	port_release(&supervisor->port);
	port_release(&supervisor->ui_port);
	json_decref(supervisor->cluster);
	json_decref(supervisor->metrics);
	free(supervisor->trouble);
	event_base_free(supervisor->base);
}

int supervisor_run(const struct settings *settings, const struct guard *guard, struct err *err)
{
	struct supervisor supervisor = {.guard = guard, .code = -1};

	init(&supervisor, settings);
	if (supervisor_take_ports(&supervisor, err) == 0 && connect_link(&supervisor, err) == 0 &&
	    checkpoints_open(settings, supervisor.base, &supervisor.checkpoints, err) == 0) {
		watch(&supervisor);
		localize(&supervisor);
		enter(&supervisor);
		event_base_dispatch(supervisor.base);
	}
	finish(&supervisor);
	return supervisor.code;
}
