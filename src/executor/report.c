#include "executor/report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/proc.h"
#include "executor/headline.h"
#include "executor/interpreter.h"
#include "executor/traceback.h"

enum {
	SHELL_CANNOT_EXECUTE = 126,
	SHELL_NOT_FOUND = 127,
	CODES = 256, /* that a program can exit with */
};

/* sys.exit(process.returncode) of Python's subprocess, whose code of a child that signal 9 ended is
 * -9, and of the exit code stay eight bits. Few numbers are likelier a signal's than a program's
 * own. 0: none. */
static int find_wrapped_signal(int status)
{
	static const int likely[] = {SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM};

	for (size_t i = 0; i < array_length(likely); i++)
		if (WIFEXITED(status) && WEXITSTATUS(status) == CODES - likely[i])
			return likely[i];
	return 0;
}

/* `found`: what the program's lines say of its end. */
static void append_exit(struct str *text, const struct report *report, const struct headline *found)
{
	const char *headline = found->text;
	int code = WEXITSTATUS(report->status), signal = proc_shell_signal(report->status);
	int wrapped = find_wrapped_signal(report->status);
	char *fault cleanup_free =
		headline && (code == SHELL_CANNOT_EXECUTE || code == SHELL_NOT_FOUND)
			? interpreter_fault(headline, report->work_dir)
			: NULL;

	str_append_format(text, "exited with code %d", code);
	if (fault)
		str_append_format(text, ": %s", fault);
	else if (code == SHELL_CANNOT_EXECUTE)
		str_append(text, ": the command could not be executed");
	else if (code == SHELL_NOT_FOUND)
		str_append(text, ": the command was not found");
	else if (signal > 0)
		str_append_format(text,
				  ", as a shell does whose program was killed by signal %d (%s)",
				  signal, proc_signal_name(signal));
	else if (found->child)
		str_append_format(text, ": %s", found->child);
	else if (wrapped > 0)
		str_append_format(text, ", as one does whose child was killed by signal %d (%s)",
				  wrapped, proc_signal_name(wrapped));
}

static void append_signal(struct str *text, int status)
{
	int number = WTERMSIG(status);

	str_append_format(text, "killed by signal %d (%s)", number, proc_signal_name(number));
	if (WCOREDUMP(status))
		str_append(text, ", core dumped");
}

/* The one that was killed may be one of them. */
static void append_machine_kills(const struct report *report, bool was_killed, struct str *text)
{
	int64_t kills = was_killed ? memory_machine_kills(report->memory) : 0;

	if (kills > 0)
		str_append_format(text,
				  "; the kernel has killed %lld process%s of its machine for want "
				  "of memory meanwhile",
				  (long long)kills, kills == 1 ? "" : "es");
}

/* A program whose child, or peer, was killed says so in words like these. */
static bool tells_of_lost_child(const char *exception)
{
	static const char *const words[] = {
		"kill",	  "signal",  "exit",   "terminated", "died",	"gone",
		"worker", "child",   "memory", "allocate",   "closed",	"broken",
		"reset",  "refused", "EOF",    "timed out",  "timeout", "empty",
	};

	return str_has_any_nocase(exception, words, array_length(words));
}

/* The kernel killed a process of the task, which need not be what ended it: the program may have
 * gone on without a helper, and ended later for what its exception says. */
static bool is_survived_kill(const struct report *report, const struct cause *cause,
			     bool was_killed)
{
	const char *line = cause->headline;

	if (was_killed)
		return false;
	if (proc_shell_signal(report->status) > 0 || find_wrapped_signal(report->status) > 0 ||
	    cause->signal > 0)
		return true;
	if (line && line[0] == '[' && strstr(line, "]: "))
		line = strstr(line, "]: ") + strlen("]: ");
	return line && traceback_is_exception(line) && !tells_of_lost_child(line);
}

static void append_memory(const struct report *report, bool by_kernel, struct str *text)
{
	char *peak cleanup_free = memory_peak_text(report->memory);
	char *limit cleanup_free = memory_limit_text(report->memory);

	if (by_kernel)
		str_append_format(text, ", out of memory: the kernel ended %s at its limit of %s",
				  WIFSIGNALED(report->status) ? "it" : "a process of it", limit);
	else
		str_append_format(text, ", likely out of memory: the task used %s", peak);
}

/* Sets kind and wording when memory was the reason, or probably was. */
static bool judge_memory(const struct report *report, struct str *text, struct cause *cause)
{
	bool killed = memory_kernel_killed(report->memory);
	bool was_killed = proc_shell_signal(report->status) == SIGKILL ||
			  find_wrapped_signal(report->status) == SIGKILL ||
			  cause->signal == SIGKILL;
	bool likely = was_killed && memory_was_near(report->memory);

	if (killed && is_survived_kill(report, cause, was_killed)) {
		char *limit cleanup_free = memory_limit_text(report->memory);
		str_append_format(text,
				  "; the kernel has killed a process of it at its memory limit of "
				  "%s before",
				  limit);
		return false;
	}
	if (!killed && !likely) {
		append_machine_kills(report, was_killed, text);
		return false;
	}
	cause->kind = CAUSE_OUT_OF_MEMORY;
	append_memory(report, killed, text);
	return true;
}

