/* What is promised: a message is taken whole, or refused with the name of the member at fault. */
#include "../base/test.h"

#include "base/json.h"
#include "base/mem.h"
#include "protocol/registration.h"
#include "protocol/report.h"

static void test_register(void **state)
{
	static const char text[] = "{\"attempt\":1,\"epoch\":0,\"host\":\"::1\",\"port\":65535,"
				   "\"pid\":4711,\"log_dir\":\"/x\"}";
	struct registration message;

	assert_int_equal(registration_decode(&message, text, strlen(text), NULL), 0);
	assert_int_equal(message.of.attempt, 1);
	assert_string_equal(message.host, "::1");
	assert_int_equal(message.port, 65535);
	assert_string_equal(message.log_dir, "/x");
	registration_finish(&message);
}

static void test_beat(void **state)
{
	static const char text[] =
		"{\"attempt\":2,\"epoch\":3,\"restart\":4,\"state\":\"exited\",\"seen\":17,"
		"\"ui_port\":6006,"
		"\"pids\":[1,4194304],\"future\":true,\"metrics\":{\"rss_bytes\":5,\"cpu_ms\":6,"
		"\"gpus\":[{\"index\":1,\"utilization_percent\":100,\"memory_used_mib\":7,"
		"\"memory_total_mib\":8}]}}";
	struct heartbeat message;

	assert_int_equal(heartbeat_decode(&message, text, strlen(text), NULL), 0);
	assert_int_equal(message.of.attempt, 2);
	assert_int_equal(message.of.epoch, 3);
	assert_int_equal(message.of.restart, 4);
	assert_int_equal(message.activity, ACTIVITY_EXITED);
	assert_int_equal(message.ui_port, 6006);
	assert_int_equal(message.pid_count, 2);
	assert_true(message.account.has_metrics);
	assert_int_equal(message.account.metrics.gpu_count, 1);
	json_t *json cleanup_json = metrics_to_json(&message.account.metrics);
	char *again cleanup_free = json_text(json);
	assert_string_equal(
		again,
		"{\"rss_bytes\":5,\"pss_bytes\":0,\"cpu_ms\":6,\"read_bytes\":0,\"write_bytes\":0,"
		"\"processes\":0,\"threads\":0,\"gpus\":[{\"index\":1,\"utilization_percent\":100,"
		"\"memory_used_mib\":7,\"memory_total_mib\":8}]}");
	heartbeat_finish(&message);
}

static void test_exit(void **state)
{
	static const char text[] = "{\"attempt\":1,\"epoch\":1,\"restart\":0,\"cause\":\"signal\","
				   "\"signal\":9,\"text\":\"killed\",\"tail\":[\"a\"],"
				   "\"used\":{\"ms\":20,\"cpu_ms\":0,\"max_rss_bytes\":7}}";
	struct exit_report message;

	assert_int_equal(exit_report_decode(&message, text, strlen(text), NULL), 0);
	assert_int_equal(message.cause.kind, CAUSE_SIGNAL);
	assert_int_equal(message.cause.signal, 9);
	assert_int_equal(message.account.use.ms, 20);
	assert_int_equal(message.account.use.cpu_ms, 0);
	assert_int_equal(message.account.use.max_rss_bytes, 7);
	assert_false(message.account.has_metrics);
	exit_report_finish(&message);
}

/* `good` with one text replaced by another must be refused with `why`. */
struct flaw {
	const char *from, *to, *why;
};

static char *replace(const char *text, const struct flaw *flaw)
{
	const char *at = strstr(text, flaw->from);

	assert_non_null(at);
	return mem_printf("%.*s%s%s", (int)(at - text), text, flaw->to, at + strlen(flaw->from));
}

static void expect_why(const struct flaw *flaw, int result, const struct err *err)
{
	if (result == 0 || !strstr(err_message(err), flaw->why))
		fail_msg("%s: %s", flaw->to, err_message(err));
	assert_int_equal(err->kind, ERR_INPUT);
}

