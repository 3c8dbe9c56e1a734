#include "../base/scratch.h"
#include "../base/test.h"

#include <unistd.h>

#include "base/fs.h"
#include "scheduler/launch_record.h"

static int write_as(const char *dir, int am_attempt, pid_t pid)
{
	struct launch_record record = {.am_attempt = am_attempt,
				       .executor = {.pid = pid, .start_time = 7},
				       .cgroup = "/sys/fs/cgroup/x"};
	int result;

	str_list_add(&record.gpus, "3");
	result = launch_record_write(dir, &record, NULL);
	str_list_finish(&record.gpus);
	return result;
}

static int find_as(const char *dir, int am_attempt, pid_t *pid)
{
	struct launch_record record cleanup_launch_record = {0};
	int found = launch_record_find(dir, am_attempt, &record, NULL);

	*pid = record.executor.pid;
	if (found == LAUNCH_DONE) {
		assert_int_equal(record.executor.start_time, 7);
		assert_string_equal(record.cgroup, "/sys/fs/cgroup/x");
		assert_string_equal(record.gpus.items[0], "3");
	}
	return found;
}

static void what_was_launched_is_found(void **state)
{
	const char *dir = scratch_path(state, "container");
	pid_t pid;

	assert_int_equal(fs_make_directories(dir, 0700, NULL), 0);
	assert_int_equal(write_as(dir, 1, 42), 0);
	assert_true(launch_record_is_open(dir));
	assert_int_equal(find_as(dir, 2, &pid), LAUNCH_DONE);
	assert_int_equal(pid, 42);
	assert_int_equal(find_as(dir, 3, &pid), LAUNCH_DONE);
	assert_int_equal(write_as(dir, 3, 43), -1);
	launch_record_close(dir);
	assert_false(launch_record_is_open(dir));
	assert_int_equal(find_as(dir, 4, &pid), LAUNCH_OVER);
}

/* A child of the killed AM may be between fork and exec for as long as the machine likes. */
static void who_comes_late_does_not_become_an_executor(void **state)
{
	const char *dir = scratch_path(state, "container");
	pid_t pid;

	assert_int_equal(find_as(dir, 2, &pid), LAUNCH_NEVER);
	assert_int_equal(write_as(dir, 1, 42), -1);
	assert_int_equal(find_as(dir, 3, &pid), LAUNCH_NEVER);
	assert_int_equal(write_as(dir, 2, 43), -1);
	assert_int_equal(write_as(dir, 3, 44), 0);
	assert_int_equal(write_as(dir, 1, 42), -1);
	assert_int_equal(find_as(dir, 4, &pid), LAUNCH_DONE);
	assert_int_equal(pid, 44);
}

static void a_record_that_makes_no_sense_is_an_error(void **state)
{
	const char *dir = scratch_path(state, "container");
	pid_t pid;

	scratch_write(state, "container/executor.json", "{\"pid\": -1}", 0600);
	assert_int_equal(find_as(dir, 2, &pid), -1);
	assert_int_equal(write_as(dir, 2, 42), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_was_launched_is_found),
		scratch_test(who_comes_late_does_not_become_an_executor),
		scratch_test(a_record_that_makes_no_sense_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
