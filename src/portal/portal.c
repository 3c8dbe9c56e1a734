#include "portal/portal.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/secret.h"
#include "base/timer.h"
#include "base/user.h"
#include "history/layout.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "portal/certificate.h"
#include "portal/compare.h"
#include "portal/comparison.h"
#include "portal/confine.h"
#include "portal/link_socket.h"
#include "portal/portal_internal.h"
#include "portal/starter.h"
#include "scheduler/child.h"
#include "scheduler/scheduler.h"
#include "web/access.h"
#include "web/login.h"
#include "web/serve.h"
#include "web/ui_door.h"

enum { RESTART_MS = 5000, TICKET_HEAD_BYTES = 64 * 1024, KEY_LOOK_MS = 2000 };

/* ---- the page, and the way in ------------------------------------------------------------- */

static void handle_asset(void *data, struct http_request *request)
{
	web_serve(request, http_request_parameter(request, "path"));
}

static void handle_page(void *data, struct http_request *request)
{
	if (!portal_leads_to_kerberos(data, request))
		web_serve(request, "index.html");
}

/* Addresses of TonY's portal lead to the page that has the same. The page asks who looks. */
static void handle_address_of_tonys(void *data, struct http_request *request)
{
	const char *id = http_request_parameter(request, "id");
	bool is_config = str_starts_with(http_request_head(request)->target, "/config/");

	if (!history_is_id(id)) {
		http_answer_error(request, 404, "not-found", "there is no such job");
		return;
	}
	char *location cleanup_free = mem_printf("../#/jobs/%s%s", id, is_config ? "/config" : "");
	http_answer_header(request, "Location", location);
	web_answer_text(request, 303, "", 0);
}

/* Pages of failures lead here where programs' pages have the portal's own origin. */
static void handle_ui_home(void *data, struct http_request *request)
{
	(void)data;
	http_answer_header(request, "Location", "../");
	web_answer_text(request, 303, "", 0);
}

/* The engine's own page of a job. Links lead here: a page holds none to elsewhere. */
static void handle_engine_page(void *data, struct http_request *request)
{
	const char *id = http_request_parameter(request, "id");
	const struct scheduler_client_ops *engine = scheduler_client_of_id(id, NULL);
	char *pages cleanup_free = engine && engine->traits->has_proxy ? engine->pages() : NULL;

	if (!pages) {
		http_answer_error(request, 404, "not-found", "no scheduler has a page of this job");
		return;
	}
	char *location cleanup_free = mem_printf("%s%s", pages, id);
	http_answer_header(request, "Location", location);
	web_answer_text(request, 303, "", 0);
}

/* Those whose pages handle_engine_page() leads to. */
static json_t *list_engines(void)
{
	const struct scheduler_client_ops *engine;
	json_t *list = json_array();

	for (size_t i = 0; (engine = scheduler_client_at(i)); i++) {
		char *pages cleanup_free = engine->traits->has_proxy ? engine->pages() : NULL;
		if (!pages)
			continue;
		json_t *row = json_object();
		json_set_text(row, "name", engine->traits->name);
		json_set_text(row, "id_beginning", engine->id_beginning);
		json_array_append_new(list, row);
	}
	return list;
}

static void handle_server(void *data, struct http_request *request)
{
	struct portal *portal = data;
	struct portal_viewer viewer;
	json_t *answer = json_object();

	json_set_text(answer, "kind", "portal");
	if (portal->options->negotiator)
		json_set_text(answer, "login", "login/kerberos");
	if (http_request_access(request) < HTTP_ACCESS_NONE) {
		bool is_named = portal_find_viewer(portal, request, &viewer);
		json_set_text(answer, "version", TONY_VERSION);
		json_set_text(answer, "viewer",
			      is_named ? viewer.user.name : portal->options->user);
		json_object_set_new(answer, "actions", json_array());
		json_object_set_new(answer, "engines", list_engines());
	}
	http_answer_json(request, 200, answer);
}

/* For probes of load balancers and service managers, which have no token. */
static void handle_health(void *data, struct http_request *request)
{
	static const char text[] = "ok\n";

	(void)data;
	http_answer_bytes(request, 200, "text/plain; charset=utf-8", text, strlen(text));
}

static void handle_links(void *data, struct http_request *request)
{
	const struct portal *portal = data;

	web_login_invite(request, portal->sessions, NULL, NULL, false);
}

static void handle_login(void *data, struct http_request *request)
{
	const struct portal *portal = data;

	web_login_open(request, portal->sessions, "tony portal --link prints another one.");
}