static bool line_says_port_taken(const char *line)
{
	static const char *const words[] = {"address already in use",
					    "EADDRINUSE",
					    "address in use",
					    "errno 98",
					    "errno: 98",
					    "Failed to add port to server" /* gRPC */};

	return str_has_any_nocase(line, words, array_length(words));
}

/* "Binding port 40001 failed": LightGBM names no errno. */
static bool line_says_bind_failed(const char *line, const char *port)
{
	return strcasestr(line, "bind") && strcasestr(line, "fail") && strstr(line, port);
}

/* A program may meet a taken port of its own choosing and go on; so either it was the last word, or
 * it names ours. */
static bool port_was_taken(const struct report *report, const struct cause *cause)
{
	char number[16];

	if (cause->headline && line_says_port_taken(cause->headline))
		return true;
	snprintf(number, sizeof(number), "%d", report->port);
	for (size_t i = 0; i < cause->tail.count; i++) {
		const char *line = cause->tail.items[i];
		if ((line_says_port_taken(line) && strstr(line, number)) ||
		    line_says_bind_failed(line, number))
			return true;
	}
	return false;
}

static bool judge_port(const struct report *report, struct str *text, struct cause *cause)
{
	if (!port_was_taken(report, cause))
		return false;
	if (report->theft) {
		cause->kind = CAUSE_PORT_STOLEN;
		str_append_format(text, "; %s", report->theft);
		return true;
	}
	cause->kind = CAUSE_PORT_TAKEN;
	str_append_format(text, "; it could not bind its port %d", report->port);
	if (report->port_guard == PORT_STRICT && report->type->strict_port)
		str_append(text, ", which is held for it alone: let it set SO_REUSEPORT, or set "
				 "strict-port=false for this task type");
	else if (report->port_guard == PORT_STRICT)
		str_append(text, ", which was held for it alone, as another user may have had the "
				 "one before; the next one is not held");
	else if (report->port_guard == PORT_SHARED)
		str_append(text, ", which is held for programs that set SO_REUSEADDR or "
				 "SO_REUSEPORT; nobody else has it now");
	return true;
}

static void judge_own_end(const struct report *report, const struct headline *found,
			  struct str *text, struct cause *cause)
{
	if (WIFSIGNALED(report->status)) {
		cause->kind = CAUSE_SIGNAL;
		cause->signal = WTERMSIG(report->status);
		append_signal(text, report->status);
	} else {
		cause->kind = CAUSE_EXIT;
		cause->exit_code = WEXITSTATUS(report->status);
		cause->signal = found->signal;
		append_exit(text, report, found);
	}
	if (judge_memory(report, text, cause) || judge_port(report, text, cause))
		return;
	report_judge_room(report, text, cause);
}

static void judge_our_end(const struct report *report, struct str *text, struct cause *cause)
{
	cause->kind = report->ended_for;
	if (report->ended_for == CAUSE_OUT_OF_MEMORY) {
		char *peak cleanup_free = memory_peak_text(report->memory);
		str_append_format(text, "ended, out of memory: the task used %s", peak);
	} else if (report->ended_for == CAUSE_FROZEN) {
		str_append_format(text, "ended, frozen: %s", report->ended_text);
	} else if (report->ended_for == CAUSE_HUNG) {
		str_append_format(text, "ended, hung: %s", report->ended_text);
	} else if (report->ended_for == CAUSE_PORT_STOLEN) {
		str_append_format(text, "ended: %s", report->ended_text);
	} else {
		char *limit cleanup_free = str_format_duration(report->timeout_ms);
		str_append_format(text, "ended after its execution timeout of %s", limit);
	}
}

/* Whatever ended it from outside, its last words need not be about that: only those of an error
 * are told, and after SIGKILL, which nobody can answer, none. */
static void find_headline(const struct report *report, const struct str_list *listed,
			  struct headline *found)
{
	struct str_list all cleanup_str_list = {0};

	tail_list_all(report->tail, &all);
	if (report->ended_for == CAUSE_NONE && proc_shell_signal(report->status) == 0)
		headline_find(listed, &all, WEXITSTATUS(report->status), found);
	else if (!WIFSIGNALED(report->status) || WTERMSIG(report->status) != SIGKILL)
		found->text = headline_of_signal(listed, &all);
}

void report_cause(const struct report *report, struct cause *cause)
{
	struct str text cleanup_str = {0};
	struct headline found = {0};

	if (report->ended_for == CAUSE_NONE && report->status == 0)
		return;
	tail_list(report->tail, &cause->tail);
	find_headline(report, &cause->tail, &found);
	cause->headline = mem_strdup(found.text);
	for (size_t i = 0; report->stacks && i < report->stacks->count; i++)
		str_list_add(&cause->tail, report->stacks->items[i]);
	if (report->processes > 1)
		str_append_format(&text, "process %d of %d ", report->process, report->processes);
	if (report->ended_for == CAUSE_NONE)
		judge_own_end(report, &found, &text, cause);
	else
		judge_our_end(report, &text, cause);
	cause->text = str_steal(&text);
	headline_finish(&found);
}
