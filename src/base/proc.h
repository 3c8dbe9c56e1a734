/*
 * Processes, read from /proc: trees, marks, memory, and ending all of them.
 */
#ifndef TONY_BASE_PROC_H
#define TONY_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Signals as a new program wants them: none handled, ignored or blocked, whatever the parent did;
 * but SIGXFSZ is limits_restore()'s (limits.h). For a child between fork() and exec(). */
void proc_reset_signals(void);

/* Likewise: that, a session of its own, nothing to read, `output` for all that it writes. Other
 * descriptors are closed by exec(). */
void proc_enter_session(int output);

/* For a process that this one forks: all descriptors from `first` on closed, now or when it becomes
 * a program; and those above standard error but two (-1: none). After vfork(), too: nothing but
 * system calls. */
void proc_close_from(int first, bool at_exec);
void proc_close_others(int one, int other);

/* A process named so that a recycled pid is not mistaken for it. */
struct proc_id {
	pid_t pid;
	uint64_t start_time; /* clock ticks since boot: field 22 of /proc/PID/stat */
};
bool proc_identify(pid_t pid, struct proc_id *id); /* false: no such process */
bool proc_is_alive(const struct proc_id *id);	   /* a zombie is not alive */

struct proc_list {
	struct proc_id *items;
	size_t count;
};
void proc_list_finish(struct proc_list *list);

/* All live descendants of `root` (without it), parents before children. */
void proc_find_descendants(pid_t root, struct proc_list *list);

/* All live processes whose environment holds exactly `mark` ("TONY_CONTAINER=..."), except the
 * caller and `except` (0: none). Only processes whose /proc/PID/environ is readable are seen. */
void proc_find_marked(const char *mark, pid_t except, struct proc_list *list);

/* Ends every descendant of `root` and every process carrying `mark` (NULL: none): sends `signal`
 * first when it is not SIGKILL and waits up to grace_ms for them to go, then SIGKILL, again and
 * again until none is left (a fork bomb is first frozen with SIGSTOP). Never signals the caller,
 * nor the `protect_count` processes in `protect` (their descendants are still ended).
 * Blocks; reaps those that are the caller's children (with the caller as root: all of its dead
 * children but the protected ones). Returns how many were still there after the
 * grace, or -1 when some survive 10 s of SIGKILL (uninterruptible sleep). */
int proc_end_all(pid_t root, const char *mark, const pid_t *protect, size_t protect_count,
		 int signal, int64_t grace_ms);
/* The same by SIGKILL of the caller's descendants, without those that carry the mark `spared`
 * (NULL: none) and what descends from them. */
int proc_end_unspared(const char *mark, const char *spared, const pid_t *protect,
		      size_t protect_count);

/* The value of a variable in the process's environment; NULL: it has none, or that cannot be read.
 * The caller frees. */
char *proc_variable(pid_t pid, const char *name);

/* The program's name as the kernel keeps it (15 bytes), made printable; "?" when it is gone. The
 * caller frees. */
char *proc_name(pid_t pid);

/* How a shell tells in one number how a program ended: its exit code, or 128 + n when signal n
 * killed it. */
enum { PROC_SHELL_SIGNAL = 128 };
int proc_shell_code(int wait_status);
/* The other way round: the signal that killed the program, or one that it ran; 0: none did. */
int proc_shell_signal(int wait_status);

/* A signal's name without table lookups by the caller: 9 -> "SIGKILL"; "signal 40" for others. */
const char *proc_signal_name(int signal);

#endif
