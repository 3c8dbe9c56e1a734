#include "executor/executor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "executor/secrets.h"
#include "executor/supervisor.h"
#include "scheduler/copies.h"
#include "scheduler/launch.h"

/* Descriptors 0-2 are taken for granted below: a closed one would be given to a socket, and then to
 * the program as its output. */
static void open_standard_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	mem_cleanup_close(&fd);
}

static void take_back(const struct settings *settings)
{
	copies_take_back(&settings->job->types[settings->type].files, settings->scratch_dir);
}

/* The worker was killed: what it would have done at its end is left to the guardian, where the
 * scheduler does not remove all that a container leaves. */
static void clean_up(void)
{
	struct settings settings = {0};

	if (settings_read(&settings, NULL) == 0 && settings.scheduler->traits->shares_files) {
		take_back(&settings);
		secrets_remove(&settings);
	}
	settings_finish(&settings);
}

static int supervise(const struct guard *guard)
{
	struct settings settings = {0};
	struct err err cleanup_err = {0};
	int code = -1;

	if (settings_read(&settings, &err) == 0)
		code = supervisor_run(&settings, guard, &err);
	if (code >= 0)
		take_back(&settings);
	if (settings.job)
		secrets_remove(&settings);
	if (code < 0) {
		log_error("%s", err_message(&err));
		code = launch_exit_code(&err, EXECUTOR_FAILED);
	}
	settings_finish(&settings);
	return code;
}

int executor_main(int argc, char **argv)
{
	const char *container = getenv("TONY_CONTAINER"), *task = getenv("TONY_TASK");
	struct err err cleanup_err = {0};
	struct guard guard;

	open_standard_streams();
	char *who cleanup_free = mem_printf("exec %s", task ? task : "?");
	log_open(who, LOG_LEVEL_INFO);
	if (argc > 1) {
		log_error("\"%s\": exec takes no arguments", argv[1]);
		return EXECUTOR_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	char *mark cleanup_free = container ? mem_printf("TONY_CONTAINER=%s", container) : NULL;
	if (guard_start(mark, &guard, &err) < 0) {
		log_error("%s", err_message(&err));
		return EXECUTOR_FAILED;
	}
	if (guard.is_worker)
		return supervise(&guard);
	if (guard.signal != 0)
		clean_up();
	/* The code of an orderly end says that nothing is left of the container. */
	return guard.has_survivors ? PROC_SHELL_SIGNAL + SIGKILL : guard.exit_code;
}
