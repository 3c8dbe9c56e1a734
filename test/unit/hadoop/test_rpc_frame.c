/* The bytes themselves, as a ResourceManager of Hadoop 3.4.2 got and sent them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/methods.h"
#include "hadoop/rpc_frame.h"
#include "proto/yarn.pb-c.h"

static const unsigned char client_id[RPC_CLIENT_ID_LENGTH] = "0123456789abcdef";

#define ID_HEX "30313233343536373839616263646566"
#define PROTOCOL_HEX                                                                               \
	"6f72672e6170616368652e6861646f6f702e7961726e2e6170692e"                                   \
	"4170706c69636174696f6e436c69656e7450726f746f636f6c5042"

static char *hex_of(const struct str *bytes)
{
	struct str hex = {0};

	for (size_t i = 0; i < bytes->length; i++)
		str_append_format(&hex, "%02x", (unsigned char)bytes->text[i]);
	return str_steal(&hex);
}

static void add_hex(struct str *out, const char *hex)
{
	for (; *hex; hex += 2) {
		const char digits[3] = {hex[0], hex[1]};
		str_append_char(out, (char)strtol(digits, NULL, 16));
	}
}

static void test_golden_hello(void **state)
{
	struct str out cleanup_str = {0};

	rpc_frame_add_hello(&out, false);
	rpc_frame_add_hello(&out, true);
	char *hex cleanup_free = hex_of(&out);
	assert_string_equal(hex, "68727063090000"
				 "687270630900df");
}

static void test_golden_context(void **state)
{
	struct str out cleanup_str = {0};

	rpc_frame_add_context(&out, client_id, "root", RM_CLIENT.protocol);
	char *hex cleanup_free = hex_of(&out);
	assert_string_equal(hex, "0000005c"
				 "1a080210001805"
				 "2210" ID_HEX "2801"
				 "40"
				 "12060a04726f6f74"
				 "1a36" PROTOCOL_HEX);
}

static void test_golden_call(void **state)
{
	const Hadoop__GetNewApplicationRequestProto request =
		HADOOP__GET_NEW_APPLICATION_REQUEST_PROTO__INIT;
	struct str body cleanup_str = {0};
	struct str out cleanup_str = {0};

	rpc_frame_add_request(&body, &RM_CLIENT, &RM_GET_NEW_APPLICATION, &request.base);
	rpc_frame_add_call(&out, client_id, 0, 0, &body);
	char *hex cleanup_free = hex_of(&out);
	assert_string_equal(hex, "0000006a"
				 "1a080210001800"
				 "2210" ID_HEX "2800"
				 "4d"
				 "0a116765744e65774170706c69636174696f6e"
				 "1236" PROTOCOL_HEX "1801"
				 "00");
}

static void test_golden_sasl(void **state)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;
	struct str out cleanup_str = {0};

	message.state = HADOOP__SASL_STATE__SASL_NEGOTIATE;
	rpc_frame_add_sasl(&out, &message);
	char *hex cleanup_free = hex_of(&out);
	/* The client's id is there and empty. */
	assert_string_equal(hex, "0000000e"
				 "0a"
				 "0802100018412200"
				 "2801"
				 "02"
				 "1001");
}

