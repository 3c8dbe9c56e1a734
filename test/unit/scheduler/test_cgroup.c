/* Version 1, version 2 and neither, in a tree laid out like the kernel's; and for real where this
 * machine lets us. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/cgroup.h"

#define V2_MOUNT "32 1 0:4 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1_MOUNT "31 1 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define APP	 "sys/fs/cgroup/user.slice/app.slice"

static const char *root_of(void **state)
{
	return scratch_path(state, "");
}

static void lay_out_v2(void **state)
{
	scratch_write(state, "proc/self/cgroup", "0::/user.slice/app.slice/term.scope\n", 0600);
	scratch_write(state, "proc/self/mountinfo", V2_MOUNT, 0600);
	scratch_write(state, APP "/cgroup.procs", "", 0600);
	scratch_write(state, APP "/cgroup.subtree_control", "cpu memory pids\n", 0600);
	/* The caller's group has processes: the kernel refuses to give it controllers. */
	scratch_write(state, APP "/term.scope/cgroup.procs", "", 0600);
}

static void lay_out_v1(void **state)
{
	scratch_write(state, "proc/self/cgroup", "3:cpu:/\n4:memory:/a/b\n0::/\n", 0600);
	scratch_write(state, "proc/self/mountinfo", V2_MOUNT V1_MOUNT, 0600);
	scratch_write(state, "sys/fs/cgroup/memory/a/b/cgroup.procs", "", 0600);
}

static void assert_home(void **state, enum cgroup_version version, const char *path)
{
	struct cgroup_home home;

	cgroup_find_home(root_of(state), &home);
	assert_int_equal(home.version, version);
	if (path)
		assert_text_has(home.path, path);
	else
		assert_null(home.path);
	cgroup_home_finish(&home);
}

/* ---- where -------------------------------------------------------------------------------- */

static void version_2_goes_to_the_nearest_that_can(void **state)
{
	lay_out_v2(state);
	assert_home(state, CGROUP_V2, "/user.slice/app.slice");
	/* An empty group of its own can be given the controller. */
	scratch_write(state, APP "/term.scope/cgroup.subtree_control", "", 0600);
	assert_home(state, CGROUP_V2, "/user.slice/app.slice/term.scope");
}

static void version_2_never_leaves_a_limited_group(void **state)
{
	lay_out_v2(state);
	scratch_write(state, APP "/term.scope/memory.max", "max\n", 0600);
	assert_home(state, CGROUP_V2, "/app.slice");
	scratch_write(state, APP "/term.scope/memory.max", "4096\n", 0600);
	assert_home(state, CGROUP_NONE, NULL);
}

static void nothing_delegated_is_no_place(void **state)
{
	scratch_write(state, "proc/self/cgroup", "0::/user.slice/x\n", 0600);
	scratch_write(state, "proc/self/mountinfo", V2_MOUNT, 0600);
	assert_home(state, CGROUP_NONE, NULL);
}

static void version_1_goes_before(void **state)
{
	lay_out_v1(state);
	assert_home(state, CGROUP_V1, "/sys/fs/cgroup/memory/a/b");
}

