#include "am/api.h"

#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "am/listen.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/secret.h"
#include "net/address.h"
#include "web/login.h"
#include "web/serve.h"
#include "web/ui_door.h"

enum {
	PAGES_CONNECTIONS = 128, /* of browsers */
	/* Of a job with TLS these may go on at once: of others, and of its executors'. Of a larger
	 * job the next ones wait in the kernel. */
	HANDSHAKES = 256,
	EXECUTORS_HANDSHAKES = 1024,
};

#define EVERYBODY .needs = HTTP_ACCESS_NONE
#define READERS	  .needs = HTTP_ACCESS_READ
#define CONTROL	  .needs = HTTP_ACCESS_CONTROL

static const struct http_route routes[] = {
	{"POST", "/v1/tasks/{task}/beat", api_handle_beat},
	{"POST", "/v1/tasks/{task}/register", api_handle_register},
	{"POST", "/v1/tasks/{task}/exit", api_handle_exit},
	{"GET", "/", api_handle_asset, EVERYBODY},
	{"HEAD", "/", api_handle_asset, EVERYBODY},
	{"GET", "/assets/{path*}", api_handle_asset, EVERYBODY},
	{"HEAD", "/assets/{path*}", api_handle_asset, EVERYBODY},
	{"GET", "/login", api_handle_login, EVERYBODY},
	{"GET", "/v1/server", api_handle_server, EVERYBODY, .differs = true},
	{"POST", "/v1/links", api_handle_links},
	{"GET", "/v1/job", api_handle_job, READERS},
	{"GET", "/v1/tasks", api_handle_tasks, READERS},
	{"GET", "/v1/tasks/{task}", api_handle_task, READERS},
	{"GET", "/v1/tasks/{task}/attempts", api_handle_attempts, READERS},
	{"GET", "/v1/events", api_handle_events, READERS},
	{"GET", "/v1/tasks/{task}/logs", api_handle_log_names, READERS},
	{"GET", "/v1/tasks/{task}/logs/{log}", api_handle_logs, READERS},
	{"POST", "/v1/tasks/{task}/logs/{log}", api_handle_log_piece},
	{"GET", "/v1/metrics", api_handle_metrics, READERS},
	{"GET", "/v1/series", api_handle_series, READERS},
	{"GET", "/v1/use", api_handle_use, READERS},
	{"GET", "/v1/work", api_handle_work, READERS},
	{"GET", "/v1/advice", api_handle_advice, READERS},
	{"GET", "/v1/sweep", api_handle_sweep, READERS},
	{"GET", "/v1/description", api_handle_description, READERS},
	{"GET", "/v1/config", api_handle_config, READERS},
	{"GET", "/v1/diff", api_handle_diff, READERS},
	{"GET", "/v1/cluster", api_handle_cluster, READERS},
	{"GET", "/v1/environment", api_handle_environment, READERS},
	{"GET", "/ui/{name}", api_handle_ui_folder, READERS},
	{"*", "/ui/{name}/", api_handle_ui, READERS, .raw = true},
	{"*", "/ui/{name}/{path*}", api_handle_ui, READERS, .raw = true},
	{"POST", "/v1/job/kill", api_handle_kill, CONTROL},
	{"POST", "/v1/job/scale", api_handle_scale, CONTROL},
	{"POST", "/v1/job/release", api_handle_release, CONTROL},
	{"POST", "/v1/children", api_handle_children},
	{"GET", "/v1/job/tokens", api_handle_tokens_look, READERS},
	{"PUT", "/v1/job/tokens", api_handle_tokens},
	{"POST", "/v1/tasks/{task}/restart", api_handle_restart, CONTROL},
	{"POST", "/v1/tasks/{task}/exec", api_handle_exec, .raw = true},
	{"POST", "/v1/tasks/{task}/port-forward", api_handle_port_forward, .raw = true},
	{"POST", "/v1/tasks/{task}/exec/{session}", api_handle_exec_join, .raw = true},
	{"PUT", "/v1/kv/{key*}", api_handle_kv_put},
	{"GET", "/v1/kv/{key*}", api_handle_kv_get},
	{"DELETE", "/v1/kv/{key*}", api_handle_kv_delete},
	{"GET", "/v1/splits", api_handle_splits, READERS},
	{"GET", "/v1/splits/{name}", api_handle_splits_of, READERS},
	{"PUT", "/v1/splits/{name}", api_handle_splits_put},
	{"POST", "/v1/splits/{name}/claim", api_handle_splits_claim},
	{"POST", "/v1/splits/{name}/lease", api_handle_splits_lease},
	{"POST", "/v1/splits/{name}/renew", api_handle_splits_renew},
	{"POST", "/v1/splits/{name}/done", api_handle_splits_done},
	{"GET", "/v1/splits/{name}/state", api_handle_splits_state},
	{"POST", "/v1/splits/{name}/restore", api_handle_splits_restore},
};

/* Of who looks, wherever from. */
static enum http_access authorize(void *data, const struct http_request *request)
{
	const struct api *api = data;
	struct viewer viewer cleanup_viewer = viewers_identify(api->viewers, request);

