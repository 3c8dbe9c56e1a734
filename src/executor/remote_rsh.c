#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/remote.h"
#include "framework/mpi_host.h"
#include "job/job.h"
#include "net/http_client.h"

enum {
	LOOK_AGAIN_MS = 50,
	LOOKS_UNTIL_TOLD = 10000 / LOOK_AGAIN_MS,
	LEAD_MS = 500, /* of the host's own task, which can tell why it ended */
	CLUSTER_CAP = 64 << 20,
};

struct rsh {
	char *address, *token;
	int64_t epoch;
	struct str command;
};

static const char *need(const char *name, struct err *err)
{
	const char *value = getenv(name);

	if (!value)
		err_set(err, ERR_USAGE, "%s is not set: it is for the programs of a job", name);
	return value;
}

static int read_address(struct rsh *rsh, const char *host, struct err *err)
{
	const char *path = need("TONY_CLUSTER_FILE", err);
	char *text cleanup_free = path ? fs_read_file(path, CLUSTER_CAP, NULL, err) : NULL;
	json_t *cluster cleanup_json = text ? json_parse(text, strlen(text), err) : NULL;

	if (cluster)
		rsh->address = mpi_host_address(cluster, host, err);
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
	rsh->token = job_read_token(token_file, err);
	if (!rsh->token || read_address(rsh, argv[1], err) < 0)
		return -1;
	return join_command(rsh, argv + 2, err);
}

/* All programs of the job start at the same time: the host may not be listening yet. Whether it
 * ever will is for its own executor to see. */
static int await_host(const struct rsh *rsh, const char *host, struct err *err)
{
	struct str response cleanup_str = {0};
	int status;

	for (int looks = 1; http_call(rsh->address, rsh->token, "GET", "/v1/host", NULL, 0, &status,
				      &response, err) < 0;
	     looks++) {
		if (err->kind != ERR_UNREACHABLE)
			return -1;
		if (looks == LOOKS_UNTIL_TOLD)
			fprintf(stderr, "tony-agent rsh: waiting for %s: %s\n", host,
				err_message(err));
		err_finish(err);
		usleep(LOOK_AGAIN_MS * 1000);
	}
	return http_response_check(status, str_text(&response), response.length, err);
}

/* The command's exit code, or -1. */
static int run(const struct rsh *rsh, struct err *err)
{
	struct str response cleanup_str = {0};
	json_t *question cleanup_json = json_object();
	int64_t code;
	int status;

	json_set_int(question, "epoch", rsh->epoch);
	json_set_text(question, "command", str_text(&rsh->command));
	char *text cleanup_free = json_text(question);
	if (http_call(rsh->address, rsh->token, "POST", "/v1/run", text, 0, &status, &response,
		      err) < 0) {
		usleep(LEAD_MS * 1000);
		return err_wrap(err, "the host is gone, and the command with it");
	}
	if (http_response_check(status, str_text(&response), response.length, err) < 0)
		return -1;
	json_t *answer cleanup_json = json_parse(response.text, response.length, err);
	if (!answer || json_need_int(answer, "exit_code", 0, 255, &code, err) < 0)
		return -1;
	return (int)code;
}

static void finish(struct rsh *rsh)
{
	if (rsh->token)
		explicit_bzero(rsh->token, strlen(rsh->token));
	free(rsh->token);
	free(rsh->address);
	str_finish(&rsh->command);
}

int remote_rsh_main(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct rsh rsh = {0};
	int code = -1;

	/* mpirun may be killed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (prepare(&rsh, argc, argv, &err) == 0 && await_host(&rsh, argv[1], &err) == 0)
		code = run(&rsh, &err);
	if (code < 0)
		fprintf(stderr, "tony-agent rsh: %s: %s\n", argc > 1 ? argv[1] : "?",
			err_message(&err));
	else if (code > 0)
		fprintf(stderr,
			"tony-agent rsh: %s: the command exited with code %d; its output is in "
			"that task's logs\n",
			argv[1], code);
	finish(&rsh);
	return code < 0 ? 1 : code;
}
