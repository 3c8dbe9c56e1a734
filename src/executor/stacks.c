#include "executor/stacks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"
#include "base/str.h"

enum {
	TEXT_CAP = 65536,
	PROCESSES_MAX = 64,
	THREADS_MAX = 64,
	PY_SPY_MS = 5000, /* for one process */
	ALL_MS = 15000,	  /* after that no other process is asked */
	PY_SPY_CAP = 256 * 1024,
};

/* ---- what the kernel tells ---------------------------------------------------------------- */

/* One line: blanks for what ends arguments and lines. NULL when it cannot be read, or is empty. */
static char *read_line(pid_t pid, const char *file)
{
	struct str text cleanup_str = {0};

	if (proc_read_file(pid, file, TEXT_CAP, &text) < 0)
		return NULL;
	while (text.length > 0 && strchr("\n ", text.text[text.length - 1]))
		str_truncate(&text, text.length - 1);
	for (size_t i = 0; i < text.length; i++)
		if (text.text[i] == '\0' || text.text[i] == '\n')
			text.text[i] = ' ';
	return text.length > 0 ? str_printable(text.text, text.length) : NULL;
}

static void set_line(json_t *object, const char *name, pid_t pid, const char *file)
{
	char *line cleanup_free = read_line(pid, file);

	json_set_text(object, name, line);
}

static json_t *lines_of(const char *text, size_t length)
{
	char *clean cleanup_free = str_printable(text, length);
	json_t *array = json_array();

	for (const char *line = clean; *line; line += strspn(line, "\n")) {
		size_t end = strcspn(line, "\n");
		json_array_append_new(array, json_stringn(line, end));
		line += end;
	}
	return array;
}

/* "S (sleeping)" of "State:\tS (sleeping)" */
static char *state_of(pid_t pid, const char *thread)
{
	char *path cleanup_free = mem_printf("task/%s/status", thread);
	struct str text cleanup_str = {0};

	if (proc_read_file(pid, path, TEXT_CAP, &text) < 0)
		return mem_strdup("gone");
	const char *state = strstr(str_text(&text), "State:\t");
	return state ? mem_strndup(state + 7, strcspn(state + 7, "\n")) : mem_strdup("?");
}

static json_t *thread_to_json(pid_t pid, const char *thread)
{
	static const char *const files[][2] = {
		{"name", "comm"}, {"place", "wchan"}, {"call", "syscall"}};
	char *path cleanup_free = mem_printf("task/%s/stack", thread);
	char *state cleanup_free = state_of(pid, thread);
	struct str stack cleanup_str = {0};
	json_t *object = json_object();

	json_set_int(object, "id", strtol(thread, NULL, 10));
	json_set_text(object, "state", state);
	for (size_t i = 0; i < array_length(files); i++) {
		char *file cleanup_free = mem_printf("task/%s/%s", thread, files[i][1]);
		set_line(object, files[i][0], pid, file);
	}
	if (proc_read_file(pid, path, TEXT_CAP, &stack) == 0 && stack.length > 0)
		json_object_set_new(object, "stack", lines_of(stack.text, stack.length));
	return object;
}

static json_t *threads_of(pid_t pid)
{
	char *path cleanup_free = mem_printf("/proc/%d/task", (int)pid);
	DIR *dir cleanup_dir = opendir(path);
	json_t *threads = json_array();
	const struct dirent *file;

	while (dir && (file = readdir(dir)) && json_array_size(threads) < THREADS_MAX)
		if (file->d_name[0] != '.')
			json_array_append_new(threads, thread_to_json(pid, file->d_name));
	return threads;
}

/* ---- py-spy ------------------------------------------------------------------------------- */

/* A variable of the process's environment, in `text`; NULL: it has none of that name. */
static const char *find_variable(const struct str *text, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < text->length; i += strlen(text->text + i) + 1)
		if (strncmp(text->text + i, name, length) == 0 && text->text[i + length] == '=')
			return text->text + i + length + 1;
	return NULL;
}

/* Of the interpreter, where it was started by its path; a virtual environment has its programs
 * beside it. */
static char *interpreter_dir(pid_t pid)
{
	struct str command cleanup_str = {0};

	if (proc_read_file(pid, "cmdline", TEXT_CAP, &command) < 0 ||
	    !strchr(str_text(&command), '/'))
		return NULL;
	const char *prefix = command.text[0] == '/' ? "" : "/cwd/";
	char *at = *prefix ? mem_printf("/proc/%d", (int)pid) : mem_strdup("");
	char *path = mem_printf("%s%s%s", at, prefix, dirname(command.text));
	free(at);
	return path;
}

