/* What is promised: src/base/proc_tree.h, with real processes. */
#include "child.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/proc_tree.h"

enum { TOUCHED = 64 << 20, ROUNDS = 40 };

static void assert_processes(struct proc_tree *tree, uint32_t expected)
{
	struct proc_usage usage;

	proc_tree_measure(tree, &usage);
	assert_int_equal(usage.processes, expected);
}

/* ---- who they are ------------------------------------------------------------------------- */

static void who_comes_and_goes_is_noticed(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	pid_t children[ROUNDS];

	assert_processes(tree, 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		children[i] = child_start(NULL);
		assert_processes(tree, i + 1);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		child_stop(children[i]);
		assert_processes(tree, ROUNDS - 1 - i);
	}
	proc_tree_destroy(tree);
}

/* A child, and one whose parent has gone. */
static void fork_generations(void)
{
	pid_t parent = fork();

	if (parent == 0) {
		if (fork() > 0)
			_exit(0);
		setsid();
		for (;;)
			pause();
	}
	waitpid(parent, NULL, 0);
	child_start(NULL);
}

static void whole_trees_are_found_at_once(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	struct proc_list list;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (uint32_t i = 0; i < 10; i++) {
		assert_processes(tree, 3 * i);
		child_start(fork_generations);
	}
	assert_processes(tree, 30);
	proc_tree_list(tree, &list);
	assert_int_equal(list.count, 30);
	proc_list_finish(&list);
	proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0);
	assert_processes(tree, 0);
	proc_tree_destroy(tree);
}

static void stopped_ones_are_told_from_others(void **state)
{
	pid_t first = child_start(NULL), second = child_start(NULL);
	struct proc_tree *tree = proc_tree_create(getpid());
	struct proc_list list;
	int status;

	kill(second, SIGSTOP);
	assert_int_equal(waitpid(second, &status, WUNTRACED), second);
	proc_tree_list_stopped(tree, &list);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, second);
	proc_list_finish(&list);
	kill(second, SIGCONT);
	assert_int_equal(waitpid(second, &status, WCONTINUED), second);
	proc_tree_list_stopped(tree, &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
	child_stop(first);
	child_stop(second);
	proc_tree_destroy(tree);
}

static void who_descends_from_others_is_not_theirs(void **state)
{
	pid_t root = child_start(NULL);
	struct proc_tree *tree = proc_tree_create(root);

	assert_processes(tree, 0);
	pid_t other = child_start(NULL);
	assert_processes(tree, 0);
	child_stop(other);
	child_stop(root);
	proc_tree_destroy(tree);
}

static void a_zombie_is_none_of_them(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	siginfo_t info;

	pid_t child = child_start(NULL);
	assert_processes(tree, 1);
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_processes(tree, 0);
	waitpid(child, NULL, 0);
	proc_tree_destroy(tree);
}

static int orders[2], told[2];

/* A child, some process of which reads orders and answers each. */
static pid_t start_who_is_told(void (*body)(void))
{
	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(told), 0);
	return child_start(body);
}

static void order(void)
{
	char byte;

	assert_int_equal(write(orders[1], "", 1), 1);
	assert_int_equal(read(told[0], &byte, 1), 1);
}

static void end_who_is_told(pid_t child)
{
	child_stop(child);
	proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0);
	for (int i = 0; i < 2; i++) {
		close(orders[i]);
		close(told[i]);
	}
}

static void *sleep_for_ever(void *data)
{
	for (;;)
		pause();
	return NULL;
}

static void make_threads_when_told(void)
{
	char order;

	if (fork() > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders[0], &order, 1) == 1) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0 ||
		    write(told[1], "", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void a_thread_is_no_process(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	struct proc_usage usage;

	pid_t child = start_who_is_told(make_threads_when_told);
	assert_processes(tree, 2);
	for (uint32_t i = 1; i <= 5; i++) {
		order();
		proc_tree_measure(tree, &usage);
		assert_int_equal(usage.processes, 2);
		assert_int_equal(usage.threads, 2 + i);
	}
	end_who_is_told(child);
	proc_tree_destroy(tree);
}

/* ---- what they use ------------------------------------------------------------------------ */

static void touch_memory(void)
{
	char *memory =
		mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, TOUCHED);
}

