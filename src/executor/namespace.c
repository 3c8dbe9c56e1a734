#include "executor/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* glibc's fork() takes no flags. The caller has one thread, so a bare clone is as good. */
static pid_t clone_with(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

pid_t namespace_fork(bool *own_users)
{
	const unsigned long flags = CLONE_NEWPID | CLONE_NEWNS;

	/* Root needs no user namespace, and would see its other users' files as nobody's in one. */
	*own_users = geteuid() != 0;
	pid_t pid = -1;
	if (!*own_users)
		pid = clone_with(flags);
	if (pid < 0) {
		*own_users = true;
		pid = clone_with(flags | CLONE_NEWUSER);
	}
	return pid;
}

static int write_file(const char *path, const char *text, int length)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	ssize_t put = write(fd, text, (size_t)length);
	close(fd);
	return put == length ? 0 : -1;
}

static int map_user(uid_t uid, gid_t gid)
{
	char map[64];

	int length = snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (write_file("/proc/self/uid_map", map, length) < 0)
		return -1;
	/* The kernel lets an ordinary user map a group only after giving up setgroups(). */
	if (write_file("/proc/self/setgroups", "deny", 4) < 0 && errno != ENOENT)
		return -1;
	length = snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_file("/proc/self/gid_map", map, length);
}

int namespace_enter(bool own_users, uid_t uid, gid_t gid)
{
	if (own_users && map_user(uid, gid) < 0)
		return -1;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

void namespace_run_init(pid_t program, int fd)
{
	int status;

	prctl(PR_SET_NAME, "tony-init");
	for (;;) {
		pid_t pid = waitpid(-1, &status, 0);
		if (pid == program && write(fd, &status, sizeof(status)) == sizeof(status))
			_exit(0);
		if (pid == program || (pid < 0 && errno != EINTR))
			_exit(1);
	}
}