static void test_bad_registers(void **state)
{
	static const char good[] = "{\"attempt\":1,\"epoch\":0,\"host\":\"h\",\"port\":4000,"
				   "\"pid\":4711,\"log_dir\":\"/x\"}";
	static const struct flaw flaws[] = {
		{"\"attempt\":1", "\"attempt\":0", "attempt"},
		{"\"attempt\":1", "\"attempt\":1.0", "attempt"},
		{"\"attempt\":1", "\"attempt\":99999999999", "attempt"},
		{"\"epoch\":0,", "", "epoch: is missing"},
		{"\"h\"", "\"\"", "host"},
		{"\"h\"", "\"a b\"", "host"},
		{"\"h\"", "\"a\\u000ab\"", "host"},
		{"\"h\"", "\"a/b\"", "host"},
		{"\"h\"", "\"a,b\"", "host"},
		{"\"h\"", "7", "host"},
		{"4000", "0", "port"},
		{"4000", "65536", "port"},
		{"4711", "0", "pid"},
		{"4711", "4194305", "pid"},
		{"\"/x\"", "\"x\"", "log_dir"},
		{"}", "", "line 1"},
		{"}", "} {}", "line 1"},
	};

	for (size_t i = 0; i < array_length(flaws); i++) {
		char *text cleanup_free = replace(good, &flaws[i]);
		struct registration message;
		struct err err cleanup_err = {0};
		expect_why(&flaws[i], registration_decode(&message, text, strlen(text), &err),
			   &err);
	}
}

static void test_bad_beats(void **state)
{
	static const char good[] =
		"{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":\"running\",\"seen\":1,"
		"\"pids\":[1],\"metrics\":{\"rss_bytes\":1,\"gpus\":[{\"index\":0}]}}";
	static const struct flaw flaws[] = {
		{"\"restart\":0,", "", "restart"},
		{"\"running\"", "\"Running\"", "state"},
		{"\"running\"", "null", "state"},
		{"\"seen\":1", "\"seen\":-1", "seen"},
		{"\"seen\":1", "\"ui_port\":-1", "ui_port"},
		{"\"seen\":1", "\"ui_port\":65536", "ui_port"},
		{"[1]", "{}", "pids"},
		{"[1]", "[0]", "pids[0]"},
		{"[1]", "[1,\"2\"]", "pids[1]"},
		{"{\"rss_bytes\":1,\"gpus\":[{\"index\":0}]}", "7", "metrics"},
		{"\"rss_bytes\":1", "\"rss_bytes\":-1", "metrics: rss_bytes"},
		{"\"rss_bytes\":1", "\"rss_bytes\":2e9", "metrics: rss_bytes"},
		{"\"rss_bytes\":1", "\"rss_bytes\":2305843009213693952", "metrics: rss_bytes"},
		{"[{\"index\":0}]", "{}", "metrics.gpus"},
		{"{\"index\":0}", "7", "metrics.gpus"},
		{"{\"index\":0}", "{}", "index"},
		{"\"index\":0", "\"index\":0,\"utilization_percent\":101", "utilization_percent"},
	};

	for (size_t i = 0; i < array_length(flaws); i++) {
		char *text cleanup_free = replace(good, &flaws[i]);
		struct heartbeat message;
		struct err err cleanup_err = {0};
		expect_why(&flaws[i], heartbeat_decode(&message, text, strlen(text), &err), &err);
	}
}

static void test_lists_are_capped(void **state)
{
	struct str text cleanup_str = {0};
	struct heartbeat message;
	struct err err cleanup_err = {0};

	str_append(&text, "{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":\"running\","
			  "\"pids\":[1");
	for (int i = 1; i < HEARTBEAT_PIDS_MAX; i++)
		str_append(&text, ",1");
	size_t most = text.length;
	str_append(&text, "]}");
	assert_int_equal(heartbeat_decode(&message, text.text, text.length, NULL), 0);
	heartbeat_finish(&message);
	str_truncate(&text, most);
	str_append(&text, ",1]}");
	assert_int_equal(heartbeat_decode(&message, text.text, text.length, &err), -1);
	assert_non_null(strstr(err_message(&err), "pids"));
}

