/*
 * Ending all processes of a task, also those that try to get away. Every process of a test holds
 * the write end of a pipe: its end of file says, without a race, that none is left.
 */
#include "patience.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"
#include "base/str.h"

enum {
	LIFE_MS = 2 * PATIENCE_MS, /* should a test fail, its processes end by themselves */
	GRACE_MS = 250,
};

static int life[2]; /* the pipe: read, write */

static int life_begin(void **state)
{
	if (pipe(life) < 0)
		return -1;
	fcntl(life[0], F_SETFD, FD_CLOEXEC);
	/* Orphans come to the test, as they come to an executor. */
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int life_end(void **state)
{
	close(life[0]);
	if (life[1] >= 0)
		close(life[1]);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return prctl(PR_SET_CHILD_SUBREAPER, 0);
}
#define life_test(function) cmocka_unit_test_setup_teardown(function, life_begin, life_end)

/* A process is there: told through the pipe. */
static void announce(void)
{
	if (write(life[1], "", 1) != 1)
		_exit(1);
}

static void await(int processes)
{
	char byte;

	for (int i = 0; i < processes; i++)
		assert_int_equal(read(life[0], &byte, 1), 1);
}

static void assert_none_left(void)
{
	struct pollfd ends = {.fd = life[0], .events = POLLIN};
	char byte;

	close(life[1]);
	life[1] = -1;
	do
		assert_int_equal(poll(&ends, 1, PATIENCE_MS), 1);
	while (read(life[0], &byte, 1) == 1);
}

static _Noreturn void sleep_on(void)
{
	announce();
	poll(NULL, 0, LIFE_MS);
	_exit(0);
}

static pid_t start(void (*body)(void))
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		body();
		sleep_on();
	}
	return child;
}

static void nothing(void)
{
}

static void start_one(void)
{
	start(nothing);
}

static void heed_no_signal(void)
{
	signal(SIGTERM, SIG_IGN);
}

static void assert_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void ending_nothing_is_fine(void **state)
{
	assert_int_equal(proc_end_all(getpid(), NULL, NULL, 0, SIGTERM, 1000), 0);
	assert_int_equal(proc_end_all(0, NULL, NULL, 0, SIGKILL, 0), 0);
	assert_int_equal(proc_end_all(getpid(), "TONY_CONTAINER=nobody", NULL, 0, SIGKILL, 0), 0);
}

static void who_heeds_the_signal_is_not_killed(void **state)
{
	start(nothing);
	start(nothing);
	await(2);
	assert_int_equal(proc_end_all(getpid(), NULL, NULL, 0, SIGTERM, PATIENCE_MS), 0);
	assert_none_left();
	assert_no_child();
}

/* A process that heeds the signal may need longer on a busy machine: then all is done again with a
 * longer grace. `end` returns how many processes were killed after the grace. */
static void assert_killed(int (*end)(int64_t grace_ms), int expected)
{
	int64_t grace_ms = GRACE_MS;
	int killed;

	while ((killed = end(grace_ms)) != expected && grace_ms < PATIENCE_MS)
		grace_ms *= 2;
	assert_int_equal(killed, expected);
}

static int end_who_ignores_it(int64_t grace_ms)
{
	start(heed_no_signal);
	start(nothing);
	start(heed_no_signal);
	await(3);
	return proc_end_all(getpid(), NULL, NULL, 0, SIGTERM, grace_ms);
}

/* promise: R28 */
static void who_ignores_it_is_killed_after_the_grace(void **state)
{
	assert_killed(end_who_ignores_it, 2);
	assert_none_left();
	assert_no_child();
}

/* A stopped process does not end by itself. */
static void end_with_the_test(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* promise: R27 */
static void a_stopped_process_gets_the_signal(void **state)
{
	pid_t child = start(end_with_the_test);
	siginfo_t info;

	await(1);
	kill(child, SIGSTOP);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOWAIT), 0);
	assert_int_equal(proc_end_all(getpid(), NULL, NULL, 0, SIGTERM, PATIENCE_MS), 0);
	assert_none_left();
}

/* The daemon's way: a session of its own, and no parent. */
static void daemonize_twice(void)
{
	for (int i = 0; i < 2; i++) {
		setsid();
		if (fork() > 0)
			_exit(0);
	}
	setsid();
}

