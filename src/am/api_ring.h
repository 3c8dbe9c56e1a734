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
#ifndef TONY_AM_API_RING_H
#define TONY_AM_API_RING_H

#include <stddef.h>

struct api;
struct api_ring;
struct http_request;

/* Of the job, if all its tasks run. */
size_t api_ring_count_processes(const struct api *api);

/* `file`: what an AM that follows needs is kept there; NULL: nothing is. Borrowed. */
struct api_ring *api_ring_create(struct api *api, const char *file);
void api_ring_destroy(struct api_ring *ring); /* NULL is fine */

/* Tasks may have come or gone. NULL is fine. */
void api_ring_check(struct api_ring *ring);
/* Nobody gets a place any more. NULL is fine. */
void api_ring_conclude(struct api_ring *ring);

void api_handle_ring_place(void *data, struct http_request *request);
void api_handle_ring_service(void *data, struct http_request *request);
void api_handle_ring_put(void *data, struct http_request *request);
void api_handle_ring_get(void *data, struct http_request *request);
void api_handle_ring_delete(void *data, struct http_request *request);

#endif
