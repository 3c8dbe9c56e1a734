/* Processes as /proc shows them. */
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
#include "base/str.h"

/* A child that runs `body` (NULL: nothing), then says so and sleeps until it is killed. */
static pid_t start(void (*body)(void))
{
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (body)
			body();
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void stop(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void make_zombie(pid_t child)
{
	siginfo_t info;

	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

static void a_process_is_told_from_its_successor(void **state)
{
	struct proc_id self, child_id;
	pid_t child = start(NULL);

	assert_true(proc_identify(getpid(), &self));
	assert_int_equal(self.pid, getpid());
	assert_true(self.start_time > 0);
	assert_true(proc_is_alive(&self));
	self.start_time++;
	assert_false(proc_is_alive(&self));

	assert_true(proc_identify(child, &child_id));
	assert_true(proc_is_alive(&child_id));
	stop(child);
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
	pid_t child = start(NULL);
	struct proc_list list;
	struct proc_id id;

	assert_true(proc_identify(child, &id));
	make_zombie(child);
	assert_false(proc_is_alive(&id));
	proc_find_descendants(getpid(), &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
	stop(child);
}

static void take_a_hostile_name(void)
{
	prctl(PR_SET_NAME, "a) Z 1 1 (\n) b");
}

static void names_do_not_confuse(void **state)
{
	pid_t child = start(take_a_hostile_name);
	struct proc_list list;
	struct proc_id id;

	assert_true(proc_identify(child, &id));
	assert_true(proc_is_alive(&id));
	proc_find_descendants(getpid(), &list);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, child);
	proc_list_finish(&list);
	stop(child);
}

static void fork_grandchild(void)
{
	start(NULL);
}

static void fork_generations(void)
{
	setsid();
	start(fork_grandchild);
	start(NULL);
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
	pid_t child = start(fork_generations);
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
	stop(child);
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
	int started[2];
	char byte;

	/* The write end closes when the program is executed. */
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
		stop(children[i]);
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
	stop(child);
}

enum { TOUCHED = 64 << 20 };

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
	start(NULL);
	start(NULL);
}

static void shared_memory_counts_once_in_pss(void **state)
{
	pid_t child = start(share_memory);
	struct proc_usage usage;

	proc_measure_tree(child, &usage);
	assert_int_equal(usage.processes, 3);
	assert_int_equal(usage.threads, 3);
	assert_true(usage.rss_bytes >= 3 * (uint64_t)TOUCHED);
	assert_true(usage.pss_bytes >= TOUCHED);
	assert_true(usage.pss_bytes < 2 * (uint64_t)TOUCHED);
	proc_measure_descendants(child, &usage);
	assert_int_equal(usage.processes, 2);
	stop(child);
}

static void stopped_ones_are_told_from_others(void **state)
{
	pid_t first = start(NULL), second = start(NULL);
	struct proc_list list;
	int status;

	kill(second, SIGSTOP);
	assert_int_equal(waitpid(second, &status, WUNTRACED), second);
	proc_find_stopped(getpid(), &list);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, second);
	proc_list_finish(&list);
	kill(second, SIGCONT);
	assert_int_equal(waitpid(second, &status, WCONTINUED), second);
	proc_find_stopped(getpid(), &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
	stop(first);
	stop(second);
}

static void a_process_has_a_name(void **state)
{
	char *own cleanup_free = proc_name(getpid());
	char *none cleanup_free = proc_name(0);

	assert_string_equal(own, "test_base_proc");
	assert_string_equal(none, "?");
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
	pid_t child = start(burn_in_a_child);
	struct proc_usage usage;

	proc_measure_tree(child, &usage);
	assert_int_equal(usage.processes, 1);
	assert_true(usage.cpu_ms >= 80);
	assert_true(usage.cpu_ms < 60000);
	stop(child);
}

static void what_is_gone_uses_nothing(void **state)
{
	pid_t child = start(NULL);
	struct proc_usage usage = {.processes = 9};

	stop(child);
	proc_measure_tree(child, &usage);
	assert_int_equal(usage.processes, 0);
	assert_int_equal(usage.rss_bytes, 0);
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
		cmocka_unit_test(shared_memory_counts_once_in_pss),
		cmocka_unit_test(stopped_ones_are_told_from_others),
		cmocka_unit_test(a_process_has_a_name),
		cmocka_unit_test(processor_time_includes_ended_children),
		cmocka_unit_test(what_is_gone_uses_nothing),
		cmocka_unit_test(signals_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