static void a_daemon_does_not_get_away(void **state)
{
	for (int i = 0; i < 5; i++)
		start(daemonize_twice);
	await(5);
	/* A daemon's two parents may still be on their way out. */
	assert_in_range(proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0), 5, 15);
	assert_none_left();
	assert_no_child();
}

/* While a program is loaded it has no environment: waits until that is over. */
static bool is_sleep(pid_t pid)
{
	char *name cleanup_free = proc_name(pid);
	struct proc_entry entry;

	assert_int_equal(proc_read_entry(pid, &entry), 0);
	return strcmp(name, "sleep") == 0 && !entry.executing;
}

static void start_marked_daemon(char *mark)
{
	char *const environment[] = {(char *)"PATH=/bin", mark, NULL};
	char *const argv[] = {(char *)"sh", (char *)"-c",
			      (char *)"setsid sh -c 'printf %8d $$; exec sleep 1000' & exit", NULL};
	char number[9] = "";
	pid_t child = fork();

	if (child == 0) {
		dup2(life[1], STDOUT_FILENO);
		execve("/bin/sh", argv, environment);
		_exit(127);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(read(life[0], number, 8), 8);
	wait_until(is_sleep(atoi(number)));
}

/* Without a subreaper nothing but the mark leads to it. */
static void the_mark_leads_to_what_left_the_tree(void **state)
{
	char *mark cleanup_free = mem_printf("TONY_CONTAINER=end_%d", (int)getpid());

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	start_marked_daemon(mark);
	assert_int_equal(proc_end_all(0, mark, NULL, 0, SIGKILL, 0), 1);
	assert_none_left();
}

static void end_this_thread(int signal)
{
	syscall(SYS_exit, 0);
}

static void *sleep_in_a_thread(void *data)
{
	sleep_on();
}

/* A process whose first thread ends when it is told to: from then on nobody sees its environment,
 * as that of one whose memory is being given back. */
static void start_fading(const char *mark)
{
	pthread_t thread;
	sigset_t told;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child > 0)
		return;
	memcpy(environ[0], mark, strlen(mark) + 1);
	sigemptyset(&told);
	sigaddset(&told, SIGTERM);
	sigprocmask(SIG_BLOCK, &told, NULL);
	signal(SIGTERM, end_this_thread);
	pthread_create(&thread, NULL, sleep_in_a_thread, NULL);
	sigprocmask(SIG_UNBLOCK, &told, NULL);
	for (;;)
		pause();
}

static void who_is_ending_is_waited_for(void **state)
{
	char *mark cleanup_free = mem_printf("TONY_CONTAINER=end_%d", (int)getpid());

	start_fading(mark);
	await(1);
	assert_int_equal(proc_end_all(0, mark, NULL, 0, SIGTERM, 100), 1);
	assert_none_left();
}

static void another_mark_is_left_alone(void **state)
{
	char *mark cleanup_free = mem_printf("TONY_CONTAINER=end_%d", (int)getpid());
	char *other cleanup_free = mem_printf("%s1", mark);

	start_marked_daemon(other);
	assert_int_equal(proc_end_all(0, mark, NULL, 0, SIGKILL, 0), 0);
	assert_int_equal(proc_end_all(0, other, NULL, 0, SIGKILL, 0), 1);
	assert_none_left();
}

static void trees_with_the_mark_are_spared(void **state)
{
	char *mark cleanup_free = mem_printf("TONY_CHILD_OF_end_%d=1", (int)getpid());

	start_marked_daemon(mark);
	start(nothing);
	await(1);
	assert_int_equal(proc_end_unspared(NULL, mark, NULL, 0), 1);
	assert_int_equal(proc_end_unspared(NULL, mark, NULL, 0), 0);
	assert_int_equal(proc_end_unspared(NULL, NULL, NULL, 0), 1);
	assert_none_left();
}

static void two_below(void)
{
	start(nothing);
	start(heed_no_signal);
}

static int end_below_protected(int64_t grace_ms)
{
	pid_t child = start(two_below);
	struct proc_list list;
	struct proc_id id;

	await(3);
	assert_true(proc_identify(child, &id));
	int killed = proc_end_all(getpid(), NULL, &child, 1, SIGTERM, grace_ms);
	assert_true(proc_is_alive(&id));
	proc_find_descendants(child, &list);
	assert_int_equal(list.count, 0);
	proc_list_finish(&list);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return killed;
}

