/*
 * Commands of people in a task's container, and their connections to its ports: a channel
 * (net/channel.h) from the client, and one from a process that the task's executor starts for it.
 * The AM passes on what the two say to each other.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "am/api_internal.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/timer.h"
#include "net/channel.h"
#include "protocol/session.h"

enum {
	JOIN_MS = 15 * 1000,	 /* for the executor to hear of it, and its process to come */
	ON_THE_WAY = 128 * 1024, /* bytes, each way */
};

static void destroy(struct api_session *session)
{
	LIST_REMOVE(session, link);
	event_del(&session->late);
	free(session->id);
	free(session);
}

/* Bytes that were passed on to it before are still delivered. */
static void end_side(struct http_request **side)
{
	if (*side)
		http_raw_end(mem_steal(side));
}

static void on_client_gone(void *data)
{
	struct api_session *session = data;

	session->client = NULL;
	end_side(&session->process);
	destroy(session);
}

static void on_process_gone(void *data)
{
	struct api_session *session = data;

	session->process = NULL;
	end_side(&session->client);
	destroy(session);
}

static void move(struct http_request *from, struct http_request *to)
{
	struct evbuffer *output = http_raw_output(to);

	if (evbuffer_get_length(output) < ON_THE_WAY)
		evbuffer_add_buffer(output, http_raw_input(from));
}

static void on_changed(void *data)
{
	struct api_session *session = data;

	if (!session->process)
		return; /* what the client says waits */
	move(session->client, session->process);
	move(session->process, session->client);
	http_raw_go_on(session->client);
	http_raw_go_on(session->process);
}

static void welcome(struct http_request *request)
{
	evbuffer_add_printf(http_raw_output(request),
			    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
			    "Upgrade: " CHANNEL_PROTOCOL "\r\n\r\n");
}

static void on_late(evutil_socket_t fd, short what, void *data)
{
	struct api_session *session = data;
	char *name cleanup_free = api_task_name(session->task->api, session->task->number);

	http_answer_error(
		mem_steal(&session->client), 503, "no-answer", "%s's %s within %d s", name,
		session->is_told ? "executor started no command" : "program was not started",
		JOIN_MS / 1000);
	destroy(session);
}

static bool is_allowed(const struct api *api)
{
	const char *text = job_config(api->host.job, "tony.am.allow-exec");
	bool value = true;

	return !text || str_parse_bool(text, &value) < 0 || value;
}

/* Why no command can be started there now, and the code of that where it has one; NULL: one can. */
static const char *find_obstacle(const struct api_task *task, const char **code)
{
	const struct task *known = machine_task(task->api->host.machine, task->number);
	size_t count = 0;
	const struct api_session *session;

	if (known->state != TASK_RUNNING || task->executor_attempt != known->attempt) {
		*code = "no-program";
		return "it runs no program";
	}
	LIST_FOREACH(session, &task->sessions, link)
	count++;
	return count < SESSION_ORDERS_MAX ? NULL : "too many commands of people run there";
}

/* `port` 0: for a command. */
static void open_session(struct api *api, struct http_request *request, int64_t port)
{
	struct api_task *task = api_find_task(api, request);

	if (!task)
		return;
	const char *name = http_request_parameter(request, "task");
	bool is_refused = !is_allowed(api);
	const char *code = is_refused ? "forbidden" : "conflict";
	const char *obstacle =
		is_refused ? "tony.am.allow-exec is false here" : find_obstacle(task, &code);
	char *detail cleanup_free =
		port > 0 ? mem_printf("%s port %d", name, (int)port) : mem_strdup(name);
	api_audit(api, request, port > 0 ? "port-forward" : "exec",
		  is_refused ? "refused"
		  : obstacle ? "conflict"
			     : "done",
		  detail);
	if (obstacle) {
		http_answer_error(request, is_refused ? 403 : 409, code, "%s: %s", name, obstacle);
		return;
	}
	struct api_session *session = mem_alloc(sizeof(*session));
	*session = (struct api_session){
		.task = task, .id = secret_create(), .port = port, .client = request};
	LIST_INSERT_HEAD(&task->sessions, session, link);
	event_assign(&session->late, api->base, -1, 0, on_late, session);
	timer_start(&session->late, JOIN_MS);
	http_request_take_over(request, &(struct http_raw){.changed = on_changed,
							   .closed = on_client_gone,
							   .data = session});
	api_task_settle(task);
}

void api_handle_exec(void *data, struct http_request *request)
{
	open_session(data, request, 0);
}

void api_handle_port_forward(void *data, struct http_request *request)
{
	int64_t port = 0;

	if (http_request_query_int(request, "port", 1, UINT16_MAX, &port) < 0)
		return;
	if (port > 0)
		open_session(data, request, port);
	else
		http_answer_error(request, 400, "bad-request", "port: is missing");
}

static void order_port(const struct api_session *session)
{
	char *port cleanup_free = mem_printf("%d", (int)session->port);

	channel_write_frame(http_raw_output(session->process), SESSION_PORT, port, strlen(port));
}

void api_handle_exec_join(void *data, struct http_request *request)
{
	struct api_task *task = api_find_task(data, request);
	struct api_session *session;

	if (!task)
		return;
	const char *id = http_request_parameter(request, "session");
	LIST_FOREACH(session, &task->sessions, link)
	if (!session->process && secret_equal(session->id, id))
		break;
	if (!session) {
		http_answer_error(request, 404, "not-found", "nobody waits for this command");
		return;
	}
	event_del(&session->late);
	session->process = request;
	http_request_take_over(request, &(struct http_raw){.changed = on_changed,
							   .closed = on_process_gone,
							   .data = session});
	welcome(session->client);
	welcome(session->process);
	if (session->port > 0)
		order_port(session);
	on_changed(session);
}
