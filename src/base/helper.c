#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { END_TRIES = 100, END_PAUSE_US = 1000 };

pid_t helper_start(char *const arguments[], const char *directory, char *const environment[],
		   int output)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, file_size;
	pid_t pid;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	sigemptyset(&file_size);
	sigaddset(&file_size, SIGXFSZ);
	posix_spawnattr_setsigdefault(&attributes, &file_size); /* see limits.h */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	if (directory)
		posix_spawn_file_actions_addchdir_np(&actions, directory);
	int error = posix_spawn(&pid, arguments[0], &actions, &attributes, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	errno = error;
	return error == 0 ? pid : -1;
}

void helper_end(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int i = 0; i < END_TRIES && waitpid(pid, NULL, WNOHANG) == 0; i++)
		usleep(END_PAUSE_US);
}
