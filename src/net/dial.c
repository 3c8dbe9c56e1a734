#include "net/dial.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timer.h"
#include "net/resolve.h"
#include "net/socket_owner.h"

struct dial {
	struct event_base *base;
	struct resolve *resolve; /* NULL: not, or no longer, under way */
	struct net_address *addresses;
	size_t count, next; /* next to be tried */
	int fd;		    /* -1: none */
	struct event connected, timer;
	int64_t timeout_ms, end_ms; /* end_ms: clock_monotonic_ms() */
	int error;		    /* of the address tried last */
	uid_t owner;		    /* that is demanded */
	const struct str_list *others;
	struct err refusal; /* why nothing may be sent to an address that was tried */
	dial_done *done;
	void *data;
};

static void free_dial(struct dial *dial)
{
	event_del(&dial->timer);
	if (dial->resolve)
		resolve_cancel(dial->resolve);
	if (dial->fd >= 0) {
		event_del(&dial->connected);
		close(dial->fd);
	}
	err_finish(&dial->refusal);
	free(dial->addresses);
	free(dial);
}

static void tell(struct dial *dial, const struct err *err)
{
	int fd = err->kind == ERR_NONE ? mem_steal_fd(&dial->fd) : -1;
	dial_done *done = dial->done;
	void *data = dial->data;

	if (fd >= 0)
		event_del(&dial->connected);
	free_dial(dial);
	done(data, fd, err);
}

/* Towards a port of this machine on which nobody listens the kernel may choose that very port for
 * our end, and connect the socket to itself. */
static bool is_itself(int fd)
{
	struct net_address ours = {.length = sizeof(ours.storage)};
	struct net_address theirs = {.length = sizeof(theirs.storage)};

	if (getsockname(fd, (struct sockaddr *)&ours.storage, &ours.length) < 0 ||
	    getpeername(fd, (struct sockaddr *)&theirs.storage, &theirs.length) < 0)
		return false;
	return ours.length == theirs.length &&
	       memcmp(&ours.storage, &theirs.storage, ours.length) == 0;
}

/* -1: `refusal` says who is there instead, or was at an address before. */
static int check_owner(struct dial *dial, int fd)
{
	struct err why cleanup_err = {0};
	struct err *refusal = dial->refusal.kind == ERR_NONE ? &dial->refusal : NULL;
	uid_t uid = 0;

	if (dial->owner == SOCKET_OWNER_ANY)
		return 0;
	enum socket_owner known = socket_owner_of_peer(fd, &uid, &why);
	if (known == SOCKET_OWNER_KNOWN && !socket_owner_is_trusted(uid, dial->owner, dial->others))
		return err_set(refusal, ERR_DENIED,
			       "is listened on by uid %u, not by uid %u or root: nothing was sent",
			       (unsigned)uid, (unsigned)dial->owner);
	if (known != SOCKET_OWNER_UNKNOWN)
		return 0;
	return err_set(refusal, ERR_UNREACHABLE,
		       "the kernel does not say who listens there (%s): nothing was sent",
		       err_message(&why));
}

static void try_next(struct dial *dial);

static void give_up_address(struct dial *dial, int error)
{
	dial->error = error;
	event_del(&dial->connected);
	close(mem_steal_fd(&dial->fd));
	try_next(dial);
}

static void on_connected(evutil_socket_t fd, short what, void *data)
{
	struct dial *dial = data;
	const struct err none = {0};
	socklen_t length = sizeof(int);
	int error = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (!error && is_itself(fd))
		error = ECONNREFUSED;
	if (!error && check_owner(dial, fd) < 0)
		error = EPERM;
	if (error)
		give_up_address(dial, error);
	else
		tell(dial, &none);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct dial *dial = data;
	struct err err cleanup_err = {0};

	if (dial->fd >= 0) {
		give_up_address(dial, ETIMEDOUT);
		return;
	}
	char *waited cleanup_free = str_format_duration(dial->timeout_ms);
	err_set(&err, ERR_UNREACHABLE, "no answer from the name servers within %s", waited);
	tell(dial, &err);
}

static int begin(struct dial *dial, const struct net_address *address)
{
	dial->fd =
		socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (dial->fd < 0)
		return -1;
	event_assign(&dial->connected, dial->base, dial->fd, EV_WRITE, on_connected, dial);
	if (connect(dial->fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
	    errno == EINPROGRESS)
		return 0;
	int error = errno;
	close(mem_steal_fd(&dial->fd));
	errno = error;
	return -1;
}

static void try_next(struct dial *dial)
{
	struct err err cleanup_err = {0};

	while (dial->next < dial->count) {
		int64_t left_ms = dial->end_ms - clock_monotonic_ms();
		int64_t share_ms = left_ms / (int64_t)(dial->count - dial->next);

		if (begin(dial, &dial->addresses[dial->next++]) == 0) {
			event_add(&dial->connected, NULL);
			timer_start(&dial->timer, share_ms > 1 ? share_ms : 1);
			return;
		}
		dial->error = errno;
	}
	if (dial->refusal.kind != ERR_NONE) {
		err_copy(&err, &dial->refusal);
	} else if (dial->error == ETIMEDOUT) {
		char *waited cleanup_free = str_format_duration(dial->timeout_ms);
		err_set(&err, ERR_UNREACHABLE, "no connection within %s", waited);
	} else {
		err_set(&err, ERR_UNREACHABLE, "%s", strerror(dial->error));
	}
	tell(dial, &err);
}

static void on_resolved(void *data, const struct net_address *addresses, size_t count,
			const struct err *err)
{
	struct dial *dial = data;

	dial->resolve = NULL;
	if (count == 0) {
		tell(dial, err);
		return;
	}
	dial->count = count;
	dial->addresses = mem_alloc_array(count, sizeof(*addresses));
	memcpy(dial->addresses, addresses, count * sizeof(*addresses));
	try_next(dial);
}

struct dial *dial_start(struct event_base *base, const char *address, int64_t timeout_ms,
			dial_done *done, void *data, struct err *err)
{
	char *host cleanup_free = NULL;
	int port = 0;

	if (net_address_split(address, &host, &port, err) < 0)
		return NULL;
	struct dial *dial = mem_alloc(sizeof(*dial));
	dial->base = base;
	dial->fd = -1;
	dial->owner = SOCKET_OWNER_ANY;
	dial->timeout_ms = timeout_ms;
	dial->end_ms = clock_monotonic_ms() + timeout_ms;
	dial->done = done;
	dial->data = data;
	event_assign(&dial->timer, base, -1, 0, on_timer, dial);
	timer_start(&dial->timer, timeout_ms);
	dial->resolve = resolve_start(base, NULL, host, port, on_resolved, dial);
	return dial;
}

void dial_demand_owner(struct dial *dial, uid_t owner, const struct str_list *others)
{
	dial->owner = owner;
	dial->others = others;
}

void dial_cancel(struct dial *dial)
{
	free_dial(dial);
}
