#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "executor/progress.h"
#include "executor/supervisor_internal.h"
#include "framework/address.h"
#include "framework/framework.h"
#include "net/http_client.h"

enum {
	/* Between two looks who listens. A thief comes before the program, if at all. */
	PORT_LOOK_FIRST_MS = 16,
	PORT_LOOK_LAST_MS = 1024,
	UI_ANSWER_MS = 10 * 1000,
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

void supervisor_open_ports(struct supervisor *supervisor)
{
	if (supervisor->goal.port_open && !supervisor->type->strict_port)
		supervisor->port_guard = PORT_OPEN;
	if (supervisor->port_guard == PORT_OPEN)
		port_release(&supervisor->port);
	if (!supervisor->type->hold_port || supervisor->ui_was_lost)
		port_release(&supervisor->ui_port);
	port_share(&supervisor->port, supervisor->port_guard == PORT_SHARED);
	port_share(&supervisor->ui_port, true);
}

void supervisor_close_ports(struct supervisor *supervisor)
{
	port_share(&supervisor->port, false);
	port_share(&supervisor->ui_port, false);
}

/* ---- measuring ---------------------------------------------------------------------------- */

/* A task of very many processes is measured less often, in so many times what it takes: half a
 * hundredth of a core. */
static void plan_metrics(struct supervisor *supervisor, int64_t cost_us)
{
	int64_t interval = supervisor->settings->job->metrics_interval_ms;
	int64_t least = cost_us * MEASURE_SHARE / 1000;

	if (interval > 0)
		timer_start(supervisor->metrics_timer, interval > least ? interval : least);
}

void supervisor_plan_metrics(struct supervisor *supervisor)
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

int64_t supervisor_step(const struct supervisor *supervisor)
{
	const struct settings *settings = supervisor->settings;
	int processes = framework_process_count(settings->job, supervisor->type);
	struct progress progress;

	if (progress_read(settings->progress_file, (size_t)processes, &progress) &&
	    progress.step > 0)
		return progress.step;
	return supervisor->numbers ? numbers_step(supervisor->numbers) : 0;
}

static void add_progress(struct supervisor *supervisor)
{
	const struct settings *settings = supervisor->settings;
	int processes = framework_process_count(settings->job, supervisor->type);
	struct progress progress;

	if (!progress_read(settings->progress_file, (size_t)processes, &progress))
		return;
	supervisor->metrics.step = progress.step;
	supervisor->metrics.steps = progress.total > 0 ? progress.total : -1;
}

void supervisor_on_metrics_timer(evutil_socket_t fd, short what, void *data)
{
	struct supervisor *supervisor = data;
	int64_t begin_us = clock_processor_us();

	if (metrics_take(&supervisor->memory, supervisor->network, supervisor->gpu,
			 &supervisor->metrics))
		supervisor->has_metrics = true;
	int64_t cost_us = clock_processor_us() - begin_us;
	if (supervisor->has_metrics)
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

void supervisor_forget_ui(struct supervisor *supervisor)
{
	supervisor->ui_is_served = supervisor->ui_was_stolen = false;
	http_client_destroy(mem_steal(&supervisor->ui_asked));
}

/* Of whatever status: a login is an answer, too. The next look asks again where there was none. */
static void on_ui_answer(void *data, const struct http_response *response, const struct err *err)
{
	struct supervisor *supervisor = data;

	http_client_destroy(mem_steal(&supervisor->ui_asked));
	supervisor->ui_is_served = response != NULL;
	if (response)
		link_changed(supervisor->link);
}

/* By the address at which the AM reaches it. */
static void ask_ui(struct supervisor *supervisor)
{
	const struct cluster_address place = {.host = (char *)supervisor->settings->host,
					      .port = supervisor->ui_port.number};
	char *address cleanup_free = address_text(&place);

	supervisor->ui_asked = http_client_create(supervisor->base, address, NULL, NULL);
	if (supervisor->ui_asked)
		http_client_start(supervisor->ui_asked,
				  &(struct http_question){.method = "GET",
							  .path = "/",
							  .timeout_ms = UI_ANSWER_MS,
							  .is_status_enough = true,
							  .is_last = true,
							  .done = on_ui_answer,
							  .data = supervisor});
}

/* Most programs never serve the web interface's port, and what listens there may speak something
 * else: the executor reports it from its first answer on, while the program listens there. */
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
	if (found == PORT_SERVED) {
		if (!supervisor->ui_is_served && !supervisor->ui_asked)
			ask_ui(supervisor);
		return;
	}
	bool was_served = supervisor->ui_is_served;
	supervisor_forget_ui(supervisor);
	supervisor->ui_was_stolen = found == PORT_STOLEN;
	supervisor->ui_was_lost = supervisor->ui_was_lost || supervisor->ui_was_stolen;
	if (was_served)
		link_changed(supervisor->link);
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

/* Whether other tasks are told where this one listens. */
static bool has_peers(const struct supervisor *supervisor)
{
	const struct job *job = supervisor->settings->job;
	int64_t tasks = 0;

	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		if (type->role != JOB_ROLE_SIDECAR)
			tasks += job_type_is_elastic(type) ? type->max_instances : type->instances;
	}
	return supervisor->type->role != JOB_ROLE_SIDECAR && tasks > 1;
}

/* Peers would send to another user what is the task's. */
static void look_for_theft(struct supervisor *supervisor)
{
	uid_t thief;

	if (supervisor->port_guard == PORT_STRICT || supervisor->port_was_lost ||
	    look_at_port(supervisor, supervisor->port.number, &thief) != PORT_STOLEN)
		return;
	supervisor->port_was_lost = true;
	if (!has_peers(supervisor)) {
		log_warning("uid %u listens on port %d: no other task connects to it, so the "
			    "program goes on",
			    thief, supervisor->port.number);
		return;
	}
	char *text cleanup_free = describe_theft(supervisor, thief);
	program_fail(supervisor->program, CAUSE_PORT_STOLEN, text);
}

static bool is_lost(struct supervisor *supervisor)
{
	uid_t thief;

	switch (look_at_port(supervisor, supervisor->port.number, &thief)) {
	case PORT_STOLEN:
		return true;
	case PORT_UNSERVED:
		return supervisor->port_guard == PORT_SHARED &&
		       port_is_refused(supervisor->port.number);
	default:
		return false;
	}
}

/* A program that could not bind a port may have been refused its own: that another user has the web
 * interface's alone does not tell. */
void supervisor_judge_port(struct supervisor *supervisor, const struct cause *cause)
{
	bool ended_itself = cause->exit_code != 0 || cause->signal != 0;
	bool was_refused = cause->kind == CAUSE_PORT_TAKEN ||
			   (cause->kind == CAUSE_PORT_STOLEN && ended_itself &&
			    (supervisor->port_guard == PORT_STRICT || is_lost(supervisor)));

	if (was_refused && !supervisor->type->strict_port)
		supervisor->port_guard = PORT_OPEN;
}

/* A program that never listens, or sets SO_REUSEPORT, is safe at a strict port. Any other one needs
 * one that a thief does not find. */
void supervisor_choose_guard(struct supervisor *supervisor)
{
	const struct job_type *type = supervisor->type;

	if (!supervisor->port_was_lost && !is_lost(supervisor))
		return;
	supervisor->port_was_lost = false;
	if (type->strict_port)
		return;
	supervisor->port_guard =
		supervisor->port_guard == PORT_SHARED && type->listener_uids.count == 0
			? PORT_STRICT
			: PORT_OPEN;
	log_info("port %d may have been another user's; the next one is %s",
		 supervisor->port.number,
		 supervisor->port_guard == PORT_STRICT ? "held strictly" : "not held");
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

void supervisor_watch_ports(struct supervisor *supervisor)
{
	if (supervisor->port_guard == PORT_STRICT && supervisor->ui_port.number == 0)
		return;
	supervisor->port_look_ms = PORT_LOOK_FIRST_MS;
	timer_start(supervisor->port_timer, supervisor->port_look_ms);
}
