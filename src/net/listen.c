#include "net/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/socket_owner.h"

enum { BACKLOG = 4096 };

static int explain_use(const char *text, const struct net_address *address, struct err *err)
{
	uid_t uid;
	bool is_known = socket_owner_of_listener(address, NULL, &uid, NULL) == SOCKET_OWNER_KNOWN;
	char *whose cleanup_free =
		is_known ? mem_printf(" of uid %u", (unsigned)uid) : mem_strdup("");

	return err_set(err, ERR_USAGE,
		       "%s: another program%s has that port; choose another one, or 0 for any",
		       text, whose);
}

static int explain(const char *text, const struct net_address *address, struct err *err)
{
	switch (errno) {
	case EADDRINUSE:
		return explain_use(text, address, err);
	case EADDRNOTAVAIL:
		return err_set(err, ERR_USAGE,
			       "%s: not an address of this machine; ip address lists those that "
			       "it has",
			       text);
	case EACCES:
		return err_set(err, ERR_DENIED,
			       "%s: this user may not listen there; choose a port from 1024 on",
			       text);
	default:
		return err_set_errno(err, "%s: cannot listen", text);
	}
}

int net_listen(const char *text, bool shares_port, struct err *err)
{
	const int on = 1, shares = shares_port;
	struct net_address address;

	if (net_address_parse(text, &address, err) < 0)
		return -1;
	int fd cleanup_close =
		socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shares, sizeof(shares)) < 0 ||
	    bind(fd, (struct sockaddr *)&address.storage, address.length) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return explain(text, &address, err);
	return mem_steal_fd(&fd);
}

/* By a descriptor of its directory, which is short. -1: errno. */
static int open_directory(const char *path, struct sockaddr_un *address)
{
	char *directory cleanup_free = fs_dirname(path);
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", fd,
		 fs_basename(path));
	return fd;
}

int net_listen_path(const char *path, struct err *err)
{
	struct sockaddr_un address;
	int directory cleanup_close = open_directory(path, &address);
	int fd cleanup_close = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* The file gets the socket's mode. */
	if (directory < 0 || fd < 0 || fchmod(fd, 0600) < 0 ||
	    (unlink(path) < 0 && errno != ENOENT) ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return err_set_errno(err, "%s: cannot listen", path);
	return mem_steal_fd(&fd);
}

int net_connect_path(const char *path)
{
	struct sockaddr_un address;
	int directory cleanup_close = open_directory(path, &address);
	int fd cleanup_close = directory < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return mem_steal_fd(&fd);
}

char *net_host_name(void)
{
	char name[HOST_NAME_MAX + 1] = "";

	gethostname(name, sizeof(name) - 1);
	return mem_strdup(name);
}

char *net_listen_advertise(const char *text)
{
	char *name cleanup_free = net_host_name();
	struct net_address address;

	if (!*name || net_address_parse(text, &address, NULL) < 0 || !net_address_is_any(&address))
		return mem_strdup(text);
	return mem_printf("%s:%d", name, net_address_port(&address));
}
