/* What browsers need beside the answers that programs get: the dashboard's files, and a way in. */
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/pack.h"
#include "web/login.h"
#include "web/serve.h"

void api_handle_asset(void *data, struct http_request *request)
{
	const char *path = http_request_parameter(request, "path");

	web_serve(request, path ? path : "index.html");
}

/* The orders that this browser's session may give, of a page that shows the session's secret. */
static json_t *list_actions(const struct api *api, const struct http_request *request)
{
	return web_login_may_control(viewers_sessions(api->viewers), request)
		       ? json_pack("[sss]", "kill", "restart", "scale")
		       : json_array();
}

void api_handle_server(void *data, struct http_request *request)
{
	struct api *api = data;
	char *viewer cleanup_free = http_request_access(request) == HTTP_ACCESS_ALL
					    ? mem_strdup(api->host.job->user)
					    : viewers_find(api->viewers, request);
	json_t *answer = json_object();

	/* What a page asks first when it is opened. */
	if (viewer && http_request_access(request) != HTTP_ACCESS_ALL)
		api_expect_viewer(api);
	json_set_text(answer, "kind", "am");
	if (viewer) {
		json_set_text(answer, "version", TONY_VERSION);
		json_set_text(answer, "job", api->host.job->id);
		json_set_text(answer, "viewer", viewer);
		json_object_set_new(answer, "actions", list_actions(api, request));
	}
	http_answer_json(request, 200, answer);
}

void api_handle_links(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	int64_t controls = 0;

	if (http_request_query_int(request, "control", 0, 1, &controls) < 0)
		return;
	/* A program's page there could use what this browser's page shows. */
	if (controls && api_ui_shares_origin(api)) {
		http_answer_error(request, 409, "conflict",
				  "tony.application.ui-origin=shared-origin: programs' pages have "
				  "the dashboard's origin, so its links only look");
		return;
	}
	char *ui cleanup_free = api_ui_address(api, &err);

	if (err.kind != ERR_NONE)
		log_warning("%s", err_message(&err));
	web_login_invite(request, viewers_sessions(api->viewers), api->pages_address, ui, controls);
}

void api_handle_login(void *data, struct http_request *request)
{
	const struct api *api = data;

	web_login_open(request, viewers_sessions(api->viewers), "tony open prints another one.");
}

/* ---- what the job was told ---------------------------------------------------------------- */

/* As others may know it. */
void api_handle_description(void *data, struct http_request *request)
{
	const struct api *api = data;

	http_answer_json(request, 200, history_description(api->host.job, true));
}

void api_handle_config(void *data, struct http_request *request)
{
	struct api *api = data;

	json_t *config = api->host.job->config;

	/* Secrets and values of environments were taken out of it when the job was described. */
	http_answer_json(request, 200, config ? json_incref(config) : json_object());
}

void api_handle_diff(void *data, struct http_request *request)
{
	const struct api *api = data;
	const char *path = api->host.diff_path;
	size_t length = 0;
	char *diff cleanup_free = path ? fs_read_file(path, HISTORY_DIFF_CAP, &length, NULL) : NULL;

	if (diff)
		http_answer_bytes(request, 200, HISTORY_DIFF_TYPE, diff, length);
	else
		http_answer_error(request, 404, "not-found",
				  "no difference of this job's code is kept");
}

/* The sweep's own process writes it. */
void api_handle_sweep(void *data, struct http_request *request)
{
	const struct job *job = ((const struct api *)data)->host.job;
	size_t length = 0;
	char *path cleanup_free =
		job_is_sweep(job) ? fs_join(job->checkpoint_dir, HISTORY_SWEEP) : NULL;
	char *table cleanup_free =
		path ? fs_read_file(path, HISTORY_SWEEP_CAP, &length, NULL) : NULL;

	if (table)
		http_answer_json_text(request, 200, table, length);
	else
		http_answer_error(request, 404, "not-found",
				  path ? "the sweep has not begun yet" : "this job is no sweep");
}

void api_handle_cluster(void *data, struct http_request *request)
{
	api_spec_answer(data, request, "", "");
}

void api_handle_environment(void *data, struct http_request *request)
{
	const struct api *api = data;
	const char *name = http_request_query(request, "type");
	int type = name ? job_find_type(api->host.job, name) : -1;

	if (!name) {
		http_answer_error(request, 400, "bad-request", "type: is missing");
		return;
	}
	if (type < 0) {
		http_answer_error(request, 404, "not-found", "this job has no type of that name");
		return;
	}
	int64_t marks = 0;
	if (http_request_query_int(request, "marks", 0, 1, &marks) == 0)
		http_answer_json(request, 200,
				 job_environment_to_json(api->host.job, (size_t)type, marks));
}
