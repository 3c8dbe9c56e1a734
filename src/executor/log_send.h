/*
 * Sends logs of this container to the AM, for people who cannot read them here (docs/rest.md,
 * "Logs"): one piece for each order, when there is something to send. An order is a level: it
 * stands until another takes its place, and what was lost is sent again.
 */
#ifndef TONY_EXECUTOR_LOG_SEND_H
#define TONY_EXECUTOR_LOG_SEND_H

#include <event2/event.h>
#include <stdbool.h>

#include "base/err.h"
#include "protocol/orders.h"

struct log_send;

struct log_send_options {
	struct event_base *base;
	const char *address, *token; /* of the AM; copied */
	bool is_sealed;		     /* it speaks TLS alone, by the token */
	const char *task;	     /* "worker:0" */
	int attempt;
	const char *log_dir;
	/* The AM may have new orders, which it tells in the answer to a beat. */
	void (*sent)(void *data);
	/* After log_send_end(): all that is wanted was sent. */
	void (*done)(void *data);
	void *data;
};

/* Texts must outlive it, but for address and token. */
struct log_send *log_send_create(const struct log_send_options *options, struct err *err);
void log_send_destroy(struct log_send *sender); /* NULL is fine */

/* The AM is at this address from now on. */
void log_send_move(struct log_send *sender, const char *address);

/* The logs that are wanted, at most LOG_ORDERS_MAX. True: they are others than before. */
bool log_send_order(struct log_send *sender, const struct log_order *orders, size_t count);

/* The numbers of the orders, for the next heartbeat: how many. */
size_t log_send_numbers(const struct log_send *sender, int64_t *numbers);

/* Nothing writes the logs any more. */
void log_send_end(struct log_send *sender);
bool log_send_is_done(const struct log_send *sender);

#endif
