/*
 * The executor's side of docs/rest.md, "For executors": registers, keeps one beat held at the AM,
 * reports exits. It repeats what got lost, with back-off, until the AM has been silent for too
 * long.
 *
 * Beats and reports have a connection each, so that a report need not wait for a held beat.
 */
#ifndef TONY_EXECUTOR_LINK_H
#define TONY_EXECUTOR_LINK_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "protocol/registration.h"
#include "protocol/report.h"

struct link;

enum link_end {
	LINK_STALE,   /* another attempt of this task is the valid one */
	LINK_REFUSED, /* by the first AM: a wrong token, or a task that it does not know */
	LINK_SILENT,  /* the AM was not heard of for too long */
};

struct link_events {
	/* Fills in what the next heartbeat says, but for `seen`. */
	void (*state)(void *data, struct heartbeat *heartbeat);
	/* An order of the highest AM attempt seen; repeated until the state agrees with it. */
	void (*order)(void *data, const struct orders *orders);
	/* Another AM answers, of a higher attempt: register anew. Before its first order. */
	void (*am_changed)(void *data);
	void (*reported)(void *data); /* the AM has the last exit report */
	/* The link is of no use any more; nothing else will be called. */
	void (*ended)(void *data, enum link_end how, const char *text);
	void *data;
};

struct link_options {
	struct event_base *base;
	const char *address; /* HOST:PORT */
	const char *token;
	bool is_sealed;	    /* it speaks TLS alone, by the token */
	const char *task;   /* "worker:0" */
	int64_t give_up_ms; /* until the AM says otherwise; 0: never */
	struct link_events events;
};

/* `options` and what it points to, but for address and token, must outlive the link. */
struct link *link_create(const struct link_options *options, struct err *err);
void link_destroy(struct link *link); /* NULL is fine */

/* An AM of this attempt is at this address (HOST:PORT) from now on. True: it is a higher one than
 * was known; nothing of an earlier one is heard any more, an exit that it may not have taken is
 * reported again, and beats go on when link_register() is done. */
bool link_move(struct link *link, int am_attempt, const char *address);

/* Heartbeats go on when it is done. */
void link_register(struct link *link, const struct registration *registration);

void link_report(struct link *link, const struct exit_report *report);
/* The same once more, unless this AM has taken it: one before it may not have written it down. */
void link_report_again(struct link *link);
bool link_is_reporting(const struct link *link);

/* The state differs from what the last beat said. */
void link_changed(struct link *link);
/* The AM has answered a beat since, or nothing can be told any more. */
bool link_is_heard(const struct link *link);

#endif
