/*
 * Names to addresses, on the event loop and without the C library's resolver, which a static
 * program cannot use: /etc/hosts first, then the name servers and search domains of
 * /etc/resolv.conf, both read anew for each question.
 */
#ifndef TONY_NET_RESOLVE_H
#define TONY_NET_RESOLVE_H

#include <stddef.h>

#include "base/err.h"
#include "net/address.h"

struct event_base;
struct resolve;

/* Where to look; for tests. */
struct resolve_files {
	const char *hosts, *servers;
};

/* Called once, from the loop: with one address at least (valid within `done`; those of IPv4, or if
 * there is none those of IPv6), or with none: `err` says why (ERR_NOT_FOUND: it has none;
 * ERR_UNREACHABLE: nobody answers). */
typedef void resolve_done(void *data, const struct net_address *addresses, size_t count,
			  const struct err *err);

/* Never calls back from within. A numeric host is not looked up. Has no time limit of its own, but
 * gives up when the name servers do not answer, which takes some 15 s. `files`: NULL for those in
 * /etc. */
struct resolve *resolve_start(struct event_base *base, const struct resolve_files *files,
			      const char *host, int port, resolve_done *done, void *data);
/* `done` will not be called. */
void resolve_cancel(struct resolve *resolve);

#endif
