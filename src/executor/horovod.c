#include "executor/horovod.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/proc.h"
#include "executor/horovod_member.h"
#include "framework/horovod_plan.h"
#include "job/job.h"
#include "net/http_client.h"

enum { POLL_MS = 100, CALL_MS = 5000 };

/* Where the plan of this epoch is kept. */
struct store {
	char *address, *token, *path;
};

static const char *variable(const char *name, struct err *err)
{
	const char *value = getenv(name);

	if (!value)
		err_set(err, ERR_USAGE, "%s is not set: only tony starts this", name);
	return value;
}

static int store_open(struct store *store, struct err *err)
{
	static const char scheme[] = "http://";
	const char *url = variable("TONY_AM_URL", err), *epoch = variable("TONY_EPOCH", err);
	const char *token_file = variable("TONY_TOKEN_FILE", err);

	if (!url || !epoch || !token_file)
		return -1;
	if (!str_starts_with(url, scheme))
		return err_set(err, ERR_USAGE, "TONY_AM_URL: \"%s\" is not an http URL", url);
	store->token = job_read_token(token_file, err);
	store->address = mem_strdup(url + strlen(scheme));
	store->path = horovod_plan_path(epoch);
	return store->token ? 0 : -1;
}

static void store_close(struct store *store)
{
	free(store->address);
	mem_free_secret(store->token);
	free(store->path);
}
#define cleanup_store __attribute__((cleanup(store_close)))

static struct http_target am_of(const struct store *store)
{
	return (struct http_target){store->address, store->token, geteuid()};
}

static void pause_ms(int64_t ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* ---- the worker --------------------------------------------------------------------------- */

/* 1: it is there; 0: not yet. An AM that does not answer is the executor's to give up. */
static int fetch(const struct store *store, struct str *plan, struct err *err)
{
	const struct http_target am = am_of(store);
	int status;

	str_truncate(plan, 0);
	if (http_call(&am, "GET", store->path, NULL, CALL_MS, &status, plan, NULL) < 0 ||
	    status == 404 || status == 503)
		return 0;
	return http_response_check(status, str_text(plan), plan->length, err) < 0 ? -1 : 1;
}

static int await_plan(const struct store *store, struct str *plan, struct err *err)
{
	int found = fetch(store, plan, err);

	if (found == 0)
		fprintf(stderr, "horovod: waiting for driver:0 to tell where its rendezvous is\n");
	while (found == 0) {
		pause_ms(POLL_MS);
		found = fetch(store, plan, err);
	}
	return found < 0 ? err_wrap(err, "cannot ask the application master") : 0;
}

static int run_worker(char **command, struct err *err)
{
	struct environment variables cleanup_environment = {0};
	struct store store cleanup_store = {0};
	struct str plan cleanup_str = {0};

	if (store_open(&store, err) < 0 || await_plan(&store, &plan, err) < 0)
		return -1;
	environment_inherit(&variables);
	if (horovod_plan_apply(plan.text, plan.length, &variables, err) < 0)
		return -1;
	limits_restore();
	execvpe(command[0], command, variables.entries.items);
	return err_set_errno(err, "cannot start %s", command[0]);
}

/* ---- the driver --------------------------------------------------------------------------- */

static pid_t start(char **command, struct err *err)
{
	pid_t self = getpid(), pid = fork();

	if (pid < 0)
		err_set_fork(err, "cannot start a process");
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limits_restore();
	if (getppid() == self)
		execvp(command[0], command);
	fprintf(stderr, "horovod: cannot start %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

/* The path of the driver's file and the port that its name tells; NULL: it is not there. The caller
 * frees. */
static char *find_file(const char *directory, int *port, struct err *err)
{
	DIR *list cleanup_dir = opendir(directory);

	for (const struct dirent *entry; list && (entry = readdir(list));) {
		*port = horovod_plan_port(entry->d_name);
		if (*port > 0)
			return fs_join(directory, entry->d_name);
	}
	err_set(err, ERR_NOT_FOUND, "there is no file PORT____HOROVOD_RENDEZVOUS_SERVER____ in %s",
		directory);
	return NULL;
}

/* Into the AM's store. Drivers write their file in several steps: one that is no plan yet may
 * become one. */
static int tell(const struct store *store, const char *directory, struct err *err)
{
	size_t length;
	int port, status;
	char *path cleanup_free = find_file(directory, &port, err);
	char *text cleanup_free = path ? fs_read_file(path, HOROVOD_PLAN_CAP, &length, err) : NULL;

	if (!text)
		return -1;
	char *plan cleanup_free = horovod_plan_make(port, getenv("TONY_HOST"), text, length, err);
	if (!plan)
		return err_wrap(err, "%s", path);
	struct str answer cleanup_str = {0};
	const struct http_target am = am_of(store);
	if (http_call(&am, "PUT", store->path, plan, CALL_MS, &status, &answer, err) < 0)
		return -1;
	return http_response_check(status, str_text(&answer), answer.length, err);
}

/* Ends as the driver did. */
static int follow(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return proc_shell_code(status);
}

static int end_early(int status, const struct err *missing)
{
	fprintf(stderr, "horovod: the driver ended and has not told where its rendezvous is: %s\n",
		err_message(missing));
	int code = follow(status);
	return code ? code : 1;
}

static int watch(pid_t pid, const struct store *store, const char *directory, int64_t timeout_ms,
		 struct err *err)
{
	int64_t deadline = timeout_ms > 0 ? clock_monotonic_ms() + timeout_ms : INT64_MAX;
	int status;

	for (;;) {
		struct err missing cleanup_err = {0};
		if (tell(store, directory, &missing) == 0)
			break;
		if (waitpid(pid, &status, WNOHANG) == pid)
			return end_early(status, &missing);
		if (clock_monotonic_ms() >= deadline)
			return err_set(err, ERR_FAILED,
				       "the driver has not told where its rendezvous is within "
				       "tony.container.registration.timeout: %s",
				       err_message(&missing));
		pause_ms(POLL_MS);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return follow(status);
}

static int run_driver(const char *timeout, char **command, struct err *err)
{
	static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP};
	const char *directory = variable("DRIVER_OUTPUT_PATH", err);
	struct store store cleanup_store = {0};
	int64_t timeout_ms;

	if (str_parse_int(timeout, 0, INT64_MAX / 2, &timeout_ms) < 0)
		return err_set(err, ERR_USAGE, "\"%s\" is not a time in ms", timeout);
	if (!directory || store_open(&store, err) < 0 ||
	    fs_make_directories(directory, 0700, err) < 0)
		return -1;
	pid_t pid = start(command, err);
	if (pid < 0)
		return -1;
	/* The executor sends them to the driver, too, which decides when it ends. */
	for (size_t i = 0; i < array_length(passed_on); i++)
		signal(passed_on[i], SIG_IGN);
	return watch(pid, &store, directory, timeout_ms, err);
}

int horovod_main(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	int code = -1;

	if (argc > 2 && str_equal(argv[1], "member"))
		code = horovod_member_run(argv + 2, &err);
	else if (argc > 2 && str_equal(argv[1], "worker"))
		code = run_worker(argv + 2, &err);
	else if (argc > 3 && str_equal(argv[1], "driver"))
		code = run_driver(argv[2], argv + 3, &err);
	else
		err_set(&err, ERR_USAGE,
			"usage: tony-agent horovod worker COMMAND..., member COMMAND..., or "
			"driver TIMEOUT_MS COMMAND...");
	if (code < 0)
		fprintf(stderr, "horovod: %s\n", err_message(&err));
	return code < 0 ? 1 : code;
}
