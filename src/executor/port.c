#include "executor/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/socket_owner.h"

/* Where a task that others reach at `host` listens: 127.0.0.2 is another node than 127.0.0.1 where
 * one machine plays several. */
static void choose_address(const char *host, int number, struct net_address *address)
{
	if (net_address_from_host(host, number, address) == 0 && net_address_is_loopback(address))
		return;
	net_address_from_host(strchr(host, ':') ? "::" : "0.0.0.0", number, address);
}

char *port_address(const char *host, int number)
{
	struct net_address address;

	choose_address(host, number, &address);
	return net_address_text(&address);
}

static int hold_at(struct net_address address, struct port *port, struct err *err)
{
	const int on = 1, off = 0;
	int family = address.storage.ss_family;
	struct sockaddr *name = (struct sockaddr *)&address.storage;

	int fd cleanup_close = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, "cannot hold a port: no socket");
	/* With port 0 the kernel shares no port that another socket is bound to, whatever the
	 * options: so no two executors hold the same one. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    (family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, name, address.length) < 0 || getsockname(fd, name, &address.length) < 0)
		return err_set_errno(err, "cannot hold a port");
	port->number = net_address_port(&address);
	port->fd = mem_steal_fd(&fd);
	return 0;
}

/* A host's name may mean addresses of both protocols. */
int port_hold(const char *host, struct port *port, struct err *err)
{
	struct net_address address, both;

	choose_address(host, 0, &address);
	choose_address("::", 0, &both);
	if (net_address_is_any(&address) && hold_at(both, port, NULL) == 0)
		return 0;
	return hold_at(address, port, err);
}

/* The kernel looks at this socket's options when another one is bound, or begins to listen. It
 * checks users with SO_REUSEPORT only. */
void port_share(const struct port *port, bool is_shared)
{
	const int on = is_shared;

	if (port->fd >= 0)
		setsockopt(port->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

void port_release(struct port *port)
{
	mem_cleanup_close(&port->fd);
}

int port_renew(const char *host, struct port *port, struct err *err)
{
	struct port fresh;

	if (port_hold(host, &fresh, err) < 0)
		return -1;
	port_release(port);
	*port = fresh;
	return 0;
}

/* ---- who listens ---------------------------------------------------------------------------- */

enum port_listener port_look(const char *host, int number, const struct str_list *listener_uids,
			     uid_t *uid, struct err *err)
{
	struct net_address asked;

	choose_address(host, number, &asked);
	switch (socket_owner_of_listener(&asked, listener_uids, uid, err)) {
	case SOCKET_OWNER_UNKNOWN:
		return PORT_UNKNOWN;
	case SOCKET_OWNER_NONE:
		return PORT_UNSERVED;
	case SOCKET_OWNER_KNOWN:
		break;
	}
	return socket_owner_is_trusted(*uid, geteuid(), listener_uids) ? PORT_SERVED : PORT_STOLEN;
}

bool port_is_refused(int number)
{
	struct net_address address;
	const int on = 1;

	choose_address("", number, &address);
	int fd cleanup_close = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	       bind(fd, (struct sockaddr *)&address.storage, address.length) < 0 &&
	       errno == EADDRINUSE;
}

char *port_theft(int number, uid_t thief)
{
	return mem_printf("port %d was taken by uid %u", number, thief);
}
