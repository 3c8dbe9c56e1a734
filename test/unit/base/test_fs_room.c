/* Which file system is full, in words. */
#include "scratch.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"

static void a_file_system_is_named_with_what_is_free(void **state)
{
	char *expected cleanup_free = NULL;

	scratch_mount(state, "a disk", 128);
	expected = mem_printf("%s (tmpfs: 128 KiB of 128 KiB free)", scratch_path(state, "a disk"));
	/* A file that is not there yet counts to where it would be made. */
	assert_text_freed(fs_describe_room(scratch_path(state, "a disk/not/there")), expected);
	scratch_fill(state, "a disk/fill");
	mem_replace(&expected, mem_printf("no space left on %s (tmpfs: 0 B of 128 KiB free)",
					  scratch_path(state, "a disk")));
	assert_text_freed(fs_describe_errno(scratch_path(state, "a disk/x"), ENOSPC), expected);
	mem_replace(&expected, mem_printf("the quota on %s (tmpfs: 0 B of 128 KiB free) is used up",
					  scratch_path(state, "a disk")));
	assert_text_freed(fs_describe_errno(scratch_path(state, "a disk/x"), EDQUOT), expected);
	assert_text_freed(fs_describe_errno("/", EIO), "Input/output error");
}

static void an_error_of_a_full_disk_says_where_to_make_room(void **state)
{
	struct err err cleanup_err = {0};
	char *expected cleanup_free = NULL;

	scratch_mount(state, "disk", 128);
	scratch_fill(state, "disk/fill");
	const char *path = scratch_path(state, "disk/file");
	assert_int_equal(fs_write_file(path, "text", 4, 0600, &err), -1);
	assert_int_equal(err.kind, ERR_NO_SPACE);
	assert_int_equal(fs_explain_room(path, &err), -1);
	expected =
		mem_printf("No space left on device; make room on %s (tmpfs: 0 B of 128 KiB free)",
			   scratch_path(state, "disk"));
	assert_text_has(err_message(&err), expected);
}

static void a_place_to_write_is_checked_before_it_is_made(void **state)
{
	struct err err cleanup_err = {0};
	char *expected cleanup_free = NULL;

	scratch_mount(state, "a disk", 128);
	assert_int_equal(fs_check_room(scratch_path(state, "a disk/not/there"), &err), 0);
	scratch_fill(state, "a disk/fill");
	assert_int_equal(fs_check_room(scratch_path(state, "a disk/not/there"), &err), -1);
	assert_int_equal(err.kind, ERR_NO_SPACE);
	expected = mem_printf("no space left; make room on %s (tmpfs: 0 B of 128 KiB free)",
			      scratch_path(state, "a disk"));
	assert_string_equal(err_message(&err), expected);
	err_finish(&err);
	/* Root is refused by the kernel's own file system as well. */
	assert_int_equal(fs_check_room("/proc/self/fd/none", &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
}

static void a_file_system_that_counts_no_blocks_is_not_full(void **state)
{
	struct err err cleanup_err = {0};

	scratch_mount(state, "unlimited", 0);
	const char *path = scratch_path(state, "unlimited");
	assert_int_equal(fs_check_room(path, &err), 0);
	assert_false(fs_has_entries(path));
	assert_int_equal(fs_check_room("/proc/none", &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_string_equal(err_message(&err), "nobody can make a directory in /proc");
}

static void other_errors_are_left_alone(void **state)
{
	struct err err cleanup_err = {0};

	err_set(&err, ERR_NOT_FOUND, "not there");
	assert_int_equal(fs_explain_room("/", &err), -1);
	assert_string_equal(err_message(&err), "not there");
	assert_int_equal(fs_explain_room("/", NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_file_system_is_named_with_what_is_free),
		scratch_test(an_error_of_a_full_disk_says_where_to_make_room),
		scratch_test(a_place_to_write_is_checked_before_it_is_made),
		scratch_test(a_file_system_that_counts_no_blocks_is_not_full),
		scratch_test(other_errors_are_left_alone),
	};

	return cmocka_run_group_tests_name("fs_room", tests, NULL, NULL);
}
