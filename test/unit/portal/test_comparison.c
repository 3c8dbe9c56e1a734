/* Promises of portal/comparison.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "portal/comparison.h"

static json_t *compare(const char *runs)
{
	json_t *parsed cleanup_json = json_parse(runs, strlen(runs), NULL);

	assert_non_null(parsed);
	return comparison_make(parsed);
}

/* "!" before a row that differs. */
static void expect_rows(const char *runs, const char *group, const char *expected)
{
	json_t *comparison cleanup_json = compare(runs);
	struct str text cleanup_str = {0};
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(comparison, "rows"), i, row)
	{
		if (!str_equal(json_string_value(json_object_get(row, "group")), group))
			continue;
		char *values cleanup_free = json_text(json_object_get(row, "values"));
		str_append_format(&text, "%s%s=%s ",
				  json_is_true(json_object_get(row, "differs")) ? "!" : "",
				  json_string_value(json_object_get(row, "key")), values);
	}
	assert_string_equal(str_text(&text), expected);
}

static void keys_are_told_with_what_each_run_has(void **state)
{
	expect_rows("[{\"config\":{\"z\":{\"value\":\"1\",\"origin\":\"default\"},\"k\":{\"value\":"
		    "\"2\"}}},"
		    "{\"config\":{\"z\":{\"value\":\"1\",\"origin\":\"tony.xml\"}}},"
		    "{\"config\":{\"tony.execution.envs\":{\"value\":\"LR=***\"}}}]",
		    "configuration", "!k=[\"2\",null,null] !z=[\"1\",\"1\",null] ");
	/* Of a reader, which may say anything. */
	expect_rows("[{\"config\":[1],\"job\":7,\"environment\":[],\"metrics\":{}},7]",
		    "configuration", "");
}

static void a_variable_is_a_row_of_its_own(void **state)
{
	expect_rows("[{\"environment\":{\"worker\":{\"LR\":\"0.3\",\"A\":\"1\"},\"ps\":{\"LR\":\"0."
		    "3\",\"A\":\"1\"}}},"
		    "{\"environment\":{\"worker\":{\"LR\":\"0.05\",\"A\":\"1\"},\"ps\":{\"LR\":\"0."
		    "05\",\"A\":\"1\"}}}]",
		    "environment", "A=[\"1\",\"1\"] !LR=[\"0.3\",\"0.05\"] ");
	expect_rows("[{\"environment\":{\"worker\":{\"LR\":\"0.3\"},\"ps\":{}}},"
		    "{\"environment\":{\"worker\":{\"LR\":\"0.3\"},\"ps\":{\"LR\":\"1\"}}}]",
		    "environment", "!ps: LR=[null,\"1\"] worker: LR=[\"0.3\",\"0.3\"] ");
}

#define MARK(key, digit) "***" key ":0123456789abcdef0123456789abcde" digit

static void secrets_are_compared_by_their_marks(void **state)
{
	static const struct {
		const char *first, *second, *expected;
	} rows[] = {
		{MARK("0000aaaa", "1"), MARK("0000aaaa", "1"),
		 "T=[\"same, hidden\",\"same, hidden\"] "},
		{MARK("0000aaaa", "1"), MARK("0000aaaa", "2"),
		 "!T=[\"differs, hidden\",\"differs, hidden\"] "},
		{MARK("0000aaaa", "1"), MARK("0000bbbb", "2"), "!T=[\"hidden\",\"hidden\"] "},
		{MARK("0000aaaa", "1"), "***", "!T=[\"hidden\",\"hidden\"] "},
		{"***", "***", "!T=[\"hidden\",\"hidden\"] "},
		{"*** a banner ***", "*** a banner ***",
		 "T=[\"*** a banner ***\",\"*** a banner ***\"] "},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *runs cleanup_free = mem_printf("[{\"environment\":{\"w\":{\"T\":\"%s\"}}},"
						     "{\"environment\":{\"w\":{\"T\":\"%s\"}}}]",
						     rows[i].first, rows[i].second);
		expect_rows(runs, "environment", rows[i].expected);
	}
	expect_rows("[{\"environment\":{\"w\":{\"T\":\"***\"}}},{\"environment\":{\"w\":{}}}]",
		    "environment", "!T=[\"hidden\",null] ");
	expect_rows("[{\"config\":{\"k\":{\"value\":\"***\",\"origin\":\"default\"}}},"
		    "{\"config\":{\"k\":{\"value\":\"***\",\"origin\":\"default\"}}}]",
		    "configuration", "k=[\"default, hidden\",\"default, hidden\"] ");
	expect_rows("[{\"config\":{\"k\":{\"value\":\"***\",\"mark\":\"0000aaaa:"
		    "0123456789abcdef0123456789abcde1\"}}},"
		    "{\"config\":{\"k\":{\"value\":\"***\",\"mark\":\"0000aaaa:"
		    "0123456789abcdef0123456789abcde2\"}}}]",
		    "configuration", "!k=[\"differs, hidden\",\"differs, hidden\"] ");
}

