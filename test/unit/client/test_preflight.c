/* A job before it starts, as far as it is known: rows for `tony check`, one error for `tony
 * submit`. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/preflight.h"

static void add_problem(struct preflight *preflight, enum err_kind kind, const char *text)
{
	struct err err cleanup_err = {0};

	err_set(&err, kind, "%s", text);
	preflight_add_problem(preflight, "a check", &err);
}

static void rows_without_a_problem_are_no_error(void **state)
{
	struct preflight preflight cleanup_preflight = {0};
	struct err err cleanup_err = {0};

	preflight_add(&preflight, "capacity", "tasks: 2");
	assert_int_equal(preflight_to_err(&preflight, &err), 0);
	assert_int_equal(err.kind, ERR_NONE);
	assert_string_equal(preflight.rows[0].check, "capacity");
	assert_string_equal(preflight.rows[0].text, "tasks: 2");
}

static void all_problems_are_told_and_the_first_decides_the_exit_code(void **state)
{
	struct preflight preflight cleanup_preflight = {0};
	struct err err cleanup_err = {0};

	preflight_add(&preflight, "framework", "torch");
	add_problem(&preflight, ERR_CONFIG, "no such program");
	preflight_add(&preflight, "results", "/home/me");
	add_problem(&preflight, ERR_CAPACITY, "too large");
	assert_int_equal(preflight_to_err(&preflight, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_string_equal(err_message(&err), "no such program\ntoo large");
}

static void a_state_directory_that_cannot_be_written_is_a_problem(void **state)
{
	struct preflight good cleanup_preflight = {0}, bad cleanup_preflight = {0};
	char *directory cleanup_free = mem_strdup(scratch_path(state, "state"));

	setenv("TONY_STATE_DIR", directory, 1);
	preflight_state(&good);
	assert_int_equal(good.count, 1);
	assert_int_equal(good.rows[0].problem, ERR_NONE);
	assert_int_equal(strncmp(good.rows[0].text, directory, strlen(directory)), 0);
	scratch_write(state, "file", "", 0600);
	setenv("TONY_STATE_DIR", scratch_path(state, "file/state"), 1);
	preflight_state(&bad);
	assert_int_equal(bad.count, 1);
	assert_int_not_equal(bad.rows[0].problem, ERR_NONE);
	assert_non_null(strstr(bad.rows[0].text, "/file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(rows_without_a_problem_are_no_error),
		scratch_test(all_problems_are_told_and_the_first_decides_the_exit_code),
		scratch_test(a_state_directory_that_cannot_be_written_is_a_problem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