/* Beside the interpreter, in its virtual environment, in the task's PATH, or in ours. */
static char *find_py_spy(pid_t pid)
{
	struct str variables cleanup_str = {0}, places cleanup_str = {0};
	char *beside cleanup_free = interpreter_dir(pid);

	proc_read_file(pid, "environ", 4 * TEXT_CAP, &variables);
	const char *venv = find_variable(&variables, "VIRTUAL_ENV");
	const char *path = find_variable(&variables, "PATH"), *own = getenv("PATH");
	if (beside)
		str_append_format(&places, "%s:", beside);
	if (venv)
		str_append_format(&places, "%s/bin:", venv);
	if (path)
		str_append_format(&places, "%s:", path);
	str_append(&places, own ? own : "");
	return fs_find_program("py-spy", places.text);
}

/* All that it says until it ends. False: it was not over in time, and is killed. */
static bool read_all(int fd, pid_t child, struct str *text)
{
	int64_t until = clock_monotonic_ms() + PY_SPY_MS;
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char piece[4096];

	for (;;) {
		int64_t left = until - clock_monotonic_ms();
		ssize_t got = -1;
		if (left > 0 && text->length < PY_SPY_CAP && poll(&ready, 1, (int)left) > 0)
			got = read(fd, piece, sizeof(piece));
		if (got <= 0) {
			if (got < 0)
				kill(child, SIGKILL);
			return got == 0;
		}
		str_append_bytes(text, piece, (size_t)got);
	}
}

/* Its words are in `text`. -1: it cannot be started; 1: it did not answer in time, or failed. */
static int run_py_spy(const char *program, pid_t pid, struct str *text)
{
	char *number cleanup_free = mem_printf("%d", (int)pid);
	char *const arguments[] = {"py-spy", "dump", "--pid", number, "--nonblocking", NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], status = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
	int error = posix_spawn(&child, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	bool is_whole = error == 0 && read_all(ends[0], child, text);
	close(ends[0]);
	while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return error != 0 ? -1 : !is_whole || status != 0;
}

static bool is_refusal(const char *text)
{
	return strcasestr(text, "permission denied") || strcasestr(text, "not permitted");
}

/* Why a process may not look at another one of its user's. */
static const char *refusal_remedy(void)
{
	char *scope cleanup_free =
		fs_read_file("/proc/sys/kernel/yama/ptrace_scope", 16, NULL, NULL);

	if (scope && *scope != '0' && *scope != '\n')
		return "the machine's kernel.yama.ptrace_scope lets no process trace another one "
		       "that "
		       "it did not start; an administrator sets it to 0, or gives py-spy "
		       "CAP_SYS_PTRACE";
	return "the container needs CAP_SYS_PTRACE (docker: --cap-add SYS_PTRACE)";
}

static void add_python(json_t *object, pid_t pid)
{
	char *program cleanup_free = find_py_spy(pid);
	struct str text cleanup_str = {0};

	if (!program) {
		json_set_text(object, "problem",
			      "no py-spy is in the task's PATH or beside its interpreter, so "
			      "Python's own stacks are not known; pip install py-spy");
		return;
	}
	int result = run_py_spy(program, pid, &text);
	char *clean cleanup_free = str_printable(str_text(&text), text.length);
	if (result == 0) {
		json_object_set_new(object, "python", lines_of(str_text(&text), text.length));
		return;
	}
	clean[strcspn(clean, "\n")] = '\0';
	char *problem cleanup_free =
		is_refusal(str_text(&text))
			? mem_printf("py-spy may not look at it (%s): %s", clean, refusal_remedy())
		: *clean ? mem_printf("py-spy failed: %s", clean)
			 : mem_printf("py-spy gave no answer within %d s", PY_SPY_MS / 1000);
	json_set_text(object, "problem", problem);
}

/* ------------------------------------------------------------------------------------------- */

static bool is_python(pid_t pid, const char *name)
{
	char *path cleanup_free = mem_printf("/proc/%d/exe", (int)pid);
	char program[4096] = "";

	if (str_starts_with(name, "python"))
		return true;
	ssize_t length = readlink(path, program, sizeof(program) - 1);
	return length > 0 && str_starts_with(basename(program), "python");
}

static json_t *process_to_json(pid_t pid, int64_t until)
{
	char *name cleanup_free = proc_name(pid);
	json_t *object = json_object();

	json_set_int(object, "pid", pid);
	json_set_text(object, "name", name);
	set_line(object, "command", pid, "cmdline");
	if (is_python(pid, name)) {
		if (clock_monotonic_ms() < until)
			add_python(object, pid);
		else
			json_set_text(object, "problem",
				      "py-spy was not asked: it took too long for the processes "
				      "before");
	}
	json_object_set_new(object, "threads", threads_of(pid));
	return object;
}

/* `tony-agent session ID PROGRAM` */
static bool is_session(pid_t pid)
{
	static const char words[] = "tony-agent\0session";
	struct str command cleanup_str = {0};

	return proc_read_file(pid, "cmdline", TEXT_CAP, &command) == 0 &&
	       command.length > sizeof(words) && memcmp(command.text, words, sizeof(words)) == 0;
}

/* Of tony itself, such as the first one of a namespace of processes; those below it are the task's.
 */
static bool is_own(pid_t pid)
{
	char *path cleanup_free = mem_printf("/proc/%d/exe", (int)pid);
	struct stat own, other;

	return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
	       own.st_ino == other.st_ino && own.st_dev == other.st_dev;
}

/* Parents stand before their children. */
static size_t leave_outsiders_out(const struct proc_entry **found, size_t count)
{
	bool *is_out cleanup_free = mem_alloc_array(count, sizeof(*is_out));
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		is_out[i] = found[i]->id.pid == getpid() || is_session(found[i]->id.pid);
		for (size_t k = 0; k < i && !is_out[i]; k++)
			is_out[i] = is_out[k] && found[k]->id.pid == found[i]->parent;
	}
	for (size_t i = 0; i < count; i++)
		if (!is_out[i] && !is_own(found[i]->id.pid))
			found[kept++] = found[i];
	return kept;
}

