#include "fake_am.h"

#include "../base/scratch.h"
#include "../base/test.h"
#include "bed.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/credentials.h"
#include "net/http_client.h"
#include "protocol/am_call.h"
#include "protocol/registration.h"

/* Fails where it was not good (`result`), or is not of the job's only task. */
static void check(const struct am *am, struct http_request *request, int result, int attempt,
		  const struct err *err)
{
	char *task cleanup_free = job_task_name(am->job, 0, 0);

	if (result < 0)
		fail_msg("%s", err_message(err));
	assert_string_equal(http_request_parameter(request, "task"), task);
	assert_int_equal(attempt, 1);
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
	struct registration message;
	struct err err = {0};
	size_t length;
	const char *bytes = http_request_body(request, &length);
	int result = registration_decode(&message, bytes, length, &err);

	check(am, request, result, message.of.attempt, &err);
	if (!refuse(am, request)) {
		char *answer cleanup_free = registered_encode(
			&(struct registered){.am_attempt = am->am_attempt,
					     .heartbeat_interval_ms = 500,
					     .give_up_ms = am->job->executor_give_up_ms});
		am->registrations++;
		am->registered_epoch = message.of.epoch;
		am->port = message.port;
		am->door = message.door;
		assert_string_equal(message.host, "127.0.0.1");
		http_answer_bytes(request, 200, "application/json", answer, strlen(answer));
	}
	registration_finish(&message);
}

static void answer_order(struct am *am, struct http_request *request)
{
	const struct orders orders = {
		.am_attempt = am->am_attempt, .order = am->order, .numbers = -1};
	bool is_run = am->order.kind == ORDER_RUN;
	struct str text cleanup_str = {0}, rear cleanup_str = {0};

	orders_encode(&orders, is_run, &text, &rear);
	if (is_run)
		str_append_format(&text, "{\"epoch\":%d,\"types\":{\"%s\":[\"127.0.0.1:%d\"]}}",
				  am->order.epoch, am->job->types[0].name, am->port);
	str_append(&text, rear.text);
	http_answer_bytes(request, 200, "application/json", text.text, text.length);
}

static void on_closed(void *data)
{
	((struct am *)data)->held = NULL;
}

static bool agrees(const struct am *am)
{
	if (am->order.kind == ORDER_RUN)
		return am->told.activity != ACTIVITY_WAITING &&
		       am->told.of.epoch == am->order.epoch &&
		       am->told.of.restart == am->order.restart;
	return am->order.kind == ORDER_WAIT;
}

static void on_beat(void *data, struct http_request *request)
{
	struct am *am = data;
	struct heartbeat message;
	struct err err = {0};
	size_t length;
	const char *bytes = http_request_body(request, &length);
	int result = heartbeat_decode(&message, bytes, length, &err);

	check(am, request, result, message.of.attempt, &err);
	if (refuse(am, request)) {
		heartbeat_finish(&message);
		return;
	}
	am->beats++;
	heartbeat_finish(&am->told);
	am->told = message;
	if (agrees(am)) {
		am->held = request;
		http_request_hold(request, on_closed, am);
	} else {
		answer_order(am, request);
	}
}

void am_order(struct am *am, enum order_kind kind, int epoch, int restart)
{
	struct http_request *held = am->held;

	am->order = (struct order){kind, epoch, restart, am->opens_port};
	am->held = NULL;
	if (held)
		answer_order(am, held);
}

static bool refuse_exit(struct am *am, struct http_request *request)
{
	am->unheard += am->deaf;
	if (am->stale_exits == 0)
		return refuse(am, request);
	am->stale_exits--;
	http_answer_error(request, 409, "stale", "nothing is known of that process");
	return true;
}

static void on_exit_report(void *data, struct http_request *request)
{
	struct am *am = data;
	struct exit_report message;
	struct err err = {0};
	size_t length;
	const char *bytes = http_request_body(request, &length);
	int result = exit_report_decode(&message, bytes, length, &err);

	check(am, request, result, message.of.attempt, &err);
	if (refuse_exit(am, request)) {
		exit_report_finish(&message);
		return;
	}
	am->exits++;
	exit_report_finish(&am->exit);
	am->exit = message;
	http_answer_json(request, 200, json_object());
	/* The beat that it holds is out of date. */
	am_order(am, am->order.kind, am->order.epoch, am->order.restart);
}

static const struct http_route routes[] = {
	{.method = "POST", .pattern = "/v1/tasks/{task}/register", .handle = on_register},
	{.method = "POST", .pattern = "/v1/tasks/{task}/beat", .handle = on_beat},
	{.method = "POST", .pattern = "/v1/tasks/{task}/exit", .handle = on_exit_report},
};

/* ---- the executor ------------------------------------------------------------------------- */

/* As the local scheduler has it. */
static void set_places(const struct am *am, const char *token_file)
{
	setenv("TONY_JOB_ID", am->job->id, 1);
	setenv("TONY_JOB_FILE", scratch_path(am->state, "job.json"), 1);
	setenv("TONY_TOKEN_FILE", scratch_path(am->state, token_file), 1);
	setenv("TONY_CONTAINER_DIR", scratch_path(am->state, "."), 1);
}

