/* The guardian pair: whichever side is killed, nothing is left behind. */
#include "../base/patience.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"

/* How this program is told to be the launcher of a pair. */
#define LAUNCHER "launcher"

enum { ROUNDS = 20 };

/* What the worker of a test tells: pids of the pair, and of what it started. */
struct family {
	pid_t guardian, worker, child, escaped;
};

/* What carries a mark is ended wherever it runs: others test at the same time. The caller frees. */
static char *make_mark(const char *name)
{
	return mem_printf("TONY_CONTAINER=test-guard-%d/%s", (int)getpid(), name);
}

static void tell(int fd, const void *bytes, size_t length)
{
	if (write(fd, bytes, length) != (ssize_t)length)
		_exit(99);
}

static void sleep_for_ever(void)
{
	signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		sleep_for_ever();
	return pid;
}

/* Twice forked and with a session of its own: no longer a child of anybody's but the subreaper. */
static pid_t start_escaped(void)
{
	int ends[2];
	pid_t pid, between;

	if (pipe(ends) < 0)
		_exit(99);
	between = fork();
	if (between == 0) {
		setsid();
		pid = start_child();
		tell(ends[1], &pid, sizeof(pid));
		_exit(0);
	}
	waitpid(between, NULL, 0);
	if (read(ends[0], &pid, sizeof(pid)) != sizeof(pid))
		_exit(99);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static _Noreturn void work(const struct guard *guard, int report)
{
	struct pollfd lifeline = {.fd = guard->fd, .events = POLLIN};
	struct family family = {
		.guardian = guard->guardian,
		.worker = getpid(),
		.child = start_child(),
		.escaped = start_escaped(),
	};

	tell(report, &family, sizeof(family));
	while (poll(&lifeline, 1, -1) <= 0)
		continue;
	guard_end_tree(guard);
	_exit(7);
}

static pid_t start_pair(struct family *family, int *report)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct guard guard;
		close(ends[0]);
		setsid();
		if (guard_start(NULL, &guard, NULL) < 0)
			_exit(99);
		if (guard.is_worker)
			work(&guard, ends[1]);
		tell(ends[1], &guard.signal, sizeof(guard.signal));
		_exit(guard.exit_code);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], family, sizeof(*family)), sizeof(*family));
	assert_int_equal(family->guardian, pid);
	*report = ends[0];
	return pid;
}

static void await_end(pid_t pid)
{
	struct proc_id id;

	wait_until(!proc_identify(pid, &id) || !proc_is_alive(&id));
}

static void await_stop(pid_t pid)
{
	struct proc_entry entry = {0};

	wait_until(proc_read_entry(pid, &entry) < 0 || entry.state == 'T');
	assert_int_equal(entry.state, 'T');
}

/* Adopts what loses its parents, so that the machine's first process is not asked to reap. */
static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		continue;
}

static void a_killed_worker_is_noticed(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct family family;
		int report, signal, status;
		pid_t pid = start_pair(&family, &report);
		kill(family.worker, SIGKILL);
		assert_int_equal(read(report, &signal, sizeof(signal)), sizeof(signal));
		assert_int_equal(signal, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), 128 + SIGKILL);
		/* The guardian does not return before all are gone. */
		assert_int_equal(kill(family.child, 0), -1);
		assert_int_equal(kill(family.escaped, 0), -1);
		close(report);
	}
}

static void a_killed_guardian_is_noticed(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct family family;
		int report;
		start_pair(&family, &report);
		kill(family.guardian, SIGKILL);
		await_end(family.worker);
		await_end(family.child);
		await_end(family.escaped);
		close(report);
		reap_all();
	}
}

/* As a NodeManager kills a container. */
static void kill_groups(bool worker_is_stopped)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct family family;
		int report;
		pid_t pid = start_pair(&family, &report);
		if (worker_is_stopped) {
			kill(family.worker, SIGSTOP);
			await_stop(family.worker);
		}
		kill(-pid, SIGKILL);
		await_end(family.worker);
		await_end(family.child);
		await_end(family.escaped);
		close(report);
		reap_all();
	}
}

static void a_killed_group_is_noticed(void **state)
{
	kill_groups(false);
}

static void a_stopped_worker_goes_on_when_its_guardian_is_killed(void **state)
{
	kill_groups(true);
}