static void a_machine_without_cgroups_is_fine(void **state)
{
	struct cgroup_home home;
	struct err err = {0};

	assert_home(state, CGROUP_NONE, NULL);
	cgroup_find_home(root_of(state), &home);
	assert_null(cgroup_create(&home, "x", 1, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	err_finish(&err);
	assert_int_equal(cgroup_memory_allowed(root_of(state), 0), INT64_MAX);
}

static void odd_lines_are_passed_over(void **state)
{
	scratch_write(state, "proc/self/cgroup", "\n:\n4\n4:memory\n::\n", 0600);
	scratch_write(state, "proc/self/mountinfo", "\n - \n1 2 3 - cgroup2 x y\n" V1_MOUNT, 0600);
	assert_home(state, CGROUP_NONE, NULL);
}

/* ---- what is written ---------------------------------------------------------------------- */

static void assert_file(void **state, const char *name, const char *expected)
{
	assert_text_freed(scratch_read(state, name), expected);
}

static char *create(void **state, const char *name, int64_t memory)
{
	struct err err = {0};
	struct cgroup_home home;

	cgroup_find_home(root_of(state), &home);
	char *path = cgroup_create(&home, name, memory, &err);
	if (!path)
		fail_msg("%s", err_message(&err));
	cgroup_home_finish(&home);
	return path;
}

static void version_2_limits_memory_and_swap(void **state)
{
	lay_out_v2(state);
	scratch_write(state, APP "/job.worker-0-1/memory.max", "", 0600);
	scratch_write(state, APP "/job.worker-0-1/memory.swap.max", "", 0600);
	free(create(state, "job.worker-0-1", 64));
	assert_file(state, APP "/job.worker-0-1/memory.max", "67108864");
	assert_file(state, APP "/job.worker-0-1/memory.swap.max", "0");
}

static void version_1_limits_memory_and_swap(void **state)
{
	lay_out_v1(state);
	scratch_write(state, "sys/fs/cgroup/memory/a/b/g/memory.limit_in_bytes", "", 0600);
	scratch_write(state, "sys/fs/cgroup/memory/a/b/g/memory.memsw.limit_in_bytes", "", 0600);
	free(create(state, "g", 1));
	assert_file(state, "sys/fs/cgroup/memory/a/b/g/memory.limit_in_bytes", "1048576");
	assert_file(state, "sys/fs/cgroup/memory/a/b/g/memory.memsw.limit_in_bytes", "1048576");
}

static void a_group_that_takes_no_limit_is_not_left(void **state)
{
	struct err err = {0};
	struct cgroup_home home;

	lay_out_v2(state);
	cgroup_find_home(root_of(state), &home);
	assert_null(cgroup_create(&home, "g", 64, &err));
	assert_message_has(&err, "limit of 64 MiB");
	assert_false(fs_exists(scratch_path(state, APP "/g")));
	err_finish(&err);
	cgroup_home_finish(&home);
}

static void kills_are_counted(void **state)
{
	scratch_write(state, "v2/memory.events", "low 0\noom 5\noom_kill 3\noom_group_kill 0\n",
		      0600);
	scratch_write(state, "v1/memory.oom_control",
		      "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", 0600);
	scratch_write(state, "old/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", 0600);
	assert_int_equal(cgroup_oom_kills(scratch_path(state, "v2")), 3);
	assert_int_equal(cgroup_oom_kills(scratch_path(state, "v1")), 2);
	assert_int_equal(cgroup_oom_kills(scratch_path(state, "old")), 0);
	assert_int_equal(cgroup_oom_kills(scratch_path(state, "none")), 0);
}

static void version_2_kills_by_one_write(void **state)
{
	scratch_write(state, "g/cgroup.kill", "", 0600);
	cgroup_kill(scratch_path(state, "g"));
	assert_file(state, "g/cgroup.kill", "1");
}

static void others_are_killed_one_by_one(void **state)
{
	pid_t child = fork();
	if (child == 0)
		pause();
	char *text cleanup_free =
		mem_printf("%d\nnonsense\n-1\n0\n%d\n", (int)child, (int)getpid());

	scratch_write(state, "g/below/cgroup.procs", text, 0600);
	cgroup_kill(scratch_path(state, "g"));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void empty_means_below_too(void **state)
{
	scratch_write(state, "g/cgroup.procs", "", 0600);
	scratch_write(state, "g/below/cgroup.procs", "", 0600);
	assert_true(cgroup_is_empty(scratch_path(state, "g")));
	scratch_write(state, "g/below/cgroup.procs", "17\n", 0600);
	assert_false(cgroup_is_empty(scratch_path(state, "g")));
}

/* ---- for real ----------------------------------------------------------------------------- */

static char *create_real(int64_t memory)
{
	struct err err = {0};
	struct cgroup_home home;
	char *job cleanup_free = mem_printf("tony-test-%d", (int)getpid());
	char *name cleanup_free = cgroup_name(job, "worker-0-1");

	cgroup_find_home("", &home);
	char *path = cgroup_create(&home, name, memory, &err);
	if (!path)
		fail_msg("%s", err_message(&err));
	cgroup_home_finish(&home);
	return path;
}

static _Noreturn void use_memory(size_t bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; memory != MAP_FAILED && i < bytes; i += 4096)
		memory[i] = 1;
	_exit(0);
}

static int run_inside(const char *path, size_t bytes)
{
	int status;
	bool is_inside;
	pid_t child = cgroup_fork(path, &is_inside);

	if (child == 0) {
		if (!is_inside)
			_exit(9);
		use_memory(bytes);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void the_kernel_keeps_the_limit(void **state)
{
	char *path cleanup_free = create_real(32);

	assert_int_equal(run_inside(path, 8 << 20), 0);
	assert_int_equal(cgroup_oom_kills(path), 0);
	int status = run_inside(path, 200 << 20);
	assert_true(WIFSIGNALED(status));
	assert_true(cgroup_oom_kills(path) > 0);
	assert_true(cgroup_is_empty(path));
	assert_int_equal(cgroup_remove(path), 0);
	assert_false(fs_exists(path));
}

/* In a mount namespace of its own: most machines have this version elsewhere, or not at all. */
static int fork_into_version_2(const char *mount_point)
{
	char *name cleanup_free = mem_printf("tony-test-%d", (int)getpid());
	char *group cleanup_free = fs_join(mount_point, name);
	bool is_inside;
	int status = 0;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", mount_point, "cgroup2", 0, NULL) < 0 || mkdir(group, 0700) < 0)
		return 2;
	pid_t child = cgroup_fork(group, &is_inside);
	if (child == 0) {
		size_t length;
		char *groups = fs_read_file("/proc/self/cgroup", 65536, &length, NULL);
		_exit(is_inside && groups && strstr(groups, name) ? 0 : 1);
	}
	waitpid(child, &status, 0);
	rmdir(group);
	return status != 0;
}

static void version_2_is_entered_by_the_fork(void **state)
{
	int status;

	scratch_write(state, "unified/.keep", "", 0600);
	pid_t child = fork();

	if (child == 0)
		_exit(fork_into_version_2(scratch_path(state, "unified")));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void groups_of_a_task_go_however_deep_they_are(void **state)
{
	char *path cleanup_free = create_real(32);
	struct str below cleanup_str = {0};

	str_append(&below, path);
	for (int i = 0; i < 40; i++) {
		str_append(&below, "/g");
		assert_int_equal(mkdir(below.text, 0700), 0);
	}
	assert_true(cgroup_is_empty(path));
	assert_int_equal(cgroup_remove(path), 0);
	assert_false(fs_exists(path));
}

static void a_jobs_groups_are_cleaned_away(void **state)
{
	char *path cleanup_free = create_real(32);
	char *job cleanup_free = mem_printf("tony-test-%d", (int)getpid());
	int pipes[2], status;
	char byte;

	assert_int_equal(pipe2(pipes, 0), 0);
	bool is_inside;
	pid_t child = cgroup_fork(path, &is_inside);
	if (child == 0) {
		if (!is_inside || write(pipes[1], "x", 1) < 0)
			_exit(9);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_false(cgroup_is_empty(path));
	assert_int_equal(cgroup_remove(path), -1);
	cgroup_clean("", "another-job");
	assert_true(fs_exists(path));
	/* The zombie does not keep the group. */
	cgroup_clean("", job);
	assert_false(fs_exists(path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	close(pipes[0]);
	close(pipes[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(version_2_goes_to_the_nearest_that_can),
		scratch_test(version_2_never_leaves_a_limited_group),
		scratch_test(nothing_delegated_is_no_place),
		scratch_test(version_2_is_entered_by_the_fork),
		scratch_test(version_1_goes_before),
		scratch_test(a_machine_without_cgroups_is_fine),
		scratch_test(odd_lines_are_passed_over),
		scratch_test(version_2_limits_memory_and_swap),
		scratch_test(version_1_limits_memory_and_swap),
		scratch_test(a_group_that_takes_no_limit_is_not_left),
		scratch_test(kills_are_counted),
		scratch_test(version_2_kills_by_one_write),
		scratch_test(others_are_killed_one_by_one),
		scratch_test(empty_means_below_too),
	};
	const struct CMUnitTest real[] = {
		cmocka_unit_test(the_kernel_keeps_the_limit),
		cmocka_unit_test(a_jobs_groups_are_cleaned_away),
		cmocka_unit_test(groups_of_a_task_go_however_deep_they_are),
	};
	struct cgroup_home home;

	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	cgroup_find_home("", &home);
	/* A machine that gives this user no groups has nothing of its own to be tested. */
	if (home.version != CGROUP_NONE)
		failed += cmocka_run_group_tests(real, NULL, NULL);
	cgroup_home_finish(&home);
	return failed;
}
