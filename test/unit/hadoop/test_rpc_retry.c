/* Servers that are not there, not the active one, silent, or gone: what is tried again, where, and
 * what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "proto/yarn.pb-c.h"
#include "rpc_bed.h"

enum {
	ERROR = HADOOP__RPC_STATUS_PROTO__RPC_ERROR,
	FATAL = HADOOP__RPC_STATUS_PROTO__RPC_FATAL,
	UNAUTHORIZED = HADOOP__RPC_ERROR_CODE_PROTO__FATAL_UNAUTHORIZED,
};

static void use(struct bed *bed, const char *first, const char *second)
{
	str_list_finish(&bed->options.addresses);
	str_list_add(&bed->options.addresses, first);
	if (second)
		str_list_add(&bed->options.addresses, second);
}

static void keep_quiet(struct fake_connection *connection, const struct fake_call *call)
{
}

static void hang_up(struct fake_connection *connection, const struct fake_call *call)
{
	fake_hang_up(connection);
}

static void be_standby(struct fake_connection *connection, const struct fake_call *call)
{
	fake_fail(connection, call->id, ERROR, 1, "org.apache.hadoop.ipc.StandbyException",
		  "Operation category READ is not supported in state standby");
}

/* ---- fail-over ---------------------------------------------------------------------------- */

static void test_refused(void **state)
{
	struct bed *bed = *state;
	char *nobody cleanup_free = fake_free_address();

	use(bed, nobody, bed->second.address);
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
}

static void test_lost_before_the_answer(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = hang_up;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	assert_int_equal(bed->first.calls, 1);
	assert_int_equal(bed->second.calls, 1);
}

static void test_silent(void **state)
{
	struct bed *bed = *state;

	bed->options.call_timeout_ms = 20;
	bed->first.on_call = keep_quiet;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
}

static void test_standby(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = be_standby;
	bed_run(bed, 0);
	bed_run(bed, 1);
	assert_application(&bed->outcomes[0], 7);
	assert_application(&bed->outcomes[1], 7);
	/* The client stays with the one that serves. */
	assert_int_equal(bed->first.calls, 1);
	assert_int_equal(bed->second.accepted, 1);
}

/* A call that must not be repeated may be sent to the other one: the standby has done nothing. */
static void test_standby_did_nothing(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = be_standby;
	bed_call_once(bed, 0);
	bed_call_once(bed, 1);
	bed_wait(bed, 0);
	bed_wait(bed, 1);
	assert_application(&bed->outcomes[0], 7);
	assert_application(&bed->outcomes[1], 7);
	assert_int_equal(bed->first.accepted, 1);
	assert_int_equal(bed->second.calls, 2);
}

static void refuse_as_standby(struct fake_connection *connection)
{
	fake_fail(connection, -33, FATAL, UNAUTHORIZED, "org.apache.hadoop.ipc.StandbyException",
		  "not active");
}

static void test_standby_that_lets_nobody_in(void **state)
{
	struct bed *bed = *state;

	bed->first.on_connect = refuse_as_standby;
	bed->first.on_call = NULL;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
}

/* The active one goes, and comes back after the other has said that it is none. */
static void test_there_and_back(void **state)
{
	struct bed *bed = *state;

	bed->second.on_call = be_standby;
	bed_run(bed, 0);
	fake_hang_up(bed->first.connections);
	bed_run(bed, 1);
	assert_application(&bed->outcomes[1], 7);
	assert_int_equal(bed->first.accepted, 2);
}

/* ---- retries ------------------------------------------------------------------------------ */

static int32_t seen_ids[3];
static int seen_retries[3];

static void hang_up_twice(struct fake_connection *connection, const struct fake_call *call)
{
	const int number = connection->server->calls - 1;

	seen_ids[number] = call->id;
	seen_retries[number] = call->retries;
	if (number < 2)
		fake_hang_up(connection);
	else
		answer_seven(connection, call);
}

