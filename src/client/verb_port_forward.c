/* tony port-forward: ports of this machine that lead to ports in a task's container. */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/timer.h"
#include "client/task_channel.h"
#include "client/verbs.h"
#include "net/carrier.h"
#include "net/local_port.h"
#include "protocol/session.h"

enum { LOOK_MS = 2000 };

struct forward {
	struct event_base *base;
	struct opened *opened;
	char *task;
	struct lead *leads;
	size_t count;
	struct event look; /* pending: a channel has ended, maybe with the job */
	struct err problem;
};

/* One port here, and where it leads. */
struct lead {
	struct forward *forward;
	int64_t here, there;
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
	char *text cleanup_free =
		mem_printf("port %d of %s: %s%s", (int)lead->there, lead->forward->task, what, why);
	char *shown cleanup_free = str_printable(text, strlen(text));

	if (!str_equal(lead->told, shown))
		fprintf(stderr, "tony: %s\n", shown);
	mem_replace(&lead->told, mem_steal(&shown));
}

static void close_channel(struct lead *lead)
{
	carrier_destroy(mem_steal(&lead->carrier));
	channel_close(mem_steal(&lead->channel));
	while (lead->waiting_count > 0)
		carrier_break(lead->waiting[--lead->waiting_count]);
}

/* Where the task was never reached it is the end of the verb. */
static void fail(struct lead *lead, const struct err *err)
{
	bool was_open = lead->carrier;

	close_channel(lead);
	if (lead->has_begun) {
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
	if (!lead->has_begun)
		printf("%s -> port %d of %s\n", local_port_address(lead->port), (int)lead->there,
		       lead->forward->task);
	fflush(stdout);
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

	lead->channel = task_channel_open(lead->forward->opened, lead->forward->task, what,
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
	struct opened *opened = lead->forward->opened;

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
	struct opened *opened = forward->opened;
	bool has_all = true;

	for (size_t i = 0; i < forward->count; i++)
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

static int listen_here(struct lead *lead, struct err *err)
{
	char *address cleanup_free = mem_printf("127.0.0.1:%d", (int)lead->here);

	lead->port = local_port_open(&(struct local_port_options){.base = lead->forward->base,
								  .address = address,
								  .user = geteuid(),
								  .accepted = on_accept,
								  .data = lead},
				     err);
	return lead->port ? 0 : -1;
}

static int serve(struct forward *forward, struct err *err)
{
	for (size_t i = 0; i < forward->count; i++)
		if (listen_here(&forward->leads[i], err) < 0)
			return -1;
	for (size_t i = 0; i < forward->count; i++)
		if (open_channel(&forward->leads[i], err) < 0)
			return -1;
	local_port_serve(forward->base);
	if (forward->problem.kind != ERR_NONE)
		return err_copy(err, &forward->problem);
	return 0;
}

static void finish(struct forward *forward)
{
	for (size_t i = 0; i < forward->count; i++) {
		struct lead *lead = &forward->leads[i];
		local_port_close(lead->port);
		close_channel(lead);
		free(lead->told);
	}
	event_del(&forward->look);
	event_base_free(forward->base);
	free(forward->leads);
	free(forward->task);
	err_finish(&forward->problem);
}

/* [LOCAL:]PORT, be the numbers fine or not. */
static bool is_port(const char *word)
{
	const char *rest = word + strspn(word, "0123456789");

	if (*rest == ':')
		rest++;
	else
		rest = word;
	return *rest && !rest[strspn(rest, "0123456789")];
}

static int parse_port(struct lead *lead, const char *word, struct err *err)
{
	const char *colon = strchr(word, ':');
	char *here cleanup_free =
		colon ? mem_strndup(word, (size_t)(colon - word)) : mem_strdup(word);

	if (str_parse_int(colon ? colon + 1 : word, 1, UINT16_MAX, &lead->there) < 0 ||
	    str_parse_int(*here ? here : "0", 0, UINT16_MAX, &lead->here) < 0)
		return err_set(err, ERR_USAGE,
			       "%s is no port: write PORT, or LOCAL:PORT, each of at most 65535",
			       word);
	return 0;
}

static int parse_ports(struct forward *forward, const struct str_list *words, size_t first,
		       struct err *err)
{
	forward->count = words->count - first;
	forward->leads = mem_alloc_array(forward->count, sizeof(*forward->leads));
	for (size_t i = 0; i < forward->count; i++) {
		forward->leads[i].forward = forward;
		if (parse_port(&forward->leads[i], words->items[first + i], err) < 0)
			return -1;
	}
	return 0;
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	struct opened opened cleanup_opened = {0};
	struct forward forward = {.base = event_base_new(), .opened = &opened};
	const struct str_list *words = call->operands;
	size_t first = words->count;
	int result = -1;

	event_assign(&forward.look, forward.base, -1, 0, on_look, &forward);
	while (first > 0 && is_port(words->items[first - 1]))
		first--;
	if (first == words->count || first > 2)
		err_set(err, ERR_USAGE, "usage: %s", verb_port_forward.options.usage);
	else if (parse_ports(&forward, words, first, err) == 0)
		forward.task = task_channel_find(&opened, words, first, err);
	if (forward.task)
		result = serve(&forward, err);
	finish(&forward);
	return result;
}

const struct verb verb_port_forward = {
	.options =
		{
			.verb = "port-forward",
			.usage = "tony port-forward [JOB] [TASK] [LOCAL:]PORT...",
			.jobs = OPT_JOBS_LIVE,
			.summary = "lead ports of this machine to ports in the container of a task",
			.description =
				"Each connection to 127.0.0.1:LOCAL is made anew in the task's "
				"container, to 127.0.0.1:PORT, until this is interrupted (Ctrl-C). "
				"LOCAL is PORT unless it is given; 0, or nothing before the colon, "
				"is any free port, which is printed. A TASK is needed where the "
				"job has several.",
		},
	.run = run,
};
