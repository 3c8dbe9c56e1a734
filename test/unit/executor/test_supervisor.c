/* A whole executor, in a process of its own, driven by an AM made for the test. The program doubles
 * as the executor: "exec" as its first argument makes it one. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "bed.h"

#include <event2/event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "executor/executor.h"
#include "net/http_server.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The AM: what it orders, and what it has heard. It answers a beat at once when that differs from
 * the order, and holds it otherwise. */
struct am {
	void **state;
	struct event_base *base;
	struct http_server *server;
	struct job *job;
	pid_t executor;

	int am_attempt;
	const char *order;
	int epoch, restart;
	bool stale, deaf; /* answers 409; answers nothing */
	int refusals;	  /* so many messages more are answered 503 */

	struct http_request *held;
	int registrations, exits, beats;
	int registered_epoch, port, ui_port;
	char state_told[16];
	int epoch_told, restart_told;
	json_t *exit; /* the last report */
	json_t *metrics;
};

static json_t *body_of(struct http_request *request)
{
	size_t length;
	const char *text = http_request_body(request, &length);
	struct err err = {0};
	json_t *body = json_parse(text, length, &err);

	if (!body)
		fail_msg("%s", err_message(&err));
	assert_string_equal(http_request_parameter(request, "task"), "worker:0");
	assert_int_equal(json_integer_value(json_object_get(body, "attempt")), 1);
	return body;
}

static int number(const json_t *object, const char *name)
{
	return (int)json_integer_value(json_object_get(object, name));
}

static void on_deaf_closed(void *data)
{
}

static bool refuse(struct am *am, struct http_request *request)
{
	if (am->deaf)
		http_request_hold(request, on_deaf_closed, am);
	else if (am->stale)
		http_answer_error(request, 409, "stale", "attempt 1 is not the present one");
	else if (am->refusals > 0)
		http_answer_error(request, 503, "busy", "too many connections");
	else
		return false;
	am->refusals -= am->refusals > 0;
	return true;
}

static void on_register(void *data, struct http_request *request)
{
	struct am *am = data;
	json_t *body cleanup_json = body_of(request);

	if (refuse(am, request))
		return;
	am->registrations++;
	am->registered_epoch = number(body, "epoch");
	am->port = number(body, "port");
	am->ui_port = number(body, "ui_port");
	assert_string_equal(json_string_value(json_object_get(body, "host")), "127.0.0.1");
	json_t *answer = json_object();
	json_set_int(answer, "am_attempt", am->am_attempt);
	json_set_int(answer, "beat_interval_ms", 500);
	json_set_int(answer, "give_up_ms", am->job->executor_give_up_ms);
	http_answer_json(request, 200, answer);
}

static void answer_order(struct am *am, struct http_request *request)
{
	json_t *answer = json_object();

	json_set_int(answer, "am_attempt", am->am_attempt);
	json_set_text(answer, "order", am->order);
	json_set_int(answer, "epoch", am->epoch);
	json_set_int(answer, "restart", am->restart);
	if (str_equal(am->order, "run")) {
		json_t *cluster = json_object(), *types = json_object(), *worker = json_array();
		char *address cleanup_free = mem_printf("127.0.0.1:%d", am->port);
		json_array_append_new(worker, json_string(address));
		json_object_set_new(types, "worker", worker);
		json_set_int(cluster, "epoch", am->epoch);
		json_object_set_new(cluster, "types", types);
		json_object_set_new(answer, "cluster", cluster);
	}
	http_answer_json(request, 200, answer);
}

static void on_closed(void *data)
{
	((struct am *)data)->held = NULL;
}

static bool agrees(const struct am *am)
{
	if (str_equal(am->order, "run"))
		return !str_equal(am->state_told, "waiting") && am->epoch_told == am->epoch &&
		       am->restart_told == am->restart;
	return str_equal(am->order, "wait");
}

