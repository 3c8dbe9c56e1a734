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

static int wait_for_worker(pid_t worker)
{
	sigset_t set;
	int status;

	awaited_signals(&set);
	for (;;) {
		int signal = sigwaitinfo(&set, NULL);
		if (signal == SIGCHLD && reap(worker, &status))
			return status;
		if (signal > 0 && signal != SIGCHLD) {
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
	int status = wait_for_worker(worker);
	if (WIFSIGNALED(status)) {
		guard->signal = WTERMSIG(status);
		guard->exit_code = 128 + guard->signal;
		log_error("the supervising process was killed by %s; ending all it started",
			  proc_signal_name(guard->signal));
	} else {
		guard->exit_code = WEXITSTATUS(status);
	}
	/* Whatever the worker left behind is a child of this subreaper now: without children, a
	 * worker that left in order left nothing, and no look at /proc is needed. */
	if (guard->signal != 0 || has_children())
		guard_end_tree(guard);
}

static void be_worker(struct guard *guard, int fd, pid_t guardian)
{
	/* Who kills a container by its process group must not kill both of the pair at once. The
	 * session stays: when the guardian dies while the worker is stopped, the kernel then lets
	 * the worker go on, as a group that has become an orphan. */
	setpgid(0, 0);
	signal(SIGHUP, SIG_IGN); /* comes with it; the lifeline tells more */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	guard->is_worker = true;
	guard->guardian = guardian;
	guard->fd = fd;
}

int guard_start(const char *mark, struct guard *guard, struct err *err)
{
	int lifeline[2]; /* the guardian holds the end for writing; nobody ever writes */
	sigset_t set, before;

	*guard = (struct guard){.mark = mark, .fd = -1};
	/* An ignored SIGCHLD is inherited, and would make every wait fail. */
	signal(SIGCHLD, SIG_DFL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_set_errno(err, "cannot become a subreaper");
	if (pipe2(lifeline, O_CLOEXEC) < 0)
		return err_set_errno(err, "cannot make a pipe");
	awaited_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &before);

	pid_t guardian = getpid(), worker = fork();
	if (worker < 0) {
		err_set_errno(err, "cannot start the supervising process");
		close(lifeline[1]);
	}
	close(lifeline[worker == 0]);
	if (worker > 0) {
		be_guardian(guard, worker);
		return 0; /* signals stay blocked: nothing shall cut the caller's last record short
			   */
	}
	if (worker == 0)
		be_worker(guard, lifeline[0], guardian);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return worker < 0 ? -1 : 0;
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

	return proc_end_all(getpid(), guard->mark, ancestors, count, SIGKILL, 0) < 0 ? -1 : 0;
}
