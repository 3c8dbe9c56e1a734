/* Sources of jobs that have ended are kept once per content. */
#include "../base/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/local_sources.h"

static void share(void **state, const char *job)
{
	char *job_dir cleanup_free = fs_join("jobs", job);
	struct err err cleanup_err = {0};

	assert_success(local_sources_share(scratch_path(state, job_dir), &err), &err);
}

static bool is_link(void **state, const char *name)
{
	struct stat info;

	return lstat(scratch_path(state, name), &info) == 0 && S_ISLNK(info.st_mode);
}

static void equal_sources_are_kept_once(void **state)
{
	static const char *const jobs[] = {"a", "b"};

	for (size_t i = 0; i < array_length(jobs); i++) {
		char *file cleanup_free = mem_printf("jobs/%s/files/src/train.py", jobs[i]);
		char *source cleanup_free = mem_printf("jobs/%s/files/src", jobs[i]);
		scratch_write(state, file, "pass", 0644);
		share(state, jobs[i]);
		assert_true(is_link(state, source));
		assert_text_freed(scratch_read(state, file), "pass");
	}
	char *first cleanup_free = local_sources_shared(scratch_path(state, "jobs/a"));
	char *second cleanup_free = local_sources_shared(scratch_path(state, "jobs/b"));
	assert_string_equal(first, second);
	assert_false(fs_exists(scratch_path(state, "jobs/b/files/src.spare")));
}

static void read_only_sources_are_shared_too(void **state)
{
	struct stat info;

	scratch_write(state, "jobs/a/files/src/train.py", "pass", 0644);
	assert_int_equal(chmod(scratch_path(state, "jobs/a/files/src"), 0500), 0);
	scratch_drop_rights(state);
	share(state, "a");
	assert_true(is_link(state, "jobs/a/files/src"));
	assert_int_equal(stat(scratch_path(state, "jobs/a/files/src"), &info), 0);
	assert_int_equal(info.st_mode & 07777, 0500);
}

static void sources_that_cannot_be_shared_leave_nothing_in_the_cache(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "jobs/a/files/src/train.py", "pass", 0644);
	scratch_write(state, "cache/x", "", 0644);
	scratch_drop_rights(state);
	assert_int_equal(chmod(scratch_path(state, "jobs/a/files"), 0500), 0);
	assert_int_equal(local_sources_share(scratch_path(state, "jobs/a"), &err), -1);
	assert_int_equal(chmod(scratch_path(state, "jobs/a/files"), 0700), 0);
	assert_true(fs_exists(scratch_path(state, "jobs/a/files/src/train.py")));
	assert_int_equal(unlink(scratch_path(state, "cache/x")), 0);
	assert_int_equal(rmdir(scratch_path(state, "cache")), 0);
}

/* It was killed between its steps. */
static void half_a_move_is_finished_later(void **state)
{
	scratch_write(state, "jobs/a/files/src/train.py", "pass", 0644);
	scratch_write(state, "jobs/b/files/src.spare/train.py", "pass", 0644);
	share(state, "a");
	scratch_write(state, "jobs/a/files/src.spare/train.py", "pass", 0644);
	local_sources_tidy(scratch_path(state, "jobs/a"));
	local_sources_tidy(scratch_path(state, "jobs/b"));
	assert_false(fs_exists(scratch_path(state, "jobs/a/files/src.spare")));
	assert_true(fs_exists(scratch_path(state, "jobs/a/files/src/train.py")));
	assert_false(fs_exists(scratch_path(state, "jobs/b/files/src.spare")));
	assert_true(fs_exists(scratch_path(state, "jobs/b/files/src/train.py")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(equal_sources_are_kept_once),
		scratch_test(read_only_sources_are_shared_too),
		scratch_test(sources_that_cannot_be_shared_leave_nothing_in_the_cache),
		scratch_test(half_a_move_is_finished_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