static void programs_own_series_are_told_by_their_last_value(void **state)
{
	expect_rows("[{\"metrics\":[{\"user\":[{\"name\":\"loss\",\"v\":[3,0.5,null]}]},"
		    "{\"user\":[{\"name\":\"loss\",\"v\":[9]}]}]},"
		    "{\"metrics\":[{\"user\":[{\"name\":\"loss\",\"run\":\"eval\",\"v\":[7]}]}]}]",
		    "metrics", "!loss=[0.5,null] !loss, eval=[null,7] ");
}

/* A loss that has diverged is no good one. */
static void a_metric_that_was_told_as_nan_says_so(void **state)
{
	expect_rows("[{\"metrics\":[{\"user\":[{\"name\":\"loss\",\"t\":[1,2,3],\"step\":[5,6,7],"
		    "\"v\":[3,null,null],\"nan\":[false,true,true]}]}]},"
		    "{\"metrics\":[{\"user\":[{\"name\":\"loss\",\"t\":[9],\"step\":[9],\"v\":[4],"
		    "\"exact\":{\"nans\":12,\"last\":{\"t\":9,\"step\":9,\"v\":2},"
		    "\"first_nan\":{\"t\":4,\"step\":4,\"v\":null,\"nan\":true}}}]}]}]",
		    "metrics",
		    "!loss=[\"NaN since step 6\",2] "
		    "!loss: NaN=[null,\"12 NaN, the first at step 4\"] ");
}

static void a_job_that_goes_on_has_its_numbers(void **state)
{
	static const char runs[] =
		"[{\"job\":{\"id\":\"tony-1-aa\",\"name\":\"n\",\"state\":\"running\",\"task_"
		"count\":2,"
		"\"epoch\":1,\"retries\":1,\"infrastructure_retries\":2,\"submitted_ms\":5,"
		"\"types\":[{\"name\":\"worker\",\"instances\":4,\"wanted\":2}]}},"
		"{\"job\":{\"id\":\"tony-1-bb\",\"name\":\"n\",\"running_ms\":7,\"ended_ms\":17,"
		"\"submitted_ms\":5,\"types\":[{\"name\":\"worker\",\"instances\":4}]},"
		"\"summary\":{\"types\":[{\"name\":\"worker\",\"max_rss_bytes\":9}]}}]";
	json_t *comparison cleanup_json = compare(runs);
	char *told cleanup_free = json_text(json_object_get(comparison, "runs"));

	assert_string_equal(told,
			    "[{\"id\":\"tony-1-aa\",\"label\":\"n "
			    "aa\",\"state\":\"running\",\"types\":[\"worker\"]},"
			    "{\"id\":\"tony-1-bb\",\"label\":\"n bb\",\"types\":[\"worker\"]}]");
	expect_rows(runs, "types", "!worker: tasks=[2,4] !worker: largest memory=[null,9] ");
	expect_rows(
		runs, "summary",
		"!State=[\"running\",null] !Job=[\"tony-1-aa\",\"tony-1-bb\"] Name=[\"n\",\"n\"] "
		"Submitted=[5,5] !Waited=[null,2] !Ran=[null,10] !Tasks=[2,null] "
		"!Cluster starts=[1,null] !Retries=[3,0] ");
}

static void a_spreadsheet_takes_no_value_for_a_formula(void **state)
{
	json_t *comparison cleanup_json =
		compare("[{\"job\":{\"name\":\"a\"},\"environment\":{\"w\":{\"X\":\"=1+1,\\\"\"}}},"
			"{\"job\":{\"name\":\"b\"},\"metrics\":[{\"user\":[{\"name\":\"loss\","
			"\"v\":[-1.5]}]}]}]");
	struct str csv cleanup_str = {0};

	comparison_to_csv(comparison, &csv);
	assert_non_null(strstr(str_text(&csv), "group,key,unit,\"a\",\"b\"\r\n"));
	assert_non_null(strstr(str_text(&csv), "\r\nenvironment,\"X\",,\"'=1+1,\"\"\",\r\n"));
	assert_non_null(strstr(str_text(&csv), "\r\nmetrics,\"loss\",,,-1.5\r\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_told_with_what_each_run_has),
		cmocka_unit_test(a_variable_is_a_row_of_its_own),
		cmocka_unit_test(secrets_are_compared_by_their_marks),
		cmocka_unit_test(programs_own_series_are_told_by_their_last_value),
		cmocka_unit_test(a_metric_that_was_told_as_nan_says_so),
		cmocka_unit_test(a_job_that_goes_on_has_its_numbers),
		cmocka_unit_test(a_spreadsheet_takes_no_value_for_a_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
