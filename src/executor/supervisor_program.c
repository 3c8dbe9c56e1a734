#include <stdlib.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "executor/executor.h"
#include "executor/localize.h"
#include "executor/mirrors.h"
#include "executor/progress.h"
#include "executor/run.h"
#include "executor/supervisor_internal.h"
#include "framework/framework.h"

enum {
	/* Between two looks who listens. A thief comes before the program, if at all. */
	PORT_LOOK_FIRST_MS = 16,
	PORT_LOOK_LAST_MS = 1024,
	MEASURE_SHARE = 200,
	MEASURE_FIRST_MS = 1000, /* at the latest: people look at what they have just started */
};

/* ---- ports -------------------------------------------------------------------------------- */

int supervisor_take_ports(struct supervisor *supervisor, struct err *err)
{
	const struct settings *settings = supervisor->settings;

	if (port_renew(settings->host, &supervisor->port, err) < 0)
		return -1;
	if (!framework_owns_tensorboard(settings->job, settings->type, settings->index))
		return 0;
	return port_renew(settings->host, &supervisor->ui_port, err);
}

static void open_ports(struct supervisor *supervisor)
{
	if (!supervisor->type->hold_port) {
		port_release(&supervisor->port);
		port_release(&supervisor->ui_port);
	}
	port_share(&supervisor->port, !supervisor->type->strict_port);
	port_share(&supervisor->ui_port, true);
}

static void close_ports(struct supervisor *supervisor)
{
	port_share(&supervisor->port, false);
	port_share(&supervisor->ui_port, false);
}

/* ---- the program -------------------------------------------------------------------------- */

static void note_use(struct supervisor *supervisor)
{
	const struct program_use *use = program_use(supervisor->program);

	if (use)
		supervisor->use = *use;
}

void supervisor_report_use(struct supervisor *supervisor, json_t *body)
{
	if (supervisor->program)
		note_use(supervisor);
	if (supervisor->use.ms > 0)
		json_object_set_new(body, "used", program_use_to_json(&supervisor->use));
	supervisor->use_is_reported = supervisor->use.ms > 0;
}

bool supervisor_has_use_to_tell(const struct supervisor *supervisor)
{
	return supervisor->leaving && supervisor->code == EXECUTOR_DONE && supervisor->use.ms > 0 &&
	       !supervisor->use_is_reported;
}

static void forget_program(struct supervisor *supervisor)
{
	program_add_loss(supervisor->program, &supervisor->lost);
	note_use(supervisor);
	program_destroy(supervisor->program);
	supervisor->program = NULL;
	supervisor->ui_is_served = supervisor->ui_was_stolen = false;
	close_ports(supervisor);
	evtimer_del(supervisor->metrics_timer);
	evtimer_del(supervisor->port_timer);
}

/* Nobody asks how a program ended that was stopped for good, but what it lost and used is told. */
bool supervisor_has_to_tell(const struct supervisor *supervisor)
{
	bool has_lost = supervisor->code == EXECUTOR_DONE && supervisor->lost.count.bytes > 0;

	return link_is_reporting(supervisor->link) ||
	       ((has_lost || supervisor_has_use_to_tell(supervisor)) &&
		!link_is_heard(supervisor->link));
}

static void on_program_failed(void *data, const struct cause *cause)
{
	supervisor_report(data, cause);
}

static void end_run(struct supervisor *supervisor, bool succeeded)
{
	const struct cause none = {0};

	if (succeeded)
		supervisor_report(supervisor, &none);
	supervisor->activity = ACTIVITY_EXITED;
	if (supervisor->lost.count.bytes > 0 || supervisor_has_use_to_tell(supervisor))
		link_changed(supervisor->link);
	supervisor_pursue(supervisor);
}

static void report_start_failed(struct supervisor *supervisor, struct err *err)
{
	fs_explain_room(supervisor->settings->container_dir, err);
	struct cause cause = {.kind = cause_kind_of_err(err, CAUSE_START_FAILED),
			      .text = (char *)err_message(err)};

	supervisor_report(supervisor, &cause);
}

/* A success that left nothing behind is none. */
static void on_stored(void *data, const struct err *err)
{
	struct supervisor *supervisor = data;

	supervisor->is_moving = false;
	if (err)
		log_error("%s", err_message(err));
	if (err && supervisor->has_succeeded) {
		struct cause cause = {.kind = cause_kind_of_err(err, CAUSE_STORE_FAILED)};
		cause.text = mem_printf("succeeded, but %s", err_message(err));
		supervisor_report(supervisor, &cause);
		cause_finish(&cause);
	}
	end_run(supervisor, !err && supervisor->has_succeeded);
}

