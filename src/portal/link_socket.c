#include "portal/link_socket.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "net/listen.h"

enum { BACKLOG = 16, LINE_CAP = 256, ANSWER_S = 10 };

struct link_socket {
	struct evconnlistener *listener;
	int folder;
	char *name;
	char *(*make_link)(void *data);
	void *data;
};

/* One for each portal, of each machine that shares the folder. The caller frees. */
static char *name_of(const char *address)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	char *place cleanup_free = mem_printf("%s %s", host, address);
	char *mark cleanup_free = secret_hash(place);
	return mem_printf("link-%.16s.sock", mark);
}

/* An address of a Unix socket has room for 107 bytes, which the folder's own path may exceed. */
static struct sockaddr_un address_in(int folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
	return address;
}

/* ---- the portal --------------------------------------------------------------------------- */

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
		      int peer_length, void *data)
{
	struct link_socket *link = data;
	char *made cleanup_free = link->make_link(link->data);
	char *line cleanup_free = mem_printf("%s\n", made);

	send(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

/* A socket that is there already is of a portal that was killed: this one has its port. */
static int listen_in(struct link_socket *link, struct event_base *base, struct err *err)
{
	const struct sockaddr_un address = address_in(link->folder, link->name);
	int fd cleanup_close = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* The file gets the socket's mode. */
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    (unlinkat(link->folder, link->name, 0) < 0 && errno != ENOENT) ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set_errno(err, "%s", link->name);
	link->listener = evconnlistener_new(
		base, on_accept, link, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG, fd);
	if (!link->listener)
		return err_set_errno(err, "%s", link->name);
	(void)mem_steal_fd(&fd);
	return 0;
}

static int open_folder(const char *folder, struct err *err)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_set_errno(err, "%s", folder) : fd;
}

struct link_socket *link_socket_open(struct event_base *base, const char *folder,
				     const char *address, char *(*make_link)(void *data),
				     void *data, struct err *err)
{
	int opened = open_folder(folder, err);

	if (opened < 0)
		return NULL;
	struct link_socket *link = mem_alloc(sizeof(*link));
	link->folder = opened;
	link->name = name_of(address);
	link->make_link = make_link;
	link->data = data;
	if (listen_in(link, base, err) == 0)
		return link;
	err_wrap(err, "%s", folder);
	link_socket_close(link);
	return NULL;
}

void link_socket_close(struct link_socket *link)
{
	if (!link)
		return;
	if (link->listener) {
		evconnlistener_free(link->listener);
		unlinkat(link->folder, link->name, 0);
	}
	close(link->folder);
	free(link->name);
	free(link);
}

/* ---- who asks ----------------------------------------------------------------------------- */

static int tell_why(const char *folder, const char *name, struct err *err)
{
	return errno == ENOENT || errno == ECONNREFUSED
		       ? err_set(err, ERR_UNREACHABLE,
				 "nobody listens: start it with tony portal, or name where it does "
				 "with --listen")
		       : err_set_errno(err, "%s/%s", folder, name);
}

static int connect_in(const char *folder, const char *name, struct err *err)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	int opened cleanup_close = open_folder(folder, NULL);

	if (opened < 0)
		return tell_why(folder, name, err);
	const struct sockaddr_un address = address_in(opened, name);
	int fd cleanup_close = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return tell_why(folder, name, err);
	return mem_steal_fd(&fd);
}

static const char *skip(const char *text, const char *beginning)
{
	return text && str_starts_with(text, beginning) ? text + strlen(beginning) : NULL;
}

/* To the portal that listens at `address`, and of nothing that a terminal would obey. */
static bool is_link(const char *line, size_t length, const char *address)
{
	char *place cleanup_free = net_listen_advertise(address);
	const char *rest = skip(line, "https://");

	rest = skip(rest ? rest : skip(line, "http://"), place);
	rest = skip(rest, "/login?code=");
	size_t digits = rest ? strspn(rest, "0123456789abcdef") : 0;
	return digits > 0 && rest + digits + 1 == line + length && rest[digits] == '\n';
}

char *link_socket_ask(const char *folder, const char *address, struct err *err)
{
	char *name cleanup_free = name_of(address);
	int fd cleanup_close = connect_in(folder, name, err);
	char line[LINE_CAP + 1] = "";
	size_t length = 0;
	ssize_t got = 1;

	if (fd < 0)
		return NULL;
	for (; length < LINE_CAP && got > 0; length += (size_t)got) {
		got = read(fd, line + length, LINE_CAP - length);
		if (got < 0) {
			err_set_errno(err, "no answer");
			return NULL;
		}
	}
	if (is_link(line, length, address))
		return mem_strndup(line, length - 1);
	err_set(err, ERR_INPUT, "what answers is no portal");
	return NULL;
}
