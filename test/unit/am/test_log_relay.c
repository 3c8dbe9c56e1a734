/* Whoever asks for a piece of a log gets it, whatever others ask for at the same time. */
#include "am/log_relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { TAKERS = 4, ROUNDS = 20 };

#define BEGINNING "oldest"
#define END	  "at:1:6" /* behind all that was written so far */

static const struct log_search everything = {0};

struct bed {
	struct log_relays *relays;
	struct log_taker takers[TAKERS];
	int given[TAKERS];
	bool changed;
};

static void on_changed(void *data)
{
	((struct bed *)data)->changed = true;
}

static void on_given(void *data, struct log_piece *piece)
{
	++*(int *)data;
	log_piece_release(piece);
}

static void on_gone(void *data)
{
}

static void open_bed(struct bed *bed)
{
	*bed = (struct bed){0};
	bed->relays = log_relays_create(1, on_changed, bed);
	for (size_t i = 0; i < TAKERS; i++) {
		bed->takers[i].given = on_given;
		bed->takers[i].gone = on_gone;
		bed->takers[i].data = &bed->given[i];
		assert_int_equal(
			log_relays_join(bed->relays, "stdout", &everything, &bed->takers[i]), 0);
	}
}

/* What an executor does: obeys the order of now. False: it waits for the log to grow. */
static bool obey(struct bed *bed)
{
	struct log_order orders[LOG_ORDERS_MAX];

	if (log_relays_orders(bed->relays, orders) == 0)
		return false;
	bool is_end = str_equal(orders[0].from, END);
	if (is_end && orders[0].waits)
		return false;
	struct log_piece *piece = mem_alloc(sizeof(*piece));
	piece->frames = mem_strdup(is_end ? "" : "first\n");
	piece->length = strlen(piece->frames);
	piece->at_end = true;
	snprintf(piece->after, sizeof(piece->after), "%s", END);
	return log_relays_give(bed->relays, "stdout", orders[0].number, piece);
}

/* Two wait at the end, one waits and one does not at the beginning, and ask in any order, which the
 * bits of `order` choose. */
static void ask_in_order(struct bed *bed, int order)
{
	bool asked[TAKERS] = {false};

	for (int left = TAKERS; left > 0; left--) {
		int skip = order % left;
		order /= left;
		for (size_t i = 0; i < TAKERS; i++) {
			if (asked[i] || skip-- > 0)
				continue;
			asked[i] = true;
			log_taker_ask(&bed->takers[i], i < 2 ? END : BEGINNING, i < 3);
			break;
		}
	}
}

static void test_nobody_is_forgotten(void **state)
{
	for (int order = 0; order < 24; order++) {
		struct bed bed;
		open_bed(&bed);
		ask_in_order(&bed, order);
		int rounds = 0;
		while (rounds < ROUNDS && obey(&bed))
			rounds++;
		if (bed.given[2] == 0 || bed.given[3] == 0 || rounds == ROUNDS)
			fail_msg("asked in order %d: %d %d %d %d pieces after %d rounds", order,
				 bed.given[0], bed.given[1], bed.given[2], bed.given[3], rounds);
		/* Only those wait who have all there is. */
		for (size_t i = 2; i < TAKERS; i++)
			assert_false(bed.takers[i].asks);
		log_relays_destroy(bed.relays);
	}
}

/* Then they ask where the others wait: one order for all, which waits. */
static void test_all_at_the_end_share_an_order(void **state)
{
	struct bed bed;

	open_bed(&bed);
	ask_in_order(&bed, 0);
	for (int i = 0; i < ROUNDS && obey(&bed); i++)
		continue;
	for (size_t i = 0; i < TAKERS; i++) {
		if (!bed.takers[i].asks)
			log_taker_ask(&bed.takers[i], END, true);
	}
	for (int i = 0; i < ROUNDS && obey(&bed); i++)
		continue;
	struct log_order orders[LOG_ORDERS_MAX];
	assert_int_equal(log_relays_orders(bed.relays, orders), 1);
	assert_true(orders[0].waits);
	for (size_t i = 0; i < TAKERS; i++)
		assert_true(bed.takers[i].asks && bed.takers[i].is_ordered);
	log_relays_destroy(bed.relays);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_is_forgotten),
		cmocka_unit_test(test_all_at_the_end_share_an_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
