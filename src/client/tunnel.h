/* A port of this machine that leads to an AM: for a browser that reaches this machine and not the
 * AM's. Bytes pass as they are: what the AM wants to be shown, the browser has to show. */
#ifndef TONY_CLIENT_TUNNEL_H
#define TONY_CLIENT_TUNNEL_H

#include "base/err.h"

struct event_base;
struct tunnel;

/* Listens at `listen` ("127.0.0.1:0"), and connects to `target` (HOST:PORT) for each that comes. */
struct tunnel *tunnel_create(struct event_base *base, const char *listen, const char *target,
			     struct err *err);
void tunnel_destroy(struct tunnel *tunnel); /* NULL is fine */

const char *tunnel_address(const struct tunnel *tunnel); /* with the port bound */

#endif