static void on_beat(void *data, struct http_request *request)
{
	struct am *am = data;
	json_t *body cleanup_json = body_of(request);

	if (refuse(am, request))
		return;
	am->beats++;
	snprintf(am->state_told, sizeof(am->state_told), "%s",
		 json_string_value(json_object_get(body, "state")));
	am->epoch_told = number(body, "epoch");
	am->restart_told = number(body, "restart");
	json_decref(am->metrics);
	am->metrics = json_incref(json_object_get(body, "metrics"));
	if (agrees(am)) {
		am->held = request;
		http_request_hold(request, on_closed, am);
	} else {
		answer_order(am, request);
	}
}

static void order(struct am *am, const char *name, int epoch, int restart)
{
	struct http_request *held = am->held;

	am->order = name;
	am->epoch = epoch;
	am->restart = restart;
	am->held = NULL;
	if (held)
		answer_order(am, held);
}

static void on_exit_report(void *data, struct http_request *request)
{
	struct am *am = data;
	json_t *body = body_of(request);

	if (refuse(am, request)) {
		json_decref(body);
		return;
	}
	am->exits++;
	json_decref(am->exit);
	am->exit = body;
	http_answer_json(request, 200, json_object());
	order(am, am->order, am->epoch, am->restart); /* the beat it holds is out of date */
}

static const struct http_route routes[] = {
	{.method = "POST", .pattern = "/v1/tasks/{task}/register", .handle = on_register},
	{.method = "POST", .pattern = "/v1/tasks/{task}/beat", .handle = on_beat},
	{.method = "POST", .pattern = "/v1/tasks/{task}/exit", .handle = on_exit_report},
};

/* ---- the executor ------------------------------------------------------------------------- */

static void become_executor(const struct am *am, const char *token_file)
{
	char *const arguments[] = {"test", "exec", NULL};
	const char *work = scratch_path(am->state, "work");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("TONY_JOB_ID", am->job->id, 1);
	setenv("TONY_JOB_FILE", scratch_path(am->state, "job.json"), 1);
	setenv("TONY_TOKEN_FILE", scratch_path(am->state, token_file), 1);
	setenv("TONY_AM_ADDRESS", http_server_address(am->server), 1);
	setenv("TONY_TASK", "worker:0", 1);
	setenv("TONY_TASK_ATTEMPT", "1", 1);
	setenv("TONY_CONTAINER", scratch_path(am->state, "mark"), 1);
	setenv("TONY_CONTAINER_DIR", scratch_path(am->state, "."), 1);
	setenv("TONY_HOST", "127.0.0.1", 1);
	setenv("HERE", scratch_path(am->state, "."), 1);
	setenv("MALLOC_ARENA_MAX", "4", 1);
	if (chdir(work) == 0)
		execv("/proc/self/exe", arguments);
	_exit(99);
}

static void start_with_token(struct am *am, const char *token_file)
{
	char *text cleanup_free = job_to_text(am->job);

	scratch_write(am->state, "job.json", text, 0600);
	scratch_write(am->state, "token", TOKEN "\n", 0600);
	scratch_write(am->state, "wrong-token", "ffff\n", 0600);
	scratch_write(am->state, "work/.keep", "", 0600);
	am->executor = fork();
	if (am->executor == 0)
		become_executor(am, token_file);
}

static void init(struct am *am, void **state, const char *command)
{
	struct http_server_config config = {
		.address = "127.0.0.1:0",
		.token = TOKEN,
		.routes = routes,
		.route_count = array_length(routes),
		.data = am,
	};
	struct err err = {0};

	*am = (struct am){.state = state, .am_attempt = 1, .order = "wait"};
	am->base = event_base_new();
	am->server = http_server_create(am->base, &config, &err);
	if (!am->server)
		fail_msg("%s", err_message(&err));
	am->job = bed_job(command);
}

static void start(struct am *am)
{
	start_with_token(am, "token");
}

/* Lets the AM work until something has come to pass. */
#define await(am, condition)                                                                       \
	do {                                                                                       \
		while (!(condition))                                                               \
			event_base_loop((am)->base, EVLOOP_ONCE);                                  \
	} while (0)

static void on_tick(evutil_socket_t fd, short what, void *data)
{
}

