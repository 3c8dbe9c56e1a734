/* A port of this machine, at which only programs of one user are let in. */
#ifndef TONY_NET_LOCAL_PORT_H
#define TONY_NET_LOCAL_PORT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct event_base;
struct local_port;

struct local_port_options {
	struct event_base *base;
	const char *address; /* "127.0.0.1:0": any port */
	uid_t user;	     /* only his programs and root's are let in; SOCKET_OWNER_ANY: all */
	/* So are those whom the kernel does not name, as of a connection that its client has
	 * closed already, and those of other machines: behind the port a token is asked for. */
	bool lets_unknown;
	void (*accepted)(void *data, int fd); /* takes `fd` */
	void *data;
};

struct local_port *local_port_open(const struct local_port_options *options, struct err *err);
void local_port_close(struct local_port *port); /* NULL is fine */

/* The loop, until SIGINT, SIGTERM or event_base_loopbreak(). */
void local_port_serve(struct event_base *base);

const char *local_port_address(const struct local_port *port); /* with the port bound */

#endif