static void test_same_call_again(void **state)
{
	struct bed *bed = *state;

	bed_use_one(bed);
	bed->first.on_call = hang_up_twice;
	bed_run(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	for (int i = 0; i < 3; i++) {
		/* By these a server knows that it is the same. */
		assert_int_equal(seen_ids[i], 0);
		assert_int_equal(seen_retries[i], i);
	}
}

static void test_not_again(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = hang_up;
	bed_call_once(bed, 0);
	bed_wait(bed, 0);
	assert_error(&bed->outcomes[0], RPC_UNREACHABLE, NULL,
		     "it is not known whether the call was carried out");
	assert_int_equal(bed->first.calls, 1);
	assert_int_equal(bed->second.calls, 0);
}

static void test_not_sent_yet(void **state)
{
	struct bed *bed = *state;
	char *nobody cleanup_free = fake_free_address();

	use(bed, nobody, bed->second.address);
	bed_call_once(bed, 0);
	bed_wait(bed, 0);
	assert_application(&bed->outcomes[0], 7);
}

static void ask_for_patience(struct fake_connection *connection, const struct fake_call *call)
{
	if (call->retries == 0)
		fake_fail(connection, call->id, ERROR, 1,
			  "org.apache.hadoop.ipc.RetriableException", "starting up");
	else
		answer_seven(connection, call);
}

static void test_retriable(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = ask_for_patience;
	bed_call_once(bed, 0);
	bed_wait(bed, 0);
	assert_application(&bed->outcomes[0], 7);
	assert_int_equal(bed->first.accepted, 1);
	assert_int_equal(bed->first.calls, 2);
	assert_int_equal(bed->second.accepted, 0);
}

static void test_retriable_ends(void **state)
{
	struct bed *bed = *state;

	bed->options.max_wait_ms = 0;
	bed_use_one(bed);
	bed->first.on_call = ask_for_patience;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_REMOTE, "RetriableException", "starting up");
}

static void test_closed_while_idle(void **state)
{
	struct bed *bed = *state;

	bed_use_one(bed);
	bed->options.retry_interval_ms = 3600 * 1000; /* not to be waited for */
	bed_run(bed, 0);
	fake_hang_up(bed->first.connections);
	bed_run(bed, 1);
	assert_application(&bed->outcomes[1], 7);
	/* And when it closes just as we send. */
	bed_call(bed, 2);
	fake_hang_up(bed->first.connections);
	bed_wait(bed, 2);
	assert_application(&bed->outcomes[2], 7);
}

static void test_nobody_there(void **state)
{
	struct bed *bed = *state;
	char *nobody cleanup_free = fake_free_address();

	use(bed, nobody, NULL);
	bed->options.max_wait_ms = 0;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_UNREACHABLE, NULL,
		     "getNewApplication: Connection refused");
	assert_non_null(strstr(bed->outcomes[0].text, nobody));
}

static void test_no_pair_there(void **state)
{
	struct bed *bed = *state;
	char *nobody cleanup_free = fake_free_address();

	use(bed, nobody, bed->second.address);
	bed->second.on_call = be_standby;
	bed->options.max_wait_ms = 10;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_UNREACHABLE, NULL, "the last of them, ");
	assert_non_null(strstr(bed->outcomes[0].text, nobody));
	assert_non_null(strstr(bed->outcomes[0].text, bed->second.address));
}

static struct bed *bed_of_latecomer;

static void hang_up_once(struct fake_connection *connection, const struct fake_call *call)
{
	if (connection->server->calls == 1)
		fake_hang_up(connection);
	else
		answer_seven(connection, call);
}

static void call_and_hang_up(struct fake_connection *connection)
{
	bed_call(bed_of_latecomer, 1);
	fake_hang_up(connection);
}

/* A call that is made when half of the addresses have been tried gets to see them all. */
static void test_latecomer(void **state)
{
	struct bed *bed = *state;

	bed_of_latecomer = bed;
	bed->options.max_wait_ms = 0;
	bed->first.on_call = hang_up_once;
	bed->second.on_connect = call_and_hang_up;
	bed_run(bed, 0);
	bed_wait(bed, 1);
	assert_error(&bed->outcomes[0], RPC_UNREACHABLE, NULL, "the last of them");
	assert_application(&bed->outcomes[1], 7);
}

