#include "am/horovod/rendezvous.h"

#include <stdlib.h>

#include "am/horovod/elastic.h"
#include "am/horovod/gloo.h"
#include "am/listen.h"
#include "am/spec.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/slots.h"
#include "net/address.h"

struct rendezvous {
	const struct job *job;
	const struct machine *machine;
	struct event_base *base;
	char *host, *file;
	const char *own, *address;    /* of the AM's own server */
	struct gloo *gloo;	      /* NULL: no ring has formed yet */
	char *ring;		      /* which it serves; NULL: none */
	struct elastic_ring *elastic; /* in place of these; NULL: processes do not outlive a ring */
};

/* Which ring this is: "2 0 3" is that of types 0 and 3 in epoch 2. Within an epoch a stage may
 * follow another. */
static char *name_ring(const struct cluster *cluster, const struct slots *slots)
{
	struct str name = {0};

	str_append_format(&name, "%d", cluster->epoch);
	for (size_t i = 0; i < slots->count; i++)
		if (slots->items[i].index == 0 && slots->items[i].process == 0)
			str_append_format(&name, " %zu", slots->items[i].type);
	return str_steal(&name);
}

/* On another port of the same address. The old one is closed after the new one is open: so they
 * differ. */
static int serve(struct rendezvous *rendezvous, const struct slots *slots, const char *ring,
		 struct err *err)
{
	char *address cleanup_free = net_address_any_port(rendezvous->own);
	struct gloo *gloo = gloo_create(rendezvous->base, address, rendezvous->host, slots, ring,
					rendezvous->file, err);

	if (!gloo)
		return err_wrap(err, "the rendezvous cannot be served");
	gloo_destroy(rendezvous->gloo);
	rendezvous->gloo = gloo;
	return 0;
}

static int renew(struct rendezvous *rendezvous, const struct cluster *cluster, struct err *err)
{
	struct slots slots cleanup_slots = {0};

	/* A sidecar may start before the ring is complete. */
	if (slots_build(rendezvous->job, cluster, &slots, NULL) < 0 || slots.count == 0)
		return 0;
	char *ring cleanup_free = name_ring(cluster, &slots);
	if (str_equal(ring, rendezvous->ring))
		return 0;
	if (serve(rendezvous, &slots, ring, err) < 0)
		return -1;
	mem_replace(&rendezvous->ring, mem_steal(&ring));
	return 0;
}

int rendezvous_renew(struct rendezvous *rendezvous, struct err *err)
{
	if (!rendezvous || rendezvous->elastic)
		return 0;
	struct cluster *cluster = spec_build(rendezvous->job, rendezvous->machine);
	int result = renew(rendezvous, cluster, err);
	cluster_destroy(cluster);
	return result;
}

void rendezvous_tell(const struct rendezvous *rendezvous, struct cluster *cluster)
{
	if (!rendezvous || (!rendezvous->gloo && !rendezvous->elastic))
		return;
	char *address cleanup_free =
		rendezvous->gloo
			? listen_advertise(rendezvous->host, gloo_address(rendezvous->gloo))
			: mem_strdup(rendezvous->address);
	if (address_parse(address, &cluster->rendezvous) < 0)
		BUG("rendezvous at %s", address);
}

static void close_ring(struct rendezvous *rendezvous)
{
	gloo_destroy(rendezvous->gloo);
	rendezvous->gloo = NULL;
	mem_replace(&rendezvous->ring, NULL);
}

void rendezvous_check(struct rendezvous *rendezvous)
{
	if (rendezvous)
		elastic_ring_check(rendezvous->elastic);
}

void rendezvous_conclude(struct rendezvous *rendezvous)
{
	if (!rendezvous)
		return;
	close_ring(rendezvous);
	elastic_ring_conclude(rendezvous->elastic);
}

const struct http_route *rendezvous_routes(const struct rendezvous *rendezvous, size_t *count)
{
	bool has_some = rendezvous && rendezvous->elastic;

	*count = has_some ? ELASTIC_ROUTES : 0;
	return has_some ? elastic_ring_routes(rendezvous->elastic) : NULL;
}

size_t rendezvous_stranger_bytes(const struct rendezvous *rendezvous)
{
	return rendezvous && rendezvous->elastic ? elastic_ring_total_max(rendezvous->elastic) : 0;
}

void rendezvous_set_address(struct rendezvous *rendezvous, const char *own, const char *address)
{
	if (!rendezvous)
		return;
	rendezvous->own = own;
	rendezvous->address = address;
}

struct rendezvous *rendezvous_create(const struct rendezvous_options *options)
{
	if (!framework_has_rendezvous(options->job))
		return NULL;
	struct rendezvous *rendezvous = mem_alloc(sizeof(*rendezvous));
	rendezvous->job = options->job;
	rendezvous->machine = options->machine;
	rendezvous->base = options->base;
	rendezvous->host = mem_strdup(options->host);
	rendezvous->file = mem_strdup(options->file);
	if (options->job->live_elastic)
		rendezvous->elastic = elastic_ring_create(options->base, options->job,
							  options->machine, options->ring_file);
	return rendezvous;
}

void rendezvous_destroy(struct rendezvous *rendezvous)
{
	if (!rendezvous)
		return;
	close_ring(rendezvous);
	elastic_ring_destroy(rendezvous->elastic);
	free(rendezvous->host);
	free(rendezvous->file);
	free(rendezvous);
}