/* ---- a job -------------------------------------------------------------------------------- */

/* To look at a job is not to use its programs: a notebook runs what it is told. False: refused. */
static bool may_use_programs(struct portal *portal, struct http_request *request, const char *id,
			     const struct portal_job *job)
{
	struct portal_viewer viewer;

	if (job->location || !portal_find_viewer(portal, request, &viewer) ||
	    str_equal(viewer.user.name, job->user))
		return true;
	portal_audit_refused(portal, request, id, "view");
	http_answer_error(request, 403, "owner-only",
			  "While a job goes on, the pages of its programs are for its owner alone, "
			  "here %s.",
			  job->user);
	return false;
}

static void pass(struct portal *portal, struct http_request *request, const char *place,
		 const char *base)
{
	const char *id = http_request_parameter(request, "id");
	char *prefix cleanup_free = mem_printf("%s/%s", place, id);
	struct portal_job job cleanup_portal_job = {0};

	bool is_program = str_equal(place, "/ui");
	if (portal_find_job_of_path(portal, request, prefix, &job) < 0 ||
	    (is_program && !may_use_programs(portal, request, id, &job)))
		return;
	struct readers_order order = {0};
	if (job.location && str_equal(http_request_head(request)->method, "PUT") &&
	    str_equal(http_request_head(request)->target + strlen(prefix), "/tensorboard"))
		order = portal_audited_order(portal, request, id, "tensorboard", NULL);
	readers_pass(portal->readers, request, id, &job, prefix, base, order);
}

static void handle_job(void *data, struct http_request *request)
{
	struct portal *portal = data;

	portal->requests++;
	pass(portal, request, "/v1/jobs", "/v1");
}

static void lead_to_door(struct portal *portal, struct http_request *request)
{
	const char *id = http_request_parameter(request, "id");
	char *prefix cleanup_free = mem_printf("/ui/%s", id);
	struct portal_job job cleanup_portal_job = {0};
	struct err err cleanup_err = {0};

	if (portal_find_job_of_path(portal, request, prefix, &job) < 0 ||
	    !may_use_programs(portal, request, id, &job))
		return;
	struct ui_door *door = readers_open_door(portal->readers, id, &job,
						 http_server_address(portal->server), &err);
	if (door)
		ui_door_lead(door, request, portal->sessions);
	else
		http_answer_error(request, 500, "failed", "%s", err_message(&err));
}

static void handle_ui(void *data, struct http_request *request)
{
	struct portal *portal = data;

	switch (ui_door_choose(request, portal->sessions, portal->options->shares_origin,
			       "Where your browser reaches the portal's own address, the link of "
			       "tony portal --link leads to them; tony portal --ui-origin "
			       "shared-origin shows them here.")) {
	case UI_WAY_HERE:
		pass(portal, request, "/ui", "/ui");
		break;
	case UI_WAY_DOOR:
		lead_to_door(portal, request);
		break;
	case UI_WAY_NONE:
		break;
	}
}

/* The reader of each run; -1: that is answered. */
static int find_sides(struct portal *portal, struct http_request *request,
		      const struct str_list *ids, struct portal_job *jobs,
		      struct compare_side *sides)
{
	struct err err cleanup_err = {0};

	for (size_t i = 0; i < ids->count; i++) {
		if (portal_find_job(portal, request, ids->items[i], &jobs[i]) < 0)
			return -1;
		sides[i].summary = jobs[i].summary;
		sides[i].address = readers_find(portal->readers, ids->items[i], &jobs[i], &err);
		if (!sides[i].address) {
			http_answer_error(request, 500, "failed", "%s", err_message(&err));
			return -1;
		}
	}
	return 0;
}

static void handle_compare(void *data, struct http_request *request)
{
	struct portal *portal = data;
	const char *asked = http_request_query(request, "jobs");
	struct portal_job jobs[COMPARISON_MOST] = {0};
	struct compare_side sides[COMPARISON_MOST];
	struct str_list ids cleanup_str_list = {0};

	portal->requests++;
	str_split(&ids, asked ? asked : "", ',');
	if (ids.count < COMPARISON_LEAST || ids.count > COMPARISON_MOST)
		http_answer_error(request, 400, "bad-request",
				  "jobs: write the ids of %d to %d jobs, with commas between",
				  COMPARISON_LEAST, COMPARISON_MOST);
	else if (find_sides(portal, request, &ids, jobs, sides) == 0)
		compare_start(portal->base, request, portal->reader.token, sides, ids.count,
			      str_equal(http_request_query(request, "format"), "csv"));
	for (size_t i = 0; i < array_length(jobs); i++)
		portal_job_finish(&jobs[i]);
}

