#include "am/api.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/mem.h"

static const struct http_route routes[] = {
	{"POST", "/v1/tasks/{task}/beat", api_handle_beat},
	{"POST", "/v1/tasks/{task}/register", api_handle_register},
	{"POST", "/v1/tasks/{task}/exit", api_handle_exit},
	{"GET", "/", api_handle_page, .open = true},
	{"GET", "/v1/job", api_handle_job},
	{"GET", "/v1/tasks", api_handle_tasks},
	{"GET", "/v1/tasks/{task}", api_handle_task},
	{"GET", "/v1/events", api_handle_events},
	{"GET", "/v1/tasks/{task}/logs/{log}", api_handle_logs},
	{"POST", "/v1/tasks/{task}/logs/{log}", api_handle_log_piece},
	{"GET", "/v1/metrics", api_handle_metrics},
	{"POST", "/v1/job/kill", api_handle_kill},
	{"POST", "/v1/tasks/{task}/restart", api_handle_restart},
	{"PUT", "/v1/kv/{key*}", api_handle_kv_put},
	{"GET", "/v1/kv/{key*}", api_handle_kv_get},
	{"DELETE", "/v1/kv/{key*}", api_handle_kv_delete},
};

static struct http_server *open_server(struct api *api, const struct api_options *options,
				       struct err *err)
{
	struct http_server_config config = {
		.address = options->address,
		.token = options->token,
		.routes = routes,
		.route_count = array_length(routes),
		.data = api,
		.limits = options->limits,
	};

	if (config.limits.connections == 0)
		config.limits.connections = 4 * api->task_count + 1024;
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
	api->view = job_view_create(host->job);
	api->kv = kv_create(KV_TOTAL_MAX);
	LIST_INIT(&api->event_followers);
	LIST_INIT(&api->log_followers);
	api->server = open_server(api, options, err);
	if (!api->server) {
		api_destroy(api);
		return NULL;
	}
	api->name = mem_strdup(options->host);
	api->address = api_advertise(api, http_server_address(api->server));
	return api;
}

void api_destroy(struct api *api)
{
	if (!api)
		return;
	http_server_destroy(api->server);
	api_rendezvous_close(api);
	for (size_t i = 0; i < api->task_count; i++) {
		if (api->tasks[i].api)
			api_task_finish(&api->tasks[i]);
	}
	free(api->tasks);
	if (api->cluster)
		evbuffer_free(api->cluster);
	journal_reader_close(api->reader);
	job_view_destroy(api->view);
	kv_destroy(api->kv);
	free(api->name);
	free(api->address);
	free(api);
}

const char *api_address(const struct api *api)
{
	return api->address;
}

char *api_advertise(const struct api *api, const char *address)
{
	if (!api->name)
		return mem_strdup(address);
	return mem_printf(strchr(api->name, ':') ? "[%s]%s" : "%s%s", api->name,
			  strrchr(address, ':'));
}

void api_cluster_changed(struct api *api)
{
	if (api->cluster)
		evbuffer_free(api->cluster);
	api->cluster = NULL;
}

void api_journal_appended(struct api *api)
{
	struct api_event_follower *follower;

	LIST_FOREACH(follower, &api->event_followers, link)
	http_stream_wake(follower->stream);
}

void api_drain(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data)
{
	api->draining = true;
	api_rendezvous_close(api);
	api_tasks_answer_all(api);
	api_journal_appended(api);
	api_logs_wake(api);
	http_server_drain(api->server, timeout_ms, done, data);
}

void api_answer_bad(struct http_request *request, const struct err *err)
{
	http_answer_error(request, 400, "bad-request", "%s", err_message(err));
}

void api_answer_empty(struct http_request *request)
{
	http_answer_json(request, 200, json_object());
}
