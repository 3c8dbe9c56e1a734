/* The kernel's table of TCP sockets as text (/proc/net/tcp, tcp6; proc(5)): slower than
 * sock_diag(7), and there where that is not, as in gVisor and in kernels without inet_diag. */
#ifndef TONY_NET_SOCKET_TABLE_H
#define TONY_NET_SOCKET_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

#include "net/address.h"

struct socket_entry {
	uid_t uid;
	bool is_accepted; /* it is a connection, and some process has it */
};

/* The socket that gets what comes from `remote` to `local`; with `remote` NULL the one that listens
 * there. 1: *entry; 0: there is none; -1: errno says why there is no table. */
int socket_table_find(const struct net_address *local, const struct net_address *remote,
		      struct socket_entry *entry);

/* It listens; an address of IPv4 is mapped into one of IPv6. */
struct socket_listener {
	struct in6_addr address;
	bool is_v6_only; /* at "::", and takes no connection of IPv4; the table does not say so */
	uid_t uid;
};

typedef void socket_listener_function(void *data, const struct socket_listener *listener);

/* All that listen at a port, by whatever address. 0; -1: errno says why there is no table. */
int socket_table_listeners(int port, socket_listener_function *note, void *data);

#endif
