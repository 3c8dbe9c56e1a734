/*
 * The bytes of each message, as executors and AMs write them: those of one version work
 * with those of another. A message that is decoded and encoded again is the same text.
 */
#include "../base/test.h"

#include "base/json.h"
#include "base/mem.h"
#include "protocol/registration.h"
#include "protocol/report.h"
#include "protocol/session.h"

static const char *const registration_texts[] = {
	"{\"epoch\":0,\"host\":\"127.0.0.1\",\"port\":42803,\"pid\":4177,\"log_dir"
	"\":\"/tmp/x\",\"attempt\":1}",
	"{\"epoch\":2,\"host\":\"node-7.example.com\",\"port\":60949,\"pid\":4218"
	",\"log_dir\":\"/tmp/logs\",\"door\":36689,\"attempt\":3}",
	/* With an AM that follows another one. */
	"{\"epoch\":2,\"host\":\"node-7\",\"port\":60949,\"attempt\":3"
	",\"tokens\":{\"number\":1795000000000,\"bytes\":\"SERUUw==\"}}",
	"{\"epoch\":2,\"host\":\"node-7\",\"port\":60949,\"process_epoch\":2,\"attempt\":3}",
};

static const char *const heartbeat_texts[] = {
	"{\"epoch\":0,\"restart\":0,\"state\":\"waiting\",\"pids\":[],\"attempt\":1"
	",\"seen\":0}",
	"{\"epoch\":1,\"restart\":0,\"state\":\"running\",\"pids\":[4178],"
	"\"attempt\":1,\"seen\":1}",
	"{\"epoch\":3,\"restart\":4,\"state\":\"exited\",\"pids\":[17,18],\"ui_por"
	"t\":6006,\"logs\":[7,9],\"metrics\":{\"sampled_ms\":1795538876039,\"rs"
	"s_bytes\":6598656,\"pss_bytes\":621568,\"cpu_ms\":5,\"read_bytes\":0,"
	"\"write_bytes\":0,\"processes\":3,\"threads\":4,\"net_receive_bytes\":"
	"10,\"net_send_bytes\":20,\"gpus\":[{\"index\":0,\"utilization_percent"
	"\":55,\"memory_used_mib\":1000,\"memory_total_mib\":2000,\"power_wat"
	"ts\":66},{\"index\":3,\"utilization_percent\":0,\"memory_used_mib\":12,\"memory_total_"
	"mib\":409"
	"60}],\"step\":120,\"steps\":1000},\"numbers\":{\"from\":5,\"rows\":[[\"lo"
	"ss\",\"train\",1795000000000,120,0.5],[\"x\",\"\",1000,null,null]]},\""
	"output_lost\":{\"lines\":12,\"bytes\":4096,\"text\":\"12 lines were lo"
	"st\"},\"used\":{\"ms\":302,\"cpu_ms\":2,\"max_rss_bytes\":3268608,"
	"\"max_pss_bytes\":1634304},\"che"
	"ckpoint_trouble\":\"no space left\",\"storing\":{\"files\":2,\"bytes\":"
	"1048576,\"wait_ms\":7000,\"trouble_ms\":6000},\"attempt\":2,\"seen\":15}",
	/* Of an executor that tells nothing of its store but the trouble. */
	"{\"epoch\":1,\"restart\":0,\"state\":\"running\",\"pids\":[],\"checkpoint_trouble\""
	":\"no space left\",\"attempt\":2,\"seen\":15}",
	"{\"epoch\":1,\"restart\":0,\"state\":\"running\",\"pids\":[],\"restarts_inside\":{"
	"\"count\":3,"
	"\"text\":\"torchrun: rank 1 here exited with code 1\"},\"attempt\":2,\"seen\":15}",
	"{\"epoch\":1,\"restart\":0,\"state\":\"running\",\"pids\":[],\"attempt\":2,\"seen\":15"
	",\"tokens\":1795000000000}",
};

static const char *const exit_report_texts[] = {
	"{\"epoch\":1,\"restart\":0,\"cause\":\"none\",\"used\":{\"ms\":11,\"cpu_ms\""
	":1,\"max_rss_bytes\":3227648},\"attempt\":1}",
	"{\"epoch\":1,\"restart\":0,\"cause\":\"exit\",\"exit_code\":3,\"text\":\"ex"
	"ited with code 3\",\"headline\":\"error: no data\",\"tail\":[\"error: "
	"no data\"],\"metrics\":{\"sampled_ms\":1795538876039,\"rss_bytes\":65"
	"98656,\"pss_bytes\":621568,\"cpu_ms\":5,\"read_bytes\":0,\"write_byte"
	"s\":0,\"processes\":3,\"threads\":4,\"net_receive_bytes\":10,\"net_sen"
	"d_bytes\":20},\"used\":{\"ms\":21,\"cpu_ms\":1,\"max_rss_bytes\":0},\"nu"
	"mbers\":{\"from\":0,\"rows\":[[\"loss\",\"\",1000,1,2.0]]},\"output_lost"
	"\":{\"lines\":1,\"bytes\":5,\"text\":\"1 line was lost\"},\"attempt\":1}",
	"{\"epoch\":1,\"restart\":0,\"cause\":\"out-of-memory\",\"signal\":9,\"step\":120,"
	"\"attempt\":1}",
};

static const char *const registered_texts[] = {
	"{\"am_attempt\":3,\"beat_interval_ms\":3600000,\"give_up_ms\":25000}",
};

