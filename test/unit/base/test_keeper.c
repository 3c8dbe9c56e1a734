/* Files that a process needs for a while only are gone once it has ended, however it did. */
#include "scratch.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
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

	assert_int_equal(keeper_start(&keeper, scratch_path(state, "later"), NULL), 0);
	scratch_write(state, "later/deep/file", "text", 0600);
	keeper_remove(&keeper);
	assert_false(fs_exists(scratch_path(state, "later")));
	assert_null(keeper.path);
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
		scratch_test(a_file_that_got_its_name_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
