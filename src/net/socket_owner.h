/*
 * Whose socket is at the other end. Ports know no owner: any user of a machine may listen on a free
 * one, also on one where somebody else's program is expected. The kernel knows the uid of each
 * socket (sock_diag(7)), and answers for the network namespace of the process that asks.
 */
#ifndef TONY_NET_SOCKET_OWNER_H
#define TONY_NET_SOCKET_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "net/address.h"

#define SOCKET_OWNER_ANY ((uid_t)-1) /* where a user is demanded: nobody in particular */

enum socket_owner {
	SOCKET_OWNER_UNKNOWN = -1, /* the kernel does not say: `err` says why */
	SOCKET_OWNER_NONE = 0,	   /* nobody, or somebody outside of this network namespace */
	SOCKET_OWNER_KNOWN = 1,
};

/* The user who listens at this address of this machine ("0.0.0.0", "::": at any), by whichever
 * interface: one whom this process's user does not trust before others. `others` as below. */
enum socket_owner socket_owner_of_listener(const struct net_address *address,
					   const struct str_list *others, uid_t *uid,
					   struct err *err);

/* The user at the other end of a TCP connection. As long as a connection was not accepted that is
 * whoever listens: nobody else can accept it any more. An end on this machine that the kernel does
 * not find, as one that was closed, is UNKNOWN; NONE is elsewhere. */
enum socket_owner socket_owner_of_peer(int fd, uid_t *uid, struct err *err);

/* Whether programs of this machine can have the address: the kernel leads what goes there to the
 * machine itself. -1: errno; it does not say, as without a free descriptor. */
int socket_owner_is_here(const struct net_address *address);

/* Whether the caller of a connection that was accepted is on another machine, or is a program of
 * root's or of one of `users` (uids, as text) on this one. False where the kernel does not say
 * which machine, or which user of this one. */
bool socket_owner_lets_in(int fd, const struct str_list *users);

/* Whether this user's socket may be where a program of `owner` is expected: it is that user, root,
 * or in `others` (job.h: listener_uids; NULL: nobody). */
bool socket_owner_is_trusted(uid_t uid, uid_t owner, const struct str_list *others);

#endif
