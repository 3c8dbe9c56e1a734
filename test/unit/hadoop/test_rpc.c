/* One connection: what is sent, what is made of what comes back, and how calls end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "hadoop/methods.h"
#include "proto/yarn.pb-c.h"
#include "rpc_bed.h"

enum {
	SUCCESS = HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS,
	ERROR = HADOOP__RPC_STATUS_PROTO__RPC_ERROR,
	FATAL = HADOOP__RPC_STATUS_PROTO__RPC_FATAL,
	UNAUTHORIZED = HADOOP__RPC_ERROR_CODE_PROTO__FATAL_UNAUTHORIZED,
	HELLO = 7,
	CONTEXT = 4 + 0x5d, /* bytes of the context's frame, for a user of five letters */
	CALL = 4 + 0x6a,
};

static void run_idle(struct bed *bed)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(bed->base, EVLOOP_NONBLOCK);
}

static void test_call(void **state)
{
	struct bed *bed = *state;

	bed_run(bed, 0);
	bed_run(bed, 1);
	assert_application(&bed->outcomes[0], 7);
	assert_application(&bed->outcomes[1], 7);
	assert_int_equal(bed->first.accepted, 1);
	const struct fake_connection *connection = bed->first.connections;
	assert_string_equal(connection->user, "alice");
	assert_string_equal(connection->protocol, RM_CLIENT.protocol);
	assert_int_equal(connection->received.length, HELLO + CONTEXT + 2 * CALL);
	assert_memory_equal(connection->received.text, "hrpc\x09\0\0", HELLO);
}

/* ---- how answers are cut ------------------------------------------------------------------ */

static void keep_quiet(struct fake_connection *connection, const struct fake_call *call)
{
}

