/* What is promised: a message is taken whole, or refused with the name of the member at fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "am/message.h"
#include "base/json.h"
#include "base/mem.h"

static void test_register(void **state)
{
	static const char text[] = "{\"attempt\":1,\"epoch\":0,\"host\":\"::1\",\"port\":65535,"
				   "\"pid\":4711,\"log_dir\":\"/x\"}";
	struct message_register message;

	assert_int_equal(message_parse_register(&message, text, strlen(text), NULL), 0);
	assert_int_equal(message.of.attempt, 1);
	assert_string_equal(message.host, "::1");
	assert_int_equal(message.port, 65535);
	assert_string_equal(message.log_dir, "/x");
	message_register_finish(&message);
}

static void test_beat(void **state)
{
	static const char text[] =
		"{\"attempt\":2,\"epoch\":3,\"restart\":4,\"state\":\"exited\",\"seen\":17,"
		"\"ui_port\":6006,"
		"\"pids\":[1,4194304],\"future\":true,\"metrics\":{\"rss_bytes\":5,\"cpu_ms\":6,"
		"\"gpus\":[{\"index\":1,\"utilization_percent\":100,\"memory_used_mib\":7,"
		"\"memory_total_mib\":8}]}}";
	struct message_beat message;

	assert_int_equal(message_parse_beat(&message, text, strlen(text), NULL), 0);
	assert_int_equal(message.of.attempt, 2);
	assert_int_equal(message.of.epoch, 3);
	assert_int_equal(message.of.restart, 4);
	assert_int_equal(message.state, MESSAGE_EXITED);
	assert_int_equal(message.ui_port, 6006);
	assert_int_equal(json_array_size(message.pids), 2);
	assert_true(message.has_metrics);
	assert_int_equal(message.metrics.gpu_count, 1);
	json_t *json cleanup_json = message_metrics_to_json(&message.metrics);
	char *again cleanup_free = json_text(json);
	assert_string_equal(
		again,
		"{\"rss_bytes\":5,\"pss_bytes\":0,\"cpu_ms\":6,\"read_bytes\":0,\"write_bytes\":0,"
		"\"processes\":0,\"threads\":0,\"gpus\":[{\"index\":1,\"utilization_percent\":100,"
		"\"memory_used_mib\":7,\"memory_total_mib\":8}]}");
	message_beat_finish(&message);
}

static void test_exit(void **state)
{
	static const char text[] = "{\"attempt\":1,\"epoch\":1,\"restart\":0,\"cause\":\"signal\","
				   "\"signal\":9,\"text\":\"killed\",\"tail\":[\"a\"],"
				   "\"used\":{\"ms\":20,\"cpu_ms\":0,\"max_rss_bytes\":7}}";
	struct message_exit message;

	assert_int_equal(message_parse_exit(&message, text, strlen(text), NULL), 0);
	assert_int_equal(message.cause.kind, CAUSE_SIGNAL);
	assert_int_equal(message.cause.signal, 9);
	assert_int_equal(message.use.ms, 20);
	assert_int_equal(message.use.cpu_ms, 0);
	assert_int_equal(message.use.max_rss_bytes, 7);
	assert_false(message.has_metrics);
	message_exit_finish(&message);
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
		struct message_register message;
		struct err err cleanup_err = {0};
		expect_why(&flaws[i], message_parse_register(&message, text, strlen(text), &err),
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
		struct message_beat message;
		struct err err cleanup_err = {0};
		expect_why(&flaws[i], message_parse_beat(&message, text, strlen(text), &err), &err);
	}
}

static void test_lists_are_capped(void **state)
{
	struct str text cleanup_str = {0};
	struct message_beat message;
	struct err err cleanup_err = {0};

	str_append(&text, "{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":\"running\","
			  "\"pids\":[1");
	for (int i = 1; i < MESSAGE_PIDS_MAX; i++)
		str_append(&text, ",1");
	size_t most = text.length;
	str_append(&text, "]}");
	assert_int_equal(message_parse_beat(&message, text.text, text.length, NULL), 0);
	message_beat_finish(&message);
	str_truncate(&text, most);
	str_append(&text, ",1]}");
	assert_int_equal(message_parse_beat(&message, text.text, text.length, &err), -1);
	assert_non_null(strstr(err_message(&err), "pids"));
}

static int parse_logs(const char *logs, struct message_beat *message)
{
	char *text cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,"
					     "\"state\":\"running\",\"logs\":%s}",
					     logs);

	return message_parse_beat(message, text, strlen(text), NULL);
}

static void test_logs_are_numbers_of_orders(void **state)
{
	struct str many cleanup_str = {0};
	struct message_beat message;

	assert_int_equal(parse_logs("[7,9]", &message), 0);
	assert_int_equal(message.log_count, 2);
	assert_int_equal(message.logs[1], 9);
	message_beat_finish(&message);
	assert_int_equal(parse_logs("{}", &message), -1);
	assert_int_equal(parse_logs("[0]", &message), -1);
	assert_int_equal(parse_logs("[\"7\"]", &message), -1);
	str_append(&many, "[1");
	for (int i = 0; i < MESSAGE_LOGS_MAX; i++)
		str_append(&many, ",1");
	str_append(&many, "]");
	assert_int_equal(parse_logs(many.text, &message), -1);
}

static void test_kill(void **state)
{
	struct str text cleanup_str = {0};
	char *reason = NULL;

	assert_int_equal(message_parse_kill(&reason, "", 0, NULL), 0);
	assert_null(reason);
	assert_int_equal(message_parse_kill(&reason, "{}", 2, NULL), 0);
	assert_null(reason);
	str_append(&text, "{\"reason\":\"a\\u001b[2Jb\"}");
	assert_int_equal(message_parse_kill(&reason, text.text, text.length, NULL), 0);
	assert_string_equal(reason, "a?[2Jb");
	free(reason);
	str_truncate(&text, 0);
	str_append_format(&text, "{\"reason\":\"%01025d\"}", 0);
	assert_int_equal(message_parse_kill(&reason, text.text, text.length, NULL), -1);
	assert_null(reason);
}

static void test_scale(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"worker\":1}",
		"{\"worker\":10}",
		"{\"worker\":4.0}",
		"{\"worker\":\"4\"}",
		"{\"worker\":4,\"worker\":5}",
		"{\"worker\":4,\"ps\":2}",
		"{\"worker\":4,\"chief\":1}",
	};
	static const char good[] = "{\"reader\":1,\"worker\":9}";
	struct job_type types[] = {
		{.name = (char[]){"worker"},
		 .instances = 4,
		 .min_instances = 2,
		 .max_instances = 9},
		{.name = (char[]){"ps"}, .instances = 2},
		{.name = (char[]){"reader"},
		 .instances = 1,
		 .min_instances = 1,
		 .max_instances = 2},
		{.name = (char[]){"more"}, .instances = 1, .min_instances = 1, .max_instances = 2},
	};
	const struct job job = {.types = types, .type_count = array_length(types)};
	int wanted[array_length(types)];

	assert_int_equal(message_parse_scale(&job, wanted, good, strlen(good), NULL), 0);
	assert_int_equal(wanted[0], 9);
	assert_int_equal(wanted[1], -1);
	assert_int_equal(wanted[2], 1);
	assert_int_equal(wanted[3], -1);
	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		if (message_parse_scale(&job, wanted, bad[i], strlen(bad[i]), &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.kind, ERR_INPUT);
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
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