static int await_leave(struct am *am)
{
	struct event *tick = event_new(am->base, -1, EV_PERSIST, on_tick, NULL);
	const struct timeval often = {.tv_usec = 5000};
	int status;

	event_add(tick, &often);
	while (waitpid(am->executor, &status, WNOHANG) == 0)
		event_base_loop(am->base, EVLOOP_ONCE);
	event_free(tick);
	assert_true(WIFEXITED(status));
	/* The guardian is a subreaper and leaves last: nothing can be left behind. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return WEXITSTATUS(status);
}

static void finish(struct am *am)
{
	http_server_destroy(am->server);
	json_decref(am->exit);
	json_decref(am->metrics);
	job_destroy(am->job);
	event_base_free(am->base);
}

static const char *exit_text(const struct am *am, const char *name)
{
	const char *text = json_string_value(json_object_get(am->exit, name));

	return text ? text : "(none)";
}

/* ---- tests -------------------------------------------------------------------------------- */

static void a_task_runs_and_its_end_is_reported(void **state)
{
	struct am am;

	init(&am, state, "echo trained; exit 0");
	start(&am);
	await(&am, am.beats > 0);
	assert_int_equal(am.registrations, 1);
	assert_int_equal(am.registered_epoch, 0);
	assert_string_equal(am.state_told, "waiting");
	assert_true(am.port > 0);
	order(&am, "run", 1, 0);
	await(&am, am.exits == 1 && str_equal(am.state_told, "exited"));
	assert_string_equal(exit_text(&am, "cause"), "none");
	assert_int_equal(number(am.exit, "epoch"), 1);
	assert_int_equal(number(am.exit, "restart"), 0);
	assert_text_freed(scratch_read(state, "stdout"), "trained\n");
	order(&am, "quit", 1, 0);
	assert_int_equal(await_leave(&am), EXECUTOR_DONE);
	finish(&am);
}

static void a_failure_is_reported_with_its_last_words(void **state)
{
	struct am am;

	init(&am, state, "echo error: no data >&2; exit 3");
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, am.exits == 1);
	assert_string_equal(exit_text(&am, "cause"), "exit");
	assert_int_equal(number(am.exit, "exit_code"), 3);
	assert_string_equal(exit_text(&am, "text"), "exited with code 3");
	assert_string_equal(exit_text(&am, "headline"), "error: no data");
	order(&am, "quit", 1, 0);
	assert_int_equal(await_leave(&am), EXECUTOR_DONE);
	finish(&am);
}

static void the_program_gets_its_environment(void **state)
{
	struct am am;

	init(&am, state, "env | sort; cat $TONY_CLUSTER_FILE");
	start(&am);
	order(&am, "run", 2, 1);
	await(&am, am.exits == 1);
	char *text cleanup_free = scratch_read(state, "stdout");
	char *cluster cleanup_free =
		mem_printf("{\"epoch\":2,\"types\":{\"worker\":[\"127.0.0.1:%d\"]}}", am.port);
	assert_text_has(text, cluster);
	assert_text_has(text, "TONY_TASK=worker:0\n");
	assert_text_has(text, "TONY_EPOCH=2\n");
	assert_text_has(text, "TONY_RESTART=1\n");
	assert_text_has(text, "TONY_CONTAINER=");
	assert_text_has(text, "TONY_JOB_ID=");
	assert_text_has(text, "TONY_AM_URL=http://127.0.0.1:");
	/* What is the executor's alone, and what would let others in. */
	assert_null(strstr(text, TOKEN));
	assert_null(strstr(text, "TONY_TOKEN_FILE"));
	assert_null(strstr(text, "TONY_JOB_FILE"));
	assert_null(strstr(text, "MALLOC_ARENA_MAX"));
	order(&am, "quit", 2, 1);
	await_leave(&am);
	finish(&am);
}