/* ---- time --------------------------------------------------------------------------------- */

static void test_deadline_of_a_call(void **state)
{
	struct bed *bed = *state;

	bed_use_one(bed);
	bed->options.call_timeout_ms = 20;
	bed->options.max_wait_ms = 0;
	bed->first.on_call = keep_quiet;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_UNREACHABLE, NULL, "no answer within 20 ms");
	assert_true(bed->first.connections != NULL);
}

/* However long each server could be asked again. */
static void test_a_silence_counts_from_its_beginning(void **state)
{
	struct bed *bed = *state;

	bed_use_one(bed);
	bed->options.call_timeout_ms = bed->options.max_wait_ms = 20;
	bed->first.on_call = keep_quiet;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_UNREACHABLE, NULL, "no answer within 20 ms");
	assert_int_equal(bed->first.calls, 1);
}

static void test_deadline_of_the_handshake(void **state)
{
	struct bed *bed = *state;

	bed_use_one(bed);
	bed->options.require_sasl = true;
	bed->options.connect_timeout_ms = 500; /* the connection is there by then */
	bed->options.max_wait_ms = 0;
	bed_run(bed, 0);
	assert_error(&bed->outcomes[0], RPC_UNREACHABLE, NULL,
		     "it did not say whether it accepts us within 500 ms");
}

/* ---- what somebody who waits is told ------------------------------------------------------ */

static struct fake_connection *asked; /* and not answered yet */
static int32_t asked_id;

static void answer_later(struct fake_connection *connection, const struct fake_call *call)
{
	asked = connection;
	asked_id = call->id;
}

static void take_warning(void *data, const char *text)
{
	str_append_format(data, "%s\n", text);
}

