#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/timer.h"
#include "executor/remote.h"
#include "executor/remote_proof.h"
#include "framework/mpi_host.h"
#include "job/job.h"
#include "net/http_client.h"

enum {
	LOOK_AGAIN_MS = 50,
	TELL_AFTER_MS = 10 * 1000, /* that nobody answers */
	WELCOME_MS = 10 * 1000,	   /* for what listens to prove itself */
	LEAD_MS = 500,		   /* of the host's own task, which can tell why it ended */
	CLUSTER_CAP = 64 << 20,
};

struct rsh {
	const char *host;
	char *address, *token;
	int64_t epoch;
	struct str command;

	struct event_base *base;
	struct http_client *client; /* NULL: it waits before it looks again */
	struct event *again;
	struct remote_session session;
	int64_t begun_ms;
	bool told_absent, told_foreign;
	int code; /* of the command; -1: `problem` */
	struct err problem;
};

/* Strangers may have worded the error. */
static void tell(const char *what, const struct err *err)
{
	const char *message = err_message(err);
	char *text cleanup_free = str_printable(message, strlen(message));

	fprintf(stderr, "tony-agent rsh: %s: %s\n", what, text);
}

static const char *need(const char *name, struct err *err)
{
	const char *value = getenv(name);

	if (!value)
		err_set(err, ERR_USAGE, "%s is not set: it is for the programs of a job", name);
	return value;
}

static int read_address(struct rsh *rsh, struct err *err)
{
	const char *path = need("TONY_CLUSTER_FILE", err);
	char *text cleanup_free = path ? fs_read_file(path, CLUSTER_CAP, NULL, err) : NULL;
	json_t *cluster cleanup_json = text ? json_parse(text, strlen(text), err) : NULL;

	if (cluster)
		rsh->address = mpi_host_address(cluster, rsh->host, err);
	return rsh->address ? 0 : -1;
}

/* As ssh does: what stands between the words is a blank, and a shell reads it. */
static int join_command(struct rsh *rsh, char *const *words, struct err *err)
{
	for (; *words; words++)
		str_append_format(&rsh->command, "%s%s", rsh->command.length ? " " : "", *words);
	if (!str_is_utf8(rsh->command.text, rsh->command.length))
		return err_set(err, ERR_USAGE, "the command is not UTF-8");
	return 0;
}

static int prepare(struct rsh *rsh, int argc, char **argv, struct err *err)
{
	if (argc < 3)
		return err_set(err, ERR_USAGE, "usage: tony-agent rsh HOST COMMAND...");
	const char *token_file = need("TONY_TOKEN_FILE", err);
	const char *epoch = token_file ? need("TONY_EPOCH", err) : NULL;
	if (!epoch)
		return -1;
	if (str_parse_int(epoch, 0, INT_MAX, &rsh->epoch) < 0)
		return err_set(err, ERR_USAGE, "TONY_EPOCH: \"%s\" is no epoch", epoch);
	rsh->host = argv[1];
	rsh->token = job_read_token(token_file, err);
	if (!rsh->token || read_address(rsh, err) < 0)
		return -1;
	return join_command(rsh, argv + 2, err);
}

static void end(struct rsh *rsh, int code, const struct err *problem)
{
	rsh->code = code;
	if (problem)
		err_copy(&rsh->problem, problem);
	event_base_loopbreak(rsh->base);
}

/* ---- the command -------------------------------------------------------------------------- */

static int read_end(struct rsh *rsh, const struct http_response *response, int64_t *code,
		    struct err *err)
{
	char *problem cleanup_free = NULL;

	if (http_response_check(response->status, response->body, response->length, err) < 0)
		return -1;
	char *text cleanup_free =
		remote_unseal(&rsh->session, REMOTE_HOST, response->body, response->length, err);
	if (!text)
		return err_wrap(err, "%s: what came as the answer", rsh->address);
	json_t *answer cleanup_json = json_parse(text, strlen(text), err);
	if (!answer || json_read_text(answer, "error", &problem, err) < 0)
		return -1;
	if (problem)
		return err_set(err, ERR_FAILED, "%s", problem);
	return json_need_int(answer, "exit_code", 0, 255, code, err);
}

