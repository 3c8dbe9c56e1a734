/*
 * Where `tony portal --link` asks a portal for another link: a Unix socket in the portal's folder,
 * of mode 0600. The way to it is the user's own, unlike the portal's port, on which another user
 * may listen while no portal does. To connect is all that is asked; the answer is one line, the
 * link.
 */
#ifndef TONY_PORTAL_LINK_SOCKET_H
#define TONY_PORTAL_LINK_SOCKET_H

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct link_socket;

/* Of the portal that listens at `address` ("127.0.0.1:19886") of this machine. The folder is there.
 * A socket that a killed portal has left is replaced. `make_link` gives a new link, which is
 * freed here. */
struct link_socket *link_socket_open(struct event_base *base, const char *folder,
				     const char *address, char *(*make_link)(void *data),
				     void *data, struct err *err);
void link_socket_close(struct link_socket *socket); /* NULL is fine */

/* Asks that portal: "https://node7:19886/login?code=...". The caller frees. ERR_UNREACHABLE: there
 * is none. */
char *link_socket_ask(const char *folder, const char *address, struct err *err);
/* Asks each portal of this machine with this folder, wherever it listens; adds the links. */
void link_socket_ask_all(const char *folder, struct str_list *links);

#endif