static void on_program_ended(void *data, bool succeeded)
{
	struct supervisor *supervisor = data;

	supervisor_tell_end(supervisor);
	forget_program(supervisor);
	if (!supervisor->mirrors) {
		end_run(supervisor, succeeded);
		return;
	}
	supervisor->is_moving = true;
	supervisor->has_succeeded = succeeded;
	mirrors_flush(supervisor->mirrors, on_stored, supervisor);
}

/* A task of very many processes is measured less often, in so many times what it takes: half a
 * hundredth of a core. */
static void plan_metrics(struct supervisor *supervisor, int64_t cost_us)
{
	int64_t interval = supervisor->settings->job->metrics_interval_ms;
	int64_t least = cost_us * MEASURE_SHARE / 1000;

	if (interval > 0)
		timer_start(supervisor->metrics_timer, interval > least ? interval : least);
}

static void plan_first_metrics(struct supervisor *supervisor)
{
	int64_t interval = supervisor->settings->job->metrics_interval_ms;

	if (interval > 0)
		timer_start(supervisor->metrics_timer,
			    interval < MEASURE_FIRST_MS ? interval : MEASURE_FIRST_MS);
}

void supervisor_look_at_numbers(struct supervisor *supervisor)
{
	if (!supervisor->numbers)
		return;
	numbers_look(supervisor->numbers, clock_wall_ms());
	for (size_t i = 0; i < array_length(supervisor->scalars); i++)
		if (supervisor->scalars[i])
			scalars_look(supervisor->scalars[i]);
}

static void add_progress(struct supervisor *supervisor)
{
	const struct settings *settings = supervisor->settings;
	int processes = framework_process_count(settings->job, supervisor->type);
	struct progress progress;

	if (progress_read(settings->progress_file, (size_t)processes, &progress))
		progress_set_json(supervisor->metrics, &progress);
}

void supervisor_on_metrics_timer(evutil_socket_t fd, short what, void *data)
{
	struct supervisor *supervisor = data;
	int64_t begin_us = clock_processor_us();

	json_t *metrics = metrics_take(&supervisor->memory, supervisor->network, supervisor->gpu);
	int64_t cost_us = clock_processor_us() - begin_us;
	if (metrics) {
		json_decref(supervisor->metrics);
		supervisor->metrics = metrics;
	}
	if (supervisor->metrics)
		add_progress(supervisor);
	supervisor_look_at_numbers(supervisor);
	if (supervisor->gpu)
		gpu_look(supervisor->gpu);
	plan_metrics(supervisor, cost_us);
}

/* ---- who listens ------------------------------------------------------------------------ */

static enum port_listener look_at_port(struct supervisor *supervisor, int number, uid_t *thief)
{
	struct err err cleanup_err = {0};
	enum port_listener found = port_look(supervisor->settings->host, number,
					     &supervisor->type->listener_uids, thief, &err);

	if (found == PORT_UNKNOWN && !supervisor->listeners_are_hidden)
		log_warning("port %d is not watched, and no web interface is told: %s", number,
			    err_message(&err));
	supervisor->listeners_are_hidden = found == PORT_UNKNOWN;
	return found;
}

/* Most programs never serve the web interface's port, so the executor reports it only while the
 * program listens there. */
static void look_at_ui(struct supervisor *supervisor)
{
	int number = supervisor->ui_port.number;
	uid_t thief;

	if (number == 0)
		return;
	enum port_listener found = look_at_port(supervisor, number, &thief);
	if (found == PORT_STOLEN && !supervisor->ui_was_stolen)
		log_warning("uid %u listens on port %d of the web interface: tony does not show it",
			    thief, number);
	supervisor->ui_was_stolen = found == PORT_STOLEN;
	if (supervisor->ui_is_served != (found == PORT_SERVED)) {
		supervisor->ui_is_served = found == PORT_SERVED;
		link_changed(supervisor->link);
	}
}

/* With a remedy where it would be one: nothing tells whether the program will ever listen there,
 * and how. The caller frees. */
static char *describe_theft(const struct supervisor *supervisor, uid_t thief)
{
	const struct job_type *type = supervisor->type;
	char *theft cleanup_free = port_theft(supervisor->port.number, thief);

	if (!type->hold_port || type->listener_uids.count > 0)
		return mem_steal(&theft);
	return mem_printf("%s; for a program that sets SO_REUSEPORT, or never listens there, "
			  "tony.%s.strict-port=true keeps other users out",
			  theft, type->name);
}

/* Peers would send to another user what is the task's. */
static void look_for_theft(struct supervisor *supervisor)
{
	uid_t thief;

	if (supervisor->type->strict_port ||
	    look_at_port(supervisor, supervisor->port.number, &thief) != PORT_STOLEN)
		return;
	char *text cleanup_free = describe_theft(supervisor, thief);
	program_fail(supervisor->program, CAUSE_PORT_STOLEN, text);
}

