/* A port of this machine, at which only programs of one user are let in. */
#ifndef TONY_NET_LOCAL_PORT_H
#define TONY_NET_LOCAL_PORT_H

#include <sys/types.h>

#include "base/err.h"

struct event_base;
struct local_port;

/* Listens at `address` ("127.0.0.1:0": any port). On this machine only programs of `user` or root
 * are let in, and whom the kernel knows not; SOCKET_OWNER_ANY: all. `accepted` takes `fd`. */
struct local_port *local_port_open(struct event_base *base, const char *address, uid_t user,
				   void (*accepted)(void *data, int fd), void *data,
				   struct err *err);
void local_port_close(struct local_port *port); /* NULL is fine */

/* The loop, until SIGINT, SIGTERM or event_base_loopbreak(). */
void local_port_serve(struct event_base *base);

const char *local_port_address(const struct local_port *port); /* with the port bound */

#endif
