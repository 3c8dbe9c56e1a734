/* The door to the web interface that a task serves: TensorBoard, a notebook (ui_proxy.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "am/api_internal.h"
#include "am/listen.h"
#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/framework.h"
#include "net/http_message.h"
#include "web/access.h"
#include "web/serve.h"
#include "web/ui_door.h"
#include "web/ui_proxy.h"

enum { RETRY_S = 2 };

/* The task that owns the interface, or -1. */
static int64_t find_owner(const struct api *api)
{
	const struct job *job = api->host.job;

	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].instances > 0 && framework_owns_tensorboard(job, i, 0))
			return (int64_t)machine_task_number(api->host.machine, i, 0);
	return -1;
}

/* By "tensorboard", "notebook", or its task's name or type. */
static const struct task *find_task(const struct api *api, const char *name)
{
	int64_t number = find_owner(api);

	if (number < 0)
		return NULL;
	const struct task *task = machine_task(api->host.machine, (size_t)number);
	char *full_name cleanup_free =
		job_task_name(api->host.job, (size_t)task->type, task->index);
	bool is_meant = str_equal(name, "tensorboard") || str_equal(name, "notebook") ||
			str_equal(name, full_name) ||
			str_equal(name, api->host.job->types[task->type].name);
	return is_meant ? task : NULL;
}

json_t *api_ui_links(const struct api *api)
{
	json_t *links = json_array();
	int64_t number = find_owner(api);
	const struct task *task =
		number < 0 ? NULL : machine_task(api->host.machine, (size_t)number);

	if (!task || task->ui_port == 0)
		return links;
	const char *name = framework_ui_name(api->host.job);
	char *path cleanup_free = mem_printf("ui/%s/", name);
	char *full_name cleanup_free =
		job_task_name(api->host.job, (size_t)task->type, task->index);
	json_t *link = json_object();
	json_set_text(link, "name", name);
	json_set_text(link, "task", full_name);
	json_set_text(link, "path", path);
	json_array_append_new(links, link);
	return links;
}

void api_handle_ui_folder(void *data, struct http_request *request)
{
	const char *target = http_request_head(request)->target;
	char *path cleanup_free = mem_strndup(target, strcspn(target, "?"));
	char *location cleanup_free =
		mem_printf(".%s/%s", strrchr(path, '/'), target + strlen(path));

	http_answer_header(request, "Location", location);
	web_answer_text(request, 303, "", 0);
}

/* It may be there soon: a person sees it come. */
static void answer_not_yet(struct http_request *request, const char *name)
{
	char *text cleanup_free =
		mem_printf("%s is not there yet: its task has not begun to serve it.", name);

	http_answer_header(request, "Retry-After", "2");
	if (web_request_wants_page(request))
		web_answer_text(request, 503, text, RETRY_S);
	else
		http_answer_error(request, 503, "not-ready", "%s", text);
}

/* The part of the target that names the interface: "/ui/tensorboard". The caller frees. */
static char *prefix_of(const char *target)
{
	size_t length = strlen("/ui/");

	return mem_strndup(target, length + strcspn(target + length, "/"));
}

/* The task whose interface the request is for, once it serves it. NULL: that is answered. */
static const struct task *find_served(struct api *api, struct http_request *request)
{
	const char *name = http_request_parameter(request, "name");
	const struct task *task = find_task(api, name);

	if (!task)
		http_answer_error(request, 404, "not-found",
				  "this job has no web interface of that name");
	else if (task->ui_port == 0 || !task->host)
		answer_not_yet(request, name);
	else
		return task;
	return NULL;
}

static void pass(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct task *task = find_served(api, request);

	if (!task)
		return;
	if (api->ui.requests == UI_REQUESTS_MAX) {
		http_answer_error(request, 503, "busy", "too many requests to web interfaces");
		return;
	}
	char *prefix cleanup_free = prefix_of(http_request_head(request)->target);
	const struct cluster_address served = {.host = task->host, .port = task->ui_port};
	char *address cleanup_free = address_text(&served);
	const struct ui_place place = {
		.prefix = prefix,
		.address = address,
		.owner = geteuid(),
		.listener_uids = &api->host.job->types[task->type].listener_uids,
		.keep_path =
			str_equal(job_config(api->host.job, "tony.application.ui-path"), "keep")};
	ui_proxy_start(api->base, request, &place, &api->ui.requests);
}

/* ---- the dashboard's origin, and that of the interface ------------------------------------- */

bool api_ui_shares_origin(const struct api *api)
{
	return str_equal(job_config(api->host.job, "tony.application.ui-origin"), "shared-origin");
}

/* A job has one interface, whatever it is called by: so it has one door. */
static struct ui_door *open_door(struct api *api, struct err *err)
{
	char *cookie cleanup_free = mem_printf("tony-ui-%s", api->host.job->id);
	const struct ui_door_setup setup = {.beside = http_server_address(api->server),
					    .cookie = cookie,
					    .pass = pass,
					    .data = api};

	if (!api->ui.door)
		api->ui.door = ui_door_open(api->base, &setup, err);
	return api->ui.door;
}

char *api_ui_address(struct api *api, struct err *err)
{
	if (api_ui_shares_origin(api) || find_owner(api) < 0 || !open_door(api, err))
		return NULL;
	return listen_advertise(api->name, ui_door_address(api->ui.door));
}

static void lead(struct api *api, struct http_request *request)
{
	struct err err cleanup_err = {0};

	if (!find_served(api, request))
		return;
	if (open_door(api, &err))
		ui_door_lead(api->ui.door, request, viewers_sessions(api->viewers));
	else
		http_answer_error(request, 500, "failed", "%s", err_message(&err));
}

void api_handle_ui(void *data, struct http_request *request)
{
	struct api *api = data;

	if (http_request_user(request)) {
		http_answer_error(request, 403, "denied",
				  "the web interfaces of programs are for the job's owner alone");
		return;
	}
	switch (ui_door_choose(request, viewers_sessions(api->viewers), api_ui_shares_origin(api),
			       "Where your browser reaches the job's own address, tony open JOB "
			       "prints a link that leads to them; "
			       "tony.application.ui-origin=shared-origin shows them here.")) {
	case UI_WAY_HERE:
		pass(api, request);
		break;
	case UI_WAY_DOOR:
		lead(api, request);
		break;
	case UI_WAY_NONE:
		break;
	}
}