static void a_worker_that_ends_leaves_nothing(void **state)
{
	struct guard guard;
	int ends[2], status;
	pid_t escaped;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (guard_start(NULL, &guard, NULL) < 0)
			_exit(99);
		if (guard.is_worker) {
			escaped = start_escaped();
			tell(ends[1], &escaped, sizeof(escaped));
		}
		_exit(guard.is_worker ? 42 : guard.exit_code);
	}
	assert_int_equal(read(ends[0], &escaped, sizeof(escaped)), sizeof(escaped));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
	assert_int_equal(kill(escaped, 0), -1);
	close(ends[0]);
	close(ends[1]);
}

static void on_term(int signal)
{
	_exit(21);
}

static void signals_reach_the_worker(void **state)
{
	int ends[2], status;
	char byte = 0;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	/* An inherited "ignore" must not make the pair deaf for its children. */
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = fork();
	if (pid == 0) {
		struct guard guard;
		if (guard_start(NULL, &guard, NULL) < 0)
			_exit(99);
		if (!guard.is_worker)
			_exit(guard.exit_code);
		signal(SIGTERM, on_term);
		tell(ends[1], &byte, 1);
		for (;;)
			pause();
	}
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 21);
	close(ends[0]);
	close(ends[1]);
}

/* A marked process that is no descendant: of an earlier, killed pair. */
static void marked_strangers_are_ended(void **state)
{
	char *mark cleanup_free = make_mark("worker-0-1");
	char *const environment[] = {mark, NULL};
	char *const command[] = {"/bin/sleep", "1000", NULL};
	struct guard guard;
	int status;

	pid_t stranger = fork();
	if (stranger == 0) {
		execve(command[0], command, environment);
		_exit(99);
	}
	struct proc_list list = {0};
	while (list.count == 0) {
		proc_list_finish(&list);
		proc_find_marked(mark, 0, &list);
	}
	proc_list_finish(&list);
	pid_t pid = fork();
	if (pid == 0) {
		if (guard_start(mark, &guard, NULL) < 0)
			_exit(99);
		if (guard.is_worker)
			raise(SIGKILL);
		_exit(guard.exit_code);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(waitpid(stranger, &status, 0), stranger);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* This program as the launcher of a pair, marked like the pair, waiting for it. */
static int be_launcher(void)
{
	char *mark cleanup_free = mem_printf("TONY_CONTAINER=%s", getenv("TONY_CONTAINER"));
	struct guard guard;
	int status;

	pid_t pid = fork();
	if (pid == 0) {
		if (guard_start(mark, &guard, NULL) < 0)
			_exit(99);
		if (guard.is_worker)
			_exit(guard_end_tree(&guard) < 0 ? 99 : 7);
		_exit(guard.exit_code);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void a_marked_launcher_is_spared(void **state)
{
	char *mark cleanup_free = make_mark("launched");
	char *const environment[] = {mark, NULL};
	char *const command[] = {"test_guard", LAUNCHER, NULL};
	int status;

	pid_t pid = fork();
	if (pid == 0) {
		execve("/proc/self/exe", command, environment);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* Nobody is left to end the grandchildren of a pair killed in one moment but the kernel (a child
 * with a death signal) and whoever adopts them: they are still found by descent. */
static void after_both_the_adopter_finds_all(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct family family;
		int report;
		start_pair(&family, &report);
		kill(family.guardian, SIGSTOP);
		kill(family.worker, SIGSTOP);
		kill(family.worker, SIGKILL);
		kill(family.guardian, SIGKILL);
		await_end(family.worker);
		await_end(family.guardian);
		assert_true(proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0) >= 0);
		await_end(family.child);
		await_end(family.escaped);
		close(report);
		reap_all();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_worker_is_noticed),
		cmocka_unit_test(a_killed_guardian_is_noticed),
		cmocka_unit_test(a_killed_group_is_noticed),
		cmocka_unit_test(a_stopped_worker_goes_on_when_its_guardian_is_killed),
		cmocka_unit_test(a_worker_that_ends_leaves_nothing),
		cmocka_unit_test(signals_reach_the_worker),
		cmocka_unit_test(marked_strangers_are_ended),
		cmocka_unit_test(a_marked_launcher_is_spared),
		cmocka_unit_test(after_both_the_adopter_finds_all),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (argc > 1 && strcmp(argv[1], LAUNCHER) == 0)
		return be_launcher();
	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
