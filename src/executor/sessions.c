#include "executor/sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/helper.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "executor/spawn_child.h"

#define ENVIRONMENT_CAP (8u << 20)

/* ---- in the child ------------------------------------------------------------------------- */

static char **environment_of(pid_t program, char **text)
{
	char *path cleanup_free = mem_printf("/proc/%d/environ", (int)program);
	size_t length = 0, count = 0;

	*text = fs_read_file(path, ENVIRONMENT_CAP, &length, NULL);
	if (!*text)
		return NULL;
	char **entries = mem_alloc_array(length / 2 + 2, sizeof(*entries));
	for (size_t at = 0; at < length; at += strlen(*text + at) + 1)
		if (strchr(*text + at, '='))
			entries[count++] = *text + at;
	return entries;
}

_Noreturn static void become_session(const char *id, pid_t program)
{
	char *number cleanup_free = mem_printf("%d", (int)program);
	char *const arguments[] = {"tony-agent", "session", (char *)id, number, NULL};
	char *directory cleanup_free = mem_printf("/proc/%d/cwd", (int)program);
	char *text;
	char **environment = environment_of(program, &text);
	int agent = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	proc_reset_signals();
	if (!environment || agent < 0 || chdir(directory) < 0)
		_exit(1);
	setsid();
	spawn_child_close_from(3, true);
	limits_restore();
	fexecve(agent, arguments, environment);
	_exit(1);
}

/* ------------------------------------------------------------------------------------------- */

static pid_t *find(struct sessions *sessions, pid_t pid)
{
	for (size_t i = 0; i < SESSION_ORDERS_MAX; i++)
		if (sessions->pids[i] == pid)
			return &sessions->pids[i];
	return NULL;
}

void sessions_start(struct sessions *sessions, const char *id, pid_t program)
{
	pid_t *place = find(sessions, 0);
	sigset_t all, before;

	if (!place || program <= 0)
		return; /* the AM waits in vain, and says so */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	int error = errno;
	if (pid == 0)
		become_session(id, program);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		log_warning("a command of the user's cannot be started: %s", strerror(error));
	else
		*place = pid;
}

bool sessions_child_ended(struct sessions *sessions, pid_t pid)
{
	pid_t *place = find(sessions, pid);

	if (place)
		*place = 0;
	return place;
}

void sessions_cancel(struct sessions *sessions)
{
	for (size_t i = 0; i < SESSION_ORDERS_MAX; i++) {
		if (sessions->pids[i] == 0)
			continue;
		proc_end_all(sessions->pids[i], NULL, NULL, 0, SIGKILL, 0);
		helper_end(sessions->pids[i]);
		sessions->pids[i] = 0;
	}
}
