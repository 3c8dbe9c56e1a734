/*
 * The rendezvous of Horovod's processes over Gloo, as horovodrun serves it: opaque values under
 * /SCOPE/KEY, for the processes of one ring. A ring that forms anew gets a store and a port of its
 * own, so that nothing of an older one can reach it.
 *
 * PUT and GET are those of every store (404 until there). DELETE /SCOPE/RANK says that this rank
 * needs the scope no more: a scope of the ring is emptied when all its members have said so, of any
 * other scope that key is removed.
 *
 * It needs no token: Horovod's client cannot send one. See SECURITY.md.
 */
#ifndef TONY_AM_GLOO_H
#define TONY_AM_GLOO_H

#include "framework/slots.h"

struct event_base;
struct gloo;

/* At "127.0.0.1:0". What it keeps is limited as in kv.h, or to what a ring of this size needs. */
struct gloo *gloo_create(struct event_base *base, const char *address, const struct slots *ring,
			 struct err *err);
void gloo_destroy(struct gloo *gloo); /* NULL is fine */

const char *gloo_address(const struct gloo *gloo); /* "127.0.0.1:4000" */

#endif
