/* A whole executor, in a process of its own, driven by an AM made for the test. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "bed.h"
#include "fake_am.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/secret.h"
#include "executor/executor.h"
#include "executor/port.h"

/* ---- tests -------------------------------------------------------------------------------- */

static void a_task_runs_and_its_end_is_reported(void **state)
{
	struct am am;

	am_init(&am, state, "echo trained; exit 0");
	am_start(&am);
	await(&am, am.beats > 0);
	assert_int_equal(am.registrations, 1);
	assert_int_equal(am.registered_epoch, 0);
	assert_int_equal(am.told.activity, ACTIVITY_WAITING);
	assert_true(am.port > 0);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.exits == 1 && am.told.activity == ACTIVITY_EXITED);
	assert_int_equal(am.exit.cause.kind, CAUSE_NONE);
	assert_int_equal(am.exit.of.epoch, 1);
	assert_int_equal(am.exit.of.restart, 0);
	assert_text_freed(scratch_read(state, "stdout"), "trained\n");
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

static void a_failure_is_reported_with_its_last_words(void **state)
{
	struct am am;

	am_init(&am, state, "echo error: no data >&2; exit 3");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.exits == 1);
	assert_int_equal(am.exit.cause.kind, CAUSE_EXIT);
	assert_int_equal(am.exit.cause.exit_code, 3);
	assert_string_equal(am.exit.cause.text, "exited with code 3");
	assert_string_equal(am.exit.cause.headline, "error: no data");
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

/* Where everything lies in a container of YARN. Its logs do not show the token. */
static void in_a_container_of_yarn_it_is_at_home(void **state)
{
	struct am am;

	am_init(&am, state,
		"stat -c %a \"$TONY_TOKEN_FILE\" \"$(dirname \"$TONY_TOKEN_FILE\")\"; "
		"cat \"$TONY_TOKEN_FILE\"; test \"$HOME\" = \"$PWD\" && echo \" home\"; "
		"stat -c %a \"$TONY_CLUSTER_FILE\"; echo $TONY_JOB_ID; echo bad >&2");
	am.in_container = true;
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.exits == 1);
	assert_int_equal(am.exit.cause.kind, CAUSE_NONE);
	char *expected cleanup_free = mem_printf("600\n700\n*** home\n600\n%s\n", am.job->id);
	assert_text_freed(scratch_read(state, "logs/stdout"), expected);
	assert_text_freed(scratch_read(state, "logs/stderr"), "bad\n");
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

static void the_program_gets_its_environment(void **state)
{
	struct am am;

	am_init(&am, state, "env | sort; cat $TONY_CLUSTER_FILE");
	am_start(&am);
	am_order(&am, ORDER_RUN, 2, 1);
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
	assert_text_has(text, "TONY_TOKEN_FILE=/");
	assert_text_has(text, "TONY_AGENT=/");
	/* What is the executor's alone, and what would let others in. */
	assert_null(strstr(text, AM_TOKEN));
	assert_null(strstr(text, "TONY_JOB_FILE"));
	assert_null(strstr(text, "MALLOC_ARENA_MAX"));
	am_order(&am, ORDER_QUIT, 2, 1);
	am_await_leave(&am);
	am_finish(&am);
}

/* promise: S14 */
static void a_framework_finds_its_secret_in_a_file_of_its_owners(void **state)
{
	struct am am;

	am_init(&am, state, "stat -c %a $RAY_AUTH_TOKEN_PATH; cat $RAY_AUTH_TOKEN_PATH; env");
	mem_replace(&am.job->framework, mem_strdup("ray"));
	mem_replace(&am.job->types[0].name, mem_strdup("head"));
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.exits == 1);
	char *text cleanup_free = scratch_read(state, "stdout");
	char *secret cleanup_free = secret_derive(AM_TOKEN, "ray");
	char *first cleanup_free = mem_printf("600\n%s", secret);
	assert_true(str_starts_with(text, first));
	assert_null(strstr(text + strlen(first), secret));
	am_order(&am, ORDER_QUIT, 1, 0);
	am_await_leave(&am);
	am_finish(&am);
}

