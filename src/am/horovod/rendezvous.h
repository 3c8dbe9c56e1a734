/*
 * The rendezvous of a job whose framework asks for one (framework_ops.rendezvous): a store in which
 * the processes of a ring meet, served as horovodrun serves it. Each ring has a store at an address
 * of its own (gloo.h). Where the job's processes live through changes of their ring, they keep one
 * address, the AM's own (elastic.h).
 */
#ifndef TONY_AM_HOROVOD_RENDEZVOUS_H
#define TONY_AM_HOROVOD_RENDEZVOUS_H

#include "framework/framework.h"
#include "job/machine.h"
#include "net/http_server.h"

struct rendezvous;

struct rendezvous_options {
	struct event_base *base;
	const struct job *job;
	const struct machine *machine;
	const char *host;      /* by which other machines reach the AM; NULL: its address; copied */
	const char *file;      /* for an AM that follows: the store of a ring; NULL: none; copied */
	const char *ring_file; /* likewise: who is in an elastic ring; copied */
};

/* NULL: the job has none. All that follows is fine with NULL. */
struct rendezvous *rendezvous_create(const struct rendezvous_options *options);
void rendezvous_destroy(struct rendezvous *rendezvous);

/* To be added to those of the AM's own server, of which strangers then may use so many bytes. */
const struct http_route *rendezvous_routes(const struct rendezvous *rendezvous, size_t *count);
size_t rendezvous_stranger_bytes(const struct rendezvous *rendezvous); /* 0: as many as ever */
/* That server listens here, for others there. Borrowed. */
void rendezvous_set_address(struct rendezvous *rendezvous, const char *own, const char *address);

/* Serves the ring that the cluster forms now. */
int rendezvous_renew(struct rendezvous *rendezvous, struct err *err);
/* Tells where the rendezvous of the present ring is, if there is one. */
void rendezvous_tell(const struct rendezvous *rendezvous, struct cluster *cluster);
/* Tasks may have come or gone. */
void rendezvous_check(struct rendezvous *rendezvous);
/* The job is over. */
void rendezvous_conclude(struct rendezvous *rendezvous);

#endif
