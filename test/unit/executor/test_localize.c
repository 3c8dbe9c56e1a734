/* Files in the working directory, and nowhere else. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "executor/localize.h"
#include "scheduler/copies.h"

static int localize(void **state, enum job_file_kind kind, const char *source, const char *name,
		    struct err *err)
{
	struct job_file file = {.kind = kind, .source = (char *)source, .name = (char *)name};
	struct job_files files = {.items = &file, .count = 1};

	return localize_files(&files, scratch_path(state, "work"), err);
}

static int create(void **state)
{
	if (scratch_create(state) < 0)
		return -1;
	scratch_write(state, "source/train.py", "print(1)\n", 0755);
	scratch_write(state, "source/sub/data", "data\n", 0640);
	scratch_write(state, "outside/secret", "secret\n", 0600);
	return mkdir(scratch_path(state, "work"), 0700);
}

static void content_is_copied_and_links_are_laid(void **state)
{
	struct err err = {0};
	struct stat original, copy;

	assert_success(localize(state, JOB_FILE_CONTENT, scratch_path(state, "source"), ".", &err),
		       &err);
	assert_success(
		localize(state, JOB_FILE_LINK, scratch_path(state, "outside"), "a/b/data", &err),
		&err);
	assert_text_freed(scratch_read(state, "work/train.py"), "print(1)\n");
	assert_text_freed(scratch_read(state, "work/sub/data"), "data\n");
	assert_text_freed(scratch_read(state, "work/a/b/data/secret"), "secret\n");
	assert_int_equal(stat(scratch_path(state, "source/train.py"), &original), 0);
	assert_int_equal(stat(scratch_path(state, "work/train.py"), &copy), 0);
	assert_int_equal(copy.st_mode & 07777, 0755);
	/* A program may write into its copy. */
	assert_int_not_equal(original.st_ino, copy.st_ino);
}

/* As YARN does it: under a name of its own, behind a link. */
static void what_the_scheduler_has_put_there_is_used(void **state)
{
	struct err err = {0};
	char *source cleanup_free = mem_strdup(scratch_path(state, "source"));

	assert_int_equal(symlink(source, scratch_path(state, "work/src.tgz")), 0);
	assert_success(localize(state, JOB_FILE_CONTENT, "container:src.tgz", ".", &err), &err);
	assert_text_freed(scratch_read(state, "work/sub/data"), "data\n");
	/* "data" is there: YARN's name for it is the job's. */
	scratch_write(state, "work/data", "from the cluster\n", 0600);
	assert_success(localize(state, JOB_FILE_LINK, "hdfs://nn/user/data", "data", &err), &err);
	assert_text_freed(scratch_read(state, "work/data"), "from the cluster\n");
	assert_int_equal(localize(state, JOB_FILE_CONTENT, "container:../outside", ".", &err), -1);
	assert_text_has(err_message(&err), "leads out of the working directory");
	err_finish(&err);
}

static void a_link_replaces_a_file_of_its_name(void **state)
{
	struct err err = {0};

	scratch_write(state, "work/data", "from src_dir\n", 0600);
	assert_success(
		localize(state, JOB_FILE_LINK, scratch_path(state, "outside/secret"), "data", &err),
		&err);
	assert_text_freed(scratch_read(state, "work/data"), "secret\n");

	scratch_write(state, "work/directory/file", "keep\n", 0600);
	assert_int_equal(
		localize(state, JOB_FILE_LINK, scratch_path(state, "outside"), "directory", &err),
		-1);
	err_finish(&err);
	assert_text_freed(scratch_read(state, "work/directory/file"), "keep\n");
}

static void names_that_lead_out_are_refused(void **state)
{
	static const char *const names[] = {"..", "../x", "a/../../x", "/tmp/tony-x", "", "a/.."};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct err err = {0};
		assert_int_equal(localize(state, JOB_FILE_CONTENT, scratch_path(state, "source"),
					  names[i], &err),
				 -1);
		assert_message_has(&err, "leads out of the working directory");
		err_finish(&err);
	}
	assert_false(fs_exists(scratch_path(state, "x")));
}

static void earlier_links_lead_nowhere(void **state)
{
	struct err err = {0};

	assert_success(localize(state, JOB_FILE_LINK, scratch_path(state, "outside"), "out", &err),
		       &err);
	assert_int_equal(
		localize(state, JOB_FILE_CONTENT, scratch_path(state, "source"), "out/x", &err),
		-1);
	assert_message_has(&err, "no directory");
	err_finish(&err);
	assert_int_equal(
		localize(state, JOB_FILE_LINK, scratch_path(state, "source"), "out/y", &err), -1);
	err_finish(&err);
	assert_int_equal(
		localize(state, JOB_FILE_CONTENT, scratch_path(state, "source"), "out", &err), -1);
	err_finish(&err);
	assert_false(fs_exists(scratch_path(state, "outside/x")));
	assert_false(fs_exists(scratch_path(state, "outside/y")));
	assert_false(fs_exists(scratch_path(state, "outside/train.py")));
}