/* ---- the server --------------------------------------------------------------------------- */

#define EVERYBODY .needs = HTTP_ACCESS_NONE
#define READERS	  .needs = HTTP_ACCESS_READ

static const struct http_route routes[] = {
	{"GET", "/", handle_page, EVERYBODY},
	{"HEAD", "/", handle_page, EVERYBODY},
	{"GET", "/assets/{path*}", handle_asset, EVERYBODY},
	{"HEAD", "/assets/{path*}", handle_asset, EVERYBODY},
	{"GET", "/jobs/{id}", handle_address_of_tonys, EVERYBODY},
	{"GET", "/logs/{id}", handle_address_of_tonys, EVERYBODY},
	{"GET", "/config/{id}", handle_address_of_tonys, EVERYBODY},
	{"GET", "/engine/{id}", handle_engine_page, READERS},
	{"GET", "/login", handle_login, EVERYBODY},
	{"GET", "/login/kerberos", portal_handle_kerberos, EVERYBODY},
	{"GET", "/healthz", handle_health, EVERYBODY},
	{"HEAD", "/healthz", handle_health, EVERYBODY},
	{"GET", "/v1/server", handle_server, EVERYBODY},
	{"POST", "/v1/links", handle_links},
	{"GET", "/v1/jobs", portal_handle_jobs, READERS},
	{"GET", "/v1/words", portal_handle_words, READERS},
	{"GET", "/v1/compare", handle_compare, READERS},
	{"PUT", "/v1/jobs/{id}/tensorboard", handle_job, READERS, .raw = true},
	{"GET", "/v1/jobs/{id}/orders", portal_handle_orders, READERS},
	{"POST", "/v1/jobs/{id}/job/kill", portal_handle_order, READERS, .raw = true},
	{"POST", "/v1/jobs/{id}/job/scale", portal_handle_order, READERS, .raw = true},
	{"POST", "/v1/jobs/{id}/job/release", portal_handle_order, READERS, .raw = true},
	{"POST", "/v1/jobs/{id}/tasks/{task}/restart", portal_handle_order, READERS, .raw = true},
	{"GET", "/v1/jobs/{id}/{path*}", handle_job, READERS, .raw = true},
	{"GET", "/ui/", handle_ui_home, EVERYBODY},
	{"*", "/ui/{id}/{path*}", handle_ui, READERS, .raw = true},
	{"GET", "/metrics", portal_handle_metrics},
};

static int open_server(struct portal *portal, struct err *err)
{
	if (portal->options->https) {
		char *address cleanup_free = net_listen_advertise(portal->options->listen);
		portal->certificate =
			portal_certificate_open(portal->base, portal->options->https, address, err);
		if (!portal->certificate)
			return -1;
		portal->reader.tls = portal_certificate_tls(portal->certificate);
	}
	const struct http_server_config config = {
		.address = portal->options->listen,
		.token = portal->options->token,
		.token_owner = "the portal",
		.tls = portal->reader.tls,
		.routes = routes,
		.route_count = array_length(routes),
		.data = portal,
		.authorize = portal_authorize,
		.refused = portal_audit_refusal,
		.knows_host = portal_knows_host,
		.answer_failure = web_answer_failure,
		/* Tickets of users with many groups. */
		.limits.head_bytes = portal->options->negotiator ? TICKET_HEAD_BYTES : 0,
	};

	portal->server = http_server_create(portal->base, &config, err);
	return portal->server ? 0 : err_wrap(err, "--listen");
}

/* ---- the indexer -------------------------------------------------------------------------- */

static int start_indexer(struct portal *portal, struct err *err);

static void on_restart(evutil_socket_t fd, short what, void *data)
{
	struct err err cleanup_err = {0};

	if (start_indexer(data, &err) == 0)
		return;
	struct portal *portal = data;
	log_error("the index of jobs: %s", err_message(&err));
	timer_start(portal->restart, RESTART_MS);
}

static void on_indexer_ended(void *data, int status)
{
	struct portal *portal = data;

	timer_start(portal->restart, RESTART_MS);
}

static _Noreturn void run_indexer(const struct portal *portal, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	proc_close_from(STDERR_FILENO + 1, false);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	indexer_run(&portal->options->indexer);
}

