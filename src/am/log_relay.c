#include "am/log_relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

TAILQ_HEAD(log_takers, log_taker);

struct log_relay {
	TAILQ_ENTRY(log_relay) link;
	struct log_relays *relays;
	char *log;
	struct log_search search;
	struct log_takers takers; /* who asked last is last */
	/* The order; number 0: none yet. */
	int64_t number;
	char from[LOG_POSITION_SIZE];
	bool waits;
	bool is_met;
};

struct log_relays {
	int attempt;
	TAILQ_HEAD(, log_relay) items;
	size_t count;
	int64_t last_number;
	void (*changed)(void *data);
	void *data;
};

void log_piece_release(struct log_piece *piece)
{
	if (!piece || --piece->holders > 0)
		return;
	free(piece->frames);
	free(piece);
}

/* ---- orders ------------------------------------------------------------------------------- */

static const struct log_taker *find_asker(const struct log_relay *relay, bool ordered)
{
	const struct log_taker *taker;

	TAILQ_FOREACH(taker, &relay->takers, link)
	{
		if (taker->asks && (!ordered || taker->is_ordered))
			return taker;
	}
	return NULL;
}

/* An order that is being met goes on. Else it is for who has asked for longest. */
static const struct log_taker *find_lead(const struct log_relay *relay)
{
	const struct log_taker *present = find_asker(relay, true);

	return present && !relay->waits ? present : find_asker(relay, false);
}

/* An order waits for the log to grow only as long as everybody who asks would wait there: elsewhere
 * there may be bytes already, and nobody comes to it before the present order is met. */
static void plan(struct log_relay *relay)
{
	const struct log_taker *lead = find_lead(relay);
	struct log_taker *taker;
	bool waits = true;

	if (!lead)
		return;
	char from[LOG_POSITION_SIZE];
	memcpy(from, lead->from, sizeof(from));
	TAILQ_FOREACH(taker, &relay->takers, link)
	{
		taker->is_ordered = taker->asks && strcmp(taker->from, from) == 0;
		waits &= !taker->asks || (taker->is_ordered && taker->waits);
	}
	bool stands = relay->number > 0 && !relay->is_met && strcmp(relay->from, from) == 0 &&
		      relay->waits <= waits;
	if (stands)
		return;
	memcpy(relay->from, from, sizeof(from));
	relay->waits = waits;
	relay->is_met = false;
	relay->number = ++relay->relays->last_number;
	relay->relays->changed(relay->relays->data);
}

size_t log_relays_orders(const struct log_relays *relays, struct log_order *orders)
{
	struct log_relay *relay;
	size_t count = 0;

	if (!relays)
		return 0;
	TAILQ_FOREACH(relay, &relays->items, link)
	{
		if (relay->number == 0)
			continue;
		orders[count++] = (struct log_order){.log = relay->log,
						     .from = relay->from,
						     .number = relay->number,
						     .waits = relay->waits,
						     .search = relay->search};
	}
	return count;
}

bool log_relays_agree(const struct log_relays *relays, const int64_t *numbers, size_t count)
{
	const struct log_relay *relay;
	size_t i = 0;

	if (!relays)
		return count == 0;
	TAILQ_FOREACH(relay, &relays->items, link)
	{
		if (relay->number == 0)
			continue;
		if (i == count || numbers[i] != relay->number)
			return false;
		i++;
	}
	return i == count;
}

/* ---- takers ------------------------------------------------------------------------------- */

static struct log_relay *find(const struct log_relays *relays, const char *log,
			      const struct log_search *search)
{
	struct log_relay *relay;

	TAILQ_FOREACH(relay, &relays->items, link)
	{
		if (str_equal(relay->log, log) && log_search_is_same(&relay->search, search))
			return relay;
	}
	return NULL;
}

