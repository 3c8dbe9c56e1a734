#include "net/local_port.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "net/address.h"
#include "net/listen.h"
#include "net/socket_owner.h"

enum { ACCEPT_PAUSE_MS = 100 };

struct local_port {
	struct evconnlistener *listener;
	struct event resume;		   /* listening again after accept failed */
	struct local_port_options options; /* `address` is gone */
	char *address;
};

static bool is_welcome(const struct local_port *port, int fd)
{
	struct err why cleanup_err = {0};
	uid_t uid;

	if (port->options.user == SOCKET_OWNER_ANY)
		return true;
	if (socket_owner_of_peer(fd, &uid, &why) == SOCKET_OWNER_KNOWN)
		return socket_owner_is_trusted(uid, port->options.user, NULL);
	if (!port->options.lets_unknown)
		log_warning("%s: a connection is refused, since its user is not known: %s",
			    port->address, err_message(&why));
	return port->options.lets_unknown;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
		      int length, void *data)
{
	const struct local_port *port = data;

	if (is_welcome(port, fd))
		port->options.accepted(port->options.data, fd);
	else
		close(fd);
}

/* Out of descriptors: the listener would stay readable and spin. */
static void on_accept_error(struct evconnlistener *listener, void *data)
{
	struct local_port *port = data;

	log_warning("%s: cannot accept a connection: %s", port->address,
		    evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
	evconnlistener_disable(listener);
	timer_start(&port->resume, ACCEPT_PAUSE_MS);
}

static void on_resume(evutil_socket_t fd, short what, void *data)
{
	struct local_port *port = data;

	evconnlistener_enable(port->listener);
}

static int listen_at(struct local_port *port, struct err *err)
{
	const char *text = port->options.address;
	struct net_address address = {.length = sizeof(address.storage)};
	int fd = net_listen(text, false, err);

	if (fd < 0)
		return -1;
	port->listener = evconnlistener_new(port->options.base, on_accept, port,
					    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!port->listener) {
		close(fd);
		return err_set(err, ERR_FAILED, "%s: cannot listen", text);
	}
	evconnlistener_set_error_cb(port->listener, on_accept_error);
	if (getsockname(evconnlistener_get_fd(port->listener), (struct sockaddr *)&address.storage,
			&address.length) < 0)
		return err_set_errno(err, "%s: cannot tell the port", text);
	port->address = net_address_text(&address);
	return 0;
}

struct local_port *local_port_open(const struct local_port_options *options, struct err *err)
{
	struct local_port *port = mem_alloc(sizeof(*port));

	port->options = *options;
	event_assign(&port->resume, options->base, -1, 0, on_resume, port);
	if (listen_at(port, err) == 0) {
		port->options.address = NULL;
		return port;
	}
	local_port_close(port);
	return NULL;
}

static void on_signal(evutil_socket_t signal, short what, void *data)
{
	event_base_loopbreak(data);
}

void local_port_serve(struct event_base *base)
{
	struct event *interrupt = evsignal_new(base, SIGINT, on_signal, base);
	struct event *end = evsignal_new(base, SIGTERM, on_signal, base);

	event_add(interrupt, NULL);
	event_add(end, NULL);
	event_base_dispatch(base);
	event_free(interrupt);
	event_free(end);
}

const char *local_port_address(const struct local_port *port)
{
	return port->address;
}

void local_port_close(struct local_port *port)
{
	if (!port)
		return;
	event_del(&port->resume);
	if (port->listener)
		evconnlistener_free(port->listener);
	free(port->address);
	free(port);
}
