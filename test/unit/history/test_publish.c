#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/mem.h"
#include "history/publish.h"
#include "job_bed.h"

#define SUMMARY "{\"id\": \"" BED_ID "\"}"

static struct history_target target_in(void **state, const char *permissions)
{
	return (struct history_target){
		.location = scratch_path(state, "store"),
		.submitted_ms = 1795241640000,
		.job_id = BED_ID,
		.attempt = 7,
		.access = history_access_of(permissions),
	};
}

static void make_packed(void **state)
{
	scratch_write(state, "packed/summary.json", SUMMARY, 0600);
	scratch_write(state, "packed/logs/worker-0/stdout", "hello", 0600);
}

static unsigned mode_of(void **state, const char *name)
{
	struct stat status;

	assert_int_equal(stat(scratch_path(state, name), &status), 0);
	return status.st_mode & 07777;
}

static void a_history_gets_its_place(void **state)
{
	const struct history_target target = target_in(state, NULL);
	struct err err cleanup_err = {0};

	make_packed(state);
	assert_false(history_is_published(&target));
	assert_int_equal(history_check(&target, NULL), 0);
	assert_false(history_is_published(&target));
	history_publish(scratch_path(state, "packed"), &target, &err);
	assert_string_equal(err_message(&err), "no error");
	assert_true(history_is_published(&target));
	assert_int_equal(history_check(&target, NULL), 0);
	char *text cleanup_free = scratch_read(state, "store/" BED_PATH "/logs/worker-0/stdout");
	assert_string_equal(text, "hello");
	assert_false(fs_exists(scratch_path(state, "store/2026/11/21/." BED_ID ".7")));
	assert_int_equal(mode_of(state, "store"), 0700);
	assert_int_equal(mode_of(state, "store/2026"), 0700);
	assert_int_equal(mode_of(state, "store/" BED_PATH "/logs"), 0700);
	assert_int_equal(mode_of(state, "store/" BED_PATH "/summary.json"), 0600);
}

static void a_shared_store_stays_one(void **state)
{
	const struct history_target target = target_in(state, "group");

	make_packed(state);
	assert_int_equal(mkdir(scratch_path(state, "store"), 0700), 0);
	assert_int_equal(chmod(scratch_path(state, "store"), 03770), 0);
	umask(077);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, NULL), 0);
	assert_int_equal(mode_of(state, "store/2026"), 03770);
	assert_int_equal(mode_of(state, "store/2026/11/21"), 03770);
	assert_int_equal(mode_of(state, "store/" BED_PATH) & 0777, 0750);
	assert_int_equal(mode_of(state, "store/" BED_PATH "/summary.json"), 0640);
}

static void what_is_published_stays(void **state)
{
	const struct history_target target = target_in(state, NULL);

	make_packed(state);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, NULL), 0);
	scratch_write(state, "packed/summary.json", "another", 0600);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, NULL), 0);
	char *text cleanup_free = scratch_read(state, "store/" BED_PATH "/summary.json");
	assert_string_equal(text, SUMMARY);
}

static void what_a_killed_one_left_is_no_obstacle(void **state)
{
	const struct history_target target = target_in(state, NULL);

	make_packed(state);
	scratch_write(state, "store/2026/11/21/." BED_ID ".7/summary.json", "half", 0600);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, NULL), 0);
	char *text cleanup_free = scratch_read(state, "store/" BED_PATH "/summary.json");
	assert_string_equal(text, SUMMARY);
}

/* The owner of a day can give an entry of this user's any name. */
static void history_of_another_job_is_no_leftover(void **state)
{
	const struct history_target target = target_in(state, NULL);
	const char *side = "store/2026/11/21/." BED_ID ".7/summary.json";
	struct err err cleanup_err = {0};

	make_packed(state);
	scratch_write(state, side, "{\"id\": \"another\"}", 0600);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, &err), -1);
	assert_non_null(strstr(err_message(&err), "is the history of another"));
	assert_true(fs_exists(scratch_path(state, side)));
}

static void a_store_that_cannot_be_is_named(void **state)
{
	const struct history_target target = target_in(state, NULL);
	struct err err cleanup_err = {0};

	make_packed(state);
	scratch_write(state, "store", "a file", 0600);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, &err), -1);
	assert_non_null(strstr(err_message(&err), "/store: is not a directory"));
}

static void refuse(void **state, const char *why)
{
	const struct history_target target = target_in(state, NULL);
	struct err err cleanup_err = {0}, seen cleanup_err = {0};

	make_packed(state);
	assert_false(history_is_published(&target));
	assert_int_equal(history_check(&target, &seen), -1);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, &err), -1);
	if (!strstr(err_message(&err), why))
		fail_msg("%s", err_message(&err));
	assert_string_equal(err_message(&seen), err_message(&err));
	assert_false(fs_exists(scratch_path(state, "store/2026/11/21/." BED_ID ".7")));
}

/* promise: S45 */
static void no_symbolic_link_in_the_store_is_followed(void **state)
{
	static const char *const links[] = {"store/2026/11/21", "store/2026/11", "store/2026"};

	for (size_t i = 0; i < array_length(links); i++) {
		char *parent cleanup_free = fs_dirname(scratch_path(state, links[i]));
		assert_int_equal(fs_make_directories(parent, 0700, NULL), 0);
		assert_int_equal(fs_make_directories(scratch_path(state, "trap/11/21"), 0700, NULL),
				 0);
		assert_int_equal(
			symlink(scratch_path(state, "trap"), scratch_path(state, links[i])), 0);
		refuse(state, "symbolic link");
		refuse(state, links[i]);
		assert_int_equal(rmdir(scratch_path(state, "trap/11/21")), 0);
		assert_int_equal(fs_remove_tree(scratch_path(state, "store"), NULL), 0);
	}
}

static void a_place_with_something_else_is_no_success(void **state)
{
	scratch_write(state, "store/" BED_PATH "/summary.json", "{\"id\": \"another\"}", 0600);
	refuse(state, "is not this job's history");
	assert_int_equal(fs_remove_tree(scratch_path(state, "store/" BED_PATH), NULL), 0);
	scratch_write(state, "store/" BED_PATH, "a file", 0600);
	refuse(state, "is not this job's history");
	assert_int_equal(unlink(scratch_path(state, "store/" BED_PATH)), 0);
	assert_int_equal(
		symlink(scratch_path(state, "packed"), scratch_path(state, "store/" BED_PATH)), 0);
	refuse(state, "is not this job's history");
}

static void what_fails_half_way_leaves_nothing(void **state)
{
	const struct history_target target = target_in(state, NULL);

	make_packed(state);
	assert_int_equal(mkfifo(scratch_path(state, "packed/logs/fifo"), 0600), 0);
	assert_int_equal(history_publish(scratch_path(state, "packed"), &target, NULL), -1);
	assert_false(history_is_published(&target));
	assert_int_equal(rmdir(scratch_path(state, "store/2026/11/21")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_history_gets_its_place),
		scratch_test(a_shared_store_stays_one),
		scratch_test(what_is_published_stays),
		scratch_test(what_a_killed_one_left_is_no_obstacle),
		scratch_test(history_of_another_job_is_no_leftover),
		scratch_test(a_store_that_cannot_be_is_named),
		scratch_test(no_symbolic_link_in_the_store_is_followed),
		scratch_test(a_place_with_something_else_is_no_success),
		scratch_test(what_fails_half_way_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
