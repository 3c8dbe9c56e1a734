/* Files that a process needs for a while only are gone once it has ended, however it did. */
#include "scratch.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/keeper.h"
#include "base/mem.h"

/* A child that makes a directory and a file, and then waits for its end. */
static pid_t start_owner(void **state)
{
	struct keeper directory, file;
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		setenv("TMPDIR", scratch_path(state, "."), 1);
		if (keeper_make_directory(&directory, "made", NULL) < 0 ||
		    keeper_make_file(&file, scratch_path(state, "archive"), NULL) < 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void all_goes_with_a_process_that_is_ended_by(void **state, int signal)
{
	/* The keepers are this process's children then, and waited for. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid_t pid = start_owner(state);
	assert_true(fs_has_entries(scratch_path(state, ".")));
	kill(pid, signal);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	assert_int_equal(errno, ECHILD);
	assert_false(fs_has_entries(scratch_path(state, ".")));
}

static void all_goes_with_a_process_that_is_killed(void **state)
{
	all_goes_with_a_process_that_is_ended_by(state, SIGKILL);
}

static void all_goes_with_a_process_that_is_interrupted(void **state)
{
	all_goes_with_a_process_that_is_ended_by(state, SIGINT);
}

static void all_goes_with_a_process_group_that_is_killed(void **state)
{
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid_t pid = start_owner(state);
	setpgid(pid, pid);
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	assert_false(fs_has_entries(scratch_path(state, ".")));
}

static void a_tree_is_removed_at_once_when_it_is_asked_for(void **state)
{
	struct keeper keeper cleanup_keeper = {0};

	assert_int_equal(keeper_make_beside(&keeper, scratch_path(state, "tree"), NULL), 0);
	char *deep cleanup_free = fs_join(keeper.path, "deep");
	char *file cleanup_free = fs_join(deep, "file");
	assert_int_equal(mkdir(deep, 0700), 0);
	assert_int_equal(fs_write_file(file, "text", 4, 0600, NULL), 0);
	keeper_remove(&keeper);
	assert_false(fs_has_entries(scratch_path(state, ".")));
	assert_null(keeper.path);
}

static int make_and_remove(void **state)
{
	struct keeper tree cleanup_keeper = {0}, file cleanup_keeper = {0};
	struct err err cleanup_err = {0};

	keeper_make_beside(&tree, scratch_path(state, "tree"), &err);
	int fd cleanup_close = keeper_make_file(&file, scratch_path(state, "file"), &err);
	return fd >= 0 || strstr(err_message(&err), "Too many open files") ? 0 : 1;
}

/* Standard input stays open for ever: a keeper that waited for it would never end. */
static void nothing_stays_at_the_limit_on_descriptors(void **state)
{
	int input[2], status;

	assert_int_equal(pipe(input), 0);
	for (rlim_t most = (rlim_t)input[1] + 1; most < (rlim_t)input[1] + 14; most++) {
		pid_t pid = fork();
		if (pid == 0) {
			const struct rlimit limit = {most, most};
			dup2(input[0], STDIN_FILENO);
			_exit(setrlimit(RLIMIT_NOFILE, &limit) < 0 || make_and_remove(state));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_false(fs_has_entries(scratch_path(state, ".")));
	}
	close(input[0]);
	close(input[1]);
}

static void a_tree_that_took_its_name_stays(void **state)
{
	struct keeper keeper cleanup_keeper = {0};

	scratch_write(state, "tree/own", "text", 0600);
	assert_int_equal(keeper_make_beside(&keeper, scratch_path(state, "tree"), NULL), 0);
	char *path cleanup_free = mem_strdup(keeper.path);
	assert_int_equal(rename(path, scratch_path(state, "away")), 0);
	assert_int_equal(rename(scratch_path(state, "tree"), path), 0);
	keeper_remove(&keeper);
	char *own cleanup_free = fs_join(path, "own");
	assert_true(fs_exists(own));
}

static void nothing_is_made_where_others_could_replace_it(void **state)
{
	struct keeper keeper cleanup_keeper = {0};
	struct err err cleanup_err = {0};
	const char *parent = scratch_path(state, ".");
	const char *set = getenv("TMPDIR");
	char *before cleanup_free = mem_strdup(set ? set : "/tmp");

	setenv("TMPDIR", parent, 1);
	assert_int_equal(chmod(parent, 0777), 0);
	assert_int_equal(keeper_make_directory(&keeper, "made", &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_false(fs_has_entries(parent));
	assert_int_equal(chmod(parent, 01777), 0);
	assert_int_equal(keeper_make_directory(&keeper, "made", NULL), 0);
	setenv("TMPDIR", before, 1);
}

static void nothing_is_made_where_its_owner_could_replace_it(void **state)
{
	struct keeper keeper cleanup_keeper = {0};
	struct err err cleanup_err = {0};
	const char *parent = scratch_path(state, ".");
	const char *set = getenv("TMPDIR");
	char *before cleanup_free = mem_strdup(set ? set : "/tmp");

	if (geteuid() != 0)
		return; /* test/security/test_found_files.py */
	setenv("TMPDIR", parent, 1);
	assert_int_equal(chmod(parent, 01777), 0);
	assert_int_equal(chown(parent, 61002, 61002), 0);
	assert_int_equal(keeper_make_directory(&keeper, "made", &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_null(strstr(err_message(&err), "chmod"));
	assert_false(fs_has_entries(parent));
	setenv("TMPDIR", before, 1);
}

static void what_took_the_place_of_a_made_one_is_neither_opened_nor_removed(void **state)
{
	struct keeper tree cleanup_keeper = {0}, file cleanup_keeper = {0};

	assert_int_equal(keeper_make_beside(&tree, scratch_path(state, "tree"), NULL), 0);
	assert_int_equal(rename(tree.path, scratch_path(state, "away")), 0);
	assert_int_equal(mkdir(tree.path, 0700), 0);
	assert_int_equal(keeper_open(&tree, NULL), -1);
	int fd cleanup_close = keeper_make_file(&file, scratch_path(state, "archive"), NULL);
	char *path cleanup_free = mem_strdup(file.path);
	assert_true(fd >= 0);
	assert_int_equal(rename(path, scratch_path(state, "moved")), 0);
	assert_int_equal(fs_write_file(path, "text", 4, 0600, NULL), 0);
	keeper_remove(&file);
	assert_true(fs_exists(path));
}

static void a_file_that_got_its_name_stays(void **state)
{
	struct keeper draft cleanup_keeper = {0};
	const char *path = scratch_path(state, "archive");
	int fd cleanup_close = keeper_make_file(&draft, path, NULL);

	assert_true(fd >= 0);
	assert_int_equal(rename(draft.path, path), 0);
	keeper_remove(&draft);
	assert_true(fs_exists(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(all_goes_with_a_process_that_is_killed),
		scratch_test(all_goes_with_a_process_that_is_interrupted),
		scratch_test(all_goes_with_a_process_group_that_is_killed),
		scratch_test(a_tree_is_removed_at_once_when_it_is_asked_for),
		scratch_test(nothing_stays_at_the_limit_on_descriptors),
		scratch_test(a_tree_that_took_its_name_stays),
		scratch_test(nothing_is_made_where_others_could_replace_it),
		scratch_test(nothing_is_made_where_its_owner_could_replace_it),
		scratch_test(what_took_the_place_of_a_made_one_is_neither_opened_nor_removed),
		scratch_test(a_file_that_got_its_name_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
