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
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/credentials.h"
#include "job/am_call.h"
#include "net/http_client.h"

static json_t *body_of(const struct am *am, struct http_request *request)
{
	char *task cleanup_free = job_task_name(am->job, 0, 0);
	size_t length;
	const char *text = http_request_body(request, &length);
	struct err err = {0};
	json_t *body = json_parse(text, length, &err);

	if (!body)
		fail_msg("%s", err_message(&err));
	assert_string_equal(http_request_parameter(request, "task"), task);
	assert_int_equal(json_integer_value(json_object_get(body, "attempt")), 1);
	return body;
}

int am_number(const json_t *object, const char *name)
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
	json_t *body cleanup_json = body_of(am, request);

	if (refuse(am, request))
		return;
	am->registrations++;
	am->registered_epoch = am_number(body, "epoch");
	am->port = am_number(body, "port");
	am->door = am_number(body, "door");
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
		json_object_set_new(types, am->job->types[0].name, worker);
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
	json_t *body cleanup_json = body_of(am, request);

	if (refuse(am, request))
		return;
	am->beats++;
	snprintf(am->state_told, sizeof(am->state_told), "%s",
		 json_string_value(json_object_get(body, "state")));
	am->epoch_told = am_number(body, "epoch");
	am->restart_told = am_number(body, "restart");
	am->ui_port_told = (int)json_integer_value(json_object_get(body, "ui_port"));
	json_decref(am->metrics);
	am->metrics = json_incref(json_object_get(body, "metrics"));
	if (agrees(am)) {
		am->held = request;
		http_request_hold(request, on_closed, am);
	} else {
		answer_order(am, request);
	}
}

void am_order(struct am *am, const char *name, int epoch, int restart)
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
	json_t *body = body_of(am, request);

	am->unheard += am->deaf;
	if (am->stale_exits > 0) {
		am->stale_exits--;
		http_answer_error(request, 409, "stale", "nothing is known of that process");
		json_decref(body);
		return;
	}
	if (refuse(am, request)) {
		json_decref(body);
		return;
	}
	am->exits++;
	json_decref(am->exit);
	am->exit = body;
	http_answer_json(request, 200, json_object());
	am_order(am, am->order, am->epoch, am->restart); /* the beat it holds is out of date */
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
	*am = (struct am){.state = state, .am_attempt = 1, .order = "wait"};
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
	json_decref(am->exit);
	json_decref(am->metrics);
	job_destroy(am->job);
	event_base_free(am->base);
}

const char *am_exit_text(const struct am *am, const char *name)
{
	const char *text = json_string_value(json_object_get(am->exit, name));

	return text ? text : "(none)";
}
