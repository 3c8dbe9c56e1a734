/* tony port-forward: ports of this machine that lead to ports in a task's container. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/forward.h"
#include "client/report.h"
#include "client/task_channel.h"
#include "client/verbs.h"
#include "net/address.h"

struct port_forward_options {
	char *address;
};

static const struct opt options[] = {
	OPT_ROW("address", struct port_forward_options, address,
		"listen at this address of this machine in place of 127.0.0.1; 0.0.0.0 and :: are "
		"all of them",
		.argument = "ADDRESS"),
};

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

static int parse_port(struct forward_port *port, const char *word, struct err *err)
{
	const char *colon = strchr(word, ':');
	char *here cleanup_free =
		colon ? mem_strndup(word, (size_t)(colon - word)) : mem_strdup(word);

	if (str_parse_int(colon ? colon + 1 : word, 1, UINT16_MAX, &port->there) < 0 ||
	    str_parse_int(*here ? here : "0", 0, UINT16_MAX, &port->here) < 0)
		return err_set(err, ERR_USAGE,
			       "%s is no port: write PORT, or LOCAL:PORT, each of at most 65535",
			       word);
	return 0;
}

static int parse_ports(struct forward_port *ports, const struct str_list *words, size_t first,
		       struct err *err)
{
	for (size_t i = first; i < words->count; i++)
		if (parse_port(&ports[i - first], words->items[i], err) < 0)
			return -1;
	return 0;
}

static int parse_address(struct forward_options *forward, const char *host, struct err *err)
{
	struct net_address address;

	forward->host = str_equal(host, "localhost") || !host ? "127.0.0.1" : host;
	if (net_address_from_host(forward->host, 0, &address) < 0)
		return err_set(err, ERR_USAGE,
			       "--address %s: not an address of this machine; write one as "
			       "127.0.0.1, 0.0.0.0 or ::1",
			       host);
	forward->is_open = !net_address_is_loopback(&address);
	return 0;
}

static void print_led(void *data, const char *address, int64_t there)
{
	const struct forward_options *forward = data;

	printf("%s -> port %d of %s\n", address, (int)there, forward->task);
	fflush(stdout);
	if (forward->is_open)
		report_note("whoever can connect to %s is let in, of this machine and of "
			    "others",
			    address);
}

static int forward(struct forward_options *forwarding, const struct str_list *words, size_t first,
		   struct err *err)
{
	struct opened opened cleanup_opened = {0};
	char *task cleanup_free = task_channel_find(&opened, words, first, err);

	if (!task)
		return -1;
	forwarding->opened = &opened;
	forwarding->task = task;
	forwarding->led = print_led;
	forwarding->data = forwarding;
	return forward_run(forwarding, err);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct port_forward_options *given = data;
	const struct str_list *words = call->operands;
	size_t first = words->count;

	while (first > 0 && is_port(words->items[first - 1]))
		first--;
	if (first == words->count || first > 2)
		return err_set(err, ERR_USAGE, "usage: %s", verb_port_forward.options.usage);
	struct forward_port *ports cleanup_free =
		mem_alloc_array(words->count - first, sizeof(*ports));
	struct forward_options forwarding = {.ports = ports, .count = words->count - first};
	if (parse_address(&forwarding, given->address, err) < 0 ||
	    parse_ports(ports, words, first, err) < 0)
		return -1;
	return forward(&forwarding, words, first, err);
}

const struct verb verb_port_forward = {
	.options =
		{
			.verb = "port-forward",
			.usage = "tony port-forward [--address ADDRESS] [JOB] [TASK] "
				 "[LOCAL:]PORT...",
			.jobs = OPT_JOBS_LIVE,
			.summary = "lead ports of this machine to ports in the container of a task",
			.description =
				"Each connection to 127.0.0.1:LOCAL is made anew in the task's "
				"container, to 127.0.0.1:PORT, until this is interrupted (Ctrl-C). "
				"LOCAL is PORT unless it is given; 0, or nothing before the colon, "
				"is any free port, which is printed. A TASK is needed where the "
				"job has several.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct port_forward_options),
	.run = run,
};