static void a_restart_in_place_keeps_the_port(void **state)
{
	struct am am;

	init(&am, state, "echo run $TONY_RESTART; exit $TONY_RESTART");
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, am.exits == 1);
	int port = am.port;
	order(&am, "run", 1, 1);
	await(&am, am.exits == 2);
	assert_int_equal(number(am.exit, "restart"), 1);
	assert_int_equal(number(am.exit, "exit_code"), 1);
	assert_int_equal(am.registrations, 1);
	assert_int_equal(am.port, port);
	assert_text_freed(scratch_read(state, "stdout"), "run 0\nrun 1\n");
	order(&am, "quit", 1, 1);
	await_leave(&am);
	finish(&am);
}

static void a_newer_run_ends_the_older(void **state)
{
	struct am am;

	init(&am, state, "echo $$ >$HERE/pid-$TONY_RESTART; exec sleep 1000");
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, str_equal(am.state_told, "running"));
	int pid = bed_await_number(state, "pid-0");
	order(&am, "run", 1, 1);
	await(&am, am.restart_told == 1);
	bed_await_number(state, "pid-1");
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(am.exits, 0); /* ended by order: nobody's failure */
	order(&am, "quit", 1, 1);
	assert_int_equal(await_leave(&am), EXECUTOR_DONE);
	finish(&am);
}

static void a_stop_brings_a_fresh_port_and_a_new_registration(void **state)
{
	struct am am;

	init(&am, state, "echo $$ >$HERE/pid-$TONY_EPOCH; exec sleep 1000");
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, str_equal(am.state_told, "running"));
	int pid = bed_await_number(state, "pid-1"), port = am.port;
	order(&am, "stop", 2, 0);
	await(&am, am.registrations == 2);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(am.registered_epoch, 2);
	assert_int_not_equal(am.port, port);
	assert_int_equal(am.exits, 0);
	/* The order may come again, its answer having been lost. */
	await(&am, str_equal(am.state_told, "waiting"));
	order(&am, "wait", 2, 0);
	await(&am, am.held != NULL);
	assert_int_equal(am.registrations, 2);
	order(&am, "run", 2, 0);
	await(&am, str_equal(am.state_told, "running"));
	bed_await_number(state, "pid-2");
	order(&am, "quit", 2, 0);
	assert_int_equal(await_leave(&am), EXECUTOR_DONE);
	finish(&am);
}

static void orders_of_the_past_are_not_obeyed(void **state)
{
	struct am am;

	init(&am, state, "exec sleep 1000");
	am.am_attempt = 3;
	start(&am);
	order(&am, "run", 2, 1);
	await(&am, str_equal(am.state_told, "running"));
	int beats = am.beats;
	order(&am, "run", 2, 0);
	await(&am, am.beats > beats + 1);
	order(&am, "stop", 1, 0);
	beats = am.beats;
	await(&am, am.beats > beats + 1);
	am.am_attempt = 2;
	order(&am, "quit", 2, 1);
	beats = am.beats;
	await(&am, am.beats > beats + 1);
	assert_string_equal(am.state_told, "running");
	assert_int_equal(am.restart_told, 1);
	assert_int_equal(am.registrations, 1);
	am.am_attempt = 4;
	order(&am, "quit", 2, 1);
	assert_int_equal(await_leave(&am), EXECUTOR_DONE);
	finish(&am);
}

static void a_stale_executor_ends_its_tree_and_leaves(void **state)
{
	struct am am;

	init(&am, state, "(setsid sleep 1000 & echo $! >$HERE/pid) & wait; exec sleep 1000");
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, str_equal(am.state_told, "running"));
	int pid = bed_await_number(state, "pid");
	am.stale = true;
	order(&am, "wait", 1, 0);
	assert_int_equal(await_leave(&am), EXECUTOR_STALE);
	assert_int_equal(kill(pid, 0), -1);
	finish(&am);
}

static void a_wrong_token_is_the_end(void **state)
{
	struct am am;

	init(&am, state, "true");
	start_with_token(&am, "wrong-token");
	assert_int_equal(await_leave(&am), EXECUTOR_REFUSED);
	assert_int_equal(am.registrations, 0);
	finish(&am);
}