/* SQLite must have nothing open when the process forks. Opening it makes a flawed one anew. */
static int start_indexer(struct portal *portal, struct err *err)
{
	pid_t parent = getpid();

	portal_index_close(mem_steal(&portal->index));
	portal->index = portal_index_open(portal->options->indexer.index_path, err);
	if (!portal->index)
		return -1;
	portal_index_close(mem_steal(&portal->index));
	pid_t pid = fork();
	if (pid == 0)
		run_indexer(portal, parent);
	if (pid < 0)
		return err_set_fork(err, "fork");
	if (child_watch(&portal->indexer, portal->base, pid, on_indexer_ended, portal, err) < 0)
		return -1;
	portal->index = portal_index_open(portal->options->indexer.index_path, err);
	return portal->index ? 0 : -1;
}

/* ------------------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *data)
{
	event_base_loopbreak(data);
}

/* The caller frees. */
static char *make_url(const struct portal *portal)
{
	char *address cleanup_free = net_listen_advertise(http_server_address(portal->server));

	return mem_printf("%s://%s/", portal->options->https ? "https" : "http", address);
}

static char *make_link(void *data)
{
	struct portal *portal = data;
	char *url cleanup_free = make_url(portal);

	portal_take_session_key(portal);
	char *code cleanup_free =
		web_sessions_invite(portal->sessions, false, clock_monotonic_ms());

	return mem_printf("%slogin?code=%s", url, code);
}

/* Not every file system has sockets. */
static void open_links(struct portal *portal)
{
	struct err err cleanup_err = {0};

	portal->links =
		link_socket_open(portal->base, portal->options->folder,
				 http_server_address(portal->server), make_link, portal, &err);
	if (!portal->links)
		log_warning("tony portal --link cannot ask this portal: %s", err_message(&err));
}

static void tell_ready(struct portal *portal)
{
	char *url cleanup_free = make_url(portal);
	char *link cleanup_free = make_link(portal);
	portal->options->ready(http_server_address(portal->server), url, link);
}

/* Some containers, and old kernels, have no filters. */
static void confine(void)
{
	struct err err cleanup_err = {0};

	if (confine_process(&err) < 0)
		log_warning("the portal runs unconfined: %s", err_message(&err));
}

static int serve(struct portal *portal, struct err *err)
{
	static const int signals[] = {SIGTERM, SIGINT};
	struct event *events[array_length(signals)];

	/* All processes of the portal inherit it. The next tony starts the program that a dead
	 * job's notices need. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set_errno(err, "no_new_privs");
	portal->reader.starter = starter_open(portal->options->tensorboard, err);
	if (portal->reader.starter < 0)
		return -1;
	confine();
	if (open_server(portal, err) < 0)
		return -1;
	if (start_indexer(portal, err) < 0)
		return -1;
	open_links(portal);
	for (size_t i = 0; i < array_length(signals); i++) {
		events[i] = evsignal_new(portal->base, signals[i], on_signal, portal->base);
		event_add(events[i], NULL);
	}
	tell_ready(portal);
	event_base_dispatch(portal->base);
	for (size_t i = 0; i < array_length(signals); i++)
		event_free(events[i]);
	return 0;
}

/* Doors of programs and streams that are open ask for no session again. */
static void on_key_look(evutil_socket_t fd, short what, void *data)
{
	portal_take_session_key(data);
}

int portal_run(const struct portal_options *options, struct err *err)
{
	char *token cleanup_free = secret_create();
	struct portal portal = {.options = options, .reader = options->reader};

	portal.reader.token = token;
	portal.reader.starter = -1;
	portal.reader.index_path = options->indexer.index_path;
	portal.base = event_base_new();
	portal.sessions = web_sessions_create("tony-portal", options->https != NULL);
	portal.restart = evtimer_new(portal.base, on_restart, &portal);
	portal.readers = readers_create(portal.base, &portal.reader);
	portal.session_key.folder = options->folder;
	portal_take_session_key(&portal);
	struct event *key_look = event_new(portal.base, -1, EV_PERSIST, on_key_look, &portal);
	timer_start(key_look, KEY_LOOK_MS);
	portal.groups = group_cache_create(portal_ask_groups, &portal);
	portal.refusals = audit_refusals_create();
	int result = serve(&portal, err);
	link_socket_close(portal.links);
	http_server_destroy(portal.server);
	portal_certificate_close(portal.certificate);
	readers_destroy(portal.readers);
	group_cache_destroy(portal.groups);
	audit_refusals_destroy(portal.refusals);
	child_kill(&portal.indexer);
	event_free(portal.restart);
	event_free(key_look);
	portal_index_close(portal.index);
	web_sessions_destroy(portal.sessions);
	event_base_free(portal.base);
	mem_cleanup_close(&portal.reader.starter);
	return result;
}