static void the_protected_live_but_not_their_children(void **state)
{
	assert_killed(end_below_protected, 1);
	assert_none_left();
}

/* System calls that read, of this process so far. */
static uint64_t reads_so_far(void)
{
	struct str text cleanup_str = {0};
	uint64_t reads = 0;

	if (proc_read_file(getpid(), "io", 4096, &text) < 0 ||
	    !proc_find_number(str_text(&text), "syscr", &reads))
		skip(); /* a kernel that does not count them */
	return reads;
}

/* A thousand tasks of one machine end together: each looks at its own. */
static void processes_beside_the_tree_are_not_read(void **state)
{
	enum { BESIDE = 500 };

	if (!proc_scan_has_lists())
		skip();
	for (int i = 0; i < BESIDE; i++)
		start(nothing);
	pid_t root = start(start_one);
	await(BESIDE + 2);
	uint64_t before = reads_so_far();
	assert_int_equal(proc_end_all(root, NULL, NULL, 0, SIGKILL, 0), 1);
	assert_true(reads_so_far() - before < 2 * BESIDE);
	assert_int_equal(proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0), BESIDE + 1);
	assert_none_left();
	assert_no_child();
}

static void other_trees_are_left_alone(void **state)
{
	pid_t other = start(nothing), root = start(two_below);
	siginfo_t info;
	int status;

	await(4);
	pid_t ended = start(nothing);
	await(1);
	kill(ended, SIGTERM);
	assert_int_equal(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_end_all(root, NULL, NULL, 0, SIGKILL, 0), 2);
	assert_int_equal(waitpid(root, NULL, WNOHANG), 0);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	/* The status of a child that is not of this tree is still the caller's to read. */
	assert_int_equal(waitpid(ended, &status, WNOHANG), ended);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0), 2);
	assert_none_left();
}

/* Always one process, never the same: each is gone before it can be looked at twice. */
static void keep_replacing(bool new_session)
{
	int64_t end = clock_monotonic_ms() + LIFE_MS;

	announce();
	while (clock_monotonic_ms() < end) {
		if (new_session)
			setsid();
		if (fork() != 0)
			_exit(0);
	}
	_exit(0);
}

static void be_a_comet(void)
{
	keep_replacing(false);
}

static void be_a_comet_with_sessions(void)
{
	keep_replacing(true);
}

static void a_process_that_keeps_replacing_itself_is_caught(void **state)
{
	void (*const bodies[])(void) = {be_a_comet, be_a_comet_with_sessions};

	for (size_t i = 0; i < array_length(bodies); i++) {
		start(bodies[i]);
		await(1);
		assert_true(proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0) >= 0);
	}
	assert_none_left();
	assert_no_child();
}

/* Keeps up a crowd of children that come and go, in sessions of their own. */
static void swarm(void)
{
	int64_t end = clock_monotonic_ms() + LIFE_MS;

	announce();
	for (int alive = 0; clock_monotonic_ms() < end;) {
		if (alive == 60) {
			waitpid(-1, NULL, 0);
			alive--;
			continue;
		}
		pid_t child = fork();
		if (child == 0) {
			setsid();
			if (fork() == 0)
				let_pass(50);
			_exit(0);
		}
		alive += child > 0;
	}
	_exit(0);
}

static void a_swarm_is_frozen_and_ended(void **state)
{
	start(swarm);
	start(swarm);
	await(2);
	assert_true(proc_end_all(getpid(), NULL, NULL, 0, SIGTERM, 100) >= 0);
	assert_none_left();
	assert_no_child();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		life_test(ending_nothing_is_fine),
		life_test(who_heeds_the_signal_is_not_killed),
		life_test(who_ignores_it_is_killed_after_the_grace),
		life_test(a_stopped_process_gets_the_signal),
		life_test(a_daemon_does_not_get_away),
		life_test(the_mark_leads_to_what_left_the_tree),
		life_test(who_is_ending_is_waited_for),
		life_test(another_mark_is_left_alone),
		life_test(trees_with_the_mark_are_spared),
		life_test(the_protected_live_but_not_their_children),
		life_test(processes_beside_the_tree_are_not_read),
		life_test(other_trees_are_left_alone),
		life_test(a_process_that_keeps_replacing_itself_is_caught),
		life_test(a_swarm_is_frozen_and_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