/* As a NodeManager has it. */
static void set_container(const struct am *am)
{
	static const char *const absent[] = {"TONY_JOB_FILE", "TONY_TOKEN_FILE", "TONY_JOB_ID",
					     "TONY_CONTAINER_DIR"};

	for (size_t i = 0; i < array_length(absent); i++)
		unsetenv(absent[i]);
	char *logs cleanup_free = mem_printf("%s,/tmp/other", scratch_path(am->state, "logs"));
	setenv("LOG_DIRS", logs, 1);
	setenv("CONTAINER_ID", "container_e17_1700000000000_0001_01_000002", 1);
	setenv("NM_HOST", "127.0.0.1", 1);
	setenv("HOME", "/home/", 1);
	setenv("HADOOP_TOKEN_FILE_LOCATION", scratch_path(am->state, "container_tokens"), 1);
}

static void become_executor(const struct am *am, const char *token_file)
{
	char *const arguments[] = {"test", "exec", NULL};
	const char *work = scratch_path(am->state, "work");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (am->in_container)
		set_container(am);
	else
		set_places(am, token_file);
	setenv("TONY_AM_ADDRESS", http_server_address(am->server), 1);
	char *task cleanup_free = job_task_name(am->job, 0, 0);
	setenv("TONY_TASK", task, 1);
	setenv("TONY_TASK_ATTEMPT", "1", 1);
	setenv("TONY_CONTAINER", scratch_path(am->state, "mark"), 1);
	setenv("TONY_HOST", "127.0.0.1", 1);
	setenv("HERE", scratch_path(am->state, "."), 1);
	setenv("MALLOC_ARENA_MAX", "4", 1);
	if (chdir(work) == 0)
		execv("/proc/self/exe", arguments);
	_exit(99);
}

static void write_container(const struct am *am, const char *job)
{
	struct credentials credentials cleanup_credentials = {0};
	struct str bytes cleanup_str = {0};

	credentials_add_secret(&credentials, "tony.token", AM_TOKEN, strlen(AM_TOKEN));
	credentials_add_secret(&credentials, "tony.job", job, strlen(job));
	credentials_write(&credentials, &bytes);
	assert_int_equal(fs_write_file(scratch_path(am->state, "container_tokens"), bytes.text,
				       bytes.length, 0600, NULL),
			 0);
	scratch_write(am->state, "logs/executor.log", "", 0600);
}

void am_start_with_token(struct am *am, const char *token_file)
{
	char *text cleanup_free = job_to_text(am->job);

	if (am->in_container)
		write_container(am, text);

	scratch_write(am->state, "job.json", text, 0600);
	scratch_write(am->state, "token", AM_TOKEN "\n", 0600);
	scratch_write(am->state, "wrong-token", "ffff\n", 0600);
	scratch_write(am->state, "work/.keep", "", 0600);
	am->executor = fork();
	if (am->executor == 0)
		become_executor(am, token_file);
}

static void listen_anew(struct am *am)
{
	struct http_server_config config = {
		.address = "127.0.0.1:0",
		.token = AM_TOKEN,
		.routes = routes,
		.route_count = array_length(routes),
		.data = am,
	};
	struct err err = {0};

	am->server = http_server_create(am->base, &config, &err);
	if (!am->server)
		fail_msg("%s", err_message(&err));
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
}

void am_init(struct am *am, void **state, const char *command)
{
	*am = (struct am){.state = state, .am_attempt = 1, .told.activity = ACTIVITY_EXITED};
	am->base = event_base_new();
	am->tick = event_new(am->base, -1, EV_PERSIST, on_tick, NULL);
	event_add(am->tick, &(struct timeval){.tv_usec = 5000});
	listen_anew(am);
	am->job = bed_job(command);
}

void am_move(struct am *am)
{
	http_server_destroy(am->server);
	am->am_attempt++;
	am->deaf = false;
	am->registrations = am->beats = am->exits = 0;
	listen_anew(am);
}

static void on_door_answer(void *data, const struct http_response *response, const struct err *err)
{
	*(int *)data = response ? response->status : -1;
}

int am_call_door(struct am *am, int am_attempt, const char *token)
{
	char *task cleanup_free = job_task_name(am->job, 0, 0);
	char *door cleanup_free = mem_printf("127.0.0.1:%d", am->door);
	const struct am_call_to to = {
		.token = token, .job = am->job->id, .task = task, .attempt = 1};
	const struct am_call call = {am_attempt, (char *)http_server_address(am->server)};
	char *text cleanup_free = am_call_text(&to, &call);
	struct http_client *client = http_client_create(am->base, door, NULL, NULL);
	int status = 0;

	http_client_start(client, &(struct http_question){.method = "POST",
							  .path = AM_CALL_PATH,
							  .body = text,
							  .body_length = strlen(text),
							  .done = on_door_answer,
							  .data = &status});
	await(am, status != 0);
	http_client_destroy(client);
	return status;
}

void am_start(struct am *am)
{
	am_start_with_token(am, "token");
}

bool am_executor_has_left(const struct am *am)
{
	siginfo_t info = {0};

	assert_int_equal(waitid(P_PID, (id_t)am->executor, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid != 0;
}

int am_await_leave(struct am *am)
{
	int status;

	await(am, am_executor_has_left(am));
	assert_int_equal(waitpid(am->executor, &status, 0), am->executor);
	assert_true(WIFEXITED(status));
	/* The guardian is a subreaper and leaves last: nothing can be left behind. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return WEXITSTATUS(status);
}

void am_finish(struct am *am)
{
	http_server_destroy(am->server);
	event_free(am->tick);
	exit_report_finish(&am->exit);
	heartbeat_finish(&am->told);
	job_destroy(am->job);
	event_base_free(am->base);
}