static void on_end(void *data, const struct http_response *response, const struct err *err)
{
	struct err problem cleanup_err = {0};
	struct rsh *rsh = data;
	int64_t code = 0;

	if (!response) {
		usleep(LEAD_MS * 1000);
		err_set(&problem, err->kind, "the host is gone, and the command with it: %s",
			err_message(err));
		end(rsh, -1, &problem);
	} else if (read_end(rsh, response, &code, &problem) < 0) {
		end(rsh, -1, &problem);
	} else {
		end(rsh, (int)code, NULL);
	}
}

static void run(struct rsh *rsh)
{
	json_t *request cleanup_json = json_object();

	json_set_int(request, "epoch", rsh->epoch);
	json_set_text(request, "command", str_text(&rsh->command));
	char *text cleanup_free = json_text(request);
	char *sealed cleanup_free = remote_seal(&rsh->session, REMOTE_RSH, text);
	http_client_start(rsh->client, &(struct http_question){.method = "POST",
							       .path = "/v1/run",
							       .body = sealed,
							       .body_length = strlen(sealed),
							       .done = on_end,
							       .data = rsh});
}

/* ---- its host: looked for until it has proven itself -------------------------------------- */

/* All programs of the job start at the same time: the host may not be listening yet, or another
 * user's program in its place. Whether it ever will is for its own executor to see. */
static void look_again(struct rsh *rsh, const struct err *why)
{
	bool is_absent = why->kind == ERR_UNREACHABLE;
	bool *told = is_absent ? &rsh->told_absent : &rsh->told_foreign;

	if (!*told && (!is_absent || clock_monotonic_ms() - rsh->begun_ms >= TELL_AFTER_MS)) {
		char *what cleanup_free = mem_printf("waiting for %s", rsh->host);
		tell(what, why);
		*told = true;
	}
	http_client_destroy(mem_steal(&rsh->client));
	timer_start(rsh->again, LOOK_AGAIN_MS);
}

static void on_welcome(void *data, const struct http_response *response, const struct err *err)
{
	struct err why cleanup_err = {0};
	struct rsh *rsh = data;

	if (!response) {
		look_again(rsh, err);
	} else if (http_response_check(response->status, response->body, response->length, &why) <
			   0 ||
		   remote_take_welcome(&rsh->session, response->body, response->length, &why) < 0) {
		err_wrap(&why, "%s: what listens there is not the host, or not yet", rsh->address);
		look_again(rsh, &why);
	} else {
		run(rsh);
	}
}

static void look(struct rsh *rsh)
{
	struct err err cleanup_err = {0};
	char *nonce cleanup_free = secret_create();

	rsh->client = http_client_create(rsh->base, rsh->address, NULL, &err);
	if (!rsh->client) {
		end(rsh, -1, &err);
		return;
	}
	http_client_demand_owner(rsh->client, geteuid());
	remote_session_finish(&rsh->session);
	remote_session_init(&rsh->session, REMOTE_RSH, rsh->token, rsh->address, nonce);
	char *hello cleanup_free = remote_hello(&rsh->session);
	http_client_start(rsh->client, &(struct http_question){.method = "POST",
							       .path = "/v1/host",
							       .body = hello,
							       .body_length = strlen(hello),
							       .timeout_ms = WELCOME_MS,
							       .done = on_welcome,
							       .data = rsh});
}

static void on_again(evutil_socket_t fd, short what, void *data)
{
	look(data);
}

/* ------------------------------------------------------------------------------------------- */

static void ask_host(struct rsh *rsh)
{
	rsh->base = event_base_new();
	rsh->again = evtimer_new(rsh->base, on_again, rsh);
	rsh->begun_ms = clock_monotonic_ms();
	look(rsh);
	event_base_dispatch(rsh->base);
	http_client_destroy(rsh->client);
	event_free(rsh->again);
	event_base_free(rsh->base);
}

static void finish(struct rsh *rsh)
{
	mem_free_secret(rsh->token);
	free(rsh->address);
	str_finish(&rsh->command);
	remote_session_finish(&rsh->session);
	err_finish(&rsh->problem);
}

int remote_rsh_main(int argc, char **argv)
{
	struct rsh rsh = {.code = -1};

	/* mpirun may be killed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (prepare(&rsh, argc, argv, &rsh.problem) == 0)
		ask_host(&rsh);
	int code = rsh.code;
	if (code < 0)
		tell(argc > 1 ? argv[1] : "?", &rsh.problem);
	else if (code > 0)
		fprintf(stderr,
			"tony-agent rsh: %s: the command exited with code %d; its output is in "
			"that task's logs\n",
			argv[1], code);
	finish(&rsh);
	return code < 0 ? 1 : code;
}