/* As a ResourceManager with Kerberos got them. */
static void test_golden_kerberos(void **state)
{
	static const unsigned char token[] = {0xaa, 0xbb};
	static const struct {
		Hadoop__SaslState state;
		size_t length;
		const char *hex;
	} rows[] = {
		{HADOOP__SASL_STATE__SASL_RESPONSE, 0,
		 "000000100a08021000184122002801041004"
		 "1a00"},
		{HADOOP__SASL_STATE__SASL_RESPONSE, 2,
		 "000000120a08021000184122002801061004"
		 "1a02aabb"},
		{HADOOP__SASL_STATE__SASL_WRAP, 2,
		 "000000120a08021000184122002801061005"
		 "1a02aabb"},
		{HADOOP__SASL_STATE__SASL_INITIATE, 2,
		 "000000370a080210001841220028012b1002"
		 "1a02aabb"
		 "2223"
		 "0a084b45524245524f53"
		 "1206475353415049"
		 "1a047961726e"
		 "22096c6f63616c686f7374"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;
		Hadoop__SaslAuth auth = HADOOP__SASL_AUTH__INIT, *auths[] = {&auth};
		struct str out cleanup_str = {0};

		auth.method = "KERBEROS";
		auth.mechanism = "GSSAPI";
		auth.protocol = "yarn";
		auth.serverid = "localhost";
		message.state = rows[i].state;
		message.has_token = 1;
		message.token = (ProtobufCBinaryData){rows[i].length, (uint8_t *)token};
		message.auths = auths;
		message.n_auths = rows[i].state == HADOOP__SASL_STATE__SASL_INITIATE;
		rpc_frame_add_sasl(&out, &message);
		char *hex cleanup_free = hex_of(&out);
		assert_string_equal(hex, rows[i].hex);
	}
}

static void test_golden_answer(void **state)
{
	struct rpc_answer answer cleanup_rpc_answer = {0};
	struct str bytes cleanup_str = {0};
	size_t payload = 0;

	add_hex(&bytes, "00000028"
			"1a080010001809"
			"3a10" ID_HEX "4000"
			"0c"
			"0a0a081910e4f9b4e09f34");
	str_append_bytes(&bytes, "\0", 1);
	bytes.text[3] = (char)(bytes.length - 4);
	assert_int_equal(rpc_frame_look(bytes.text, bytes.length, &payload, NULL), 1);
	assert_int_equal(payload, bytes.length - 4);
	assert_int_equal(rpc_answer_parse(bytes.text + 4, payload, &answer, NULL), 0);
	assert_int_equal(answer.id, 0);
	assert_int_equal(answer.status, HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS);
	assert_int_equal(answer.length, 12);
	for (size_t i = 0; i < bytes.length; i++)
		assert_int_equal(rpc_frame_look(bytes.text, i, &payload, NULL), 0);
	for (size_t i = 0; i < bytes.length - 4; i++) {
		struct rpc_answer part cleanup_rpc_answer = {0};
		assert_int_equal(rpc_answer_parse(bytes.text + 4, i, &part, NULL), -1);
	}
}

/* What comes instead of a frame, and what is said about it. NULL: more must come. */
static const struct strange {
	const char *bytes;
	size_t length;
	const char *message;
} strange[] = {
	{"\0\0\0\0", 4, "a frame of 0 bytes"},
	{"\xff\xff\xff\xfe", 4, "a frame of -2 bytes"},
	{"\x08\0\0\1", 4, "a frame of 134217729 bytes"},
	{"\x7f\xff\xff\xff", 4, "a frame of 2147483647 bytes"},
	{"HTTP/1.1 404 Not Found\r\n", 24, "web port"},
	{"HTT", 3, NULL},
	{"\xff\xff\xff\xff", 4, NULL},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\3a.B\0\0", 17, NULL},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\3a.B\0\0\0\4text", 23,
	 "another version of Hadoop RPC: text"},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\3a.B\0\0\0\4text", 23, "not Hadoop RPC"},
	{"\xff\xff\xff\xff\0\0\0\0", 8, "not Hadoop RPC"},
};

static void test_no_frames(void **state)
{
	for (size_t i = 0; i < array_length(strange); i++) {
		struct err err cleanup_err = {0};
		size_t payload = 0;
		int found = rpc_frame_look(strange[i].bytes, strange[i].length, &payload, &err);

		assert_int_equal(found, strange[i].message ? -1 : 0);
		if (strange[i].message && !strstr(err_message(&err), strange[i].message))
			fail_msg("\"%s\" instead of \"%s\"", err_message(&err), strange[i].message);
	}
}