static void a_restart_in_place_keeps_the_port(void **state)
{
	struct am am;

	am_init(&am, state, "echo run $TONY_RESTART; exit $TONY_RESTART");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.exits == 1);
	int port = am.port;
	am_order(&am, ORDER_RUN, 1, 1);
	await(&am, am.exits == 2);
	assert_int_equal(am.exit.of.restart, 1);
	assert_int_equal(am.exit.cause.exit_code, 1);
	assert_int_equal(am.registrations, 1);
	assert_int_equal(am.port, port);
	assert_text_freed(scratch_read(state, "stdout"), "run 0\nrun 1\n");
	am_order(&am, ORDER_QUIT, 1, 1);
	am_await_leave(&am);
	am_finish(&am);
}

static void a_newer_run_ends_the_older(void **state)
{
	struct am am;

	am_init(&am, state, "echo $$ >$HERE/pid-$TONY_RESTART; exec sleep 1000");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	int pid = bed_await_number(state, "pid-0");
	am_order(&am, ORDER_RUN, 1, 1);
	await(&am, am.told.of.restart == 1);
	bed_await_number(state, "pid-1");
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(am.exits, 0); /* ended by order: nobody's failure */
	am_order(&am, ORDER_QUIT, 1, 1);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

static void a_stop_brings_a_fresh_port_and_a_new_registration(void **state)
{
	struct am am;

	am_init(&am, state, "echo $$ >$HERE/pid-$TONY_EPOCH; exec sleep 1000");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	int pid = bed_await_number(state, "pid-1"), port = am.port;
	am_order(&am, ORDER_STOP, 2, 0);
	await(&am, am.registrations == 2);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(am.registered_epoch, 2);
	assert_int_not_equal(am.port, port);
	assert_int_equal(am.exits, 0);
	/* The order may come again, its answer having been lost. */
	await(&am, am.told.activity == ACTIVITY_WAITING);
	am_order(&am, ORDER_WAIT, 2, 0);
	await(&am, am.held != NULL);
	assert_int_equal(am.registrations, 2);
	am_order(&am, ORDER_RUN, 2, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	bed_await_number(state, "pid-2");
	am_order(&am, ORDER_QUIT, 2, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

/* promise: S17 */
static void orders_of_the_past_are_not_obeyed(void **state)
{
	struct am am;

	am_init(&am, state, "exec sleep 1000");
	am.am_attempt = 3;
	am_start(&am);
	am_order(&am, ORDER_RUN, 2, 1);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	int beats = am.beats;
	am_order(&am, ORDER_RUN, 2, 0);
	await(&am, am.beats > beats + 1);
	am_order(&am, ORDER_STOP, 1, 0);
	beats = am.beats;
	await(&am, am.beats > beats + 1);
	am.am_attempt = 2;
	am_order(&am, ORDER_QUIT, 2, 1);
	beats = am.beats;
	await(&am, am.beats > beats + 1);
	assert_int_equal(am.told.activity, ACTIVITY_RUNNING);
	assert_int_equal(am.told.of.restart, 1);
	assert_int_equal(am.registrations, 1);
	am.am_attempt = 4;
	am_order(&am, ORDER_QUIT, 2, 1);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

static void an_am_that_follows_is_told_who_is_there(void **state)
{
	struct am am;

	am_init(&am, state, "echo $$ >$HERE/pid; exec sleep 1000");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	assert_int_equal(am.registrations, 1);
	am.am_attempt = 2;
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.registrations == 2);
	int beats = am.beats;
	await(&am, am.beats > beats + 1);
	assert_int_equal(am.told.activity, ACTIVITY_RUNNING);
	assert_int_equal(am.registrations, 2);
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

static void a_stale_executor_ends_its_tree_and_leaves(void **state)
{
	struct am am;

	am_init(&am, state, "(setsid sleep 1000 & echo $! >$HERE/pid) & wait; exec sleep 1000");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	int pid = bed_await_number(state, "pid");
	am.stale = true;
	am_order(&am, ORDER_WAIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_STALE);
	assert_int_equal(kill(pid, 0), -1);
	am_finish(&am);
}

static void a_wrong_token_is_the_end(void **state)
{
	struct am am;

	am_init(&am, state, "true");
	am_start_with_token(&am, "wrong-token");
	assert_int_equal(am_await_leave(&am), EXECUTOR_REFUSED);
	assert_int_equal(am.registrations, 0);
	am_finish(&am);
}

static void a_busy_am_is_asked_again(void **state)
{
	struct am am;

	am_init(&am, state, "exit 3");
	am.refusals = 3;
	am_start(&am);
	await(&am, am.registrations == 1);
	am_order(&am, ORDER_RUN, 1, 0);
	am.refusals = 2;
	await(&am, am.exits == 1);
	assert_int_equal(am.exit.cause.exit_code, 3);
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

/* Only whom the token proves, and only a later one. The program does not notice. */
static void an_am_at_another_address_is_followed(void **state)
{
	struct am am;

	am_init(&am, state,
		"echo $$ >$HERE/pid; until [ -e $HERE/go ]; do sleep 0.01; done; exit 3");
	am.in_container = true;
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	int pid = bed_await_number(state, "pid");
	am_move(&am);
	assert_int_equal(am_call_door(&am, 2, "wrong"), 401);
	assert_int_equal(am_call_door(&am, 1, AM_TOKEN), 409);
	assert_int_equal(am_call_door(&am, 2, AM_TOKEN), 200);
	await(&am, am.registrations == 1 && am.beats > 0);
	assert_int_equal(am.told.activity, ACTIVITY_RUNNING);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(am_call_door(&am, 2, AM_TOKEN), 409);
	scratch_write(state, "go", "", 0600);
	await(&am, am.exits == 1);
	assert_int_equal(am.exit.cause.exit_code, 3);
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

static enum http_access count_question(void *data, const struct http_request *request)
{
	++*(int *)data;
	return HTTP_ACCESS_NONE;
}

/* Its port may be anybody's once it is gone. */
static void a_stranger_at_the_ams_address_is_not_the_am(void **state)
{
	int questions = 0;
	struct http_server_config config = {
		.token = "another", .authorize = count_question, .data = &questions};
	struct am am;

	am_init(&am, state, "echo $$ >$HERE/pid; exec sleep 1000");
	am.in_container = true;
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	int pid = bed_await_number(state, "pid");
	char *address cleanup_free = mem_strdup(http_server_address(am.server));
	am_move(&am);
	config.address = address;
	struct http_server *stranger = http_server_create(am.base, &config, NULL);
	assert_non_null(stranger);
	await(&am, questions >= 2);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(am_call_door(&am, 2, AM_TOKEN), 200);
	await(&am, am.registrations == 1 && am.beats > 0);
	assert_int_equal(am.told.activity, ACTIVITY_RUNNING);
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	http_server_destroy(stranger);
	am_finish(&am);
}

/* The AM before may have died with it. */
static void an_exit_is_reported_to_the_am_that_follows(void **state)
{
	struct am am;

	am_init(&am, state, "until [ -e $HERE/go ]; do sleep 0.01; done; exit 3");
	am.in_container = true;
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	am.deaf = true;
	scratch_write(state, "go", "", 0600);
	await(&am, am.unheard == 1);
	am_move(&am);
	assert_int_equal(am_call_door(&am, 2, AM_TOKEN), 200);
	await(&am, am.exits == 1);
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

/* It did not know of the process when it was told of its end, and then orders it to run. */
static void an_exit_that_was_not_taken_is_reported_to_who_orders_that_run(void **state)
{
	struct am am;

	am_init(&am, state, "until [ -e $HERE/go ]; do sleep 0.01; done; exit 3");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	am_order(&am, ORDER_WAIT, 1, 0);
	am.stale_exits = 1;
	scratch_write(state, "go", "", 0600);
	await(&am, am.stale_exits == 0);
	assert_int_equal(am.exits, 0);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.exits == 1);
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

/* From now on it gives up so soon: an AM that follows says so. On a busy machine it may do that at
 * once. */
static void let_give_up(struct am *am, int64_t ms)
{
	am->job->executor_give_up_ms = ms;
	am->am_attempt++;
	while (am->registrations < 2) {
		am_order(am, am->order.kind, am->order.epoch, am->order.restart);
		event_base_loop(am->base, EVLOOP_ONCE);
	}
	int beats = am->beats;
	await(am, am->beats > beats || am_executor_has_left(am)); /* it has heard that */
}

static void a_silent_am_is_given_up(void **state)
{
	struct am am;

	am_init(&am, state, "echo $$ >$HERE/pid; exec sleep 1000");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	int pid = bed_await_number(state, "pid");
	let_give_up(&am, 1500);
	am.deaf = true;
	am_order(&am, ORDER_WAIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_SILENCE);
	assert_int_equal(kill(pid, 0), -1);
	am_finish(&am);
}

static void an_am_that_is_gone_is_given_up(void **state)
{
	struct am am;

	am_init(&am, state, "exec sleep 1000");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	let_give_up(&am, 1000);
	http_server_destroy(am.server);
	am.server = NULL;
	assert_int_equal(am_await_leave(&am), EXECUTOR_SILENCE);
	am_finish(&am);
}

static void files_are_there_or_the_start_fails(void **state)
{
	struct am am;

	scratch_write(state, "source/train.sh", "echo localized\n", 0644);
	am_init(&am, state, "./train.sh");
	am.job->types[0].files = (struct job_files){
		.items = mem_alloc(sizeof(struct job_file)),
		.count = 1,
	};
	am.job->types[0].files.items[0] = (struct job_file){
		.kind = JOB_FILE_CONTENT,
		.source = mem_strdup(scratch_path(state, "source")),
		.name = mem_strdup("."),
	};
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.exits == 1);
	assert_text_freed(scratch_read(state, "stdout"), "localized\n");
	am_order(&am, ORDER_QUIT, 1, 0);
	am_await_leave(&am);

	mem_replace(&am.job->types[0].files.items[0].source,
		    mem_strdup(scratch_path(state, "absent")));
	am_order(&am, ORDER_RUN, 1, 0);
	am_start(&am);
	await(&am, am.exits == 2);
	assert_int_equal(am.exit.cause.kind, CAUSE_START_FAILED);
	assert_text_has(am.exit.cause.text, "absent: no such directory");
	am_order(&am, ORDER_QUIT, 1, 0);
	am_await_leave(&am);
	am_finish(&am);
}

/* Nobody holds the port: now and then another program of this machine has got it. */
static enum cause_kind run_unheld(struct am *am)
{
	enum { TRIES = 5 };

	for (int i = 1; i <= TRIES; i++) {
		int exits = am->exits;
		am_order(am, ORDER_RUN, 1, 0);
		am_start(am);
		await(am, am->exits > exits);
		am_order(am, ORDER_QUIT, 1, 0);
		am_await_leave(am);
		if (am->exit.cause.kind != CAUSE_PORT_TAKEN)
			break;
	}
	return am->exit.cause.kind;
}

static void a_port_not_to_be_held_is_free_at_the_start(void **state)
{
	struct am am;

	am_init(&am, state,
		"python3 -c 'import os,socket\n"
		"s = socket.socket(); s.bind((\"127.0.0.1\", int(os.environ[\"TONY_PORT\"])))'");
	am.job->types[0].hold_port = false;
	assert_int_equal(run_unheld(&am), CAUSE_NONE);

	int exits = am.exits;
	am.job->types[0].hold_port = true; /* this program sets no option */
	am_order(&am, ORDER_RUN, 1, 0);
	am_start(&am);
	await(&am, am.exits > exits);
	assert_int_equal(am.exit.cause.kind, CAUSE_PORT_TAKEN);
	am_order(&am, ORDER_QUIT, 1, 0);
	am_await_leave(&am);

	am.opens_port = true; /* as the AM has it by then */
	assert_int_equal(run_unheld(&am), CAUSE_NONE);
	am_finish(&am);
}

static void metrics_come_with_the_beats(void **state)
{
	struct am am;

	scratch_write(state, "smi", "#!/bin/sh\necho '0, GPU-1, 55, 1000, 2000'\n", 0755);
	am_init(&am, state, "sleep 1000 & sleep 1000 & wait");
	am.job->metrics_interval_ms = 20;
	am.job->gpu_metrics = true;
	am.job->gpu_command = mem_strdup(scratch_path(state, "smi"));
	am.job->types[0].gpus = 1;
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	while (am.told.account.metrics.gpu_count == 0 || am.told.account.metrics.processes < 2) {
		am_order(&am, ORDER_WAIT, 1, 0); /* lets it beat on */
		event_base_loop(am.base, EVLOOP_ONCE);
		am_order(&am, ORDER_RUN, 1, 0);
	}
	assert_true(am.told.account.metrics.rss_bytes > 0);
	assert_int_equal(am.told.account.metrics.gpus[0].utilization_percent, 55);
	am_order(&am, ORDER_QUIT, 1, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
}

/* The executor tells this with a beat, so it beats on. */
#define await_beating(am, condition)                                                               \
	do {                                                                                       \
		while (!(condition)) {                                                             \
			am_order(am, ORDER_WAIT, 1, 0);                                            \
			event_base_loop((am)->base, EVLOOP_ONCE);                                  \
			am_order(am, ORDER_RUN, 1, 0);                                             \
		}                                                                                  \
	} while (0)

static void a_web_interface_is_told_while_it_answers(void **state)
{
	char *asked cleanup_free = mem_strdup(scratch_path(state, "asked"));
	struct am am;

	am_init(&am, state,
		"python3 -c 'import os,socket,time\n"
		"wait = lambda name: [time.sleep(0.01) for _ in iter(lambda: "
		"os.path.exists(os.environ[\"HERE\"] + name), True)]\n"
		"note = lambda name: open(os.environ[\"HERE\"] + name, \"w\").close()\n"
		"s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
		"s.bind((\"127.0.0.1\", int(os.environ[\"TB_PORT\"])))\n"
		"wait(\"/go\"); s.listen()\n"
		"c = s.accept()[0]; c.recv(4096); c.send(b\"SSH-2.0-none\\r\\n\"); c.close()\n"
		"c = s.accept()[0]; c.recv(4096); note(\"/asked\"); wait(\"/answer\")\n"
		"c.send(b\"HTTP/1.1 302 Found\\r\\nContent-Length: 0\\r\\n\\r\\n\"); c.close()\n"
		"wait(\"/end\"); s.close(); time.sleep(1000)'");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	scratch_write(state, "go", "", 0644);
	await_beating(&am, fs_exists(asked));
	assert_int_equal(am.told.ui_port, 0);
	scratch_write(state, "answer", "", 0644);
	await_beating(&am, am.told.ui_port != 0);
	assert_int_equal(port_look("127.0.0.1", am.told.ui_port, &am.job->types[0].listener_uids,
				   &(uid_t){0}, NULL),
			 PORT_SERVED);
	assert_int_not_equal(am.told.ui_port, am.port);
	scratch_write(state, "end", "", 0644);
	await_beating(&am, am.told.ui_port == 0);
	am_order(&am, ORDER_STOP, 2, 0);
	await(&am, am.registrations == 2);
	await(&am, am.told.activity == ACTIVITY_WAITING);
	assert_int_equal(am.told.ui_port, 0);
	am_order(&am, ORDER_QUIT, 2, 0);
	assert_int_equal(am_await_leave(&am), EXECUTOR_DONE);
	am_finish(&am);
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

	am_init(&am, state,
		"(setsid sh -c 'trap \"\" TERM; echo $$ >$HERE/escaped; sleep 1000' &) & wait; "
		"echo $$ >$HERE/main; sleep 1000; true");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
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
	am_finish(&am);
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

	am_init(&am, state,
		"trap 'echo saved; exit 0' TERM; echo $$ >$HERE/pid; while :; do sleep 0.01; done");
	am_start(&am);
	am_order(&am, ORDER_RUN, 1, 0);
	await(&am, am.told.activity == ACTIVITY_RUNNING);
	bed_await_number(state, "pid");
	kill(am.executor, SIGTERM);
	assert_int_equal(am_await_leave(&am), EXECUTOR_ENDED);
	assert_text_freed(scratch_read(state, "stdout"), "saved\n");
	am_finish(&am);
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
		scratch_test(in_a_container_of_yarn_it_is_at_home),
		scratch_test(the_program_gets_its_environment),
		scratch_test(a_framework_finds_its_secret_in_a_file_of_its_owners),
		scratch_test(a_restart_in_place_keeps_the_port),
		scratch_test(a_newer_run_ends_the_older),
		scratch_test(a_stop_brings_a_fresh_port_and_a_new_registration),
		scratch_test(orders_of_the_past_are_not_obeyed),
		scratch_test(an_am_that_follows_is_told_who_is_there),
		scratch_test(a_stale_executor_ends_its_tree_and_leaves),
		scratch_test(a_wrong_token_is_the_end),
		scratch_test(a_busy_am_is_asked_again),
		scratch_test(an_am_at_another_address_is_followed),
		scratch_test(a_stranger_at_the_ams_address_is_not_the_am),
		scratch_test(an_exit_is_reported_to_the_am_that_follows),
		scratch_test(an_exit_that_was_not_taken_is_reported_to_who_orders_that_run),
		scratch_test(a_silent_am_is_given_up),
		scratch_test(an_am_that_is_gone_is_given_up),
		scratch_test(files_are_there_or_the_start_fails),
		scratch_test(a_port_not_to_be_held_is_free_at_the_start),
		scratch_test(metrics_come_with_the_beats),
		scratch_test(a_web_interface_is_told_while_it_answers),
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
