/* What happens in the child between fork and exec; for spawn.c and namespace.c. */
#ifndef TONY_EXECUTOR_SPAWN_CHILD_H
#define TONY_EXECUTOR_SPAWN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn_child {
	const char *shell, *command, *work_dir;
	char *const *environment;
	pid_t parent;
	int stdin_fd; /* -1: there is nothing to be read */
	int stdout_fd, stderr_fd;
	int report_fd;	/* gets a spawn_report when something fails; closes by exec */
	int status_fd;	/* -1: no pid namespace */
	bool own_users; /* in a user namespace, in which `uid` and `gid` are to be mapped */
	uid_t uid;
	gid_t gid;
};

enum spawn_stage {
	SPAWN_STAGE_SETUP,
	SPAWN_STAGE_NAMESPACE,
	SPAWN_STAGE_WORK_DIR,
	SPAWN_STAGE_EXEC,
};
struct spawn_report {
	enum spawn_stage stage;
	int error; /* errno */
};

/* Becomes the program, or the first process of its namespace. All signals are blocked at entry. It
 * runs after vfork(): it allocates, prints and logs nothing, and writes to nothing but its own
 * stack and errno. */
_Noreturn void spawn_child_run(const struct spawn_child *child);

#endif
