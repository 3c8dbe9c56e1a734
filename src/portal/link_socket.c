#include "portal/link_socket.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/user.h"
#include "net/address.h"
#include "net/listen.h"
#include "net/socket_owner.h"

enum { LINE_CAP = 256, ANSWER_S = 10 };

struct link_socket {
	struct evconnlistener *listener;
	char *path;
	char *(*make_link)(void *data);
	void *data;
};

/* One for each portal, of each machine that shares the folder. The caller frees. */
static char *path_of(const char *folder, const char *address)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	char *place cleanup_free = mem_printf("%s %s", host, address);
	char *mark cleanup_free = secret_hash(place);
	return mem_printf("%s/link-%.16s.sock", folder, mark);
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

struct link_socket *link_socket_open(struct event_base *base, const char *folder,
				     const char *address, char *(*make_link)(void *data),
				     void *data, struct err *err)
{
	char *path cleanup_free = path_of(folder, address);
	int fd = net_listen_path(path, err);

	if (fd < 0)
		return NULL;
	struct link_socket *link = mem_alloc(sizeof(*link));
	link->path = mem_steal(&path);
	link->make_link = make_link;
	link->data = data;
	link->listener = evconnlistener_new(base, on_accept, link,
					    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	return link;
}

void link_socket_close(struct link_socket *link)
{
	if (!link)
		return;
	evconnlistener_free(link->listener);
	unlink(link->path);
	free(link->path);
	free(link);
}

/* ---- who asks ----------------------------------------------------------------------------- */

/* The owner of the port is told, so that nobody looks for a portal there. */
static int tell_why(const char *path, const char *place, struct err *err)
{
	struct net_address address;
	uid_t uid;

	if (errno != ENOENT && errno != ECONNREFUSED)
		return err_set_errno(err, "%s", path);
	if (net_address_parse(place, &address, NULL) < 0 ||
	    socket_owner_of_listener(&address, NULL, &uid, NULL) != SOCKET_OWNER_KNOWN)
		return err_set(err, ERR_UNREACHABLE,
			       "nobody listens: start it with tony portal, or name where it does "
			       "with --listen");
	char *user cleanup_free = user_name_of(uid);
	return err_set(err, ERR_UNREACHABLE,
		       "a program of %s (uid %u) listens there, and is no portal with this state "
		       "directory: start one at another port with tony portal --listen, or name "
		       "where it is",
		       user, (unsigned)uid);
}

static int connect_to(const char *path, const char *place, struct err *err)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	int fd cleanup_close = net_connect_path(path);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		return tell_why(path, place, err);
	return mem_steal_fd(&fd);
}

static const char *skip(const char *text, const char *beginning)
{
	return text && str_starts_with(text, beginning) ? text + strlen(beginning) : NULL;
}

/* HOST:PORT of `address`, as others call it; NULL: of any. */
static const char *skip_place(const char *text, const char *address)
{
	char *place cleanup_free = address ? net_listen_advertise(address) : NULL;

	if (place || !text)
		return skip(text, place);
	return text + strcspn(text, "/?#@ ");
}

/* To the portal that listens at `address` (NULL: anywhere), and of nothing that a terminal would
 * obey. */
static bool is_link(const char *line, size_t length, const char *address)
{
	const char *rest = skip(line, "https://");

	for (size_t i = 0; i + 1 < length; i++)
		if (line[i] <= ' ' || line[i] > '~')
			return false;
	rest = skip_place(rest ? rest : skip(line, "http://"), address);
	rest = skip(rest, "/login?code=");
	size_t digits = rest ? strspn(rest, "0123456789abcdef") : 0;
	return digits > 0 && rest + digits + 1 == line + length && rest[digits] == '\n';
}

static char *read_link_of(int fd, const char *address, struct err *err)
{
	char line[LINE_CAP + 1] = "";
	size_t length = 0;
	ssize_t got = 1;

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

char *link_socket_ask(const char *folder, const char *address, struct err *err)
{
	char *path cleanup_free = path_of(folder, address);
	int fd cleanup_close = connect_to(path, address, err);

	return fd < 0 ? NULL : read_link_of(fd, address, err);
}

/* The caller frees. */
static char *escape_pattern(const char *path)
{
	struct str escaped = {0};

	for (const char *c = path; *c; c++)
		str_append_format(&escaped, strchr("*?[\\", *c) ? "\\%c" : "%c", *c);
	return str_steal(&escaped);
}

static void ask_path(const char *path, struct str_list *links)
{
	int fd cleanup_close = connect_to(path, "", NULL);
	char *link cleanup_free = fd < 0 ? NULL : read_link_of(fd, NULL, NULL);

	if (link)
		str_list_add(links, link);
}

void link_socket_ask_all(const char *folder, struct str_list *links)
{
	char *literal cleanup_free = escape_pattern(folder);
	char *pattern cleanup_free = mem_printf("%s/link-*.sock", literal);
	glob_t found = {0};

	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			ask_path(found.gl_pathv[i], links);
	globfree(&found);
}
