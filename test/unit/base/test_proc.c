/* Processes as /proc shows them. */
#include "child.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"
#include "base/str.h"

static void make_zombie(pid_t child)
{
	siginfo_t info;

	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

static void a_process_is_told_from_its_successor(void **state)
{
	struct proc_id self, child_id;
	pid_t child = child_start(NULL);

	assert_true(proc_identify(getpid(), &self));
	assert_int_equal(self.pid, getpid());
	assert_true(self.start_time > 0);
	assert_true(proc_is_alive(&self));
	self.start_time++;
	assert_false(proc_is_alive(&self));

	assert_true(proc_identify(child, &child_id));
	assert_true(proc_is_alive(&child_id));
	child_stop(child);
	assert_false(proc_is_alive(&child_id));
	assert_false(proc_identify(child, &child_id));
}

static void there_are_no_odd_processes(void **state)
{
	struct proc_id id = {.pid = 0};

	assert_false(proc_identify(0, &id));
	assert_false(proc_identify(-1, &id));
	assert_false(proc_is_alive(&id));
}

static void a_zombie_is_not_alive(void **state)
{
	pid_t child = child_start(NULL);
	struct proc_list list;
	struct proc_id id;

	assert_true(proc_identify(child, &id));
	make_zombie(child);
	assert_false(proc_is_alive(&id));
	proc_find_descendants(getpid(), &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
	child_stop(child);
}

static void take_a_hostile_name(void)
{
	prctl(PR_SET_NAME, "a) Z 1 1 (\n) b");
}

static void names_do_not_confuse(void **state)
{
	pid_t child = child_start(take_a_hostile_name);
	struct proc_list list;
	struct proc_id id;

	assert_true(proc_identify(child, &id));
	assert_true(proc_is_alive(&id));
	proc_find_descendants(getpid(), &list);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, child);
	proc_list_finish(&list);
	child_stop(child);
}

static void fork_grandchild(void)
{
	child_start(NULL);
}

static void fork_generations(void)
{
	setsid();
	child_start(fork_grandchild);
	child_start(NULL);
}

static size_t position(const struct proc_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].pid == pid)
			return i;
	}
	fail_msg("process %d is not listed", (int)pid);
	return 0;
}

static void parents_come_before_children(void **state)
{
	pid_t child = child_start(fork_generations);
	struct proc_list list, below;

	proc_find_descendants(getpid(), &list);
	assert_int_equal(list.count, 4);
	assert_int_equal(position(&list, child), 0);
	proc_find_descendants(child, &below);
	assert_int_equal(below.count, 3);
	for (size_t i = 0; i < below.count; i++) {
		struct proc_list children;
		proc_find_descendants(below.items[i].pid, &children);
		for (size_t j = 0; j < children.count; j++)
			assert_true(position(&below, children.items[j].pid) > i);
		proc_list_finish(&children);
	}
	proc_list_finish(&list);
	proc_list_finish(&below);
	child_stop(child);
}

static void nobody_descends_from_nobody(void **state)
{
	struct proc_list list;

	proc_find_descendants(0, &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
	proc_find_descendants(-1, &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
}

/* A real program with this environment (fork alone does not change /proc/PID/environ). */
static pid_t start_program(char *const environment[])
{
	char *const argv[] = {(char *)"sleep", (char *)"1000", NULL};
	struct proc_entry entry;
	int started[2];
	char byte;

	/* The write end closes when the program is executed: then it is still to be loaded. */
	assert_int_equal(pipe2(started, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execve("/bin/sleep", argv, environment);
		_exit(127);
	}
	close(started[1]);
	assert_int_equal(read(started[0], &byte, 1), 0);
	close(started[0]);
	do
		assert_int_equal(proc_read_entry(child, &entry), 0);
	while (entry.executing);
	return child;
}

static pid_t start_marked(char *mark)
{
	return start_program((char *const[]){(char *)"PATH=/bin", mark, (char *)"Z=1", NULL});
}

static void marks_match_exactly(void **state)
{
	char *mark cleanup_free = mem_printf("TONY_CONTAINER=test_%d", (int)getpid());
	char *longer cleanup_free = mem_printf("%s0", mark);
	char *inner cleanup_free = mem_printf("X=%s", mark);
	char *prefix cleanup_free = mem_strndup(mark, strlen(mark) - 1);
	pid_t children[] = {start_marked(mark), start_marked(longer), start_marked(inner),
			    start_marked(prefix)};
	struct proc_list list;

	proc_find_marked(mark, 0, &list);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, children[0]);
	proc_list_finish(&list);
	proc_find_marked(mark, children[0], &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
	for (size_t i = 0; i < array_length(children); i++)
		child_stop(children[i]);
}

static void marks_are_found_in_large_environments(void **state)
{
	char *mark cleanup_free = mem_printf("TONY_CONTAINER=large_%d", (int)getpid());
	char *large cleanup_free = mem_alloc(100001);
	struct proc_list list;

	memset(large, 'x', 100000);
	memcpy(large, "X=", 2);
	pid_t child = start_program((char *const[]){large, large, large, mark, large, NULL});
	proc_find_marked(mark, 0, &list);
	assert_int_equal(list.count, 1);
	proc_list_finish(&list);
	child_stop(child);
}

static void a_process_has_a_name(void **state)
{
	char *own cleanup_free = proc_name(getpid());
	char *none cleanup_free = proc_name(0);

	assert_string_equal(own, "test_base_proc");
	assert_string_equal(none, "?");
}

static void signals_have_names(void **state)
{
	assert_string_equal(proc_signal_name(SIGKILL), "SIGKILL");
	assert_string_equal(proc_signal_name(SIGTERM), "SIGTERM");
	assert_string_equal(proc_signal_name(SIGSEGV), "SIGSEGV");
	assert_string_equal(proc_signal_name(SIGSYS), "SIGSYS");
	assert_string_equal(proc_signal_name(40), "signal 40");
	assert_string_equal(proc_signal_name(64), "signal 64");
	assert_string_equal(proc_signal_name(65), "unknown signal");
	assert_string_equal(proc_signal_name(-1), "unknown signal");
}

static void a_shell_tells_an_end_in_one_number(void **state)
{
	const int killed = W_EXITCODE(0, SIGKILL), exited = W_EXITCODE(3, 0);
	const int of_a_shell = W_EXITCODE(PROC_SHELL_SIGNAL + SIGKILL, 0);

	assert_int_equal(proc_shell_code(exited), 3);
	assert_int_equal(proc_shell_code(killed), 137);
	assert_int_equal(proc_shell_code(of_a_shell), 137);
	assert_int_equal(proc_shell_signal(exited), 0);
	assert_int_equal(proc_shell_signal(killed), SIGKILL);
	assert_int_equal(proc_shell_signal(of_a_shell), SIGKILL);
	assert_int_equal(proc_shell_signal(W_EXITCODE(PROC_SHELL_SIGNAL, 0)), 0);
	assert_int_equal(proc_shell_signal(W_EXITCODE(255, 0)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_told_from_its_successor),
		cmocka_unit_test(there_are_no_odd_processes),
		cmocka_unit_test(a_zombie_is_not_alive),
		cmocka_unit_test(names_do_not_confuse),
		cmocka_unit_test(parents_come_before_children),
		cmocka_unit_test(nobody_descends_from_nobody),
		cmocka_unit_test(marks_match_exactly),
		cmocka_unit_test(marks_are_found_in_large_environments),
		cmocka_unit_test(a_process_has_a_name),
		cmocka_unit_test(signals_have_names),
		cmocka_unit_test(a_shell_tells_an_end_in_one_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