static void expect_error(const char *class, const char *text, const char *simple_class,
			 const char *line)
{
	Hadoop__RpcResponseHeaderProto header = HADOOP__RPC_RESPONSE_HEADER_PROTO__INIT;
	struct rpc_answer answer cleanup_rpc_answer = {0};
	unsigned char bytes[1024];

	header.callid = (uint32_t)-33;
	header.status = HADOOP__RPC_STATUS_PROTO__RPC_FATAL;
	header.exceptionclassname = (char *)class;
	header.errormsg = (char *)text;
	const size_t length = hadoop__rpc_response_header_proto__pack(&header, bytes + 2);
	bytes[0] = (unsigned char)(0x80 | (length & 0x7f));
	bytes[1] = (unsigned char)(length >> 7);
	assert_int_equal(rpc_answer_parse(bytes, length + 2, &answer, NULL), 0);
	assert_int_equal(answer.id, RPC_ID_SASL);
	if (simple_class)
		assert_string_equal(answer.class, simple_class);
	else
		assert_null(answer.class);
	assert_string_equal(answer.text, line);
}

static void test_exceptions(void **state)
{
	expect_error("org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException",
		     "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException: "
		     "Application with id 'application_1_0001' doesn't exist in RM.\n"
		     "\tat org.apache.hadoop.yarn.ClientRMService.getApplicationReport(x.java:1)\n"
		     "\tat java.base/java.lang.Thread.run(Thread.java:840)\n",
		     "ApplicationNotFoundException",
		     "Application with id 'application_1_0001' doesn't exist in RM.");
	expect_error("org.apache.hadoop.security.token.SecretManager$InvalidToken",
		     "appattempt_1_0001_000001 not found in AMRMTokenSecretManager.",
		     "InvalidToken",
		     "appattempt_1_0001_000001 not found in AMRMTokenSecretManager.");
	expect_error("a.YarnException", "first \n\nsecond\tline\n\tat x", "YarnException",
		     "first second line");
	expect_error("a.NullPointerException", "\n\tat x", "NullPointerException", "");
	expect_error(NULL, "\x1b[31mred", NULL, "?[31mred");
	expect_error("", NULL, NULL, "");
	expect_error("x.$", "", "$", "");
}

static void test_bytes_behind_the_end(void **state)
{
	static const unsigned char bytes[] = {4, 8, 1, 16, 0, 0, 99};
	struct rpc_answer answer cleanup_rpc_answer = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(rpc_answer_parse(bytes, sizeof(bytes) - 1, &answer, NULL), 0);
	assert_int_equal(rpc_answer_parse(bytes, sizeof(bytes), &answer, &err), -1);
	assert_non_null(strstr(err_message(&err), "1 bytes behind the end"));
}

/* A queue within a queue within ... `levels` messages in all. */
static ProtobufCMessage *unpack_queues(int levels)
{
	struct str bytes cleanup_str = {0};

	for (int i = 1; i < levels; i++) {
		struct str outer = {0};
		size_t length = bytes.length;

		str_append_char(&outer, (char)(i + 1 < levels ? 0x32 : 0x0a));
		for (; length > 0x7f; length >>= 7)
			str_append_char(&outer, (char)(0x80 | (length & 0x7f)));
		str_append_char(&outer, (char)length);
		str_append_bytes(&outer, bytes.text, bytes.length);
		str_finish(&bytes);
		bytes = outer;
	}
	return rpc_message_unpack(RM_GET_QUEUE_INFO.response, (const unsigned char *)bytes.text,
				  bytes.length);
}

static void test_depth(void **state)
{
	ProtobufCMessage *message = unpack_queues(RPC_MESSAGE_DEPTH);

	assert_non_null(message);
	protobuf_c_message_free_unpacked(message, NULL);
	assert_null(unpack_queues(RPC_MESSAGE_DEPTH + 1));
	assert_null(unpack_queues(20000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_hello),
		cmocka_unit_test(test_golden_context),
		cmocka_unit_test(test_golden_call),
		cmocka_unit_test(test_golden_sasl),
		cmocka_unit_test(test_golden_kerberos),
		cmocka_unit_test(test_golden_answer),
		cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_bytes_behind_the_end),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