	if (viewer.is_awaited)
		return HTTP_ACCESS_LATER;
	if (viewer.may_change)
		return HTTP_ACCESS_CONTROL;
	return viewer.may_look ? HTTP_ACCESS_READ : HTTP_ACCESS_NONE;
}

/* At the AM's own port. The others speak in clear beside a port that does not, or to a proxy. */
static enum http_access authorize_control(void *data, const struct http_request *request)
{
	const struct api *api = data;
	enum http_access access = authorize(data, request);
	bool controls = access == HTTP_ACCESS_READ &&
			web_login_controls(viewers_sessions(api->viewers), request);

	return controls ? HTTP_ACCESS_CONTROL : access;
}

static void on_decided(void *data)
{
	struct api *api = data;

	http_server_admit_again(api->server);
	if (api->pages)
		http_server_admit_again(api->pages);
	if (api->proxied)
		http_server_admit_again(api->proxied);
}

/* These, and those of the rendezvous. */
static size_t list_routes(struct api *api)
{
	size_t own = array_length(routes), more;
	const struct http_route *others = rendezvous_routes(api->rendezvous, &more);

	api->routes = mem_alloc_array(own + more, sizeof(*api->routes));
	memcpy(api->routes, routes, sizeof(routes));
	for (size_t i = 0; i < more; i++)
		api->routes[own + i] = others[i];
	return own + more;
}

/* Of a ring in which all processes meet there. */
static size_t ring_bytes(const struct api *api)
{
	return rendezvous_stranger_bytes(api->rendezvous);
}

/* A port at which nobody shows the token, so that none is right. */
static struct http_server *open_port(struct api *api, struct http_server_config *config,
				     size_t route_count, struct err *err)
{
	char *nobodys cleanup_free = secret_create();
	char *address cleanup_free = net_address_any_port(http_server_address(api->server));

	config->address = address;
	config->token = nobodys;
	config->routes = api->routes;
	config->route_count = route_count;
	config->data = api;
	config->authorize = authorize;
	config->refused = api_audit_refusal;
	config->host = api->name;
	config->answer_failure = web_answer_failure;
	config->limits.connections = PAGES_CONNECTIONS;
	return http_server_create(api->base, config, err);
}

/* Where no TLS is spoken. */
static int open_pages(struct api *api, const struct api_options *options, size_t route_count,
		      struct err *err)
{
	struct http_server_config config = {
		.listener = options->pages_listener,
		.limits = {.stranger_bytes = ring_bytes(api)},
	};

	if (ring_bytes(api) > 0)
		config.limits.connections += 4 * api->task_count;
	api->pages = open_port(api, &config, route_count, err);
	if (!api->pages)
		return -1;
	api->pages_address = listen_advertise(api->name, http_server_address(api->pages));
	return 0;
}

static int open_proxied(struct api *api, const struct api_options *options, size_t route_count,
			struct err *err)
{
	/* The proxy calls us by the name that it was told, whatever this machine's is. */
	struct http_server_config config = {.tls = options->proxy_tls, .any_host = true};

	api->proxied = open_port(api, &config, route_count, err);
	if (!api->proxied)
		return -1;
	api->proxy_address = listen_advertise(api->name, http_server_address(api->proxied));
	return 0;
}

static size_t handshake_bytes(const struct api *api)
{
	size_t of_executors =
		api->task_count < EXECUTORS_HANDSHAKES ? api->task_count : EXECUTORS_HANDSHAKES;

	return (HANDSHAKES + of_executors) * HTTP_HANDSHAKE_BYTES;
}

static struct http_server *open_server(struct api *api, const struct api_options *options,
				       size_t route_count, struct err *err)
{
	struct http_server_config config = {
		.address = options->address,
		.listener = options->listener,
		.token = options->token,
		.is_sealed = api->host.job->tls,
		.people = {api->host.find_secret, api->host.data},
		.routes = api->routes,
		.route_count = route_count,
		.data = api,
		.authorize = authorize_control,
		.refused = api_audit_refusal,
		.host = api->name,
		.answer_failure = web_answer_failure,
		.limits = options->limits,
	};

	if (config.limits.connections == 0)
		config.limits.connections = 4 * api->task_count + 1024;
	if (config.limits.stranger_bytes == 0 && config.is_sealed)
		config.limits.stranger_bytes = handshake_bytes(api);
	else if (config.limits.stranger_bytes == 0)
		config.limits.stranger_bytes = ring_bytes(api);
	return http_server_create(api->base, &config, err);
}

static int open_servers(struct api *api, const struct api_options *options, struct err *err)
{
	size_t route_count = list_routes(api);

	api->server = open_server(api, options, route_count, err);
	if (!api->server)
		return -1;
	api->address = listen_advertise(api->name, http_server_address(api->server));
	if (api->host.job->tls && open_pages(api, options, route_count, err) < 0)
		return -1;
	if (options->proxy_tls && open_proxied(api, options, route_count, err) < 0)
		return -1;
	const struct http_server *ring = api->pages ? api->pages : api->server;
	rendezvous_set_address(api->rendezvous, http_server_address(ring), api_pages_address(api));
	return 0;
}

