/*
 * The rendezvous of Horovod's processes over Gloo, as horovodrun serves it: the store of one ring
 * (gloo_store.h) at an address of its own. A ring that forms anew gets another one, so that nothing
 * of an older one can reach it.
 *
 * It needs no token: Horovod's client cannot send one. See SECURITY.md.
 */
#ifndef TONY_AM_HOROVOD_GLOO_H
#define TONY_AM_HOROVOD_GLOO_H

#include "framework/slots.h"

struct event_base;
struct gloo;

/* At "127.0.0.1:0"; `host`: the name by which other machines reach `address`; NULL: the address is
 * the name. `name`: of the ring. Where it has a file, the AM that follows serves the same store to
 * the same ring, at the same address unless somebody else got that meanwhile. */
struct gloo *gloo_create(struct event_base *base, const char *address, const char *host,
			 const struct slots *ring, const char *name, const char *file,
			 struct err *err);
void gloo_destroy(struct gloo *gloo); /* NULL is fine */

const char *gloo_address(const struct gloo *gloo); /* "127.0.0.1:4000" */

#endif
