#include "portal/tensorboard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/socket_owner.h"

enum { WORDS = 4096 }; /* bytes of its last words that are looked at */

struct tensorboard {
	pid_t pid; /* 0: it has ended */
	int port;
	int hold; /* of the port */
	char *address;
	int output; /* what it says */
};

/* Bound, and never listened on: nobody else is given it. TensorBoard sets SO_REUSEADDR, with which
 * the kernel lets it have the port, and any other user as well. */
static int hold_port(struct tensorboard *tensorboard, struct err *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	const int on = 1;

	tensorboard->hold = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (tensorboard->hold < 0 ||
	    bind(tensorboard->hold, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    setsockopt(tensorboard->hold, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    getsockname(tensorboard->hold, (struct sockaddr *)&address, &length) < 0)
		return err_set_errno(err, "no port");
	tensorboard->port = ntohs(address.sin_port);
	return 0;
}

static _Noreturn void run_program(const struct tensorboard *tensorboard, const char *program,
				  const char *log_dir)
{
	char port[16];
	char *arguments[] = {(char *)program,
			     "--logdir",
			     (char *)log_dir,
			     "--host",
			     "127.0.0.1",
			     "--port",
			     port,
			     NULL};
	sigset_t none;

	snprintf(port, sizeof(port), "%d", tensorboard->port);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(tensorboard->output, STDOUT_FILENO);
	dup2(tensorboard->output, STDERR_FILENO);
	limits_restore();
	execvp(program, arguments);
	dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
	_exit(127);
}

struct tensorboard *tensorboard_start(const char *program, const char *log_dir, struct err *err)
{
	if (!fs_is_directory(log_dir)) {
		err_set(err, ERR_NOT_FOUND, "%s: is no directory that this machine can read",
			log_dir);
		return NULL;
	}
	struct tensorboard *tensorboard = mem_alloc(sizeof(*tensorboard));
	tensorboard->output = memfd_create("tensorboard", MFD_CLOEXEC);
	bool is_held = hold_port(tensorboard, err) == 0;
	tensorboard->pid = is_held ? fork() : -1;
	if (tensorboard->pid == 0)
		run_program(tensorboard, program, log_dir);
	tensorboard->address = mem_printf("127.0.0.1:%d", tensorboard->port);
	if (tensorboard->pid > 0)
		return tensorboard;
	if (is_held)
		err_set_errno(err, "fork");
	tensorboard->pid = 0;
	tensorboard_stop(tensorboard);
	return NULL;
}

void tensorboard_stop(struct tensorboard *tensorboard)
{
	if (!tensorboard)
		return;
	if (tensorboard->pid > 0) {
		kill(-tensorboard->pid, SIGKILL);
		kill(tensorboard->pid, SIGKILL);
		waitpid(tensorboard->pid, NULL, 0);
	}
	mem_cleanup_close(&tensorboard->output);
	mem_cleanup_close(&tensorboard->hold);
	free(tensorboard->address);
	free(tensorboard);
}

const char *tensorboard_address(const struct tensorboard *tensorboard)
{
	return tensorboard->address;
}

/* The last line of what it said. */
static int say_end(const struct tensorboard *tensorboard, struct err *err)
{
	char bytes[WORDS];
	off_t end = lseek(tensorboard->output, 0, SEEK_END);
	off_t start = end > WORDS ? end - WORDS : 0;
	ssize_t got = pread(tensorboard->output, bytes, sizeof(bytes), start);

	while (got > 0 && bytes[got - 1] == '\n')
		got--;
	ssize_t begin = got > 0 ? got : 0;
	while (begin > 0 && bytes[begin - 1] != '\n')
		begin--;
	char *words cleanup_free =
		str_printable(bytes + begin, (size_t)((got > 0 ? got : 0) - begin));
	return err_set(err, ERR_FAILED, "TensorBoard has ended: %s",
		       *words ? words : "it said nothing");
}

/* 1: this user's program listens; 0: nobody does; -1: another user, or that is not known. */
static int look_who_listens(const struct tensorboard *tensorboard, struct err *err)
{
	struct net_address address;
	uid_t uid;

	if (net_address_parse(tensorboard->address, &address, err) < 0)
		return -1;
	enum socket_owner found = socket_owner_of_listener(&address, NULL, &uid, err);
	if (found != SOCKET_OWNER_KNOWN || socket_owner_is_trusted(uid, geteuid(), NULL))
		return found;
	return err_set(err, ERR_FAILED, "port %d was taken by uid %u; start TensorBoard again",
		       tensorboard->port, uid);
}

int tensorboard_look(struct tensorboard *tensorboard, struct err *err)
{
	if (tensorboard->pid > 0 && waitpid(tensorboard->pid, NULL, WNOHANG) == tensorboard->pid)
		tensorboard->pid = 0;
	int listener = look_who_listens(tensorboard, err);
	if (listener < 0 || tensorboard->pid > 0)
		return listener;
	return say_end(tensorboard, err);
}
