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

static struct end end_of(const struct net_address *address)
{
	return (struct end){net_address_in6(address), (unsigned)net_address_port(address)};
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
		end->address = net_address_map_v4(words[0]);
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
	const struct in6_addr any_v4 = net_address_map_v4(INADDR_ANY);

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

/* 0; -1: errno says why there is no table. */
static int read_rows(void (*note)(void *data, const struct row *row), void *data)
{
	static const char *const tables[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
	char line[512];
	struct row row;
	int opened = 0;

	for (size_t i = 0; i < array_length(tables); i++) {
		FILE *table cleanup_file = fopen(tables[i], "re");
		opened += table != NULL;
		while (table && fgets(line, sizeof(line), table))
			if (read_row(line, &row))
				note(data, &row);
	}
	return opened == 0 ? -1 : 0;
}

struct search {
	struct end here;
	const struct end *there;
	int best;
	struct socket_entry *entry;
};

static void note_best(void *data, const struct row *row)
{
	struct search *search = data;
	int rating = rate(row, &search->here, search->there);

	if (rating <= search->best)
		return;
	search->best = rating;
	search->entry->uid = (uid_t)row->uid;
	search->entry->is_accepted = row->state != TCP_LISTEN && row->inode != 0;
}

int socket_table_find(const struct net_address *local, const struct net_address *remote,
		      struct socket_entry *entry)
{
	const struct end there = remote ? end_of(remote) : (struct end){0};
	struct search search = {end_of(local), remote ? &there : NULL, 0, entry};

	if (read_rows(note_best, &search) < 0)
		return -1;
	return search.best > 0;
}

struct listeners {
	unsigned port;
	socket_listener_function *note;
	void *data;
};

static void note_listener(void *data, const struct row *row)
{
	const struct listeners *listeners = data;
	const struct socket_listener listener = {.address = row->local.address,
						 .uid = (uid_t)row->uid};

	if (row->state == TCP_LISTEN && row->local.port == listeners->port)
		listeners->note(listeners->data, &listener);
}

int socket_table_listeners(int port, socket_listener_function *note, void *data)
{
	struct listeners listeners = {(unsigned)port, note, data};

	return read_rows(note_listener, &listeners);
}