static void assert_refused(void **state, enum job_file_kind kind, const char *source,
			   const char *part)
{
	struct err err = {0};

	assert_int_equal(localize(state, kind, source, "name", &err), -1);
	assert_message_has(&err, "\"name\"");
	assert_message_has(&err, part);
	err_finish(&err);
}

static void what_is_not_there_is_named(void **state)
{
	assert_refused(state, JOB_FILE_LINK, scratch_path(state, "absent"), "absent: no such file");
	assert_refused(state, JOB_FILE_CONTENT, scratch_path(state, "source/train.py"),
		       "train.py: no such directory");
	assert_refused(state, JOB_FILE_LINK, "hdfs://nn/user/x", "hdfs://nn/user/x is not on this");
	assert_refused(state, JOB_FILE_ARCHIVE, scratch_path(state, "source"), "was not unpacked");
}

/* ---- copies that were broken off ---------------------------------------------------------- */

/* A source that is there, and one that is not. */
static void break_off(void **state, struct job_file *items)
{
	char *source = mem_strdup(scratch_path(state, "source"));
	struct err err cleanup_err = {0};
	static char whole[] = ".", sub[] = "more";

	items[0] = (struct job_file){.kind = JOB_FILE_CONTENT, .source = source, .name = whole};
	items[1] = (struct job_file){.kind = JOB_FILE_CONTENT,
				     .source = mem_strdup(scratch_path(state, "absent")),
				     .name = sub};
	const struct job_files files = {.items = items, .count = 2};
	assert_int_equal(localize_files(&files, scratch_path(state, "work"), &err), -1);
	assert_true(fs_exists(scratch_path(state, "work/sub/data")));
}

static void take_back(void **state, struct job_file *items)
{
	const struct job_files files = {.items = items, .count = 2};

	copies_take_back(&files, scratch_path(state, "work"));
	free(items[0].source);
	free(items[1].source);
}

static void a_copy_that_failed_is_taken_back(void **state)
{
	struct job_file items[2];

	break_off(state, items);
	take_back(state, items);
	assert_int_equal(rmdir(scratch_path(state, "work")), 0); /* nothing was left in it */
	assert_false(fs_exists(scratch_path(state, ".copied")));
}

/* The executor was killed: the file at hand has neither its whole content nor its time. */
static void half_a_file_is_taken_back(void **state)
{
	struct job_file items[2];

	break_off(state, items);
	scratch_write(state, "work/train.py", "pri", 0600);
	scratch_write(state, "work/sub/data", "", 0600);
	take_back(state, items);
	assert_int_equal(rmdir(scratch_path(state, "work")), 0);
}

static void what_is_no_part_of_a_broken_copy_stays(void **state)
{
	struct job_file items[2];

	break_off(state, items);
	scratch_write(state, "work/train.py", "print(1)\nprint(2)\n", 0755);
	scratch_write(state, "work/sub/data", "dat!\n", 0640);
	scratch_write(state, "work/sub/notes", "d", 0640);
	take_back(state, items);
	assert_text_freed(scratch_read(state, "work/train.py"), "print(1)\nprint(2)\n");
	assert_text_freed(scratch_read(state, "work/sub/data"), "dat!\n");
	assert_text_freed(scratch_read(state, "work/sub/notes"), "d");
}

/* A program may cut a file short. */
static void half_a_file_stays_once_the_copy_was_complete(void **state)
{
	char *source cleanup_free = mem_strdup(scratch_path(state, "source"));
	static char name[] = ".";
	struct job_file file = {.kind = JOB_FILE_CONTENT, .source = source, .name = name};
	const struct job_files files = {.items = &file, .count = 1};
	struct err err cleanup_err = {0};

	assert_success(localize_files(&files, scratch_path(state, "work"), &err), &err);
	scratch_write(state, "work/train.py", "pri", 0600);
	copies_take_back(&files, scratch_path(state, "work"));
	assert_text_freed(scratch_read(state, "work/train.py"), "pri");
	assert_false(fs_exists(scratch_path(state, "work/sub/data")));
}

int main(void)
{
#define localize_test(function) cmocka_unit_test_setup_teardown(function, create, scratch_remove)
	const struct CMUnitTest tests[] = {
		localize_test(content_is_copied_and_links_are_laid),
		localize_test(what_the_scheduler_has_put_there_is_used),
		localize_test(a_link_replaces_a_file_of_its_name),
		localize_test(names_that_lead_out_are_refused),
		localize_test(earlier_links_lead_nowhere),
		localize_test(what_is_not_there_is_named),
		localize_test(a_copy_that_failed_is_taken_back),
		localize_test(half_a_file_is_taken_back),
		localize_test(what_is_no_part_of_a_broken_copy_stays),
		localize_test(half_a_file_stays_once_the_copy_was_complete),
	};

	return cmocka_run_group_tests_name("localize", tests, NULL, NULL);
}
