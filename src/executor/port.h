/*
 * Ports held for a task: bound, never listening, so that the kernel hands them to nobody else. By
 * the kernel's rules another socket may then be bound to the port
 *
 * - by a program of the same user that sets SO_REUSEPORT: always;
 * - by a program of any user that sets SO_REUSEADDR, and may listen: while the port is shared.
 *
 * So a port that is not shared is out of other users' reach, and the first listener on a shared one
 * has to be looked at (ARCHITECTURE.md, "Ports").
 */
#ifndef TONY_EXECUTOR_PORT_H
#define TONY_EXECUTOR_PORT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* How a port is kept from other users while a program lives. */
enum port_guard {
	PORT_SHARED,
	PORT_STRICT, /* held and not shared */
	PORT_OPEN,   /* not held: nobody can tell which of the free ones it is */
};

struct port {
	int number; /* 0: none */
	int fd;	    /* -1: not held */
};

/* A free port, held on the loopback address that `host` (how others reach the task) is, if it is
 * one, else on every address, of IPv6 too where this machine has it. It is not shared. Sets *port
 * only on success. */
int port_hold(const char *host, struct port *port, struct err *err);
void port_release(struct port *port); /* keeps the number */

/* From now on. A port that is not held is everybody's. */
void port_share(const struct port *port, bool is_shared);

/* Where a task's program listens at its port: "127.0.0.1:4001", "0.0.0.0:4001". The caller frees.
 */
char *port_address(const char *host, int number);

/* Another one: held before the old is let go, so they differ. On failure *port is as before. */
int port_renew(const char *host, struct port *port, struct err *err);

enum port_listener {
	PORT_UNKNOWN = -1, /* the kernel could not be asked: `err` says why */
	PORT_UNSERVED,
	PORT_SERVED,
	PORT_STOLEN, /* by *uid, who is not trusted (socket_owner.h) */
};

/* Which user gets the connections that others make to the port at `host`; "": at any address of
 * this machine. */
enum port_listener port_look(const char *host, int number, const struct str_list *listener_uids,
			     uid_t *uid, struct err *err);

/* Whether a program of this user that sets SO_REUSEADDR and SO_REUSEPORT is refused a port that is
 * held and shared, at any address. So is a socket that never listens found. */
bool port_is_refused(int number);

/* "port 43759 was taken by uid 1002"; the caller frees. */
char *port_theft(int number, uid_t thief);

#endif
