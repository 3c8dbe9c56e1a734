/* One command of remote.h, and all that it starts, below a process of its own. */
#ifndef TONY_EXECUTOR_REMOTE_COMMAND_H
#define TONY_EXECUTOR_REMOTE_COMMAND_H

#include <sys/types.h>

/* Starts `command` with `sh -c`, in this process's environment and directory, without input, and
 * with its output. The process returned ends when nothing of the command is left, as the command
 * itself did; at a SIGTERM it ends all of it, with some grace. -1 with errno. */
pid_t remote_command_start(const char *command);

#endif
