#include "executor/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/socket_owner.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t choose_address(const char *host, union address *address)
{
	*address = (union address){0};
	if (strchr(host, ':')) {
		address->v6.sin6_family = AF_INET6;
		if (str_equal(host, "::1"))
			address->v6.sin6_addr = in6addr_loopback;
		return sizeof(address->v6);
	}
	address->v4.sin_family = AF_INET;
	/* 127.0.0.2 is another node than 127.0.0.1 where one machine plays several. */
	if (str_equal(host, "localhost"))
		address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (!str_starts_with(host, "127.") ||
		 inet_pton(AF_INET, host, &address->v4.sin_addr) != 1)
		address->v4.sin_addr.s_addr = htonl(INADDR_ANY);
	return sizeof(address->v4);
}

static void set_number(union address *address, int number)
{
	if (address->any.sa_family == AF_INET6)
		address->v6.sin6_port = htons((uint16_t)number);
	else
		address->v4.sin_port = htons((uint16_t)number);
}

char *port_address(const char *host, int number)
{
	char text[INET6_ADDRSTRLEN];
	union address address;

	choose_address(host, &address);
	if (address.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text));
		return mem_printf("[%s]:%d", text, number);
	}
	inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text));
	return mem_printf("%s:%d", text, number);
}

static bool is_any(const union address *address)
{
	return address->any.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr)
						  : address->v4.sin_addr.s_addr == INADDR_ANY;
}

static int hold_at(union address address, socklen_t length, struct port *port, struct err *err)
{
	const int on = 1, off = 0;

	int fd cleanup_close = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, "cannot hold a port: no socket");
	/* With port 0 the kernel shares no port that another socket is bound to, whatever the
	 * options: so no two executors hold the same one. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    (address.any.sa_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, &address.any, length) < 0 || getsockname(fd, &address.any, &length) < 0)
		return err_set_errno(err, "cannot hold a port");
	port->number = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
							       : address.v4.sin_port);
	port->fd = mem_steal_fd(&fd);
	return 0;
}

/* A host's name may mean addresses of both protocols. */
int port_hold(const char *host, struct port *port, struct err *err)
{
	const union address both = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any}};
	union address address;
	socklen_t length = choose_address(host, &address);

	if (is_any(&address) && hold_at(both, sizeof(both.v6), port, NULL) == 0)
		return 0;
	return hold_at(address, length, port, err);
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
	port->fd = -1;
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
	struct net_address asked = {0};
	union address address;

	asked.length = choose_address(host, &address);
	set_number(&address, number);
	memcpy(&asked.storage, &address, asked.length);
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
	union address address;
	socklen_t length = choose_address("", &address);
	const int on = 1;

	int fd cleanup_close = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	set_number(&address, number);
	return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	       bind(fd, &address.any, length) < 0 && errno == EADDRINUSE;
}

char *port_theft(int number, uid_t thief)
{
	return mem_printf("port %d was taken by uid %u", number, thief);
}
