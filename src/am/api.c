#include "am/api.h"

#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "am/api_ring.h"
#include "am/gloo_store.h"
#include "base/mem.h"
#include "web/ui_door.h"

enum { SERVICE_BYTES = 64 * 1024 }; /* a pickle of a host's addresses: some hundred bytes */

#define EVERYBODY .needs = HTTP_ACCESS_NONE
#define READERS	  .needs = HTTP_ACCESS_READ

static const struct http_route routes[] = {
	{"POST", "/v1/tasks/{task}/beat", api_handle_beat},
	{"POST", "/v1/tasks/{task}/register", api_handle_register},
	{"POST", "/v1/tasks/{task}/exit", api_handle_exit},
	{"GET", "/", api_handle_asset, EVERYBODY},
	{"HEAD", "/", api_handle_asset, EVERYBODY},
	{"GET", "/assets/{path*}", api_handle_asset, EVERYBODY},
	{"HEAD", "/assets/{path*}", api_handle_asset, EVERYBODY},
	{"GET", "/login", api_handle_login, EVERYBODY},
	{"GET", "/v1/server", api_handle_server, EVERYBODY},
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
	{"GET", "/v1/work", api_handle_work, READERS},
	{"GET", "/v1/advice", api_handle_advice, READERS},
	{"GET", "/v1/config", api_handle_config, READERS},
	{"GET", "/v1/diff", api_handle_diff, READERS},
	{"GET", "/v1/cluster", api_handle_cluster, READERS},
	{"GET", "/v1/environment", api_handle_environment, READERS},
	{"GET", "/ui/{name}", api_handle_ui_folder, READERS},
	{"*", "/ui/{name}/", api_handle_ui, READERS, .raw = true},
	{"*", "/ui/{name}/{path*}", api_handle_ui, READERS, .raw = true},
	{"POST", "/v1/job/kill", api_handle_kill},
	{"POST", "/v1/job/scale", api_handle_scale},
	{"POST", "/v1/tasks/{task}/restart", api_handle_restart},
	{"PUT", "/v1/kv/{key*}", api_handle_kv_put},
	{"GET", "/v1/kv/{key*}", api_handle_kv_get},
	{"DELETE", "/v1/kv/{key*}", api_handle_kv_delete},
	/* Of jobs with an api->ring_service only. */
	{"GET", "/rank_and_size/{key}", api_handle_ring_place, EVERYBODY},
	{"PUT", "/worker_addresses/{key}", api_handle_ring_service, EVERYBODY,
	 .stranger_body = SERVICE_BYTES},
	{"PUT", "/{scope}/{key}", api_handle_ring_put, EVERYBODY, .stranger_body = KV_VALUE_MAX},
	{"GET", "/{scope}/{key}", api_handle_ring_get, EVERYBODY},
	{"DELETE", "/{scope}/{key}", api_handle_ring_delete, EVERYBODY},
};
enum { RING_ROUTES = 5 };

static enum http_access authorize(void *data, const struct http_request *request)
{
	const struct api *api = data;
	char *viewer cleanup_free = viewers_find(api->viewers, request);

	return viewer ? HTTP_ACCESS_READ : HTTP_ACCESS_NONE;
}

static struct http_server *open_server(struct api *api, const struct api_options *options,
				       struct err *err)
{
	struct http_server_config config = {
		.address = options->address,
		.listener = options->listener,
		.token = options->token,
		.routes = routes,
		.route_count = array_length(routes) - (api->ring_service ? 0 : RING_ROUTES),
		.data = api,
		.authorize = authorize,
		.host = api->name,
		.limits = options->limits,
	};

	if (config.limits.connections == 0)
		config.limits.connections = 4 * api->task_count + 1024;
	if (api->ring_service) /* its processes are strangers, and what they send is kept next */
		config.limits.stranger_bytes = gloo_store_total_max(api_ring_count_processes(api));
	return http_server_create(api->base, &config, err);
}

struct api *api_create(struct event_base *base, const struct api_host *host,
		       const struct api_options *options, struct err *err)
{
	struct api *api = mem_alloc(sizeof(*api));

	api->host = *host;
	api->base = base;
	api->task_count = machine_task_count(host->machine);
	api->tasks = mem_alloc_array(api->task_count, sizeof(*api->tasks));
	api->viewers = viewers_create(base, host->job);
	api->view = job_view_create(host->job);
	api->numbers_budget = user_budget_of(api->task_count);
	event_assign(&api->fold, base, -1, 0, api_view_go_on, api);
	event_assign(&api->linger, base, -1, 0, api_on_linger_over, api);
	api->kv = kept_kv_open(KV_TOTAL_MAX, options->kv_file);
	api->rendezvous_file = mem_strdup(options->rendezvous_file);
	LIST_INIT(&api->event_followers);
	LIST_INIT(&api->log_followers);
	LIST_INIT(&api->waiters);
	TAILQ_INIT(&api->lookers);
	api->kept = INT64_MAX;
	if (host->job->live_elastic)
		api->ring_service = api_ring_create(api, options->ring_file);
	api->name = mem_strdup(options->host);
	api->server = open_server(api, options, err);
	if (!api->server) {
		api_destroy(api);
		return NULL;
	}
	api->address = api_advertise(api, http_server_address(api->server));
	return api;
}

void api_destroy(struct api *api)
{
	if (!api)
		return;
	ui_door_close(api->ui_door);
	http_server_destroy(api->server);
	api_rendezvous_close(api);
	api_ring_destroy(api->ring_service);
	for (size_t i = 0; i < api->task_count; i++) {
		if (api->tasks[i].api)
			api_task_finish(&api->tasks[i]);
	}
	free(api->tasks);
	api_cluster_changed(api);
	event_del(&api->fold);
	event_del(&api->linger);
	journal_reader_close(api->reader);
	viewers_destroy(api->viewers);
	job_view_destroy(api->view);
	kept_kv_close(api->kv);
	free(api->rendezvous_file);
	json_decref(api->advice);
	free(api->stragglers);
	free(api->name);
	free(api->address);
	free(api);
}

const char *api_address(const struct api *api)
{
	return api->address;
}

void api_trust_proxies(struct api *api, const struct str_list *hosts, bool prove)
{
	viewers_trust(api->viewers, hosts, prove);
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

void api_order_changed(struct api *api, size_t task)
{
	api->tasks[task].ordered = api->appended;
	api_logs_check(&api->tasks[task]);
	api_task_settle(&api->tasks[task]);
}

int api_cluster_formed(struct api *api, struct err *err)
{
	api_cluster_changed(api);
	return api_rendezvous_renew(api, err);
}

void api_conclude(struct api *api)
{
	api->concluded = true;
	api_rendezvous_close(api);
	api_ring_conclude(api->ring_service);
	api_tasks_answer_all(api);
	api_journal_appended(api, api->appended);
	api_journal_kept(api, INT64_MAX);
	api_logs_wake(api);
}

void api_drain(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data)
{
	http_server_drain(api->server, timeout_ms, done, data);
}
