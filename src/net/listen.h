/* Sockets that listen, and how those that have a path are reached. */
#ifndef TONY_NET_LISTEN_H
#define TONY_NET_LISTEN_H

#include <stdbool.h>

#include "base/err.h"

/* A socket that listens at `address` (HOST:PORT, numeric; port 0: any), close-on-exec and
 * non-blocking. `shares_port`: a process of this user's holds the port with SO_REUSEPORT. The
 * caller closes it. -1: `err`, with the remedy; ERR_USAGE where another address is one. */
int net_listen(const char *address, bool shares_port, struct err *err);

/* The same at the path of a Unix socket, of mode 0600: of others, only root connects. A socket that
 * is there already is of a process that was killed. The path may be longer than the 107 bytes that
 * such an address has room for. */
int net_listen_path(const char *path, struct err *err);
/* Connects there; the socket blocks. -1: errno says why. */
int net_connect_path(const char *path);

/* This machine's name; "": it has none. The caller frees. */
char *net_host_name(void);

/* HOST:PORT as other machines call it: "node-7:4000" of "0.0.0.0:4000" and "[::]:4000" on node-7;
 * others as they are. The caller frees. */
char *net_listen_advertise(const char *address);

#endif