static struct log_relay *find_ordered(const struct log_relays *relays, const char *log,
				      int64_t number)
{
	struct log_relay *relay;

	TAILQ_FOREACH(relay, &relays->items, link)
	{
		if (relay->number == number && str_equal(relay->log, log) && !relay->is_met)
			return relay;
	}
	return NULL;
}

static struct log_relay *add(struct log_relays *relays, const char *log,
			     const struct log_search *search)
{
	if (relays->count == LOG_ORDERS_MAX)
		return NULL;
	struct log_relay *relay = mem_alloc(sizeof(*relay));
	relay->relays = relays;
	relay->log = mem_strdup(log);
	relay->search = log_search_copy(search);
	TAILQ_INIT(&relay->takers);
	TAILQ_INSERT_TAIL(&relays->items, relay, link);
	relays->count++;
	return relay;
}

static void drop(struct log_relay *relay)
{
	TAILQ_REMOVE(&relay->relays->items, relay, link);
	relay->relays->count--;
	free(relay->log);
	log_search_finish(&relay->search);
	free(relay);
}

int log_relays_join(struct log_relays *relays, const char *log, const struct log_search *search,
		    struct log_taker *taker)
{
	struct log_relay *relay = find(relays, log, search);

	if (!relay)
		relay = add(relays, log, search);
	if (!relay)
		return -1;
	taker->relay = relay;
	taker->asks = taker->is_ordered = false;
	TAILQ_INSERT_TAIL(&relay->takers, taker, link);
	return 0;
}

void log_taker_ask(struct log_taker *taker, const char *from, bool waits)
{
	struct log_relay *relay = taker->relay;

	snprintf(taker->from, sizeof(taker->from), "%s", from);
	taker->waits = waits;
	taker->asks = true;
	TAILQ_REMOVE(&relay->takers, taker, link);
	TAILQ_INSERT_TAIL(&relay->takers, taker, link);
	plan(relay);
}

void log_taker_leave(struct log_taker *taker)
{
	struct log_relay *relay = mem_steal(&taker->relay);

	if (!relay)
		return;
	TAILQ_REMOVE(&relay->takers, taker, link);
	if (!TAILQ_EMPTY(&relay->takers)) {
		plan(relay);
		return;
	}
	struct log_relays *relays = relay->relays;
	drop(relay);
	relays->changed(relays->data);
}

bool log_relays_give(struct log_relays *relays, const char *log, int64_t number,
		     struct log_piece *piece)
{
	struct log_relay *relay = relays ? find_ordered(relays, log, number) : NULL;
	struct log_taker *taker;
	size_t count = 0;

	piece->holders = 1;
	if (relay) {
		relay->is_met = true;
		TAILQ_FOREACH(taker, &relay->takers, link)
		{
			if (!taker->is_ordered)
				continue;
			taker->asks = taker->is_ordered = false;
			piece->holders++;
			count++;
			taker->given(taker->data, piece);
		}
		plan(relay);
	}
	log_piece_release(piece);
	return count > 0;
}

struct log_relays *log_relays_create(int attempt, void (*changed)(void *data), void *data)
{
	struct log_relays *relays = mem_alloc(sizeof(*relays));

	relays->attempt = attempt;
	relays->changed = changed;
	relays->data = data;
	/* An executor may still know numbers of an AM that was before this one. */
	relays->last_number = clock_wall_ms();
	TAILQ_INIT(&relays->items);
	return relays;
}

int log_relays_attempt(const struct log_relays *relays)
{
	return relays->attempt;
}

void log_relays_destroy(struct log_relays *relays)
{
	struct log_relay *relay;
	struct log_taker *taker;

	if (!relays)
		return;
	while ((relay = TAILQ_FIRST(&relays->items))) {
		while ((taker = TAILQ_FIRST(&relay->takers))) {
			TAILQ_REMOVE(&relay->takers, taker, link);
			taker->relay = NULL;
			taker->gone(taker->data);
		}
		drop(relay);
	}
	free(relays);
}