static void await_words(struct bed *bed, const struct str *told)
{
	while (told->length == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void test_a_silence_is_told_once(void **state)
{
	struct bed *bed = *state;
	struct str told cleanup_str = {0};

	log_open("test", LOG_LEVEL_WARNING);
	log_divert(take_warning, &told);
	bed->options.tells_waits = true;
	bed->options.max_wait_ms = 0;
	bed->first.on_call = answer_later;
	bed_call(bed, 0);
	await_words(bed, &told);
	char *server cleanup_free =
		mem_printf("ResourceManager at %s, %s", bed->first.address, bed->second.address);
	char *waits cleanup_free = mem_printf(
		"%s: getNewApplication: no answer yet from %s; waiting for up to 2 h 00 m\n",
		server, bed->first.address);
	assert_string_equal(str_text(&told), waits);
	fake_answer(asked, asked_id, 7);
	bed_wait(bed, 0);
	log_divert(NULL, NULL);
	assert_application(&bed->outcomes[0], 7);
	char *all cleanup_free = mem_printf("%s%s answers again\n", waits, server);
	assert_string_equal(str_text(&told), all);
}

static void test_a_server_that_lets_nobody_in_is_told(void **state)
{
	struct bed *bed = *state;
	struct str told cleanup_str = {0};

	log_open("test", LOG_LEVEL_WARNING);
	log_divert(take_warning, &told);
	bed_use_one(bed);
	bed->options.require_sasl = bed->options.tells_waits = true;
	bed->options.connect_timeout_ms = 20000;
	bed->options.retry_interval_ms = bed->options.max_wait_ms = 30000;
	bed_call(bed, 0);
	await_words(bed, &told);
	log_divert(NULL, NULL);
	char *waits cleanup_free = mem_printf("ResourceManager at %s: getNewApplication: no "
					      "connection yet; waiting for up to 20.0 s\n",
					      bed->first.address);
	assert_string_equal(str_text(&told), waits);
}

/* ---- synchronous -------------------------------------------------------------------------- */

static void serve_from_a_child(struct bed *bed)
{
	while (bed->first.calls == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	_exit(0);
}

static void test_wait(void **state)
{
	const Hadoop__GetNewApplicationRequestProto request =
		HADOOP__GET_NEW_APPLICATION_REQUEST_PROTO__INIT;
	struct bed *bed = *state;
	struct err err cleanup_err = {0};
	ProtobufCMessage *response = NULL;
	int status;

	bed_use_one(bed);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		event_reinit(bed->base);
		serve_from_a_child(bed);
	}
	assert_int_equal(rpc_call_wait(&bed->options, &RM_GET_NEW_APPLICATION, &request.base,
				       &response, NULL, &err),
			 0);
	assert_int_equal(((Hadoop__GetNewApplicationResponseProto *)response)->application_id->id,
			 7);
	protobuf_c_message_free_unpacked(response, NULL);
	assert_int_equal(waitpid(child, &status, 0), child);
}

/* Of a process that takes its signals between its steps. */
static void block_and_raise(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(number);
}

static void take_and_unblock(int number)
{
	sigset_t set;
	int taken;

	sigemptyset(&set);
	sigaddset(&set, number);
	assert_int_equal(sigwait(&set, &taken), 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void test_a_signal_cuts_a_wait(void **state)
{
	const Hadoop__GetNewApplicationRequestProto request =
		HADOOP__GET_NEW_APPLICATION_REQUEST_PROTO__INIT;
	struct bed *bed = *state;
	struct err err cleanup_err = {0};
	ProtobufCMessage *response = NULL;

	/* Nobody serves its loop meanwhile. */
	bed_use_one(bed);
	block_and_raise(SIGTERM);
	assert_int_equal(rpc_call_wait(&bed->options, &RM_GET_NEW_APPLICATION, &request.base,
				       &response, NULL, &err),
			 -1);
	take_and_unblock(SIGTERM);
	assert_int_equal(err.kind, ERR_INTERRUPTED);
	char *expected cleanup_free = mem_printf("ResourceManager at %s: getNewApplication: "
						 "interrupted before an answer came",
						 bed->first.address);
	assert_string_equal(err_message(&err), expected);
}

static void test_wait_in_vain(void **state)
{
	const Hadoop__GetNewApplicationRequestProto request =
		HADOOP__GET_NEW_APPLICATION_REQUEST_PROTO__INIT;
	struct bed *bed = *state;
	struct rpc_failure failure cleanup_rpc_failure = {0};
	struct err err cleanup_err = {0};
	ProtobufCMessage *response = NULL;
	char *nobody cleanup_free = fake_free_address();

	use(bed, nobody, NULL);
	bed->options.max_wait_ms = 0;
	assert_int_equal(rpc_call_wait(&bed->options, &RM_GET_NEW_APPLICATION, &request.base,
				       &response, &failure, &err),
			 -1);
	assert_int_equal(err.kind, ERR_UNREACHABLE);
	assert_int_equal(failure.kind, RPC_UNREACHABLE);
	assert_null(failure.class);
	assert_null(response);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_open, bed_close)
	const struct CMUnitTest tests[] = {
		TEST(test_refused),
		TEST(test_lost_before_the_answer),
		TEST(test_silent),
		TEST(test_standby),
		TEST(test_standby_did_nothing),
		TEST(test_standby_that_lets_nobody_in),
		TEST(test_there_and_back),
		TEST(test_same_call_again),
		TEST(test_not_again),
		TEST(test_not_sent_yet),
		TEST(test_retriable),
		TEST(test_retriable_ends),
		TEST(test_closed_while_idle),
		TEST(test_nobody_there),
		TEST(test_no_pair_there),
		TEST(test_latecomer),
		TEST(test_deadline_of_a_call),
		TEST(test_a_silence_counts_from_its_beginning),
		TEST(test_deadline_of_the_handshake),
		TEST(test_a_silence_is_told_once),
		TEST(test_a_server_that_lets_nobody_in_is_told),
		TEST(test_wait),
		TEST(test_a_signal_cuts_a_wait),
		TEST(test_wait_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
