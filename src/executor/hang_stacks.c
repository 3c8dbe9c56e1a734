/* Where the processes of a task that hangs stand, for people. Runs in a process of its own: what is
 * read here may block. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"
#include "base/str.h"
#include "executor/hang.h"

enum { TEXT_CAP = 65536, PROCESSES_MAX = 64, THREADS_MAX = 64 };

extern char **environ;

/* One line: blanks for what ends arguments and lines. "" when it cannot be read. */
static char *read_line(pid_t pid, const char *file)
{
	struct str text cleanup_str = {0};

	if (proc_read_file(pid, file, TEXT_CAP, &text) < 0)
		return mem_strdup("");
	while (text.length > 0 && strchr("\n ", text.text[text.length - 1]))
		str_truncate(&text, text.length - 1);
	for (size_t i = 0; i < text.length; i++)
		if (text.text[i] == '\0' || text.text[i] == '\n')
			text.text[i] = ' ';
	return str_printable(str_text(&text), text.length);
}

static char *read_of_thread(pid_t pid, const char *thread, const char *file)
{
	char *path cleanup_free = mem_printf("task/%s/%s", thread, file);

	return read_line(pid, path);
}

/* "State:\tS (sleeping)" */
static char *state_of(pid_t pid, const char *thread)
{
	char *path cleanup_free = mem_printf("task/%s/status", thread);
	struct str text cleanup_str = {0};

	if (proc_read_file(pid, path, TEXT_CAP, &text) < 0)
		return mem_strdup("gone");
	const char *state = strstr(str_text(&text), "State:\t");
	return state ? mem_strndup(state + 7, strcspn(state + 7, "\n")) : mem_strdup("?");
}

static void write_thread(FILE *out, pid_t pid, const char *thread)
{
	char *name cleanup_free = read_of_thread(pid, thread, "comm");
	char *state cleanup_free = state_of(pid, thread);
	char *place cleanup_free = read_of_thread(pid, thread, "wchan");
	char *call cleanup_free = read_of_thread(pid, thread, "syscall");
	char *stack cleanup_free = read_of_thread(pid, thread, "stack");

	fprintf(out, "  thread %s (%s): %s, in the kernel at %s, system call %s\n", thread, name,
		state, *place ? place : "?", *call ? call : "?");
	if (*stack)
		fprintf(out, "    %s\n", stack);
}

static void write_threads(FILE *out, pid_t pid)
{
	char *path cleanup_free = mem_printf("/proc/%d/task", (int)pid);
	DIR *dir cleanup_dir = opendir(path);
	const struct dirent *file;
	int count = 0;

	while (dir && (file = readdir(dir)) && count < THREADS_MAX) {
		if (file->d_name[0] == '.')
			continue;
		write_thread(out, pid, file->d_name);
		count++;
	}
}

/* Says itself what it could not do. False: there is none. */
static bool write_python(FILE *out, pid_t pid)
{
	char *number cleanup_free = mem_printf("%d", (int)pid);
	char *const arguments[] = {"py-spy", "dump", "--pid", number, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;

	fflush(out);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(out), 1);
	posix_spawn_file_actions_adddup2(&actions, fileno(out), 2);
	int error = posix_spawnp(&child, "py-spy", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error != 0)
		return false;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return true;
}

static int busiest_first(const void *a, const void *b)
{
	const struct proc_entry *const *first = a, *const *second = b;

	return ((*first)->cpu_ticks < (*second)->cpu_ticks) -
	       ((*first)->cpu_ticks > (*second)->cpu_ticks);
}

static void write_process(FILE *out, pid_t pid, bool *lacks_py_spy)
{
	char *name cleanup_free = proc_name(pid);
	char *command cleanup_free = read_line(pid, "cmdline");

	fprintf(out, "process %d (%s): %s\n", (int)pid, name, command);
	if (str_starts_with(name, "python"))
		*lacks_py_spy = !write_python(out, pid) || *lacks_py_spy;
	write_threads(out, pid);
}

static void write_all(FILE *out, pid_t root)
{
	struct proc_scan scan;
	bool lacks_py_spy = false;
	size_t count;

	proc_scan_take(&scan);
	const struct proc_entry **found = proc_scan_descendants(&scan, root, &count);
	qsort(found, count, sizeof(const struct proc_entry *), busiest_first);
	for (size_t i = 0; i < count && i < PROCESSES_MAX; i++)
		if (found[i]->id.pid != getpid())
			write_process(out, found[i]->id.pid, &lacks_py_spy);
	if (lacks_py_spy)
		fprintf(out, "No py-spy is in the PATH, so Python's own stacks are not known. The "
			     "program can print them itself: faulthandler.register(SIGTERM, "
			     "all_threads=True, chain=True)\n");
}

static _Noreturn void save(const char *path, pid_t root)
{
	proc_reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "tony-stacks");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out || getppid() != root)
		_exit(1);
	write_all(out, root);
	_exit(fclose(out) == 0 ? 0 : 1);
}

int hang_save_stacks(const char *path)
{
	pid_t root = getpid();
	sigset_t all, before;

	/* Blocked, so that no handler of this process ever runs in the child. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	if (pid == 0)
		save(path, root);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}
