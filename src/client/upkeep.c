#include "client/upkeep.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/stage_cache.h"
#include "scheduler/state_dir.h"

#define EVERY_MS      3600000
#define LIMIT_S	      120 /* what is left then is for another time */
#define NICENESS      10
#define CACHE_AT_MOST 20 /* directories */

/* A file's time says when it was done last. */
static bool take_turn(const char *state, const char *scheduler)
{
	char *path cleanup_free = mem_printf("%s/upkeep-%s", state, scheduler);
	struct stat status;

	if (stat(path, &status) == 0) {
		int64_t since_ms = clock_wall_ms() - fs_modified_ms(&status);
		if (since_ms >= 0 && since_ms < EVERY_MS)
			return false;
	}
	int fd cleanup_close = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0 && futimens(fd, NULL) == 0;
}

/* So that nobody who reads what `tony` writes waits for this process, and no terminal ends it. */
static void leave(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	proc_reset_signals();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
	proc_close_from(STDERR_FILENO + 1, false);
}

static _Noreturn void run(const struct scheduler_client_ops *ops, const struct job *job,
			  const char *state)
{
	struct stage_cache_removal cache = {.most = CACHE_AT_MOST};
	int64_t age_ms = job_config_ms(job, "tony.cache.max-age", 1000);

	leave();
	/* Whoever waits for its own children has none of us. */
	if (fork() != 0)
		_exit(0);
	(void)!nice(NICENESS);
	alarm(LIMIT_S);
	if (age_ms > 0)
		stage_cache_age(state, age_ms, &cache);
	ops->upkeep(job, age_ms);
	_exit(0);
}

void upkeep_start(const struct scheduler_client_ops *ops, const struct job *job)
{
	char *state cleanup_free = state_dir_find(NULL);

	if (!state || !take_turn(state, ops->traits->name))
		return;
	pid_t pid = fork();
	if (pid == 0)
		run(ops, job, state);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}