struct api *api_create(struct event_base *base, const struct api_host *host,
		       const struct api_options *options, struct err *err)
{
	struct api *api = mem_alloc(sizeof(*api));

	api->host = *host;
	api->base = base;
	api->task_count = machine_task_count(host->machine);
	api->tasks = mem_alloc_array(api->task_count, sizeof(*api->tasks));
	api->viewers = viewers_create(base, host->job, on_decided, api);
	viewers_sign(api->viewers, options->token);
	api->refusals = audit_refusals_create();
	api->numbers_budget = user_budget_of(api->task_count);
	api_view_init(api);
	api_linger_init(api);
	api->kv = kept_kv_open("the rendezvous store", KV_TOTAL_MAX, options->kv_file);
	api->kv_waiters = map_create(free);
	api_splits_open(api, options->split_list_file, options->split_state_file);
	LIST_INIT(&api->event_followers);
	LIST_INIT(&api->waiters);
	api->kept = INT64_MAX;
	api->rendezvous = rendezvous_create(&(struct rendezvous_options){
		.base = base,
		.job = host->job,
		.machine = host->machine,
		.host = options->host,
		.file = options->rendezvous_file,
		.ring_file = options->ring_file,
	});
	api->name = mem_strdup(options->host);
	if (open_servers(api, options, err) == 0)
		return api;
	api_destroy(api);
	return NULL;
}

void api_destroy(struct api *api)
{
	if (!api)
		return;
	ui_door_close(api->ui.door);
	http_server_destroy(api->server);
	http_server_destroy(api->pages);
	http_server_destroy(api->proxied);
	rendezvous_destroy(api->rendezvous);
	free(api->routes);
	for (size_t i = 0; i < api->task_count; i++) {
		if (api->tasks[i].api)
			api_task_finish(&api->tasks[i]);
	}
	free(api->tasks);
	api_cluster_changed(api);
	api_view_finish(&api->view);
	api_linger_finish(&api->linger);
	viewers_destroy(api->viewers);
	audit_refusals_destroy(api->refusals);
	map_destroy(api->kv_waiters);
	kept_kv_close(api->kv);
	api_splits_close(api);
	json_decref(api->advice.told);
	new_tokens_finish(&api->tokens);
	free(api->work.stragglers);
	free(api->tracking_run);
	free(api->name);
	free(api->address);
	free(api->pages_address);
	free(api->proxy_address);
	free(api);
}

const char *api_address(const struct api *api)
{
	return api->address;
}

const char *api_pages_address(const struct api *api)
{
	return api->pages_address ? api->pages_address : api->address;
}

const char *api_proxy_address(const struct api *api)
{
	return api->proxy_address;
}

void api_trust_proxies(struct api *api, const struct str_list *hosts, bool prove)
{
	const struct str_list none = {0};

	viewers_trust(api->viewers, api->proxied ? &none : hosts, prove);
}

void api_name_administrators(struct api *api, const char *acl)
{
	viewers_name_administrators(api->viewers, acl);
}

void api_journal_appended(struct api *api, int64_t sequence)
{
	struct api_event_follower *follower;

	api->appended = sequence;
	LIST_FOREACH(follower, &api->event_followers, link)
	http_stream_wake(follower->stream);
	api_view_fold(api);
}

void api_journal_kept(struct api *api, int64_t sequence)
{
	int64_t before = api->kept;

	api->kept = sequence;
	api_tasks_go_on(api, before);
	api_answer_kept(api);
}

void api_tasks_changed(struct api *api)
{
	rendezvous_check(api->rendezvous);
	api_splits_check(api);
}

void api_order_changed(struct api *api, size_t task)
{
	api->tasks[task].ordered = api->appended;
	api_logs_check(&api->tasks[task]);
	api_task_settle(&api->tasks[task]);
}

int api_cluster_formed(struct api *api, struct err *err)
{
	api_cluster_changed(api);
	return rendezvous_renew(api->rendezvous, err);
}

void api_conclude(struct api *api)
{
	api->concluded = true;
	api_kv_conclude(api);
	api_splits_conclude(api);
	rendezvous_conclude(api->rendezvous);
	api_tasks_answer_all(api);
	api_journal_appended(api, api->appended);
	api_journal_kept(api, INT64_MAX);
	api_logs_wake(api);
}

static void on_drained(void *data)
{
	struct api *api = data;

	if (--api->draining == 0)
		api->drained(api->drained_data);
}

void api_drain(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data)
{
	api->drained = done;
	api->drained_data = data;
	api->draining = 1 + (api->pages != NULL) + (api->proxied != NULL);
	http_server_drain(api->server, timeout_ms, on_drained, api);
	if (api->pages)
		http_server_drain(api->pages, timeout_ms, on_drained, api);
	if (api->proxied)
		http_server_drain(api->proxied, timeout_ms, on_drained, api);
}
