#include "portal/reader.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "portal/index.h"
#include "portal/reader_internal.h"
#include "scheduler/scheduler.h"
#include "web/serve.h"
#include "web/ui_proxy.h"

#define FIND_AGAIN_MS 5000

/* ---- one that goes on --------------------------------------------------------------------- */

static int find_am(struct reader *reader, struct err *err)
{
	if (reader->found_ms > 0 && clock_monotonic_ms() - reader->found_ms < FIND_AGAIN_MS &&
	    reader->door.address)
		return 0;
	job_door_finish(&reader->door);
	reader->door = (struct job_door){0};
	char *id cleanup_free = NULL;
	reader->ops = reader->setup->find_job(reader->id, &reader->door, &id, err);
	if (!reader->ops)
		return -1;
	reader->found_ms = clock_monotonic_ms();
	return 0;
}

/* `away`: who answers while the AM is not there; NULL: nobody can. */
static void ask_am(struct reader *reader, struct http_request *request,
		   void (*away)(void *data, struct http_request *request))
{
	struct err err cleanup_err = {0};

	if (find_am(reader, &err) < 0) {
		reader_answer_failure(request, &err);
	} else if (reader->door.address) {
		const struct ui_place place = {
			.prefix = "",
			.address = reader->door.address,
			.keep_path = true,
			.token = reader->door.token,
			.is_sealed = reader->door.is_sealed,
			.identity = reader->door.identity,
			.orderer = http_request_header(request, UI_ORDERER_HEADER),
			.owner = reader->door.owner};
		ui_proxy_start(reader->base, request, &place, &reader->passed);
	} else if (away) {
		reader_answer_away(reader, request, away);
	} else {
		http_answer_header(request, "Retry-After", "2");
		http_answer_error(request, 503, "not-ready", "%s",
				  reader->door.ended
					  ? "the job has ended; its history is on its way"
					  : "the job's application master is not there now");
	}
}

static void handle_live(void *data, struct http_request *request)
{
	ask_am(data, request, NULL);
}

#define LIVE(what)                                                                                 \
	static void handle_live_##what(void *data, struct http_request *request)                   \
	{                                                                                          \
		ask_am(data, request, reader_handle_##what);                                       \
	}
LIVE(job)
LIVE(tasks)
LIVE(task)
LIVE(attempts)
LIVE(events)
LIVE(config)
LIVE(diff)
LIVE(sweep)
LIVE(cluster)
LIVE(environment)

/* ------------------------------------------------------------------------------------------- */

static const struct http_route stored_routes[] = {
	{"GET", "/v1/job", reader_handle_job},
	{"GET", "/v1/tasks", reader_handle_tasks},
	{"GET", "/v1/tasks/{task}", reader_handle_task},
	{"GET", "/v1/tasks/{task}/attempts", reader_handle_attempts},
	{"GET", "/v1/tasks/{task}/logs", reader_handle_log_names},
	{"GET", "/v1/tasks/{task}/logs/{log}", reader_handle_log},
	{"GET", "/v1/events", reader_handle_events},
	{"GET", "/v1/series", reader_handle_series},
	{"GET", "/v1/advice", reader_handle_advice},
	{"GET", "/v1/config", reader_handle_config},
	{"GET", "/v1/diff", reader_handle_diff},
	{"GET", "/v1/sweep", reader_handle_sweep},
	{"GET", "/v1/cluster", reader_handle_cluster},
	{"GET", "/v1/environment", reader_handle_environment},
	{"GET", "/v1/tensorboard", reader_handle_tensorboard},
	{"PUT", "/v1/tensorboard", reader_handle_tensorboard_start},
	{"*", "/ui/tensorboard/", reader_handle_tensorboard_ui, .raw = true},
	{"*", "/ui/tensorboard/{path*}", reader_handle_tensorboard_ui, .raw = true},
};

/* The AM is shown the token: the portal passes on what its users may ask, and order. */
static const struct http_route live_routes[] = {
	{"GET", "/v1/job", handle_live_job, .raw = true},
	{"GET", "/v1/tasks", handle_live_tasks, .raw = true},
	{"GET", "/v1/tasks/{task}", handle_live_task, .raw = true},
	{"GET", "/v1/tasks/{task}/attempts", handle_live_attempts, .raw = true},
	{"GET", "/v1/tasks/{path*}", handle_live, .raw = true},
	{"GET", "/v1/events", handle_live_events, .raw = true},
	{"GET", "/v1/metrics", handle_live, .raw = true},
	{"GET", "/v1/series", handle_live, .raw = true},
	{"GET", "/v1/use", handle_live, .raw = true},
	{"GET", "/v1/work", handle_live, .raw = true},
	{"GET", "/v1/advice", handle_live, .raw = true},
	{"GET", "/v1/config", handle_live_config, .raw = true},
	{"GET", "/v1/diff", handle_live_diff, .raw = true},
	{"GET", "/v1/sweep", handle_live_sweep, .raw = true},
	{"GET", "/v1/cluster", handle_live_cluster, .raw = true},
	{"GET", "/v1/environment", handle_live_environment, .raw = true},
	{"POST", "/v1/job/kill", handle_live, .raw = true},
	{"POST", "/v1/job/scale", handle_live, .raw = true},
	{"POST", "/v1/job/release", handle_live, .raw = true},
	{"POST", "/v1/tasks/{task}/restart", handle_live, .raw = true},
	{"*", "/ui/{path*}", handle_live, .raw = true},
};

struct reader *reader_create(const struct reader_setup *setup, const char *id,
			     const struct portal_job *job, struct err *err)
{
	bool is_stored = job->location != NULL;
	struct reader *reader = mem_alloc(sizeof(*reader));
	const struct http_server_config config = {
		.address = "127.0.0.1:0",
		.token = setup->token,
		.routes = is_stored ? stored_routes : live_routes,
		.route_count = is_stored ? array_length(stored_routes) : array_length(live_routes),
		.data = reader,
		.answer_failure = web_answer_failure,
	};

	reader->setup = setup;
	reader->journal = -1;
	reader->id = mem_strdup(id);
	reader->user = mem_strdup(job->user);
	reader->view_acl = mem_strdup(job->view_acl);
	reader->location = mem_strdup(job->location);
	reader->path = mem_strdup(job->path);
	reader->base = event_base_new();
	reader->server = http_server_create(reader->base, &config, err);
	if (reader->server)
		return reader;
	reader_destroy(reader);
	return NULL;
}

const char *reader_address(const struct reader *reader)
{
	return http_server_address(reader->server);
}

void reader_destroy(struct reader *reader)
{
	http_server_destroy(reader->server);
	event_base_free(reader->base);
	free(reader->id);
	free(reader->user);
	free(reader->view_acl);
	free(reader->location);
	free(reader->path);
	free(reader);
}

static void on_signal(evutil_socket_t fd, short what, void *data)
{
	reader_stop_tensorboard(data);
	_exit(0);
}

/* As something to read from: libevent's own signals are the parent's. */
static void watch_signal(struct reader *reader)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	event_add(event_new(reader->base, fd, EV_READ, on_signal, reader), NULL);
}

void reader_run(struct reader *reader)
{
	/* What was made before the fork is the parent's as well. */
	event_reinit(reader->base);
	watch_signal(reader);
	event_base_dispatch(reader->base);
	_exit(1);
}