static void a_busy_am_is_asked_again(void **state)
{
	struct am am;

	init(&am, state, "exit 3");
	am.refusals = 3;
	start(&am);
	await(&am, am.registrations == 1);
	order(&am, "run", 1, 0);
	am.refusals = 2;
	await(&am, am.exits == 1);
	assert_int_equal(number(am.exit, "exit_code"), 3);
	order(&am, "quit", 1, 0);
	assert_int_equal(await_leave(&am), EXECUTOR_DONE);
	finish(&am);
}

static void a_silent_am_is_given_up(void **state)
{
	struct am am;

	init(&am, state, "echo $$ >$HERE/pid; exec sleep 1000");
	am.job->executor_give_up_ms = 1500;
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, str_equal(am.state_told, "running"));
	int pid = bed_await_number(state, "pid");
	am.deaf = true;
	order(&am, "wait", 1, 0);
	assert_int_equal(await_leave(&am), EXECUTOR_SILENCE);
	assert_int_equal(kill(pid, 0), -1);
	finish(&am);
}

static void an_am_that_is_gone_is_given_up(void **state)
{
	struct am am;

	init(&am, state, "exec sleep 1000");
	am.job->executor_give_up_ms = 1000;
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, str_equal(am.state_told, "running"));
	http_server_destroy(am.server);
	am.server = NULL;
	assert_int_equal(await_leave(&am), EXECUTOR_SILENCE);
	finish(&am);
}

static void files_are_there_or_the_start_fails(void **state)
{
	struct am am;

	scratch_write(state, "source/train.sh", "echo localized\n", 0644);
	init(&am, state, "./train.sh");
	am.job->types[0].files = (struct job_files){
		.items = mem_alloc(sizeof(struct job_file)),
		.count = 1,
	};
	am.job->types[0].files.items[0] = (struct job_file){
		.kind = JOB_FILE_CONTENT,
		.source = mem_strdup(scratch_path(state, "source")),
		.name = mem_strdup("."),
	};
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, am.exits == 1);
	assert_text_freed(scratch_read(state, "stdout"), "localized\n");
	order(&am, "quit", 1, 0);
	await_leave(&am);

	mem_replace(&am.job->types[0].files.items[0].source,
		    mem_strdup(scratch_path(state, "absent")));
	order(&am, "run", 1, 0);
	start(&am);
	await(&am, am.exits == 2);
	assert_string_equal(exit_text(&am, "cause"), "start-failed");
	assert_text_has(exit_text(&am, "text"), "absent: no such directory");
	order(&am, "quit", 1, 0);
	await_leave(&am);
	finish(&am);
}

static void a_port_not_to_be_held_is_free_at_the_start(void **state)
{
	struct am am;

	init(&am, state,
	     "python3 -c 'import os,socket\n"
	     "s = socket.socket(); s.bind((\"127.0.0.1\", int(os.environ[\"TONY_PORT\"])))'");
	am.job->types[0].hold_port = false;
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, am.exits == 1);
	assert_string_equal(exit_text(&am, "cause"), "none");
	order(&am, "quit", 1, 0);
	await_leave(&am);

	am.job->types[0].hold_port = true; /* this program sets no option */
	order(&am, "run", 1, 0);
	start(&am);
	await(&am, am.exits == 2);
	assert_string_equal(exit_text(&am, "cause"), "port-taken");
	order(&am, "quit", 1, 0);
	await_leave(&am);
	finish(&am);
}

static void metrics_come_with_the_beats(void **state)
{
	struct am am;

	scratch_write(state, "smi", "#!/bin/sh\necho '0, GPU-1, 55, 1000, 2000'\n", 0755);
	init(&am, state, "sleep 1000 & sleep 1000 & wait");
	am.job->metrics_interval_ms = 20;
	am.job->gpu_metrics = true;
	am.job->gpu_command = mem_strdup(scratch_path(state, "smi"));
	am.job->types[0].gpus = 1;
	start(&am);
	order(&am, "run", 1, 0);
	while (!json_object_get(am.metrics, "gpus")) {
		order(&am, "wait", 1, 0); /* lets it beat on */
		event_base_loop(am.base, EVLOOP_ONCE);
		order(&am, "run", 1, 0);
	}
	assert_true(number(am.metrics, "processes") >= 2);
	assert_true(number(am.metrics, "rss_bytes") > 0);
	const json_t *gpu = json_array_get(json_object_get(am.metrics, "gpus"), 0);
	assert_int_equal(number(gpu, "utilization_percent"), 55);
	order(&am, "quit", 1, 0);
	assert_int_equal(await_leave(&am), EXECUTOR_DONE);
	finish(&am);
}

