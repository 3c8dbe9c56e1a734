#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "executor/port.h"
#include "executor/remote.h"
#include "executor/remote_command.h"
#include "job/job.h"
#include "net/http_server.h"

struct host {
	struct event_base *base;
	struct http_server *server;
	struct event *child;
	int epoch;
	int signal; /* that killed a command; 0: none */
	LIST_HEAD(, command) commands;
};

struct command {
	LIST_ENTRY(command) link;
	struct http_request *request; /* NULL: whoever asked is gone */
	pid_t pid;
};

/* ---- a command's end ---------------------------------------------------------------------- */

static void answer(struct http_request *request, int code)
{
	json_t *body = json_object();

	json_set_int(body, "exit_code", code);
	http_answer_json(request, 200, body);
}

static void end_command(struct host *host, struct command *command, int status)
{
	LIST_REMOVE(command, link);
	if (command->request && WIFSIGNALED(status)) {
		host->signal = WTERMSIG(status);
		log_error("a command was killed by %s", proc_signal_name(host->signal));
		event_base_loopbreak(host->base);
	} else if (command->request) {
		answer(command->request, WEXITSTATUS(status));
	}
	free(command);
}

static void on_child(evutil_socket_t fd, short what, void *data)
{
	struct host *host = data;
	int status;

	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		struct command *command = LIST_FIRST(&host->commands);
		while (command && command->pid != pid)
			command = LIST_NEXT(command, link);
		if (command)
			end_command(host, command, status);
	}
}

static void on_closed(void *data)
{
	struct command *command = data;

	command->request = NULL;
	kill(command->pid, SIGTERM);
}

/* ---- requests ----------------------------------------------------------------------------- */

static char *read_command(const struct host *host, const char *body, size_t length, struct err *err)
{
	json_t *json cleanup_json = json_parse(body, length, err);
	char *command cleanup_free = NULL;
	int64_t epoch;

	if (!json || json_need_int(json, "epoch", 0, INT_MAX, &epoch, err) < 0 ||
	    json_need_text(json, "command", &command, err) < 0)
		return NULL;
	if (epoch == host->epoch)
		return mem_steal(&command);
	err_set(err, ERR_STALE, "the cluster has formed anew: this is epoch %d, not %d",
		host->epoch, (int)epoch);
	return NULL;
}

static void handle_run(void *data, struct http_request *request)
{
	struct host *host = data;
	struct err err cleanup_err = {0};
	size_t length;
	const char *body = http_request_body(request, &length);
	char *text cleanup_free = read_command(host, body, length, &err);

	if (!text) {
		bool stale = err.kind == ERR_STALE;
		http_answer_error(request, stale ? 409 : 400, stale ? "stale" : "bad-request", "%s",
				  err_message(&err));
		return;
	}
	pid_t pid = remote_command_start(text);
	if (pid < 0) {
		err_set_errno(&err, "cannot start a process");
		http_answer_error(request, 500, "failed", "%s", err_message(&err));
		return;
	}
	struct command *command = mem_alloc(sizeof(*command));
	*command = (struct command){.request = request, .pid = pid};
	LIST_INSERT_HEAD(&host->commands, command, link);
	http_request_hold(request, on_closed, command);
}

static void handle_host(void *data, struct http_request *request)
{
	http_answer_json(request, 200, json_object());
}

/* ---- begin and end ------------------------------------------------------------------------ */

struct settings {
	const char *host, *token_file;
	int64_t port, epoch;
};

static int read_settings(struct settings *settings, struct err *err)
{
	const char *port = getenv("TONY_PORT"), *epoch = getenv("TONY_EPOCH");

	settings->host = getenv("TONY_HOST");
	settings->token_file = getenv("TONY_TOKEN_FILE");
	if (!settings->host || !settings->token_file || !port || !epoch ||
	    str_parse_int(port, 1, 65535, &settings->port) < 0 ||
	    str_parse_int(epoch, 0, INT_MAX, &settings->epoch) < 0)
		return err_set(err, ERR_USAGE,
			       "TONY_HOST, TONY_PORT, TONY_EPOCH and TONY_TOKEN_FILE are not all "
			       "set: it is a task's program");
	return 0;
}

static int serve(struct host *host, struct err *err)
{
	static const struct http_route routes[] = {
		{"GET", "/v1/host", handle_host},
		{"POST", "/v1/run", handle_run},
	};
	struct settings settings = {0};

	if (read_settings(&settings, err) < 0)
		return -1;
	char *address cleanup_free = port_address(settings.host, (int)settings.port);
	char *token cleanup_free = job_read_token(settings.token_file, err);
	if (!token)
		return -1;
	struct http_server_config config = {
		.address = address,
		.token = token,
		.routes = routes,
		.route_count = array_length(routes),
		.data = host,
	};
	host->epoch = (int)settings.epoch;
	host->server = http_server_create(host->base, &config, err);
	explicit_bzero(token, strlen(token));
	if (!host->server)
		return -1;
	event_base_dispatch(host->base);
	return 0;
}

int remote_host_main(int argc, char **argv)
{
	struct host host = {.base = event_base_new()};
	struct err err cleanup_err = {0};

	log_open("host", LOG_LEVEL_WARNING);
	LIST_INIT(&host.commands);
	host.child = evsignal_new(host.base, SIGCHLD, on_child, &host);
	evsignal_add(host.child, NULL);
	if (argc > 1)
		err_set(&err, ERR_USAGE, "\"%s\": host takes no arguments", argv[1]);
	else if (serve(&host, &err) == 0)
		kill(getpid(), host.signal);
	log_error("%s", err_message(&err));
	return 1;
}
