/* Places that a user has named to write there. Two users: test/security/test_results.py. */
#include "scratch.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

static void assert_same(int fd, const char *path)
{
	struct stat held, named;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &held), 0);
	assert_int_equal(stat(path, &named), 0);
	assert_int_equal(held.st_ino, named.st_ino);
}

static void own_links_are_followed_as_the_kernel_does(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "a/b/file", "text", 0600);
	assert_int_equal(symlink("../a//b/", scratch_path(state, "a/relative")), 0);
	assert_int_equal(symlink(scratch_path(state, "a/relative"), scratch_path(state, "link")),
			 0);
	assert_int_equal(symlink("round", scratch_path(state, "round")), 0);
	int fd cleanup_close = fs_open_named(scratch_path(state, "link/../b/./"), 0, &err);
	assert_same(fd, scratch_path(state, "a/b"));
	assert_int_equal(fs_open_named(scratch_path(state, "round"), 0, &err), -1);
	assert_text_has(err_message(&err), strerror(ELOOP));
	err_finish(&err);
	struct fs_named named cleanup_named = {0};
	assert_int_equal(fs_name_linked(&named, scratch_path(state, "round"), &err), -1);
	assert_text_has(err_message(&err), strerror(ELOOP));
	err_finish(&err);
	assert_int_equal(fs_open_named(scratch_path(state, "a/b/file"), 0, &err), -1);
	assert_text_has(err_message(&err), strerror(ENOTDIR));
	err_finish(&err);
	assert_int_equal(fs_open_named(scratch_path(state, "a/none/b"), 0, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void links_of_proc_lead_to_what_is_open(void **state)
{
	scratch_write(state, "gone/file", "text", 0600);
	int held cleanup_close = open(scratch_path(state, "gone"), O_PATH | O_CLOEXEC);
	assert_int_equal(rename(scratch_path(state, "gone"), scratch_path(state, "away")), 0);
	assert_int_equal(mkdir(scratch_path(state, "gone"), 0700), 0);
	char *path cleanup_free = mem_printf("/dev/fd/%d", held);
	int fd cleanup_close = fs_open_named(path, 0, NULL);
	assert_same(fd, scratch_path(state, "away"));
}

static void missing_directories_are_made(void **state)
{
	struct err err cleanup_err = {0};
	struct fs_named named cleanup_named = {0};
	struct stat info;

	assert_int_equal(fs_name_in(&named, scratch_path(state, "a/b"), "file", 0700, &err), 0);
	assert_int_equal(fs_write_file(named.path, "text", 4, 0600, NULL), 0);
	assert_true(fs_exists(scratch_path(state, "a/b/file")));
	assert_int_equal(stat(scratch_path(state, "a"), &info), 0);
	assert_int_equal(info.st_mode & 07777, 0700);
	assert_int_equal(fs_open_named(scratch_path(state, "a/b/file/c"), 0700, &err), -1);
	assert_text_has(err_message(&err), "is not a directory");
	err_finish(&err);
	assert_int_equal(fs_open_named("/proc/none", 0700, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_string_equal(err_message(&err), "/proc/none: nobody can make a directory there");
}

static void what_is_named_stays_in_its_directory(void **state)
{
	struct fs_named named cleanup_named = {0};

	scratch_write(state, "place/other", "text", 0600);
	scratch_write(state, "precious/file", "precious", 0600);
	assert_int_equal(fs_name_file(&named, scratch_path(state, "place/file"), NULL), 0);
	assert_int_equal(rename(scratch_path(state, "place"), scratch_path(state, "away")), 0);
	assert_int_equal(symlink("precious", scratch_path(state, "place")), 0);
	assert_int_equal(fs_write_file(named.path, "text", 4, 0600, NULL), 0);
	assert_true(fs_exists(scratch_path(state, "away/file")));
	assert_text_freed(fs_read_file(scratch_path(state, "precious/file"), 100, NULL, NULL),
			  "precious");
}

static void the_last_link_may_be_followed(void **state)
{
	struct fs_named linked cleanup_named = {0}, nothing cleanup_named = {0};
	struct stat info;

	scratch_write(state, "a/file", "text", 0600);
	assert_int_equal(symlink("a/next", scratch_path(state, "link")), 0);
	assert_int_equal(symlink("file", scratch_path(state, "a/next")), 0);
	assert_int_equal(fs_name_linked(&linked, scratch_path(state, "link"), NULL), 0);
	assert_int_equal(lstat(linked.path, &info), 0);
	assert_true(S_ISREG(info.st_mode));
	assert_int_equal(unlink(scratch_path(state, "a/file")), 0);
	assert_int_equal(fs_name_linked(&nothing, scratch_path(state, "link"), NULL), 0);
	assert_int_equal(fs_write_file(nothing.path, "text", 4, 0600, NULL), 0);
	assert_true(fs_exists(scratch_path(state, "a/file")));
}

static void links_of_others_in_a_directory_for_all_are_refused(void **state)
{
	struct err err cleanup_err = {0};
	struct fs_named named cleanup_named = {0};

	if (geteuid() != 0)
		return; /* test/security/test_results.py */
	scratch_write(state, "precious/file", "text", 0600);
	assert_int_equal(mkdir(scratch_path(state, "all"), 0700), 0);
	assert_int_equal(chmod(scratch_path(state, "all"), 01777), 0);
	assert_int_equal(symlink("../precious", scratch_path(state, "all/link")), 0);
	assert_int_equal(lchown(scratch_path(state, "all/link"), 61002, 61002), 0);
	const char *const paths[] = {"all/link", "all/link/", "all/link/../precious"};
	for (size_t i = 0; i < array_length(paths); i++) {
		assert_int_equal(fs_open_named(scratch_path(state, paths[i]), 0700, &err), -1);
		assert_int_equal(err.kind, ERR_DENIED);
		assert_text_has(err_message(&err), "all/link is a symbolic link of uid-61002");
		err_finish(&err);
	}
	assert_int_equal(fs_name_linked(&named, scratch_path(state, "all/link"), &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(chmod(scratch_path(state, "all"), 0770), 0);
	assert_int_equal(fs_open_named(scratch_path(state, "all/link"), 0, NULL), -1);
	assert_int_equal(fs_name_file(&named, scratch_path(state, "all/link/../file"), NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(own_links_are_followed_as_the_kernel_does),
		scratch_test(links_of_proc_lead_to_what_is_open),
		scratch_test(missing_directories_are_made),
		scratch_test(what_is_named_stays_in_its_directory),
		scratch_test(the_last_link_may_be_followed),
		scratch_test(links_of_others_in_a_directory_for_all_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