static void test_registration(void **state)
{
	for (size_t i = 0; i < array_length(registration_texts); i++) {
		const char *text = registration_texts[i];
		struct registration message;
		struct err err cleanup_err = {0};
		assert_success(registration_decode(&message, text, strlen(text), &err), &err);
		char *again cleanup_free = registration_encode(&message);
		assert_string_equal(again, text);
		registration_finish(&message);
	}
}

static void test_heartbeat(void **state)
{
	for (size_t i = 0; i < array_length(heartbeat_texts); i++) {
		const char *text = heartbeat_texts[i];
		struct heartbeat message;
		struct err err cleanup_err = {0};
		assert_success(heartbeat_decode(&message, text, strlen(text), &err), &err);
		char *again cleanup_free = heartbeat_encode(&message);
		assert_string_equal(again, text);
		heartbeat_finish(&message);
	}
}

static void test_exit_report(void **state)
{
	for (size_t i = 0; i < array_length(exit_report_texts); i++) {
		const char *text = exit_report_texts[i];
		struct exit_report message;
		struct err err cleanup_err = {0};
		assert_success(exit_report_decode(&message, text, strlen(text), &err), &err);
		char *again cleanup_free = exit_report_encode(&message);
		assert_string_equal(again, text);
		exit_report_finish(&message);
	}
}

static void test_registered(void **state)
{
	for (size_t i = 0; i < array_length(registered_texts); i++) {
		const char *text = registered_texts[i];
		struct registered message;
		struct err err cleanup_err = {0};
		assert_success(registered_decode(&message, text, strlen(text), &err), &err);
		char *again cleanup_free = registered_encode(&message);
		assert_string_equal(again, text);
	}
}

/* Where the cluster spec stands in the text is up to the AM. */
static const struct {
	const char *front, *cluster, *rear;
} orders_texts[] = {
	{"{\"am_attempt\":3,\"order\":\"wait\",\"epoch\":1,\"restart\":0", "", "}"},
	{"{\"am_attempt\":3,\"order\":\"stop\",\"epoch\":2,\"restart\":0", "", "}"},
	{"{\"am_attempt\":3,\"order\":\"run\",\"epoch\":1,\"restart\":2,\"cluster\":",
	 "{\"epoch\":1,\"types\":{\"worker\":[\"127.0.0.1:4001\"]}}", "}"},
	{"{\"am_attempt\":3,\"order\":\"run\",\"epoch\":1,\"restart\":0", "",
	 ",\"port_open\":true}"},
	{"{\"am_attempt\":3,\"order\":\"quit\",\"epoch\":1,\"restart\":0", "",
	 ",\"logs\":[{\"log\":\"stdout\",\"number\":17,\"from\":\"tail:10\",\"wait\":true},"
	 "{\"log\":\"executor\",\"number\":18,\"from\":\"oldest\",\"wait\":false},"
	 "{\"log\":\"stderr\",\"number\":19,\"from\":\"oldest\",\"wait\":false,"
	 "\"match\":\"error\\nloss\",\"ignore_case\":true,\"begun\":true},"
	 "{\"log\":\"stdout\",\"number\":20,\"from\":\"at:a1:0\",\"wait\":false,\"count_lines\":"
	 "true}],"
	 "\"preempted\":true,\"numbers\":5}"},
	{"{\"am_attempt\":3,\"order\":\"run\",\"epoch\":1,\"restart\":0", "",
	 ",\"tokens\":{\"number\":1795000000000,\"bytes\":\"SERUUw==\"}}"},
	{"{\"am_attempt\":3,\"order\":\"run\",\"epoch\":1,\"restart\":0", "",
	 ",\"sessions\":[\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"]}"},
};

static const char *const session_texts[] = {
	"{\"command\":[]}",
	"{\"stacks\":true,\"command\":[]}",
	"{\"terminal\":true,\"rows\":24,\"columns\":80,\"term\":\"xterm\",\"command\":[\"id\"]}",
};

static void test_session(void **state)
{
	for (size_t i = 0; i < array_length(session_texts); i++) {
		const char *text = session_texts[i];
		struct session_command message;
		struct err err cleanup_err = {0};
		assert_success(session_command_decode(&message, text, strlen(text), &err), &err);
		char *again cleanup_free = session_command_encode(&message);
		assert_string_equal(again, text);
		session_command_finish(&message);
	}
}

static void test_orders(void **state)
{
	for (size_t i = 0; i < array_length(orders_texts); i++) {
		char *text cleanup_free = mem_printf("%s%s%s", orders_texts[i].front,
						     orders_texts[i].cluster, orders_texts[i].rear);
		struct str front cleanup_str = {0}, rear cleanup_str = {0};
		struct orders orders;
		struct err err cleanup_err = {0};
		assert_success(orders_decode(&orders, text, strlen(text), &err), &err);
		assert_int_equal(orders.cluster != NULL, *orders_texts[i].cluster != '\0');
		orders_encode(&orders, orders.cluster != NULL, &front, &rear);
		assert_string_equal(front.text, orders_texts[i].front);
		assert_string_equal(rear.text, orders_texts[i].rear);
		orders_finish(&orders);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registration), cmocka_unit_test(test_registered),
		cmocka_unit_test(test_heartbeat),    cmocka_unit_test(test_orders),
		cmocka_unit_test(test_exit_report),  cmocka_unit_test(test_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
