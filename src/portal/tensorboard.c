#include "portal/tensorboard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/socket_owner.h"
#include "portal/starter.h"

enum { WORDS = 4096 }; /* bytes of its last words that are looked at */

struct tensorboard {
	int program; /* the starter's socket; -1: it was not started */
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

struct tensorboard *tensorboard_start(int starter, const char *log_dir, struct err *err)
{
	if (!fs_is_directory(log_dir)) {
		err_set(err, ERR_NOT_FOUND, "%s: is no directory that this machine can read",
			log_dir);
		return NULL;
	}
	struct tensorboard *tensorboard = mem_alloc(sizeof(*tensorboard));
	tensorboard->output = memfd_create("tensorboard", MFD_CLOEXEC);
	tensorboard->program = -1;
	if (hold_port(tensorboard, err) == 0)
		tensorboard->program =
			starter_run(starter, log_dir, tensorboard->port, tensorboard->output, err);
	tensorboard->address = mem_printf("127.0.0.1:%d", tensorboard->port);
	if (tensorboard->program >= 0)
		return tensorboard;
	tensorboard_stop(tensorboard);
	return NULL;
}

void tensorboard_stop(struct tensorboard *tensorboard)
{
	if (!tensorboard)
		return;
	/* Its port is nobody's once it has ended. */
	if (tensorboard->program >= 0 && shutdown(tensorboard->program, SHUT_WR) == 0)
		(void)!read(tensorboard->program, &(char){0}, 1);
	mem_cleanup_close(&tensorboard->program);
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
	bool has_ended = recv(tensorboard->program, &(char){0}, 1, MSG_DONTWAIT) == 0;
	int listener = look_who_listens(tensorboard, err);
	if (listener < 0 || !has_ended)
		return listener;
	return say_end(tensorboard, err);
}