static void share_memory(void)
{
	touch_memory();
	child_start(NULL);
	child_start(NULL);
}

static void shared_memory_counts_once_in_pss(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	pid_t child = child_start(share_memory);
	struct proc_usage usage;

	for (int i = 0; i < 3; i++) {
		proc_tree_measure(tree, &usage);
		assert_int_equal(usage.processes, 3);
		assert_int_equal(usage.threads, 3);
		assert_true(usage.rss_bytes >= 3 * (uint64_t)TOUCHED);
		assert_true(usage.pss_bytes >= TOUCHED);
		assert_true(usage.pss_bytes < 2 * (uint64_t)TOUCHED);
	}
	assert_true(proc_tree_resident_set(tree) >= 3 * (uint64_t)TOUCHED);
	assert_true(proc_tree_proportional_set(tree) < 2 * (uint64_t)TOUCHED);
	child_stop(child);
	proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0);
	proc_tree_destroy(tree);
}

static void touch_when_told(void)
{
	char order;

	if (fork() > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders[0], &order, 1) == 1) {
		touch_memory();
		if (write(told[1], "", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

/* Nobody waits for the next reading. */
static void pss_grows_with_the_resident_set(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	struct proc_usage before, after;

	pid_t child = start_who_is_told(touch_when_told);
	proc_tree_measure(tree, &before);
	assert_true(before.pss_bytes < TOUCHED / 2);
	order();
	proc_tree_measure(tree, &after);
	assert_true(after.pss_bytes >= TOUCHED && after.pss_bytes <= after.rss_bytes);
	end_who_is_told(child);
	proc_tree_destroy(tree);
}

static void burn(void)
{
	while (clock() < CLOCKS_PER_SEC / 10)
		;
}

static void burn_in_a_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		burn();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void processor_time_includes_ended_children(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	pid_t child = child_start(burn_in_a_child);
	struct proc_usage usage;

	proc_tree_measure(tree, &usage);
	assert_int_equal(usage.processes, 1);
	assert_true(usage.cpu_ms >= 80);
	assert_true(usage.cpu_ms < 60000);
	child_stop(child);
	proc_tree_destroy(tree);
}

static void what_is_gone_uses_nothing(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	pid_t child = child_start(touch_memory);
	struct proc_usage usage;

	proc_tree_measure(tree, &usage);
	assert_true(usage.rss_bytes >= TOUCHED);
	child_stop(child);
	proc_tree_measure(tree, &usage);
	assert_int_equal(usage.processes, 0);
	assert_int_equal(usage.rss_bytes, 0);
	assert_int_equal(usage.pss_bytes, 0);
	assert_int_equal(proc_tree_resident_set(tree), 0);
	proc_tree_destroy(tree);
}

static bool is_it(const void *data, pid_t pid)
{
	return *(const pid_t *)data == pid;
}

static void have_a_child(void)
{
	child_start(NULL);
}

static void outsiders_count_for_nothing_with_all_below_them(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	struct proc_usage usage;

	pid_t own = child_start(NULL), outsider = child_start(have_a_child);
	proc_tree_measure(tree, &usage);
	assert_int_equal(usage.processes, 3);
	proc_tree_measure_own(tree, is_it, &outsider, &usage);
	assert_int_equal(usage.processes, 1);
	proc_tree_measure_own(tree, is_it, &own, &usage);
	assert_int_equal(usage.processes, 2);
	proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0);
	proc_tree_destroy(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_comes_and_goes_is_noticed),
		cmocka_unit_test(whole_trees_are_found_at_once),
		cmocka_unit_test(stopped_ones_are_told_from_others),
		cmocka_unit_test(who_descends_from_others_is_not_theirs),
		cmocka_unit_test(a_zombie_is_none_of_them),
		cmocka_unit_test(a_thread_is_no_process),
		cmocka_unit_test(shared_memory_counts_once_in_pss),
		cmocka_unit_test(pss_grows_with_the_resident_set),
		cmocka_unit_test(processor_time_includes_ended_children),
		cmocka_unit_test(what_is_gone_uses_nothing),
		cmocka_unit_test(outsiders_count_for_nothing_with_all_below_them),
	};

	return cmocka_run_group_tests_name("proc_tree", tests, NULL, NULL);
}
