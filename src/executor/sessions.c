#include "executor/sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/helper.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"

_Noreturn static void become_session(const char *id, pid_t program, char *const *environment)
{
	char *number cleanup_free = mem_printf("%d", (int)program);
	char *const arguments[] = {"tony-agent", "session", (char *)id, number, NULL};
	char *directory cleanup_free = mem_printf("/proc/%d/cwd", (int)program);
	int agent = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	proc_reset_signals();
	if (agent < 0 || chdir(directory) < 0)
		_exit(1);
	setsid();
	proc_close_from(3, true);
	limits_restore();
	fexecve(agent, arguments, environment);
	_exit(1);
}

static struct session_process *find(struct sessions *sessions, pid_t pid)
{
	for (size_t i = 0; i < SESSION_ORDERS_MAX; i++)
		if (sessions->items[i].pid == pid)
			return &sessions->items[i];
	return NULL;
}

void sessions_start(struct sessions *sessions, const char *id, pid_t program,
		    char *const *environment)
{
	struct session_process *place = find(sessions, 0);
	sigset_t all, before;

	if (!place || program <= 0)
		return; /* the AM waits in vain, and says so */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid == 0)
		become_session(id, program, environment);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		log_warning("a command of the user's cannot be started: %s", strerror(error));
		return;
	}
	place->pid = pid;
	snprintf(place->id, sizeof(place->id), "%s", id);
}

bool sessions_child_ended(struct sessions *sessions, pid_t pid)
{
	struct session_process *place = find(sessions, pid);

	if (place)
		place->pid = 0;
	return place;
}

bool sessions_have(const struct sessions *sessions, pid_t pid)
{
	for (size_t i = 0; i < SESSION_ORDERS_MAX; i++) {
		const struct session_process *session = &sessions->items[i];
		if (session->pid == 0)
			continue;
		char *mark cleanup_free = mem_printf(SESSION_VARIABLE "=%s", session->id);
		if (session->pid == pid || proc_has_mark(pid, mark))
			return true;
	}
	return false;
}

static void append(struct proc_list *list, struct proc_list *more)
{
	for (size_t i = 0; i < more->count; i++) {
		list->items = mem_grow(list->items, list->count, sizeof(*list->items));
		list->items[list->count++] = more->items[i];
	}
	proc_list_finish(more);
}

/* In a namespace of processes an orphan is none of their descendants any more. */
static void append_session(const struct session_process *session, struct proc_list *list)
{
	char *mark cleanup_free = mem_printf(SESSION_VARIABLE "=%s", session->id);
	struct proc_list found;

	proc_find_descendants(session->pid, &found);
	append(list, &found);
	proc_find_marked(mark, session->pid, &found);
	append(list, &found);
}

void sessions_list(const struct sessions *sessions, struct proc_list *list)
{
	*list = (struct proc_list){0};
	for (size_t i = 0; i < SESSION_ORDERS_MAX; i++)
		if (sessions->items[i].pid > 0)
			append_session(&sessions->items[i], list);
}

void sessions_cancel(struct sessions *sessions)
{
	struct proc_list list;

	sessions_list(sessions, &list);
	for (size_t i = 0; i < list.count; i++)
		kill(list.items[i].pid, SIGKILL);
	proc_list_finish(&list);
	for (size_t i = 0; i < SESSION_ORDERS_MAX; i++) {
		if (sessions->items[i].pid > 0)
			helper_end(sessions->items[i].pid);
		sessions->items[i].pid = 0;
	}
}
