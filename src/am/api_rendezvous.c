/* The rendezvous of a framework's ring, which lives as long as the ring does. */
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "am/spec.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/slots.h"
#include "net/address.h"

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
static int serve(struct api *api, const struct slots *slots, const char *ring, struct err *err)
{
	const char *own = http_server_address(api->server);
	char *address cleanup_free = net_address_any_port(own);
	struct gloo *gloo =
		gloo_create(api->base, address, api->name, slots, ring, api->rendezvous_file, err);

	if (!gloo)
		return err_wrap(err, "the rendezvous cannot be served");
	gloo_destroy(api->gloo);
	api->gloo = gloo;
	return 0;
}

static int renew(struct api *api, const struct cluster *cluster, struct err *err)
{
	struct slots slots cleanup_slots = {0};

	/* A sidecar may start before the ring is complete. */
	if (slots_build(api->host.job, cluster, &slots, NULL) < 0 || slots.count == 0)
		return 0;
	char *ring cleanup_free = name_ring(cluster, &slots);
	if (str_equal(ring, api->ring))
		return 0;
	if (serve(api, &slots, ring, err) < 0)
		return -1;
	mem_replace(&api->ring, mem_steal(&ring));
	return 0;
}

int api_rendezvous_renew(struct api *api, struct err *err)
{
	if (!framework_has_rendezvous(api->host.job) || api->ring_service)
		return 0;
	struct cluster *cluster = spec_build(api->host.job, api->host.machine);
	int result = renew(api, cluster, err);
	cluster_destroy(cluster);
	return result;
}

void api_rendezvous_tell(const struct api *api, struct cluster *cluster)
{
	if (!api->gloo && !api->ring_service)
		return;
	char *address cleanup_free =
		api->gloo ? api_advertise(api, gloo_address(api->gloo)) : mem_strdup(api->address);
	if (address_parse(address, &cluster->rendezvous) < 0)
		BUG("rendezvous at %s", address);
}

void api_rendezvous_close(struct api *api)
{
	gloo_destroy(api->gloo);
	api->gloo = NULL;
	mem_replace(&api->ring, NULL);
}
