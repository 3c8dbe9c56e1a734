#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"

#define ANCESTORS_CAP 32

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

/* What the guardian waits for with sigwaitinfo(): nothing interrupts it, nothing is missed. */
static void awaited_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < array_length(passed_on); i++)
		sigaddset(set, passed_on[i]);
}

/* Reaps all that is dead. True, with its wait status, when the worker was among them. */
static bool reap(pid_t worker, int *status)
{
	bool found = false;
	int each;

	for (pid_t pid; (pid = waitpid(-1, &each, WNOHANG)) > 0;) {
		if (pid == worker) {
			*status = each;
			found = true;
		}
	}
	return found;
}

static int wait_for_worker(struct guard *guard, pid_t worker)
{
	sigset_t set;
	int status = 0;

	awaited_signals(&set);
	for (;;) {
		int signal = sigwaitinfo(&set, NULL);
		if (signal == SIGCHLD && reap(worker, &status))
			return status;
		if (signal > 0 && signal != SIGCHLD) {
			guard->passed = signal;
			kill(worker, signal);
			kill(worker, SIGCONT); /* a stopped process heeds no signal */
		}
	}
}

static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

static void be_guardian(struct guard *guard, pid_t worker)
{
	prctl(PR_SET_NAME, "tony-guardian");
	int status = wait_for_worker(guard, worker);
	guard->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	guard->exit_code = proc_shell_code(status);
}

static void be_worker(struct guard *guard, int fd, pid_t guardian)
{
	/* Who kills a container by its process group must not kill both of the pair at once. The
	 * session stays: when the guardian dies while the worker is stopped, the kernel then lets
	 * the worker go on, as a group that has become an orphan. */
	setpgid(0, 0);
	signal(SIGHUP, SIG_IGN); /* comes with it; the lifeline tells more */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, guard->name); /* it may have been a guardian that forked */
	guard->is_worker = true;
	guard->guardian = guardian;
	guard->fd = fd;
}

int guard_open(const char *mark, struct guard *guard, struct err *err)
{
	sigset_t set;

	*guard = (struct guard){.mark = mark, .fd = -1};
	/* An ignored SIGCHLD is inherited, and would make every wait fail. */
	signal(SIGCHLD, SIG_DFL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_set_errno(err, "cannot become a subreaper");
	prctl(PR_GET_NAME, guard->name);
	awaited_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &guard->before);
	return 0;
}

int guard_fork(struct guard *guard, struct err *err)
{
	int lifeline[2]; /* the guardian holds the end for writing; nobody ever writes */

	if (pipe2(lifeline, O_CLOEXEC) < 0)
		return err_set_errno(err, "cannot make a pipe");
	pid_t guardian = getpid(), worker = fork();
	if (worker < 0) {
		err_set_fork(err, "cannot start the supervising process");
		close(lifeline[1]);
	}
	close(lifeline[worker == 0]);
	if (worker > 0) {
		be_guardian(guard, worker);
		close(lifeline[1]);
	} else if (worker == 0) {
		be_worker(guard, lifeline[0], guardian);
		sigprocmask(SIG_SETMASK, &guard->before, NULL);
	}
	return worker < 0 ? -1 : 0;
}

void guard_finish(struct guard *guard)
{
	if (guard->signal != 0)
		log_error("the supervising process was killed by %s; ending all it started",
			  proc_signal_name(guard->signal));
	if (guard->signal != 0)
		guard->has_survivors = guard_end_tree(guard) < 0;
	else
		guard_leave(guard);
}

/* Whatever was left behind below this subreaper is a child of it now: without children there is
 * nothing, and no look at /proc is needed, which takes as long as the machine has processes. */
void guard_leave(struct guard *guard)
{
	guard->has_survivors = has_children() && guard_end_tree(guard) < 0;
}

int guard_start(const char *mark, struct guard *guard, struct err *err)
{
	if (guard_open(mark, guard, err) < 0)
		return -1;
	int result = guard_fork(guard, err);
	if (result < 0)
		sigprocmask(SIG_SETMASK, &guard->before, NULL);
	else if (!guard->is_worker)
		guard_finish(guard);
	return result;
}

/* Those above may carry the mark: the guardian while it lives, and the shell of a NodeManager that
 * waits for the pair and would tell of its own end in place of theirs. */
static size_t find_ancestors(pid_t *ancestors, size_t cap)
{
	struct proc_entry entry = {.parent = getppid()};
	size_t count = 0;

	while (count < cap && entry.parent > 1) {
		ancestors[count++] = entry.parent;
		if (proc_read_entry(entry.parent, &entry) < 0)
			break;
	}
	return count;
}

int guard_end_tree(const struct guard *guard)
{
	pid_t ancestors[ANCESTORS_CAP];
	size_t count = find_ancestors(ancestors, array_length(ancestors));

	return proc_end_unspared(guard->mark, guard->spared, ancestors, count) < 0 ? -1 : 0;
}
