#include "base/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc_scan.h"
#include "base/str.h"

void proc_reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		if (number != SIGXFSZ)
			signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_span(unsigned int first, unsigned int last, bool at_exec)
{
	enum { CLOEXEC_RANGE = 4, MANY = 65536 }; /* CLOSE_RANGE_CLOEXEC is of Linux 5.11 */
	unsigned int flags = at_exec ? CLOEXEC_RANGE : 0;

	if (first > last || syscall(SYS_close_range, first, last, flags) == 0)
		return;
	long most = sysconf(_SC_OPEN_MAX) < MANY ? sysconf(_SC_OPEN_MAX) : MANY;
	for (long fd = first; fd <= last && fd < most; fd++) {
		if (at_exec)
			fcntl((int)fd, F_SETFD, FD_CLOEXEC);
		else
			close((int)fd);
	}
}

void proc_close_from(int first, bool at_exec)
{
	close_span((unsigned int)first, ~0U, at_exec);
}

void proc_close_others(int one, int other)
{
	int low = one < other ? one : other, high = one < other ? other : one;
	int next = STDERR_FILENO + 1;

	if (low >= next) {
		close_span((unsigned int)next, (unsigned int)low - 1, false);
		next = low + 1;
	}
	if (high >= next) {
		close_span((unsigned int)next, (unsigned int)high - 1, false);
		next = high + 1;
	}
	close_span((unsigned int)next, ~0U, false);
}

void proc_enter_session(int output)
{
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	proc_reset_signals();
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	proc_close_from(STDERR_FILENO + 1, true);
}

bool proc_identify(pid_t pid, struct proc_id *id)
{
	struct proc_entry entry;

	if (pid <= 0 || proc_read_entry(pid, &entry) < 0)
		return false;
	*id = entry.id;
	return true;
}

bool proc_is_alive(const struct proc_id *id)
{
	struct proc_entry entry;

	return id->pid > 0 && proc_read_entry(id->pid, &entry) == 0 &&
	       entry.id.start_time == id->start_time && !entry.dead;
}

void proc_list_finish(struct proc_list *list)
{
	free(list->items);
	*list = (struct proc_list){0};
}

void proc_find_descendants(pid_t root, struct proc_list *list)
{
	struct proc_scan scan;
	size_t count;

	proc_scan_take_below(&scan, root);
	const struct proc_entry **found = proc_scan_descendants(&scan, root, NULL, &count);
	*list = (struct proc_list){.items = mem_alloc_array(count, sizeof(*list->items)),
				   .count = count};
	for (size_t i = 0; i < count; i++)
		list->items[i] = found[i]->id;
	free(found);
	proc_scan_finish(&scan);
}

char *proc_name(pid_t pid)
{
	struct str text cleanup_str = {0};

	if (proc_read_file(pid, "comm", 4096, &text) < 0)
		return mem_strdup("?");
	return str_printable(text.text,
			     text.length > 0 ? text.length - 1 : 0); /* less its line end */
}

void proc_find_marked(const char *mark, pid_t except, struct proc_list *list)
{
	struct proc_scan scan;

	proc_scan_take(&scan);
	*list = (struct proc_list){.items = mem_alloc_array(scan.count, sizeof(*list->items))};
	for (size_t i = 0; i < scan.count; i++) {
		const struct proc_entry *entry = &scan.items[i];
		if (!entry->dead && entry->id.pid != except && entry->id.pid != getpid() &&
		    proc_has_mark(entry->id.pid, mark))
			list->items[list->count++] = entry->id;
	}
	proc_scan_finish(&scan);
}

int proc_shell_code(int wait_status)
{
	return WIFSIGNALED(wait_status) ? PROC_SHELL_SIGNAL + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

int proc_shell_signal(int wait_status)
{
	int signal = proc_shell_code(wait_status) - PROC_SHELL_SIGNAL;

	return signal > 0 && signal < NSIG ? signal : 0;
}

const char *proc_signal_name(int signal)
{
	static const char *const names[] = {
		"signal 0",  "SIGHUP",	  "SIGINT",    "SIGQUIT",   "SIGILL",	 "SIGTRAP",
		"SIGABRT",   "SIGBUS",	  "SIGFPE",    "SIGKILL",   "SIGUSR1",	 "SIGSEGV",
		"SIGUSR2",   "SIGPIPE",	  "SIGALRM",   "SIGTERM",   "SIGSTKFLT", "SIGCHLD",
		"SIGCONT",   "SIGSTOP",	  "SIGTSTP",   "SIGTTIN",   "SIGTTOU",	 "SIGURG",
		"SIGXCPU",   "SIGXFSZ",	  "SIGVTALRM", "SIGPROF",   "SIGWINCH",	 "SIGIO",
		"SIGPWR",    "SIGSYS",	  "signal 32", "signal 33", "signal 34", "signal 35",
		"signal 36", "signal 37", "signal 38", "signal 39", "signal 40", "signal 41",
		"signal 42", "signal 43", "signal 44", "signal 45", "signal 46", "signal 47",
		"signal 48", "signal 49", "signal 50", "signal 51", "signal 52", "signal 53",
		"signal 54", "signal 55", "signal 56", "signal 57", "signal 58", "signal 59",
		"signal 60", "signal 61", "signal 62", "signal 63", "signal 64",
	};

	if (signal < 0 || (size_t)signal >= array_length(names))
		return "unknown signal";
	return names[signal];
}
