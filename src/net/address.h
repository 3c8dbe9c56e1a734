/* Socket addresses as text. Numeric only, so that a static program needs no resolver:
 * "127.0.0.1:4000", "[::1]:4000"; "localhost" means 127.0.0.1. */
#ifndef TONY_NET_ADDRESS_H
#define TONY_NET_ADDRESS_H

#include <sys/socket.h>

#include "base/err.h"

struct net_address {
	struct sockaddr_storage storage;
	socklen_t length;
};

/* Port 0 (any) is fine here. */
int net_address_parse(const char *text, struct net_address *address, struct err *err);

/* "127.0.0.1:4000" or "[::1]:4000"; the caller frees. */
char *net_address_text(const struct net_address *address);

#endif
