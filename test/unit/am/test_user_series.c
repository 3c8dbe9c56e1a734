/* What is promised: src/am/user_series.h, and docs/rest.md of a beat's numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "am/user_series.h"
#include "base/json.h"
#include "base/mem.h"
#include "protocol/report.h"

static void expect(const struct user_series *series, const char *wanted)
{
	struct str text cleanup_str = {0};

	user_series_write(series, 100, &text);
	assert_string_equal(text.text, wanted);
}

static void add(struct user_series *series, int attempt, const char *numbers)
{
	char *body cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,"
					     "\"state\":\"running\",\"numbers\":%s}",
					     numbers);
	struct heartbeat beat;

	assert_int_equal(heartbeat_decode(&beat, body, strlen(body), NULL), 0);
	user_series_add(series, attempt, &beat.account.numbers);
	heartbeat_finish(&beat);
}

static void test_numbers_become_series(void **state)
{
	struct user_budget budget = user_budget_of(1);
	struct user_series *series = user_series_create(&budget);

	expect(series, "[]");
	add(series, 1,
	    "{\"from\":0,\"rows\":[[\"loss\",\"\",5,100,0.5],[\"a \\\"b\\\"\",\"eval\",5,null,7],"
	    "[\"loss\",\"\",6,200,null]]}");
	expect(series, "[{\"name\":\"loss\",\"run\":\"\",\"t\":[5,6],\"step\":[100,200],"
		       "\"v\":[0.5,null],\"nan\":[false,true]},{\"name\":\"a "
		       "\\\"b\\\"\",\"run\":\"eval\",\"t\":[5],"
		       "\"step\":[],\"v\":[7]}]");
	user_series_destroy(series);
}

static void test_what_came_before_is_passed_over(void **state)
{
	struct user_budget budget = user_budget_of(1);
	struct user_series *series = user_series_create(&budget);

	add(series, 1, "{\"from\":0,\"rows\":[[\"a\",\"\",1,1,1],[\"a\",\"\",2,2,2]]}");
	add(series, 1, "{\"from\":0,\"rows\":[[\"a\",\"\",1,1,1],[\"a\",\"\",2,2,2]]}");
	add(series, 1, "{\"from\":1,\"rows\":[[\"a\",\"\",2,2,2],[\"a\",\"\",3,3,3]]}");
	assert_int_equal(user_series_taken(series), 3);
	expect(series,
	       "[{\"name\":\"a\",\"run\":\"\",\"t\":[1,2,3],\"step\":[1,2,3],\"v\":[1,2,3]}]");
	/* Another container counts from 0, and an AM that was started anew misses some. */
	add(series, 2, "{\"from\":0,\"rows\":[[\"a\",\"\",4,4,4]]}");
	assert_int_equal(user_series_taken(series), 1);
	add(series, 2, "{\"from\":50,\"rows\":[[\"a\",\"\",5,5,5]]}");
	assert_int_equal(user_series_taken(series), 51);
	expect(series, "[{\"name\":\"a\",\"run\":\"\",\"t\":[1,2,3,4,5],\"step\":[1,2,3,4,5],"
		       "\"v\":[1,2,3,4,5],\"gap\":[false,false,false,true,true]}]");
	user_series_destroy(series);
}