static void test_split_frames(void **state)
{
	struct bed *bed = *state;
	struct str out cleanup_str = {0};

	bed->first.on_call = keep_quiet;
	bed_call(bed, 0);
	while (bed->first.calls == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	fake_add_application(&out, 0, 8);
	for (size_t i = 0; i < out.length; i++) {
		assert_false(bed->outcomes[0].is_done);
		fake_send(bed->first.connections, out.text + i, 1);
		run_idle(bed);
	}
	bed_wait(bed, 0);
	assert_application(&bed->outcomes[0], 8);
}

/* Waits for three calls; answers them in one piece, the last first. */
static void answer_backwards(struct fake_connection *connection, const struct fake_call *call)
{
	struct str out cleanup_str = {0};

	if (call->id < 2)
		return;
	for (int32_t id = 2; id >= 0; id--)
		fake_add_application(&out, id, 100 + id);
	fake_send(connection, out.text, out.length);
}

static void test_merged_frames_out_of_order(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = answer_backwards;
	for (int i = 0; i < 3; i++)
		bed_call(bed, i);
	for (int i = 0; i < 3; i++) {
		bed_wait(bed, i);
		assert_application(&bed->outcomes[i], 100 + i);
		assert_int_equal(bed->outcomes[i].order, 3 - i);
	}
	assert_int_equal(bed->first.accepted, 1);
}

/* ---- exceptions --------------------------------------------------------------------------- */

static void refuse_first(struct fake_connection *connection, const struct fake_call *call)
{
	if (connection->server->calls == 1)
		fake_fail(connection, call->id, ERROR, 1, "org.apache.hadoop.yarn.YarnException",
			  "org.apache.hadoop.yarn.YarnException: not \"this\" way\n\tat x.y(Z)\n");
	else
		answer_seven(connection, call);
}

static void test_exception_ends_one_call(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = refuse_first;
	bed_call(bed, 0);
	bed_call(bed, 1);
	bed_wait(bed, 1);
	assert_error(&bed->outcomes[0], RPC_REMOTE, "YarnException",
		     "getNewApplication: YarnException: not \"this\" way");
	assert_application(&bed->outcomes[1], 7);
	assert_int_equal(bed->first.accepted, 1);
}

static void refuse_and_close(struct fake_connection *connection)
{
	fake_fail(connection, -1, FATAL, UNAUTHORIZED,
		  "org.apache.hadoop.security.AccessControlException",
		  "SIMPLE authentication is not enabled.  Available:[TOKEN]");
	shutdown(connection->fd, SHUT_RD);
	fake_hang_up(connection);
}

/* The server has answered and closed before anything of ours arrives: sending may break first. */
static void test_fatal_before_the_call(void **state)
{
	struct bed *bed = *state;

	bed->first.on_connect = refuse_and_close;
	for (int i = 0; i < 3; i++) {
		bed_run(bed, i);
		assert_error(&bed->outcomes[i], RPC_DENIED, "AccessControlException",
			     "SIMPLE authentication is not enabled.  Available:[TOKEN]");
	}
	assert_int_equal(bed->second.accepted, 0);
}

enum { LARGE = 32 << 20 };

static void on_large_done(void *data, const ProtobufCMessage *response,
			  const struct rpc_error *error)
{
	struct bed *bed = data;

	bed->told++;
	assert_null(response);
	assert_int_equal(error->kind, RPC_DENIED);
	assert_non_null(strstr(error->text, "SIMPLE authentication is not enabled."));
}

/* So large that it never leaves whole. */
static void test_fatal_while_sending(void **state)
{
	Hadoop__KillApplicationRequestProto request = HADOOP__KILL_APPLICATION_REQUEST_PROTO__INIT;
	struct bed *bed = *state;
	char *text cleanup_free = mem_alloc(LARGE + 1);

	memset(text, 'x', LARGE);
	request.diagnostics = text;
	bed->first.on_connect = refuse_and_close;
	rpc_call_start(bed_client(bed), &RM_FORCE_KILL_APPLICATION, &request.base, on_large_done,
		       bed);
	while (bed->told == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void test_request_too_large(void **state)
{
	Hadoop__KillApplicationRequestProto request = HADOOP__KILL_APPLICATION_REQUEST_PROTO__INIT;
	struct bed *bed = *state;
	struct err err cleanup_err = {0};
	ProtobufCMessage *response = NULL;
	char *text cleanup_free = mem_alloc(RPC_FRAME_CAP + 1);

	memset(text, 'x', RPC_FRAME_CAP);
	request.diagnostics = text;
	assert_int_equal(rpc_call_wait(&bed->options, &RM_FORCE_KILL_APPLICATION, &request.base,
				       &response, NULL, &err),
			 -1);
	assert_non_null(strstr(err_message(&err), "a server takes 134217728"));
}

static void end_all(struct fake_connection *connection, const struct fake_call *call)
{
	if (call->id == 1)
		fake_fail(connection, -1, FATAL, 13, "a.RpcServerException", "no more");
}

static void test_fatal_ends_all_calls(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = end_all;
	bed_call(bed, 0);
	bed_call(bed, 1);
	bed_wait(bed, 1);
	assert_error(&bed->outcomes[0], RPC_REMOTE, "RpcServerException", "no more");
	assert_error(&bed->outcomes[1], RPC_REMOTE, "RpcServerException", "no more");
}

/* ---- nonsense ----------------------------------------------------------------------------- */

static const struct nonsense {
	const char *bytes;
	size_t length;
	const char *message;
} nonsense[] = {
	{"\0\0\0\0", 4, "a frame of 0 bytes"},
	{"\x80\0\0\0", 4, "a frame of -2147483648 bytes"},
	{"\x7f\xff\xff\xff", 4, "a frame of 2147483647 bytes"},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\3a.B\0\0\0\4text", 23,
	 "another version of Hadoop RPC: text"},
	{"HTTP/1.1 404 Not Found\r\n\r\n", 26, "web port"},
	{"\0\0\0\2\x05\x05", 6, "header cannot be read"},
	{"\0\0\0\7\4\x08\0\x10\0\0\0", 11, "1 bytes behind the end"},
	{"\0\0\0\6\4\x08\0\x10\0\3", 10, "without a message"},
	/* Of a call that was never made; of the handshake, which nobody began. */
	{"\0\0\0\6\4\x08\5\x10\0\0", 10, "which was never made"},
	{"\0\0\0\x0c\x08\x08\xdf\xff\xff\xff\x0f\x10\0\2\x10\0", 16, "SASL without being asked"},
	/* An answer to the first call that is no message: a length-delimited field cut short. */
	{"\0\0\0\7\4\x08\0\x10\0\1\x0a", 11, "the answer cannot be read"},
};
static size_t which;

static void send_nonsense(struct fake_connection *connection, const struct fake_call *call)
{
	fake_send(connection, nonsense[which].bytes, nonsense[which].length);
}

static void test_nonsense(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = send_nonsense;
	for (which = 0; which < array_length(nonsense); which++) {
		bed_run(bed, 0);
		assert_error(&bed->outcomes[0], RPC_PROTOCOL, NULL, nonsense[which].message);
		rpc_client_destroy(mem_steal(&bed->client));
	}
	assert_int_equal(bed->second.accepted, 0);
}

static void test_addresses_are_checked(void **state)
{
	struct bed *bed = *state;
	struct err err cleanup_err = {0};

	str_list_finish(&bed->options.addresses);
	assert_null(rpc_client_create(bed->base, &bed->options, &err));
	assert_int_equal(err.kind, ERR_INPUT);
	err_finish(&err);
	str_list_add(&bed->options.addresses, "http://host:8032");
	assert_null(rpc_client_create(bed->base, &bed->options, &err));
	assert_non_null(strstr(err_message(&err), "\"http://host:8032\""));
}

/* ---- cancel and destroy ------------------------------------------------------------------- */

static void test_cancelled_call_is_not_told(void **state)
{
	struct bed *bed = *state;

	bed_call(bed, 0);
	rpc_call_cancel(bed->calls[0]); /* before it was sent */
	bed->first.on_call = keep_quiet;
	bed_call(bed, 1);
	while (bed->first.calls == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	rpc_call_cancel(bed->calls[1]); /* after */
	fake_answer(bed->first.connections, 1, 1);
	bed->first.on_call = answer_seven;
	bed_run(bed, 2);
	assert_application(&bed->outcomes[2], 7);
	assert_int_equal(bed->told, 1);
	assert_int_equal(bed->first.accepted, 1);
}

static void on_done_cancel(void *data, const ProtobufCMessage *response,
			   const struct rpc_error *error)
{
	struct bed *bed = data;

	bed->told++;
	rpc_call_cancel(bed->calls[1]); /* its answer has come as well */
	bed_call(bed, 2);
}

static void on_done_destroy(void *data, const ProtobufCMessage *response,
			    const struct rpc_error *error)
{
	struct bed *bed = data;

	bed->told++;
	rpc_client_destroy(mem_steal(&bed->client));
	/* Still ours to read. */
	assert_int_equal(
		((const Hadoop__GetNewApplicationResponseProto *)response)->application_id->id,
		100);
}

static void start_with(struct bed *bed,
		       void (*done)(void *, const ProtobufCMessage *, const struct rpc_error *))
{
	const Hadoop__GetNewApplicationRequestProto request =
		HADOOP__GET_NEW_APPLICATION_REQUEST_PROTO__INIT;

	rpc_call_start(bed_client(bed), &RM_GET_NEW_APPLICATION, &request.base, done, bed);
}

static void answer_both(struct fake_connection *connection, const struct fake_call *call)
{
	struct str out cleanup_str = {0};

	if (call->id == 2)
		answer_seven(connection, call);
	if (call->id != 1)
		return;
	fake_add_application(&out, 0, 100);
	fake_add_application(&out, 1, 101);
	fake_send(connection, out.text, out.length);
}

static void test_cancel_within_done(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = answer_both;
	start_with(bed, on_done_cancel);
	bed_call(bed, 1);
	bed_wait(bed, 2);
	assert_application(&bed->outcomes[2], 7);
	assert_int_equal(bed->told, 2);
	assert_false(bed->outcomes[1].is_done);
}

static void test_destroy_within_done(void **state)
{
	struct bed *bed = *state;

	bed->first.on_call = answer_both;
	start_with(bed, on_done_destroy);
	bed_call(bed, 1);
	while (bed->told == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	run_idle(bed);
	assert_int_equal(bed->told, 1);
	assert_true(bed->first.connections->ended);
}

/* Wherever it stands between the start and the answer. */
static void test_destroy_on_the_way(void **state)
{
	struct bed *bed = *state;
	bool is_told = false;

	for (int turns = 0; !is_told; turns++) {
		bed_call(bed, 0);
		for (int i = 0; i < turns; i++)
			event_base_loop(bed->base, EVLOOP_NONBLOCK);
		is_told = bed->outcomes[0].is_done;
		const int told = bed->told;
		rpc_client_destroy(mem_steal(&bed->client));
		run_idle(bed);
		assert_int_equal(bed->told, told);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_open, bed_close)
	const struct CMUnitTest tests[] = {
		TEST(test_call),
		TEST(test_split_frames),
		TEST(test_merged_frames_out_of_order),
		TEST(test_exception_ends_one_call),
		TEST(test_fatal_before_the_call),
		TEST(test_fatal_while_sending),
		TEST(test_request_too_large),
		TEST(test_fatal_ends_all_calls),
		TEST(test_nonsense),
		TEST(test_addresses_are_checked),
		TEST(test_cancelled_call_is_not_told),
		TEST(test_cancel_within_done),
		TEST(test_destroy_within_done),
		TEST(test_destroy_on_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
