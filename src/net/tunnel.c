#include "net/tunnel.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "net/dial.h"
#include "net/local_port.h"
#include "net/tls.h"
#include "net/wire.h"

enum {
	DIAL_MS = 10000,
	ON_THE_WAY = 128 * 1024, /* bytes, each way */
	PASSAGES_MAX = 1024,
};

/* One of the two sides of a passage. */
struct side {
	struct passage *passage;
	struct wire wire;
	bool is_open, has_ended;
};

struct passage {
	LIST_ENTRY(passage) link;
	struct tunnel *tunnel;
	struct dial *dial;     /* NULL: not connecting */
	struct event deadline; /* of agreeing on TLS */
	struct side near, far;
};

struct tunnel {
	struct event_base *base;
	struct local_port *port;
	struct tls_context *tls; /* with the target; NULL: without TLS */
	int64_t dial_ms;
	char *target;
	bool has_warned; /* of this target */
	LIST_HEAD(, passage) passages;
	size_t count; /* of them */
};

static void warn(struct tunnel *tunnel, const struct err *err)
{
	if (!tunnel->has_warned)
		log_warning("%s: %s", tunnel->target, err_message(err));
	tunnel->has_warned = true;
}

static void close_side(struct side *side)
{
	if (side->is_open)
		wire_finish(&side->wire);
}

static void free_passage(struct passage *passage)
{
	LIST_REMOVE(passage, link);
	passage->tunnel->count--;
	if (passage->dial)
		dial_cancel(passage->dial);
	event_del(&passage->deadline);
	close_side(&passage->near);
	close_side(&passage->far);
	free(passage);
}

/* As much as there is room for. */
static void move(struct side *from, struct side *to)
{
	if (evbuffer_get_length(to->wire.output) < ON_THE_WAY)
		evbuffer_add_buffer(to->wire.output, from->wire.input);
	wire_flush(&to->wire);
	wire_resume(&from->wire);
}

/* What came before the end is still delivered. */
static bool is_over(const struct side *from, const struct side *to)
{
	return from->has_ended && evbuffer_get_length(from->wire.input) == 0 &&
	       !wire_is_sending(&to->wire);
}

static bool is_agreed(const struct side *far)
{
	return far->is_open && (!far->wire.tls || tls_is_open(far->wire.tls));
}

static void go_on(struct passage *passage)
{
	struct side *near = &passage->near, *far = &passage->far;

	if (near->has_ended && !is_agreed(far)) {
		free_passage(passage);
		return;
	}
	if (!far->is_open)
		return;
	move(near, far);
	move(far, near);
	if (is_over(near, far) || is_over(far, near))
		free_passage(passage);
}

static void on_changed(void *data)
{
	struct side *side = data;

	go_on(side->passage);
}

static void on_end(void *data, int error)
{
	struct side *side = data;
	struct err err cleanup_err = {0};

	if (error && side == &side->passage->far) {
		wire_err(&side->wire, error, &err);
		warn(side->passage->tunnel, &err);
	}
	if (error) {
		free_passage(side->passage);
		return;
	}
	side->has_ended = true;
	wire_stop_reading(&side->wire);
	go_on(side->passage);
}

static void open_side(struct passage *passage, struct side *side, int fd, struct tls_context *tls)
{
	side->passage = passage;
	side->is_open = true;
	side->wire = (struct wire){
		.tls = tls ? tls_create(tls, NULL) : NULL,
		.input_cap = ON_THE_WAY,
		.on_input = on_changed,
		.on_output = on_changed,
		.on_end = on_end,
		.data = side,
	};
	wire_init(&side->wire, passage->tunnel->base, fd);
}

static void on_dialed(void *data, int fd, const struct err *err)
{
	struct passage *passage = data;

	passage->dial = NULL;
	if (fd < 0) {
		warn(passage->tunnel, err);
		free_passage(passage);
		return;
	}
	open_side(passage, &passage->far, fd, passage->tunnel->tls);
	timer_start(&passage->deadline, passage->tunnel->dial_ms);
	go_on(passage);
}

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
	struct passage *passage = data;
	struct err err cleanup_err = {0};

	if (is_agreed(&passage->far))
		return;
	err_set(&err, ERR_UNREACHABLE, "it does not agree on TLS");
	warn(passage->tunnel, &err);
	free_passage(passage);
}

static void on_accept(void *data, int fd)
{
	struct tunnel *tunnel = data;

	if (tunnel->count == PASSAGES_MAX) {
		close(fd);
		return;
	}
	struct passage *passage = mem_alloc(sizeof(*passage));
	passage->tunnel = tunnel;
	event_assign(&passage->deadline, tunnel->base, -1, 0, on_deadline, passage);
	LIST_INSERT_HEAD(&tunnel->passages, passage, link);
	tunnel->count++;
	open_side(passage, &passage->near, fd, NULL);
	passage->dial =
		dial_start(tunnel->base, tunnel->target, tunnel->dial_ms, on_dialed, passage, NULL);
	if (!passage->dial)
		free_passage(passage);
}

struct tunnel *tunnel_create(const struct tunnel_options *options, struct err *err)
{
	struct tunnel *tunnel = mem_alloc(sizeof(*tunnel));

	tunnel->base = options->base;
	tunnel->target = mem_strdup(options->target);
	tunnel->tls = options->secret ? tls_context_create_shared(options->secret) : NULL;
	tunnel->dial_ms = options->dial_ms ? options->dial_ms : DIAL_MS;
	LIST_INIT(&tunnel->passages);
	tunnel->port = local_port_open(&(struct local_port_options){.base = options->base,
								    .address = options->listen,
								    .user = options->user,
								    .lets_unknown = true,
								    .accepted = on_accept,
								    .data = tunnel},
				       err);
	if (!tunnel->port) {
		tunnel_destroy(tunnel);
		return NULL;
	}
	return tunnel;
}

void tunnel_move(struct tunnel *tunnel, const char *target)
{
	mem_replace(&tunnel->target, mem_strdup(target));
	tunnel->has_warned = false;
}

const char *tunnel_address(const struct tunnel *tunnel)
{
	return local_port_address(tunnel->port);
}

void tunnel_destroy(struct tunnel *tunnel)
{
	if (!tunnel)
		return;
	while (!LIST_EMPTY(&tunnel->passages))
		free_passage(LIST_FIRST(&tunnel->passages));
	local_port_close(tunnel->port);
	tls_context_destroy(tunnel->tls);
	free(tunnel->target);
	free(tunnel);
}