/* So that no loss looks good which has diverged, after any number of samples and of AMs. */
static void test_exact_facts_outlive_an_am(void **state)
{
	struct user_budget budget = user_budget_of(1);
	struct user_series *before = user_series_create(&budget),
			   *after = user_series_create(&budget);
	struct str rows cleanup_str = {0}, text cleanup_str = {0}, again cleanup_str = {0};

	for (int i = 1; i <= 2000; i++)
		str_append_format(&rows, "%s[\"loss\",\"\",%d,%d,%s]", i > 1 ? "," : "", i, 10 * i,
				  i >= 1500  ? "null"
				  : i == 700 ? "-40.5"
				  : i == 1   ? "9.25"
					     : "1");
	char *numbers cleanup_free = mem_printf("{\"from\":0,\"rows\":[%s]}", rows.text);
	add(before, 1, numbers);
	user_series_write(before, 512, &text);
	const char *exact = "\"exact\":{\"nans\":501,\"first\":{\"t\":1,\"step\":10,\"v\":9.25},"
			    "\"last\":{\"t\":2000,\"step\":20000,\"v\":null,\"nan\":true},"
			    "\"least\":{\"t\":700,\"step\":7000,\"v\":-40.5},"
			    "\"most\":{\"t\":1,\"step\":10,\"v\":9.25},"
			    "\"first_nan\":{\"t\":1500,\"step\":15000,\"v\":null,\"nan\":true},"
			    "\"nan_since\":{\"t\":1500,\"step\":15000,\"v\":null,\"nan\":true}}";
	assert_non_null(strstr(text.text, exact));
	char *line cleanup_free =
		mem_printf("{\"numbers\":{\"attempt\":1,\"count\":2000},\"user\":%s}", text.text);
	json_t *kept cleanup_json = json_parse(line, strlen(line), NULL);
	user_series_restore(after, kept, 5000);
	user_series_write(after, 512, &again);
	assert_string_equal(again.text, text.text);
	double last = 1;
	assert_true(user_series_last(after, "loss", &last));
	assert_true(isnan(last));
	assert_false(user_series_last(after, "gain", &last));
	user_series_destroy(before);
	user_series_destroy(after);
}

static void test_there_is_a_limit(void **state)
{
	struct user_budget budget = user_budget_of(1);
	struct user_series *series = user_series_create(&budget);

	for (int i = 0; i < USER_SERIES_MAX + 3; i++) {
		char *numbers cleanup_free =
			mem_printf("{\"from\":%d,\"rows\":[[\"n%d\",\"\",1,1,1]]}", i, i);
		add(series, 1, numbers);
	}
	assert_int_equal(user_series_taken(series), USER_SERIES_MAX + 3);
	struct str text cleanup_str = {0};
	user_series_write(series, 1, &text);
	assert_non_null(strstr(text.text, "\"n63\""));
	assert_null(strstr(text.text, "\"n64\""));
	struct user_series *other = user_series_create(&budget);
	budget.left = 100;
	add(other, 1, "{\"from\":0,\"rows\":[[\"a\",\"\",1,1,1]]}");
	expect(other, "[]");
	user_series_destroy(other);
	user_series_destroy(series);
}

static void test_bad_numbers_are_refused(void **state)
{
	static const char *const wrong[] = {
		"{\"rows\":[]}",
		"{\"from\":-1,\"rows\":[]}",
		"{\"from\":0}",
		"{\"from\":0,\"rows\":{}}",
		"{\"from\":0,\"rows\":[[\"\",\"\",1,1,1]]}",
		"{\"from\":0,\"rows\":[[\"a\\n\",\"\",1,1,1]]}",
		"{\"from\":0,\"rows\":[[\"a\",null,1,1,1]]}",
		"{\"from\":0,\"rows\":[[\"a\",\"\",-1,1,1]]}",
		"{\"from\":0,\"rows\":[[\"a\",\"\",1,-1,1]]}",
		"{\"from\":0,\"rows\":[[\"a\",\"\",1,1,\"1\"]]}",
		"{\"from\":0,\"rows\":[[\"a\",\"\",1,1,1,1]]}",
		"{\"from\":0,\"rows\":[\"a\"]}",
	};

	for (size_t i = 0; i < array_length(wrong); i++) {
		char *body cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,"
						     "\"state\":\"running\",\"numbers\":%s}",
						     wrong[i]);
		struct err err cleanup_err = {0};
		struct heartbeat beat;
		assert_int_equal(heartbeat_decode(&beat, body, strlen(body), &err), -1);
		assert_non_null(strstr(err_message(&err), "numbers"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_become_series),
		cmocka_unit_test(test_what_came_before_is_passed_over),
		cmocka_unit_test(test_exact_facts_outlive_an_am),
		cmocka_unit_test(test_there_is_a_limit),
		cmocka_unit_test(test_bad_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