static int parse_logs(const char *logs, struct heartbeat *message)
{
	char *text cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,"
					     "\"state\":\"running\",\"logs\":%s}",
					     logs);

	return heartbeat_decode(message, text, strlen(text), NULL);
}

static void test_logs_are_numbers_of_orders(void **state)
{
	struct str many cleanup_str = {0};
	struct heartbeat message;

	assert_int_equal(parse_logs("[7,9]", &message), 0);
	assert_int_equal(message.log_count, 2);
	assert_int_equal(message.logs[1], 9);
	heartbeat_finish(&message);
	assert_int_equal(parse_logs("{}", &message), -1);
	assert_int_equal(parse_logs("[0]", &message), -1);
	assert_int_equal(parse_logs("[\"7\"]", &message), -1);
	str_append(&many, "[1");
	for (int i = 0; i < LOG_ORDERS_MAX; i++)
		str_append(&many, ",1");
	str_append(&many, "]");
	assert_int_equal(parse_logs(many.text, &message), -1);
}

/* A log that this executor does not know, or where it cannot find it, costs nobody the others. */
static void test_a_strange_log_is_passed_over(void **state)
{
	static const char text[] =
		"{\"am_attempt\":3,\"order\":\"wait\",\"epoch\":1,\"restart\":0,\"logs\":["
		"{\"log\":\"../x\",\"number\":1,\"from\":\"oldest\",\"wait\":true},"
		"{\"log\":\"stdout\",\"number\":2,\"from\":\"there\",\"wait\":true},7,"
		"{\"log\":\"stderr\",\"number\":3,\"from\":\"oldest\",\"wait\":true}]}";
	struct orders orders;

	assert_int_equal(orders_decode(&orders, text, strlen(text), NULL), 0);
	assert_int_equal(orders.log_count, 1);
	assert_string_equal(orders.logs[0].log, "stderr");
	assert_int_equal(orders.numbers, -1);
	orders_finish(&orders);
}

static void test_bad_orders(void **state)
{
	static const char good[] = "{\"am_attempt\":3,\"order\":\"run\",\"epoch\":1,\"restart\":0,"
				   "\"preempted\":false,\"numbers\":7,"
				   "\"tokens\":{\"number\":1,\"bytes\":\"AA==\"}}";
	static const struct flaw flaws[] = {
		{"\"am_attempt\":3,", "", "am_attempt: is missing"},
		{"\"run\"", "\"go\"", "order"},
		{"\"epoch\":1", "\"epoch\":-1", "epoch"},
		{"false", "0", "preempted"},
		{"7", "-7", "numbers"},
		{":1,\"bytes\"", ":0,\"bytes\"", "tokens: number"},
		{"\"AA==\"", "\"\"", "tokens: bytes"},
		{"{\"number\":1,\"bytes\":\"AA==\"}", "[]", "tokens: "},
		{good, "[]", "not an object"},
		{good, "<html>", "line 1"},
	};

	for (size_t i = 0; i < array_length(flaws); i++) {
		char *text cleanup_free = replace(good, &flaws[i]);
		struct orders orders;
		struct err err cleanup_err = {0};
		expect_why(&flaws[i], orders_decode(&orders, text, strlen(text), &err), &err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_register),
		cmocka_unit_test(test_beat),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_bad_registers),
		cmocka_unit_test(test_bad_beats),
		cmocka_unit_test(test_lists_are_capped),
		cmocka_unit_test(test_logs_are_numbers_of_orders),
		cmocka_unit_test(test_a_strange_log_is_passed_over),
		cmocka_unit_test(test_bad_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
