#include "net/socket_table.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* An address as IPv6 has it, or mapped into it: sockets of IPv6 take connections of IPv4, too. */
struct end {
	struct in6_addr address;
	unsigned port;
};

struct row {
	struct end local, remote;
	unsigned state;
	unsigned long uid, inode;
};

static struct in6_addr map_v4(uint32_t network_order)
{
	struct in6_addr mapped = {.s6_addr[10] = 0xff, .s6_addr[11] = 0xff};

	memcpy(&mapped.s6_addr[12], &network_order, sizeof(network_order));
	return mapped;
}

static struct end end_of(const struct net_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	if (address->storage.ss_family == AF_INET6)
		return (struct end){v6->sin6_addr, ntohs(v6->sin6_port)};
	return (struct end){map_v4(v4->sin_addr.s_addr), ntohs(v4->sin_port)};
}

/* Words of eight hexadecimal digits, as the machine orders their bytes. */
static bool read_end(const char *text, struct end *end)
{
	uint32_t words[4];
	int count = 0;

	for (; count < 4 && sscanf(text, "%8x", &words[count]) == 1 && text[0] != ':'; count++)
		text += 8;
	if ((count != 1 && count != 4) || sscanf(text, ":%4x", &end->port) != 1)
		return false;
	if (count == 1)
		end->address = map_v4(words[0]);
	else
		memcpy(&end->address, words, sizeof(words));
	return true;
}

static bool read_row(const char *line, struct row *row)
{
	char local[64], remote[64];

	return sscanf(line, " %*d: %63s %63s %x %*s %*s %*s %lu %*d %lu", local, remote,
		      &row->state, &row->uid, &row->inode) == 5 &&
	       read_end(local, &row->local) && read_end(remote, &row->remote);
}

static bool is_any(const struct in6_addr *address)
{
	const struct in6_addr any_v4 = map_v4(INADDR_ANY);

	return IN6_IS_ADDR_UNSPECIFIED(address) || IN6_ARE_ADDR_EQUAL(address, &any_v4);
}

static bool is_same(const struct end *one, const struct end *other)
{
	return one->port == other->port && IN6_ARE_ADDR_EQUAL(&one->address, &other->address);
}

/* How well the row fits; 0: not at all. A connection comes before who listens, an address before
 * all. */
static int rate(const struct row *row, const struct end *local, const struct end *remote)
{
	bool listens = row->state == TCP_LISTEN;

	if (!listens)
		return remote && is_same(&row->local, local) && is_same(&row->remote, remote) ? 3
											      : 0;
	if (row->local.port != local->port)
		return 0;
	return is_same(&row->local, local) ? 2 : is_any(&row->local.address) ? 1 : 0;
}

int socket_table_find(const struct net_address *local, const struct net_address *remote,
		      struct socket_entry *entry)
{
	static const char *const tables[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
	const struct end here = end_of(local), there = remote ? end_of(remote) : (struct end){0};
	int best = 0, opened = 0;
	char line[512];
	struct row row;

	for (size_t i = 0; i < array_length(tables); i++) {
		FILE *table cleanup_file = fopen(tables[i], "re");
		opened += table != NULL;
		while (table && fgets(line, sizeof(line), table)) {
			int rating = read_row(line, &row)
					     ? rate(&row, &here, remote ? &there : NULL)
					     : 0;
			if (rating <= best)
				continue;
			best = rating;
			entry->uid = (uid_t)row.uid;
			entry->is_accepted = row.state != TCP_LISTEN && row.inode != 0;
		}
	}
	return opened == 0 ? -1 : best > 0;
}
