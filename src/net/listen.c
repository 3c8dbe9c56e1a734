#include "net/listen.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/address.h"

enum { BACKLOG = 4096 };

static int explain(const char *text, struct err *err)
{
	switch (errno) {
	case EADDRINUSE:
		return err_set(err, ERR_USAGE,
			       "%s: another program has that port; choose another one, or 0 for "
			       "any",
			       text);
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
		return explain(text, err);
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
