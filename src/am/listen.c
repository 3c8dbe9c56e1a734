#include "am/listen.h"

#include <event2/event.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/resolve.h"

struct lookup {
	struct event_base *base;
	char *address; /* NULL: the host has none */
};

const char listen_everywhere[] = "0.0.0.0:0";

static void on_resolved(void *data, const struct net_address *addresses, size_t count,
			const struct err *err)
{
	struct lookup *lookup = data;

	if (count > 0)
		lookup->address = net_address_text(&addresses[0]);
	else
		log_warning("%s; listening on every address", err_message(err));
	event_base_loopbreak(lookup->base);
}

char *listen_address(const char *host)
{
	struct lookup lookup = {.base = event_base_new()};

	if (lookup.base) {
		resolve_start(lookup.base, NULL, host, 0, on_resolved, &lookup);
		event_base_dispatch(lookup.base);
		event_base_free(lookup.base);
	}
	return lookup.address ? lookup.address : mem_strdup(listen_everywhere);
}

char *listen_advertise(const char *host, const char *address)
{
	if (!host)
		return mem_strdup(address);
	return mem_printf(strchr(host, ':') ? "[%s]%s" : "%s%s", host, strrchr(address, ':'));
}
