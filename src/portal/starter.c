#include "portal/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/proc.h"

enum { PATH_BYTES = 8192, DESCRIPTORS = 2 };

/* One message: the port, the directory, and the descriptors of the output and of the one who asks.
 */
struct order {
	int port;
	char log_dir[PATH_BYTES];
};

union descriptors {
	char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
	struct cmsghdr align;
};

/* ---- in the starter ----------------------------------------------------------------------- */

static _Noreturn void run_program(const struct order *order, const char *program, int output)
{
	char port[16];
	char *arguments[] = {(char *)program,
			     "--logdir",
			     (char *)order->log_dir,
			     "--host",
			     "127.0.0.1",
			     "--port",
			     port,
			     NULL};
	sigset_t none;

	snprintf(port, sizeof(port), "%d", order->port);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	limits_restore();
	execvp(program, arguments);
	dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
	_exit(127);
}

/* A process for each program: it ends when the program does, and the other way round. */
static _Noreturn void keep_program(const struct order *order, const char *program, int output,
				   int asker)
{
	sigset_t set;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int ended = signalfd(-1, &set, SFD_CLOEXEC);
	pid_t pid = fork();
	if (pid == 0)
		run_program(order, program, output);
	close(output);
	struct pollfd events[] = {{.fd = asker, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
	while (pid > 0 && poll(events, array_length(events), -1) < 0 && errno == EINTR)
		;
	if (pid > 0) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	_exit(0);
}

/* False: nobody is left who could ask. */
static bool receive(int requests, struct order *order, int descriptors[DESCRIPTORS])
{
	union descriptors control = {{0}};
	struct iovec parts[] = {{order, sizeof(*order) - 1}};
	struct msghdr message = {.msg_iov = parts,
				 .msg_iovlen = array_length(parts),
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	memset(order, 0, sizeof(*order));
	do {
		got = recvmsg(requests, &message, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	descriptors[0] = descriptors[1] = -1;
	const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(DESCRIPTORS * sizeof(int)))
		memcpy(descriptors, CMSG_DATA(header), DESCRIPTORS * sizeof(int));
	return got > 0;
}

static _Noreturn void serve(int requests, const char *program, pid_t parent)
{
	struct order order;
	int descriptors[DESCRIPTORS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "tony-starter");
	proc_close_others(requests, -1);
	signal(SIGINT, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* nobody waits for those that keep programs */
	while (receive(requests, &order, descriptors)) {
		if (descriptors[1] >= 0 && fork() == 0)
			keep_program(&order, program, descriptors[0], descriptors[1]);
		for (size_t i = 0; i < DESCRIPTORS; i++)
			mem_cleanup_close(&descriptors[i]);
	}
	_exit(0);
}

int starter_open(const char *program, struct err *err)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set_errno(err, "no socket");
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		serve(ends[1], program, parent);
	}
	close(ends[1]);
	if (pid > 0)
		return ends[0];
	err_set_fork(err, "fork");
	close(ends[0]);
	return -1;
}

/* ---- in a reader -------------------------------------------------------------------------- */

static int send_order(int starter, struct order *order, const int descriptors[DESCRIPTORS])
{
	union descriptors control = {{0}};
	struct iovec parts[] = {{order, offsetof(struct order, log_dir) + strlen(order->log_dir)}};
	struct msghdr message = {.msg_iov = parts,
				 .msg_iovlen = array_length(parts),
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr){.cmsg_len = CMSG_LEN(DESCRIPTORS * sizeof(int)),
				   .cmsg_level = SOL_SOCKET,
				   .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(header), descriptors, DESCRIPTORS * sizeof(int));
	return sendmsg(starter, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int starter_run(int starter, const char *log_dir, int port, int output, struct err *err)
{
	struct order order = {.port = port};
	int ends[2];

	if (strlen(log_dir) >= sizeof(order.log_dir))
		return err_set(err, ERR_INPUT, "the directory's path is too long");
	memcpy(order.log_dir, log_dir, strlen(log_dir) + 1);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set_errno(err, "no socket");
	int result = send_order(starter, &order, (const int[]){output, ends[1]});
	if (result < 0)
		err_set_errno(err,
			      "the process that starts programs has ended; start the portal anew");
	close(ends[1]);
	if (result == 0)
		return ends[0];
	close(ends[0]);
	return -1;
}
