/*
 * The rendezvous of an elastic job of Horovod's, whose processes live through changes of their
 * ring. It is served at the interface's own address, which an AM that follows keeps where it can,
 * and speaks what horovodrun's elastic driver speaks:
 *
 *   GET /rank_and_size/NAME:RANK        a process asks for its place; answered when the ring forms:
 *                                       "rank,size,local rank,local size,cross rank,cross size"
 *   PUT /worker_addresses/NAME:RANK     where it can be told of changes (worker_service.h)
 *   PUT, GET, DELETE /SCOPE/KEY         as in every ring (gloo_store.h)
 *
 * NAME is that of horovod_place.h. Like any rendezvous of Horovod's it needs no token: SECURITY.md.
 */
#ifndef TONY_AM_HOROVOD_ELASTIC_H
#define TONY_AM_HOROVOD_ELASTIC_H

#include "job/machine.h"
#include "net/http_server.h"

enum { ELASTIC_ROUTES = 5 };

struct elastic_ring;

/* `file`: the state that an AM that follows needs is kept there; NULL: nothing is. */
struct elastic_ring *elastic_ring_create(struct event_base *base, const struct job *job,
					 const struct machine *machine, const char *file);
void elastic_ring_destroy(struct elastic_ring *ring); /* NULL is fine */

/* ELASTIC_ROUTES of them, of the AM's own server. */
const struct http_route *elastic_ring_routes(const struct elastic_ring *ring);
/* Its processes are strangers to that server, and may send so many bytes together. */
size_t elastic_ring_total_max(const struct elastic_ring *ring);

/* Tasks may have come or gone. NULL is fine. */
void elastic_ring_check(struct elastic_ring *ring);
/* Nobody gets a place any more. NULL is fine. */
void elastic_ring_conclude(struct elastic_ring *ring);

#endif
