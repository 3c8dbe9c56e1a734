#include "client/forward.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/timer.h"
#include "client/report.h"
#include "client/task_channel.h"
#include "net/carrier.h"
#include "net/local_port.h"
#include "net/socket_owner.h"
#include "protocol/session.h"

enum { LOOK_MS = 2000 };

struct forward {
	const struct forward_options *options;
	struct event_base *base;
	struct lead *leads;
	struct event look; /* pending: a channel has ended, maybe with the job */
	struct err problem;
};

/* One port here, and where it leads. */
struct lead {
	struct forward *forward;
	int64_t there;
	struct local_port *port;
	struct channel *channel;	      /* NULL: there is none, until somebody connects */
	struct carrier *carrier;	      /* NULL: the channel is not open yet */
	bool has_begun;			      /* it was open */
	int waiting[CARRIER_CONNECTIONS_MAX]; /* for the channel */
	size_t waiting_count;
	char *told; /* the last trouble; NULL: none since a connection was made */
};

static void leave(struct forward *forward)
{
	event_base_loopbreak(forward->base);
}

/* A browser tries again and again. */
static void tell(struct lead *lead, const char *what, const char *why)
{
	char *text cleanup_free = mem_printf("port %d of %s: %s%s", (int)lead->there,
					     lead->forward->options->task, what, why);

	if (!str_equal(lead->told, text))
		report_note("%s", text);
	mem_replace(&lead->told, mem_steal(&text));
}

static void close_channel(struct lead *lead)
{
	carrier_destroy(mem_steal(&lead->carrier));
	channel_close(mem_steal(&lead->channel));
	while (lead->waiting_count > 0)
		carrier_break(lead->waiting[--lead->waiting_count]);
}

/* Where the task was never reached it is the end of all. */
static void fail(struct lead *lead, const struct err *err)
{
	bool was_open = lead->carrier;

	close_channel(lead);
	if (lead->has_begun && !lead->forward->options->is_of_one_program) {
		tell(lead, was_open ? "the connection is lost: " : "", err_message(err));
		timer_start(&lead->forward->look, LOOK_MS);
	} else {
		err_copy(&lead->forward->problem, err);
		leave(lead->forward);
	}
}

/* ---- the channel -------------------------------------------------------------------------- */

static void on_answered(void *data, const char *why)
{
	struct lead *lead = data;

	if (why)
		tell(lead, "", why);
	else
		mem_replace(&lead->told, NULL);
}

static void on_opened(void *data)
{
	struct lead *lead = data;

	lead->carrier = carrier_create(&(struct carrier_options){.base = lead->forward->base,
								 .channel = lead->channel,
								 .answered = on_answered,
								 .data = lead});
	for (size_t i = 0; i < lead->waiting_count; i++)
		carrier_accept(lead->carrier, lead->waiting[i]);
	lead->waiting_count = 0;
	const struct forward_options *options = lead->forward->options;
	if (!lead->has_begun)
		options->led(options->data, local_port_address(lead->port), lead->there);
	lead->has_begun = true;
}

static void on_heard(void *data, unsigned char kind, const char *content, size_t length)
{
	struct lead *lead = data;
	struct err err cleanup_err = {0};

	if (kind != SESSION_FAILED) {
		carrier_hear(lead->carrier, kind, content, length);
		return;
	}
	char *text cleanup_free = str_printable(content, length);
	err_set(&err, ERR_FAILED, "%s", text);
	fail(lead, &err);
}

static void on_drained(void *data)
{
	struct lead *lead = data;

	carrier_drain(lead->carrier);
}

static void on_ended(void *data, const struct err *err)
{
	fail(data, err);
}

static int open_channel(struct lead *lead, struct err *err)
{
	char *what cleanup_free = mem_printf("port-forward?port=%d", (int)lead->there);

	lead->channel = task_channel_open(lead->forward->options->opened,
					  lead->forward->options->task, what,
					  (struct channel_options){.base = lead->forward->base,
								   .opened = on_opened,
								   .heard = on_heard,
								   .drained = on_drained,
								   .ended = on_ended,
								   .data = lead},
					  err);
	return lead->channel ? 0 : -1;
}