/* The program may end its server, and start it again. */
void supervisor_on_port_timer(evutil_socket_t fd, short what, void *data)
{
	struct supervisor *supervisor = data;

	look_at_ui(supervisor);
	look_for_theft(supervisor);
	timer_start(supervisor->port_timer, supervisor->port_look_ms);
	if (supervisor->port_look_ms < PORT_LOOK_LAST_MS)
		supervisor->port_look_ms *= 2;
}

static void watch_ports(struct supervisor *supervisor)
{
	if (supervisor->type->strict_port && supervisor->ui_port.number == 0)
		return;
	supervisor->port_look_ms = PORT_LOOK_FIRST_MS;
	timer_start(supervisor->port_timer, supervisor->port_look_ms);
}

/* *path stays NULL where the program has none. */
static int find_stdin(const struct supervisor *supervisor, char **path, struct err *err)
{
	const char *source = supervisor->type->stdin_file;

	if (!source)
		return 0;
	*path = localize_find(source, supervisor->settings->scratch_dir, err);
	if (*path || err->message)
		return *path ? 0 : -1;
	return err_set(err, ERR_CONFIG, "its standard input, %s, is not on this machine", source);
}

static int start_program(struct supervisor *supervisor, struct err *err)
{
	const struct settings *settings = supervisor->settings;
	struct run run = {
		.settings = settings,
		.cluster = supervisor->cluster,
		.restart = supervisor->restart,
		.am_attempt = supervisor->am_attempt,
		.am_address = supervisor->am_address,
		.ui_port = supervisor->ui_port.number,
		.guardian = supervisor->guard ? (int)supervisor->guard->guardian : 0,
	};
	struct program_options options = {
		.base = supervisor->base,
		.job = settings->job,
		.type = supervisor->type,
		.work_dir = settings->work_dir,
		.log_dir = settings->log_dir,
		.progress_file = settings->progress_file,
		.memory = &supervisor->memory,
		.gpu = supervisor->gpu,
		.port = supervisor->port.number,
		.ui_port = supervisor->ui_port.number,
		.failed = on_program_failed,
		.ended = on_program_ended,
		.data = supervisor,
	};

	if (supervisor->trouble.kind != ERR_NONE)
		return err_copy(err, &supervisor->trouble);
	if (!supervisor->type->command)
		return err_set(err, ERR_CONFIG, "task type %s has no command",
			       supervisor->type->name);
	char *stdin_file cleanup_free = NULL;
	struct str_list commands cleanup_str_list = {0};
	if (find_stdin(supervisor, &stdin_file, err) < 0)
		return -1;
	struct environment *environments = run_prepare(&run, &commands, err);
	if (!environments)
		return -1;
	open_ports(supervisor);
	options.environments = environments;
	options.commands = &commands;
	options.stdin_file = stdin_file;
	supervisor->program = program_start(&options, err);
	run_finish(&run, environments);
	if (!supervisor->program)
		close_ports(supervisor);
	return supervisor->program ? 0 : -1;
}

/* ---- starting ----------------------------------------------------------------------------- */

static void start_run(struct supervisor *supervisor, const struct err *fetch_err)
{
	struct err err cleanup_err = {0};

	supervisor->epoch = supervisor->goal.epoch;
	supervisor->restart = supervisor->goal.restart;
	json_decref(supervisor->metrics);
	supervisor->metrics = NULL;
	supervisor->use = (struct program_use){0};
	supervisor->use_is_reported = false;
	network_begin(supervisor->network);
	if (fetch_err)
		err_copy(&err, fetch_err);
	if (fetch_err || start_program(supervisor, &err) < 0) {
		report_start_failed(supervisor, &err);
		return;
	}
	supervisor->activity = ACTIVITY_RUNNING;
	log_info("started process %d of epoch %d", supervisor->restart, supervisor->epoch);
	if (supervisor->mirrors)
		mirrors_watch(supervisor->mirrors);
	plan_first_metrics(supervisor);
	watch_ports(supervisor);
	link_changed(supervisor->link);
}

static void on_fetched(void *data, const struct err *err)
{
	struct supervisor *supervisor = data;

	supervisor->is_moving = false;
	if (!supervisor->leaving && supervisor_run_is_due(supervisor))
		start_run(supervisor, err);
	else
		supervisor_pursue(supervisor); /* the orders have changed meanwhile */
}

void supervisor_begin_run(struct supervisor *supervisor)
{
	if (!supervisor->mirrors) {
		start_run(supervisor, NULL);
		return;
	}
	supervisor->is_moving = true;
	mirrors_fetch(supervisor->mirrors, on_fetched, supervisor);
}
