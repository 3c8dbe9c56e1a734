/* Sources of jobs that have ended are kept once per content. */
#include "../base/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/local_sources.h"

/* A disk without room for another link; a directory that takes no name back. */
static bool is_full, is_stuck;
static bool cannot_exchange; /* as on NFS */
static const char *watched;  /* a file; NULL: none */
static bool was_missing;     /* it, after a step */

/* All in place of the C library's. */
int symlink(const char *target, const char *path)
{
	if (is_full) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
}

int rename(const char *from, const char *to)
{
	struct stat info;

	if (is_stuck && lstat(from, &info) == 0 && S_ISLNK(info.st_mode)) {
		errno = EDQUOT;
		return -1;
	}
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	if (cannot_exchange && flags & RENAME_EXCHANGE) {
		errno = EINVAL;
		return -1;
	}
	int result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	was_missing |= watched && !fs_exists(watched);
	return result;
}

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

static void share_equal_sources(void **state)
{
	static const char *const jobs[] = {"a", "b"};

	for (size_t i = 0; i < array_length(jobs); i++) {
		char *file cleanup_free = mem_printf("jobs/%s/files/src/train.py", jobs[i]);
		char *source cleanup_free = mem_printf("jobs/%s/files/src", jobs[i]);
		scratch_write(state, file, "pass", 0644);
		char *seen cleanup_free = mem_strdup(scratch_path(state, file));
		watched = seen;
		share(state, jobs[i]);
		watched = NULL;
		assert_true(is_link(state, source));
		assert_text_freed(scratch_read(state, file), "pass");
	}
	char *first cleanup_free = local_sources_shared(scratch_path(state, "jobs/a"));
	char *second cleanup_free = local_sources_shared(scratch_path(state, "jobs/b"));
	assert_string_equal(first, second);
	assert_false(fs_exists(scratch_path(state, "jobs/b/files/src.spare")));
}

static void equal_sources_are_kept_once(void **state)
{
	was_missing = false;
	share_equal_sources(state);
	assert_false(was_missing);
}

static void sources_are_shared_where_names_cannot_be_exchanged(void **state)
{
	cannot_exchange = true;
	share_equal_sources(state);
	cannot_exchange = false;
}

/* A process was killed before it exchanged the names. */
static void a_link_in_place_of_the_content_does_no_harm(void **state)
{
	share_equal_sources(state);
	char *hash cleanup_free = local_sources_shared(scratch_path(state, "jobs/a"));
	char *kept cleanup_free = fs_join("cache", hash);
	assert_int_equal(fs_remove_tree(scratch_path(state, kept), NULL), 0);
	char *place cleanup_free = mem_strdup(scratch_path(state, kept));
	assert_int_equal(symlink(place, place), 0);
	scratch_write(state, "jobs/c/files/src/train.py", "pass", 0644);
	share(state, "c");
	assert_text_freed(scratch_read(state, "jobs/a/files/src/train.py"), "pass");
	assert_true(is_link(state, "jobs/c/files/src"));
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

static void assert_not_shared(void **state, const char *job)
{
	char *job_dir cleanup_free = fs_join("jobs", job);
	char *file cleanup_free = mem_printf("jobs/%s/files/src/train.py", job);
	char *source cleanup_free = mem_printf("jobs/%s/files/src", job);
	struct err err cleanup_err = {0};

	assert_int_equal(local_sources_share(scratch_path(state, job_dir), &err), -1);
	assert_false(is_link(state, source));
	assert_text_freed(scratch_read(state, file), "pass");
	char *link cleanup_free = mem_printf("%s.link", source);
	char *spare cleanup_free = mem_printf("%s.spare", source);
	assert_false(is_link(state, link));
	assert_false(fs_exists(scratch_path(state, spare)));
}

static void sources_stay_with_the_job_when_no_link_can_be_made(void **state)
{
	bool *const troubles[] = {&is_full, &is_stuck};

	scratch_write(state, "jobs/a/files/src/train.py", "pass", 0644);
	scratch_write(state, "jobs/b/files/src/train.py", "pass", 0644);
	for (size_t i = 0; i < array_length(troubles); i++) {
		*troubles[i] = true;
		assert_not_shared(state, "a");
		*troubles[i] = false;
	}
	share(state, "a");
	for (size_t i = 0; i < array_length(troubles); i++) { /* the cache has them now */
		*troubles[i] = true;
		assert_not_shared(state, "b");
		*troubles[i] = false;
	}
	assert_text_freed(scratch_read(state, "jobs/a/files/src/train.py"), "pass");
}

/* Job a's sources are in the cache; b's process was killed before its link took its place. */
static void a_link_that_was_not_put_in_place_is_put_there_later(void **state)
{
	scratch_write(state, "jobs/a/files/src/train.py", "pass", 0644);
	share(state, "a");
	char *hash cleanup_free = local_sources_shared(scratch_path(state, "jobs/a"));
	char *target cleanup_free = mem_printf("../../../cache/%s", hash);
	static const char *const jobs[] = {"b", "c", "d"};
	scratch_write(state, "jobs/b/files/stdout", "", 0644);
	scratch_write(state, "jobs/c/files/src/train.py", "pass", 0644);
	scratch_write(state, "jobs/d/files/src.spare/train.py", "pass", 0644);
	for (size_t i = 0; i < array_length(jobs); i++) {
		char *link cleanup_free = mem_printf("jobs/%s/files/src.link", jobs[i]);
		char *file cleanup_free = mem_printf("jobs/%s/files/src/train.py", jobs[i]);
		char *job_dir cleanup_free = fs_join("jobs", jobs[i]);
		assert_int_equal(symlink(target, scratch_path(state, link)), 0);
		local_sources_tidy(scratch_path(state, job_dir));
		assert_text_freed(scratch_read(state, file), "pass");
		assert_false(is_link(state, link));
	}
	char *shared cleanup_free = local_sources_shared(scratch_path(state, "jobs/b"));
	assert_string_equal(shared, hash);
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
		scratch_test(sources_are_shared_where_names_cannot_be_exchanged),
		scratch_test(a_link_in_place_of_the_content_does_no_harm),
		scratch_test(read_only_sources_are_shared_too),
		scratch_test(sources_that_cannot_be_shared_leave_nothing_in_the_cache),
		scratch_test(sources_stay_with_the_job_when_no_link_can_be_made),
		scratch_test(a_link_that_was_not_put_in_place_is_put_there_later),
		scratch_test(half_a_move_is_finished_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