/* To the task's next program, maybe by the job's next AM. */
static int open_again(struct lead *lead, struct err *err)
{
	struct opened *opened = lead->forward->options->opened;

	if (opened_find_am(opened, err) < 0)
		return -1;
	if (!opened->door.address)
		return err_set(err, ERR_UNREACHABLE, "there is no application master now");
	return open_channel(lead, err);
}

static void on_accept(void *data, int fd)
{
	struct lead *lead = data;
	struct err err cleanup_err = {0};

	if (lead->carrier) {
		carrier_accept(lead->carrier, fd);
		return;
	}
	if (lead->waiting_count == array_length(lead->waiting)) {
		carrier_break(fd);
		return;
	}
	lead->waiting[lead->waiting_count++] = fd;
	if (!lead->channel && open_again(lead, &err) < 0)
		fail(lead, &err);
}

/* Nobody needs to connect to be told that the job is over. */
static void on_look(evutil_socket_t fd, short what, void *data)
{
	struct forward *forward = data;
	struct opened *opened = forward->options->opened;
	bool has_all = true;

	for (size_t i = 0; i < forward->options->count; i++)
		has_all = has_all && forward->leads[i].carrier;
	if (has_all)
		return;
	if (opened_look_for_am(opened, &forward->problem) < 0 ||
	    opened_read(opened, NULL, NULL, &forward->problem) < 0 ||
	    (opened->view->is_final && opened_say_ended(opened, &forward->problem) < 0))
		leave(forward);
	else
		timer_start(&forward->look, LOOK_MS);
}

/* ------------------------------------------------------------------------------------------- */

static bool is_on_this_machine(const struct forward_options *options)
{
	return !options->opened->ops->traits->remote_am;
}

/* Its program most likely has the port itself. */
static int hint_at_program(const struct lead *lead, struct err *err)
{
	char *said cleanup_free = mem_strdup(err_message(err));

	return err_set(
		err, err->kind,
		"%s; %s is on this machine: if its program has the port, it is reached there "
		"already, and :%d leads there from any free port",
		said, lead->forward->options->task, (int)lead->there);
}

static int listen_here(struct lead *lead, int64_t here, struct err *err)
{
	const struct forward_options *options = lead->forward->options;
	bool is_v6 = strchr(options->host, ':');
	char *address cleanup_free =
		mem_printf(is_v6 ? "[%s]:%d" : "%s:%d", options->host, (int)here);

	lead->port = local_port_open(&(struct local_port_options){.base = lead->forward->base,
								  .address = address,
								  .user = options->is_open
										  ? SOCKET_OWNER_ANY
										  : geteuid(),
								  .accepted = on_accept,
								  .data = lead},
				     err);
	if (lead->port)
		return 0;
	return is_on_this_machine(options) && here == lead->there ? hint_at_program(lead, err) : -1;
}

static int serve(struct forward *forward, struct err *err)
{
	const struct forward_options *options = forward->options;

	for (size_t i = 0; i < options->count; i++) {
		forward->leads[i].forward = forward;
		forward->leads[i].there = options->ports[i].there;
		if (listen_here(&forward->leads[i], options->ports[i].here, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < options->count; i++)
		if (open_channel(&forward->leads[i], err) < 0)
			return -1;
	local_port_serve(forward->base);
	if (forward->problem.kind != ERR_NONE)
		return err_copy(err, &forward->problem);
	return 0;
}

static void finish(struct forward *forward)
{
	for (size_t i = 0; i < forward->options->count; i++) {
		struct lead *lead = &forward->leads[i];
		local_port_close(lead->port);
		close_channel(lead);
		free(lead->told);
	}
	event_del(&forward->look);
	event_base_free(forward->base);
	free(forward->leads);
	err_finish(&forward->problem);
}

int forward_run(const struct forward_options *options, struct err *err)
{
	struct forward forward = {.options = options, .base = event_base_new()};

	forward.leads = mem_alloc_array(options->count, sizeof(*forward.leads));
	event_assign(&forward.look, forward.base, -1, 0, on_look, &forward);
	int result = serve(&forward, err);
	finish(&forward);
	return result;
}
