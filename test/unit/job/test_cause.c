/* Causes, states, and their names. */
#include "sample.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"
#include "job/machine.h"

static void every_name_is_read_back(void **state)
{
	for (int i = 0; i < CAUSE_KIND_COUNT; i++)
		assert_int_equal(cause_kind_parse(cause_kind_name((enum cause_kind)i)), i);
	for (int i = 0; i < TASK_STATE_COUNT; i++)
		assert_int_equal(task_state_parse(task_state_name((enum task_state)i)), i);
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		assert_int_equal(job_state_parse(job_state_name((enum job_state)i)), i);
	assert_int_equal(cause_kind_parse("oom"), -1);
	assert_int_equal(task_state_parse(""), -1);
	assert_int_equal(job_state_parse("Running"), -1);
}

static void no_room_is_a_cause_of_its_own(void **state)
{
	static const struct {
		enum err_kind err;
		enum cause_kind cause;
	} cases[] = {
		{ERR_NO_SPACE, CAUSE_NO_SPACE},
		{ERR_QUOTA, CAUSE_STORE_FULL},
		{ERR_STORE_FULL, CAUSE_STORE_FULL},
		{ERR_IO, CAUSE_START_FAILED},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		const struct err err = {.kind = cases[i].err};
		assert_int_equal(cause_kind_of_err(&err, CAUSE_START_FAILED), cases[i].cause);
	}
}

static void three_states_are_final(void **state)
{
	int final = 0;

	for (int i = 0; i < JOB_STATE_COUNT; i++)
		final += job_state_is_final((enum job_state)i);
	assert_int_equal(final, 3);
	assert_true(job_state_is_final(JOB_KILLED));
	assert_false(job_state_is_final(JOB_FINISHING));
}

static void a_cause_survives_json(void **state)
{
	struct cause cause = {.kind = CAUSE_EXIT, .exit_code = 7}, read = {0};

	cause.text = mem_strdup("exited with code 7");
	cause.headline = mem_strdup("ValueError: \"no\" data");
	str_list_add(&cause.tail, "line 1");
	str_list_add(&cause.tail, "");
	json_t *object cleanup_json = cause_to_json(&cause);
	assert_int_equal(cause_from_json(object, &read, NULL), 0);
	assert_int_equal(read.kind, CAUSE_EXIT);
	assert_int_equal(read.exit_code, 7);
	assert_int_equal(read.signal, 0);
	assert_string_equal(read.text, cause.text);
	assert_string_equal(read.headline, cause.headline);
	assert_int_equal(read.tail.count, 2);
	assert_string_equal(read.tail.items[0], "line 1");
	cause_finish(&cause);
	cause_finish(&read);
}

static void a_copy_stands_alone(void **state)
{
	struct cause from = {.kind = CAUSE_SIGNAL, .signal = 9}, to = {.exit_code = 3};

	from.text = mem_strdup("killed");
	str_list_add(&from.tail, "last words");
	to.headline = mem_strdup("old");
	cause_copy(&to, &from);
	cause_copy(&to, &to);
	cause_finish(&from);
	assert_int_equal(to.signal, 9);
	assert_int_equal(to.exit_code, 0);
	assert_null(to.headline);
	assert_string_equal(to.text, "killed");
	assert_string_equal(to.tail.items[0], "last words");
	cause_finish(&to);
}

/* An exit report says too much, so its end is kept: the report itself must not be refused. */
static void what_is_too_long_is_cut_between_characters(void **state)
{
	struct cause read = {0};
	json_t *object cleanup_json = json_object();
	struct str text cleanup_str = {0};
	struct str_list tail cleanup_str_list = {0};

	str_append(&text, "x");
	while (text.length < 2 * CAUSE_TEXT_CAP)
		str_append(&text, "é");
	for (int i = 0; i < CAUSE_TAIL_CAP + 5; i++)
		str_list_add_format(&tail, "%d", i);
	json_set_text(object, "cause", "signal");
	json_set_text(object, "text", text.text);
	json_set_list(object, "tail", &tail);
	assert_int_equal(cause_read_json(object, "cause", &read, NULL), 0);
	assert_int_equal(strlen(read.text), CAUSE_TEXT_CAP - 1);
	assert_true(str_is_utf8(read.text, strlen(read.text)));
	assert_int_equal(read.tail.count, CAUSE_TAIL_CAP);
	assert_string_equal(read.tail.items[0], "5");
	cause_finish(&read);
}

static void a_bad_cause_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"kind\": 3}",
		"{\"kind\": \"bored\"}",
		"{\"kind\": \"exit\", \"exit_code\": 256}",
		"{\"kind\": \"exit\", \"exit_code\": -1}",
		"{\"kind\": \"signal\", \"signal\": \"9\"}",
		"{\"kind\": \"exit\", \"text\": []}",
		"{\"kind\": \"exit\", \"tail\": [1]}",
		"[]",
	};
	struct cause cause = {.kind = CAUSE_PREEMPTED};

	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		json_t *object cleanup_json = json_parse(bad[i], strlen(bad[i]), NULL);
		assert_int_equal(cause_from_json(object, &cause, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_int_equal(cause.kind, CAUSE_PREEMPTED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_is_read_back),
		cmocka_unit_test(no_room_is_a_cause_of_its_own),
		cmocka_unit_test(three_states_are_final),
		cmocka_unit_test(a_cause_survives_json),
		cmocka_unit_test(a_copy_stands_alone),
		cmocka_unit_test(what_is_too_long_is_cut_between_characters),
		cmocka_unit_test(a_bad_cause_is_refused_and_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
