/*
 * Logs of one container that only its executor can read, on their way to those who ask for them.
 * For each log one piece is ordered at a time, and given to all who asked for that very piece: many
 * followers of one log cost what one does. Nothing is ordered before somebody has room for it, so
 * what the AM holds is one piece for each who asked.
 *
 * An order is a level, known by a number: it stands until another takes its place.
 */
#ifndef TONY_AM_LOG_RELAY_H
#define TONY_AM_LOG_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "logs/position.h"
#include "logs/search.h"
#include "protocol/orders.h"

enum {
	LOG_PIECE_MAX = 128 * 1024, /* bytes, with the lines that describe them */
};

/* What came for an order. Shared by all who asked. */
struct log_piece {
	size_t holders;
	char *frames; /* logs/frame.h; checked */
	size_t length;
	char after[LOG_POSITION_SIZE]; /* where it goes on */
	bool at_end;		       /* there was no more at that time */
	bool is_last;		       /* and there will not be */
};
void log_piece_release(struct log_piece *piece); /* NULL is fine */

struct log_relay;
struct log_relays;

/* Somebody who follows a log; embedded, and linked while `relay` is set. */
struct log_taker {
	TAILQ_ENTRY(log_taker) link;
	struct log_relay *relay;
	char from[LOG_POSITION_SIZE];
	bool waits; /* for bytes; else it wants to be told at once that there are none */
	bool asks;
	bool is_ordered; /* the present order is for it */
	/* Not from within a call of the taker. `piece` is to be released; the taker may ask again
	 * later, not from within. */
	void (*given)(void *data, struct log_piece *piece);
	/* There is nothing more to come: the container is another one. It has left. */
	void (*gone)(void *data);
	void *data;
};

/* `changed` is called when the orders are others than before. */
struct log_relays *log_relays_create(int attempt, void (*changed)(void *data), void *data);
void log_relays_destroy(struct log_relays *relays); /* NULL is fine */
int log_relays_attempt(const struct log_relays *relays);

/* -1: too many logs of this container are followed. A log and what was found in it are two. */
int log_relays_join(struct log_relays *relays, const char *log, const struct log_search *search,
		    struct log_taker *taker);
void log_taker_ask(struct log_taker *taker, const char *from, bool waits);
void log_taker_leave(struct log_taker *taker); /* fine when it takes no part */

/* The present orders, at most LOG_ORDERS_MAX: how many. Their texts are borrowed. */
size_t log_relays_orders(const struct log_relays *relays, struct log_order *orders);
/* Are these numbers those of the present orders? `relays` may be NULL. */
bool log_relays_agree(const struct log_relays *relays, const int64_t *numbers, size_t count);

/* A piece (taken) that the executor has sent for order `number`. False: nobody wants it any more.
 */
bool log_relays_give(struct log_relays *relays, const char *log, int64_t number,
		     struct log_piece *piece);

#endif
