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
#include "base/secret.h"
#include "executor/port.h"
#include "executor/remote.h"
#include "executor/remote_command.h"
#include "executor/remote_proof.h"
#include "framework/address.h"
#include "job/job.h"
#include "net/http_server.h"

enum {
	MESSAGE_CAP = 256 * 1024, /* a command of 128 KiB, as long as sh takes it, in JSON */
	CONNECTIONS = 64,
};

struct host {
	struct event_base *base;
	struct http_server *server;
	struct event *child;
	char *token, *address; /* where the others of the job find it */
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

static void answer(struct http_request *request, const json_t *body)
{
	char *text cleanup_free = json_text(body);
	char *sealed cleanup_free = remote_seal(http_request_noted(request), REMOTE_HOST, text);

	http_answer_bytes(request, 200, "application/json", sealed, strlen(sealed));
}

static void answer_code(struct http_request *request, int code)
{
	json_t *body cleanup_json = json_object();

	json_set_int(body, "exit_code", code);
	answer(request, body);
}

static void answer_failure(struct http_request *request, const struct err *err)
{
	json_t *body cleanup_json = json_object();

	json_set_text(body, "error", err_message(err));
	answer(request, body);
}

/* A command that was killed may have taken its asker along: mpirun goes with its daemon. SIGTERM
 * comes from on_closed(). */
static void end_command(struct host *host, struct command *command, int status)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	LIST_REMOVE(command, link);
	if (signal != 0 && (command->request || signal != SIGTERM)) {
		host->signal = signal;
		log_error("a command was killed by %s", proc_signal_name(signal));
		event_base_loopbreak(host->base);
	} else if (command->request) {
		answer_code(command->request, WEXITSTATUS(status));
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

static void forget_session(void *data)
{
	struct remote_session *session = data;

	remote_session_finish(session);
	free(session);
}

/* A relay that another user has in another task's place leads here as well. */
static int take_hello(const struct host *host, struct http_request *request,
		      struct remote_session *session, struct err *err)
{
	size_t length;
	const char *body = http_request_body(request, &length);

	if (remote_take_hello(session, body, length, err) < 0)
		return -1;
	if (str_equal(session->address, host->address))
		return 0;
	return err_set(err, ERR_INPUT, "address: this is %s", host->address);
}

static void handle_hello(void *data, struct http_request *request)
{
	const struct host *host = data;
	char *nonce cleanup_free = secret_create();
	struct err err cleanup_err = {0};
	struct remote_session *session = mem_alloc(sizeof(*session));
	remote_session_init(session, REMOTE_HOST, host->token, NULL, nonce);
	http_request_note(request, session, forget_session);
	if (take_hello(host, request, session, &err) < 0) {
		http_request_note(request, NULL, NULL);
		http_answer_error(request, 400, "bad-request", "%s", err_message(&err));
		return;
	}
	char *welcome cleanup_free = remote_welcome(session);
	http_answer_bytes(request, 200, "application/json", welcome, strlen(welcome));
}

/* Its sender knows the token. The caller frees. */
static char *unseal(struct http_request *request, struct err *err)
{
	struct remote_session *session = http_request_noted(request);
	size_t length;
	const char *body = http_request_body(request, &length);

	if (session)
		return remote_unseal(session, REMOTE_RSH, body, length, err);
	err_set(err, ERR_DENIED, "a hello comes first");
	return NULL;
}

static char *read_command(const struct host *host, const char *text, struct err *err)
{
	json_t *json cleanup_json = json_parse(text, strlen(text), err);
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

static void start_command(struct host *host, struct http_request *request, const char *text)
{
	struct err err cleanup_err = {0};
	pid_t pid = remote_command_start(text);

	if (pid < 0) {
		err_set_fork(&err, "cannot start a process");
		answer_failure(request, &err);
		return;
	}
	struct command *command = mem_alloc(sizeof(*command));
	*command = (struct command){.request = request, .pid = pid};
	LIST_INSERT_HEAD(&host->commands, command, link);
	http_request_hold(request, on_closed, command);
}

static void handle_run(void *data, struct http_request *request)
{
	struct host *host = data;
	struct err err cleanup_err = {0};
	char *text cleanup_free = unseal(request, &err);

	if (!text) {
		bool is_denied = err.kind == ERR_DENIED;
		http_answer_error(request, is_denied ? 401 : 400,
				  is_denied ? "unauthorized" : "bad-request", "%s",
				  err_message(&err));
		return;
	}
	http_request_trust(request);
	char *command cleanup_free = read_command(host, text, &err);
	if (command)
		start_command(host, request, command);
	else
		answer_failure(request, &err);
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
		{"POST", "/v1/host", handle_hello},
		{"POST", "/v1/run", handle_run},
	};
	struct settings settings = {0};

	if (read_settings(&settings, err) < 0)
		return -1;
	const struct cluster_address self = {.host = (char *)settings.host,
					     .port = (int)settings.port};
	char *listen cleanup_free = port_address(settings.host, self.port);
	host->address = address_text(&self);
	host->epoch = (int)settings.epoch;
	host->token = job_read_token(settings.token_file, err);
	if (!host->token)
		return -1;
	struct http_server_config config = {
		.address = listen,
		.shares_port = true,
		.any_host = true,
		.routes = routes,
		.route_count = array_length(routes),
		.data = host,
		.limits = {.body_bytes = MESSAGE_CAP, .connections = CONNECTIONS},
	};
	host->server = http_server_create(host->base, &config, err);
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
