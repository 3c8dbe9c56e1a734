/* A port of this machine that leads to an AM: for a browser that reaches this machine and not the
 * AM's, and for programs that do not speak its TLS. Bytes pass as they are: what the AM wants to be
 * shown, they have to show. The first error of each target is logged as a warning. */
#ifndef TONY_NET_TUNNEL_H
#define TONY_NET_TUNNEL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct event_base;
struct tunnel;

struct tunnel_options {
	struct event_base *base;
	const char *listen; /* "127.0.0.1:0" */
	const char *target; /* HOST:PORT, to which each connection is led; copied */
	/* The target speaks TLS, and both know this (tls_context_create_shared()); NULL: it does
	 * not. */
	const char *secret;
	/* On this machine only programs of this user's or root's are let in, and whom the kernel
	 * knows not; SOCKET_OWNER_ANY: all. */
	uid_t user;
	/* For a connection to the target, and then for agreeing on TLS; 0: 10 s each. */
	int64_t dial_ms;
};

struct tunnel *tunnel_create(const struct tunnel_options *options, struct err *err);
void tunnel_destroy(struct tunnel *tunnel); /* NULL is fine */

/* Connections that are made from now on are led to this target. */
void tunnel_move(struct tunnel *tunnel, const char *target);

const char *tunnel_address(const struct tunnel *tunnel); /* with the port bound */

#endif
