/* Where the processes of a task that hangs stand, for people. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/proc.h"
#include "executor/hang.h"
#include "executor/mask.h"
#include "executor/stacks.h"

static char *make_text(pid_t executor)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	json_t *processes cleanup_json = stacks_take(executor);

	if (!out)
		return NULL;
	stacks_write(processes, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Argument lists may show secrets, which no file has at any time. */
static _Noreturn void save(const char *path, const struct mask_words *mask, pid_t executor)
{
	proc_reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "tony-stacks");
	if (getppid() != executor)
		_exit(1);
	char *text = make_text(executor);
	if (!text)
		_exit(1);
	mask_text(mask, &text);
	_exit(fs_write_private(path, text, strlen(text), NULL) == 0 ? 0 : 1);
}

int hang_save_stacks(const char *path, const struct mask_words *mask)
{
	pid_t executor = getpid();
	sigset_t all, before;

	/* Blocked, so that no handler of this process ever runs in the child. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	if (pid == 0)
		save(path, mask, executor);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}
