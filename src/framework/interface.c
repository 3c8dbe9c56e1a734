#include "framework/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stddef.h>

#include "base/mem.h"

static int has_address(const struct ifaddrs *interface, struct in_addr address)
{
	const struct sockaddr_in *own =
		(const struct sockaddr_in *)(const void *)interface->ifa_addr;

	if (!own || own->sin_family != AF_INET)
		return 0;
	if (own->sin_addr.s_addr == address.s_addr)
		return 1;
	/* All of 127.0.0.0/8 is the loopback interface's, whichever of them it is listed with. */
	return (interface->ifa_flags & IFF_LOOPBACK) &&
	       ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

char *interface_of(const char *address)
{
	struct ifaddrs *all;
	struct in_addr wanted;
	char *name = NULL;

	if (inet_pton(AF_INET, address, &wanted) != 1 || getifaddrs(&all) < 0)
		return NULL;
	for (const struct ifaddrs *one = all; one && !name; one = one->ifa_next)
		if (has_address(one, wanted))
			name = mem_strdup(one->ifa_name);
	freeifaddrs(all);
	return name;
}