static int busiest_first(const void *a, const void *b)
{
	const struct proc_entry *const *first = a, *const *second = b;

	return ((*first)->cpu_ticks < (*second)->cpu_ticks) -
	       ((*first)->cpu_ticks > (*second)->cpu_ticks);
}

json_t *stacks_take(pid_t executor)
{
	int64_t until = clock_monotonic_ms() + ALL_MS;
	json_t *processes = json_array();
	struct proc_scan scan;
	size_t count;

	proc_scan_take_below(&scan, executor);
	const struct proc_entry **found = proc_scan_descendants(&scan, executor, NULL, &count);
	count = leave_outsiders_out(found, count);
	qsort(found, count, sizeof(const struct proc_entry *), busiest_first);
	for (size_t i = 0; i < count && i < PROCESSES_MAX; i++)
		json_array_append_new(processes, process_to_json(found[i]->id.pid, until));
	free(found);
	proc_scan_finish(&scan);
	return processes;
}

/* ---- for people --------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : otherwise;
}

static void write_lines(const json_t *lines, const char *indent, FILE *out)
{
	size_t i;
	json_t *line;

	json_array_foreach(lines, i, line)
	{
		fprintf(out, "%s%s\n", indent, json_string_value(line));
	}
}

static void write_process(const json_t *process, FILE *out)
{
	size_t i;
	json_t *thread;

	fprintf(out, "process %" JSON_INTEGER_FORMAT " (%s): %s\n",
		json_integer_value(json_object_get(process, "pid")), text_of(process, "name", "?"),
		text_of(process, "command", ""));
	write_lines(json_object_get(process, "python"), "", out);
	if (json_object_get(process, "problem"))
		fprintf(out, "  %s\n", text_of(process, "problem", ""));
	json_array_foreach(json_object_get(process, "threads"), i, thread)
	{
		fprintf(out,
			"  thread %" JSON_INTEGER_FORMAT
			" (%s): %s, in the kernel at %s, system call %s\n",
			json_integer_value(json_object_get(thread, "id")),
			text_of(thread, "name", "?"), text_of(thread, "state", "?"),
			text_of(thread, "place", "?"), text_of(thread, "call", "?"));
		write_lines(json_object_get(thread, "stack"), "    ", out);
	}
}

void stacks_write(const json_t *processes, FILE *out)
{
	bool lacks_py_spy = false;
	size_t i;
	json_t *process;

	json_array_foreach(processes, i, process)
	{
		write_process(process, out);
		lacks_py_spy |= json_object_get(process, "problem") != NULL;
	}
	if (lacks_py_spy)
		fprintf(out, "A Python program can print its stacks itself: "
			     "faulthandler.register(SIGTERM, all_threads=True, chain=True)\n");
}