/* ---- the executor's own death ------------------------------------------------------------- */

static pid_t worker_of(pid_t guardian)
{
	struct proc_list list = {0};

	proc_find_descendants(guardian, &list);
	assert_true(list.count > 0);
	pid_t worker = list.items[0].pid;
	proc_list_finish(&list);
	return worker;
}

static void assert_nothing_survives(void **state, bool kill_guardian)
{
	struct am am;
	int status;

	init(&am, state,
	     "(setsid sh -c 'trap \"\" TERM; echo $$ >$HERE/escaped; sleep 1000' &) & wait; "
	     "echo $$ >$HERE/main; sleep 1000; true");
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, str_equal(am.state_told, "running"));
	int main_pid = bed_await_number(state, "main"),
	    escaped = bed_await_number(state, "escaped");
	pid_t worker = worker_of(am.executor);
	kill(kill_guardian ? am.executor : worker, SIGKILL);
	assert_int_equal(waitpid(am.executor, &status, 0), am.executor);
	bed_await_end(worker);
	bed_await_end(main_pid);
	bed_await_end(escaped);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	finish(&am);
}

static void a_killed_supervisor_leaves_nothing(void **state)
{
	assert_nothing_survives(state, false);
}

static void a_killed_guardian_leaves_nothing(void **state)
{
	assert_nothing_survives(state, true);
}

static void a_term_ends_it_in_order(void **state)
{
	struct am am;

	init(&am, state,
	     "trap 'echo saved; exit 0' TERM; echo $$ >$HERE/pid; while :; do sleep 0.01; done");
	start(&am);
	order(&am, "run", 1, 0);
	await(&am, str_equal(am.state_told, "running"));
	bed_await_number(state, "pid");
	kill(am.executor, SIGTERM);
	assert_int_equal(await_leave(&am), EXECUTOR_ENDED);
	assert_text_freed(scratch_read(state, "stdout"), "saved\n");
	finish(&am);
}

static void a_bad_environment_is_named(void **state)
{
	char *const arguments[] = {"test", "exec", NULL};
	char *const environment[] = {"TONY_AM_ADDRESS=127.0.0.1:1", NULL};
	int status;

	pid_t pid = fork();
	if (pid == 0) {
		execve("/proc/self/exe", arguments, environment);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), EXECUTOR_FAILED);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_task_runs_and_its_end_is_reported),
		scratch_test(a_failure_is_reported_with_its_last_words),
		scratch_test(the_program_gets_its_environment),
		scratch_test(a_restart_in_place_keeps_the_port),
		scratch_test(a_newer_run_ends_the_older),
		scratch_test(a_stop_brings_a_fresh_port_and_a_new_registration),
		scratch_test(orders_of_the_past_are_not_obeyed),
		scratch_test(a_stale_executor_ends_its_tree_and_leaves),
		scratch_test(a_wrong_token_is_the_end),
		scratch_test(a_busy_am_is_asked_again),
		scratch_test(a_silent_am_is_given_up),
		scratch_test(an_am_that_is_gone_is_given_up),
		scratch_test(files_are_there_or_the_start_fails),
		scratch_test(a_port_not_to_be_held_is_free_at_the_start),
		scratch_test(metrics_come_with_the_beats),
		scratch_test(a_killed_supervisor_leaves_nothing),
		scratch_test(a_killed_guardian_leaves_nothing),
		scratch_test(a_term_ends_it_in_order),
		cmocka_unit_test(a_bad_environment_is_named),
	};

	if (argc > 1 && str_equal(argv[1], "exec"))
		return executor_main(argc - 1, argv + 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests_name("supervisor", tests, NULL, NULL);
}
