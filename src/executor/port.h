/*
 * Ports held for a task: bound with SO_REUSEADDR and SO_REUSEPORT, never listening. The task's
 * program may then bind and listen on them if it sets either option, as servers do, while the
 * kernel hands them to nobody else (docs: design, "A port that nobody can steal").
 */
#ifndef TONY_EXECUTOR_PORT_H
#define TONY_EXECUTOR_PORT_H

#include <stdbool.h>

#include "base/err.h"

struct port {
	int number; /* 0: none */
	int fd;	    /* -1: not held */
};

/* A free port, held on the loopback address that `host` (how others reach the task) is, if it is
 * one, else on every address. Sets *port only on success. */
int port_hold(const char *host, struct port *port, struct err *err);
void port_release(struct port *port); /* keeps the number */

/* Where a task's program listens at its port: "127.0.0.1:4001", "0.0.0.0:4001". The caller frees.
 */
char *port_address(const char *host, int number);

/* Another one: held before the old is let go, so they differ. On failure *port is as before. */
int port_renew(const char *host, struct port *port, struct err *err);

/* Does any process of this network namespace listen on that port of TCP? */
bool port_is_served(int number);

#endif
