#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/summary.h"

static struct history_summary example(void)
{
	struct history_summary summary = {
		.id = mem_strdup("tony-20261121-061400-1f3a"),
		.name = mem_strdup("mnist"),
		.user = mem_strdup("alice"),
		.framework = mem_strdup("tensorflow"),
		.scheduler = mem_strdup("local"),
		.submitted_ms = 1795241640000,
		.begun_ms = 1795241641000,
		.ended_ms = 1795241700000,
		.state = JOB_FAILED,
		.epoch = 2,
		.retries = 1,
		.am_attempt = 1,
		.message = mem_strdup("worker:1 exited with code 1"),
		.cause = {.kind = CAUSE_EXIT,
			  .exit_code = 1,
			  .text = mem_strdup("exited with code 1")},
		.cause_task = mem_strdup("worker:1"),
		.task_count = 2,
		.bytes = 4711,
		.types = mem_alloc_array(1, sizeof(*summary.types)),
		.type_count = 1,
	};

	summary.types[0] = (struct history_type){.name = mem_strdup("worker"),
						 .instances = 2,
						 .memory = 2048,
						 .vcores = 1,
						 .max_rss_bytes = 1 << 30,
						 .max_pss_bytes = 1 << 29,
						 .average_cpu_percent = 93,
						 .average_gpu_percent = -1,
						 .container_ms = 118000};
	str_list_add(&summary.tags, "nightly");
	return summary;
}

static char *text_of(const struct history_summary *summary)
{
	json_t *object cleanup_json = history_summary_to_json(summary);

	return json_text(object);
}

static void what_is_written_is_read(void **state)
{
	struct history_summary summary cleanup_history_summary = example();
	struct history_summary read cleanup_history_summary = {0};
	char *text cleanup_free = text_of(&summary);

	assert_int_equal(history_summary_from_text(text, strlen(text), &read, NULL), 0);
	char *again cleanup_free = text_of(&read);
	assert_string_equal(again, text);
	assert_int_equal(read.state, JOB_FAILED);
	assert_string_equal(read.cause.text, "exited with code 1");
	assert_int_equal(read.types[0].average_gpu_percent, -1);
	assert_int_equal(read.types[0].average_cpu_percent, 93);
	assert_int_equal(read.types[0].max_pss_bytes, 1 << 29);
	assert_int_equal(read.types[0].container_ms, 118000);
}

static void older_summaries_have_the_number_of_tasks_by_another_name(void **state)
{
	/* As a program wrote it before there was "task_count". */
	static const char text[] =
		"{\"format\":1,\"id\":\"tony-20261124-041000-922e0799\",\"name\":\"old\","
		"\"user\":\"root\",\"framework\":\"generic\",\"scheduler\":\"local\","
		"\"queue\":\"default\",\"tags\":[],\"submitted_ms\":1795493400556,"
		"\"begun_ms\":1795493400566,\"running_ms\":1795493400587,"
		"\"ended_ms\":1795493400601,\"epoch\":1,\"retries\":0,"
		"\"infrastructure_retries\":0,\"am_attempt\":1,\"message\":\"the job succeeded\","
		"\"tasks\":2,\"bytes\":18941,\"state\":\"succeeded\",\"types\":[{\"name\":"
		"\"worker\","
		"\"instances\":2,\"memory_mib\":64,\"vcores\":1,\"gpus\":0,\"max_rss_bytes\":0,"
		"\"p95_rss_bytes\":0,\"longest_silence_ms\":0,\"late_beats\":0}]}";
	struct history_summary read cleanup_history_summary = {0};

	assert_int_equal(history_summary_from_text(text, strlen(text), &read, NULL), 0);
	assert_int_equal(read.task_count, 2);
	assert_int_equal(read.types[0].instances, 2);
	assert_int_equal(read.ended_ms, 1795493400601);
	assert_int_equal(read.types[0].container_ms, -1);
}

static void figures_that_an_older_version_lacks_count_as_none(void **state)
{
	static const char *const figures[] = {"max_rss_bytes", "p95_rss_bytes",
					      "longest_silence_ms", "late_beats"};
	struct history_summary summary cleanup_history_summary = example();
	struct history_summary read cleanup_history_summary = {0};
	json_t *object cleanup_json = history_summary_to_json(&summary);

	for (size_t i = 0; i < array_length(figures); i++)
		assert_int_equal(
			json_object_del(json_array_get(json_object_get(object, "types"), 0),
					figures[i]),
			0);
	char *text cleanup_free = json_text(object);
	assert_int_equal(history_summary_from_text(text, strlen(text), &read, NULL), 0);
	assert_int_equal(read.types[0].max_rss_bytes, 0);
	assert_int_equal(read.types[0].longest_silence_ms, 0);
}

/* Replaces one member (NULL: takes it out), and expects the refusal to name it. */
static void refuse(const char *member, json_t *value)
{
	struct history_summary summary cleanup_history_summary = example();
	struct history_summary read = {0};
	struct err err cleanup_err = {0};
	json_t *object cleanup_json = history_summary_to_json(&summary);

	if (value)
		json_object_set_new(object, member, value);
	else
		json_object_del(object, member);
	char *text cleanup_free = json_text(object);
	assert_int_equal(history_summary_from_text(text, strlen(text), &read, &err), -1);
	assert_non_null(strstr(err_message(&err), member));
	assert_null(read.id);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
	refuse("id", NULL);
	refuse("id", json_string("../../etc"));
	refuse("id", json_string(".hidden"));
	refuse("format", json_integer(2));
	refuse("state", json_string("running"));
	refuse("state", json_string("gone"));
	refuse("ended_ms", json_integer(-1));
	refuse("ended_ms", json_string("yesterday"));
	refuse("types", json_string("worker"));
	refuse("types", json_pack("[{s:s}]", "name", "worker"));
	refuse("tags", json_pack("[i]", 1));
	refuse("cause", json_pack("{s:s}", "kind", "bad luck"));
}

static void another_format_is_named_as_such(void **state)
{
	static const char text[] = "{\"format\": 9}";
	struct history_summary read = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(history_summary_from_text(text, strlen(text), &read, &err), -1);
	assert_string_equal(err_message(&err), "format: 9 is of another version of tony");
}

/* ---- layout ------------------------------------------------------------------------------- */

static void paths_are_of_the_day_in_utc(void **state)
{
	char *path cleanup_free = history_path(1795219199999, "tony-x");
	char *next cleanup_free = history_path(1795219200000, "tony-x");
	char *side cleanup_free = history_side_path(1795219200000, "tony-x", 2);

	assert_string_equal(path, "2026/11/20/tony-x");
	assert_string_equal(next, "2026/11/21/tony-x");
	assert_string_equal(side, "2026/11/21/.tony-x.2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(older_summaries_have_the_number_of_tasks_by_another_name),
		cmocka_unit_test(figures_that_an_older_version_lacks_count_as_none),
		cmocka_unit_test(what_cannot_be_is_refused_by_name),
		cmocka_unit_test(another_format_is_named_as_such),
		cmocka_unit_test(paths_are_of_the_day_in_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
