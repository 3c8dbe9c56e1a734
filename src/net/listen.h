/* Sockets that listen. */
#ifndef TONY_NET_LISTEN_H
#define TONY_NET_LISTEN_H

#include <stdbool.h>

#include "base/err.h"

/* A socket that listens at `address` (HOST:PORT, numeric; port 0: any), close-on-exec and
 * non-blocking. `shares_port`: a process of this user's holds the port with SO_REUSEPORT. The
 * caller closes it. -1: `err`, with the remedy; ERR_USAGE where another address is one. */
int net_listen(const char *address, bool shares_port, struct err *err);

/* This machine's name; "": it has none. The caller frees. */
char *net_host_name(void);

/* HOST:PORT as other machines call it: "node-7:4000" of "0.0.0.0:4000" and "[::]:4000" on node-7;
 * others as they are. The caller frees. */
char *net_listen_advertise(const char *address);

#endif
