/* The promises of queues of splits (docs/rest.md): each split once per pass, at least once when
 * processes or machines are lost, none lost, whenever the AM is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/file_limit.h"
#include "am/split_items.h"
#include "am/split_order.h"
#include "am/split_sets.h"
#include "base/fs.h"
#include "base/mem.h"

enum { LEASE_MS = 1000, TASKS = 6 };

/* ---- items -------------------------------------------------------------------------------- */

static char *item_of(size_t number)
{
	return mem_printf("{\"path\":\"hdfs:///logs/2026/%02zu/part-%05zu.avro\",\"start\":%zu,"
			  "\"length\":134217728}",
			  number / 5000 % 12 + 1, number / 8, number % 8 * 134217728);
}

static void list_items(struct str_list *items, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		str_list_take(items, item_of(first + i));
}

static void test_items_come_back(void **state)
{
	struct str_list items cleanup_str_list = {0};
	struct str bytes cleanup_str = {0};

	list_items(&items, 0, 1000);
	str_list_add(&items, "{}");
	str_list_add(&items, "{}");
	str_list_take(&items, mem_printf("{\"%0*d\":1}", SPLIT_ITEM_MAX - 6, 0));
	split_items_pack(&items, &bytes);
	assert_int_equal(split_items_check(bytes.text, bytes.length), items.count);
	for (size_t i = 0; i < items.count; i++) {
		struct str item cleanup_str = {0};
		split_items_get(bytes.text, bytes.length, i, &item);
		assert_string_equal(item.text, items.items[i]);
	}
}

static void test_a_pack_that_is_none(void **state)
{
	struct str_list items cleanup_str_list = {0};
	struct str bytes cleanup_str = {0};

	assert_int_equal(split_items_check("", 0), 0);
	list_items(&items, 0, 100);
	split_items_pack(&items, &bytes);
	for (size_t cut = 1; cut < bytes.length; cut++)
		assert_int_equal(split_items_check(bytes.text, cut), 0);
	bytes.text[0]++;
	assert_int_equal(split_items_check(bytes.text, bytes.length), 0);
}

/* ---- the order ---------------------------------------------------------------------------- */

static void test_each_pass_has_an_order_of_its_own(void **state)
{
	static const size_t counts[] = {1, 2, 3, 5, 16, 17, 1000, 65537};

	for (size_t i = 0; i < array_length(counts); i++) {
		struct split_order order = {counts[i], 7, 1}, next = {counts[i], 7, 2};
		bool *seen cleanup_free = mem_alloc_array(counts[i], sizeof(*seen));
		size_t same = 0;
		for (size_t at = 0; at < counts[i]; at++) {
			size_t split = split_order_at(&order, at);
			assert_true(split < counts[i] && !seen[split]);
			assert_int_equal(split_order_find(&order, split), at);
			seen[split] = true;
			same += split == split_order_at(&next, at);
		}
		assert_true(counts[i] < 1000 || same < counts[i] / 100);
	}
}

/* A checkpoint of another version's relies on it. */
static void test_order_stays_as_it_is(void **state)
{
	static const size_t expected[] = {1, 4, 5, 8, 7, 2, 3, 0, 6, 9};
	struct split_order order = {10, 42, 3};

	for (size_t i = 0; i < array_length(expected); i++)
		assert_int_equal(split_order_at(&order, i), expected[i]);
}

/* ---- a queue ------------------------------------------------------------------------------ */

struct stage {
	char *directory, *list_file, *state_file;
	struct split_sets *sets;
	struct split_set *set;
	int64_t now;
};

static void open_stage(struct stage *stage)
{
	stage->sets = split_sets_open(stage->list_file, stage->state_file, TASKS, stage->now);
	stage->set = split_sets_find(stage->sets, "logs");
}

static struct stage make_stage(void)
{
	char path[] = "/tmp/tony-splits-XXXXXX";
	struct stage stage = {0};

	stage.directory = mem_strdup(mkdtemp(path));
	stage.list_file = fs_join(stage.directory, "splits.list");
	stage.state_file = fs_join(stage.directory, "splits.state");
	open_stage(&stage);
	return stage;
}

static void begin_list(struct stage *stage, int64_t passes, bool is_shuffled)
{
	struct split_list_record list = {.fingerprint = "ab12",
					 .passes = passes,
					 .is_shuffled = is_shuffled,
					 .seed = 5,
					 .lease_ms = LEASE_MS};

	stage->set = split_sets_add(stage->sets, "logs", "ab12");
	split_set_begin(stage->set, &list);
}

static void add_items(struct stage *stage, size_t first, size_t count)
{
	struct str_list items cleanup_str_list = {0};

	list_items(&items, first, count);
	assert_int_equal(split_set_add(stage->set, first, &items), 0);
}

static struct stage begin(size_t count, int64_t passes, bool is_shuffled)
{
	struct stage stage = make_stage();

	begin_list(&stage, passes, is_shuffled);
	for (size_t first = 0; first < count; first += 100)
		add_items(&stage, first, count - first < 100 ? count - first : 100);
	split_set_complete(stage.set, stage.now);
	return stage;
}

/* The AM is killed, and another one follows. */
static void replace_am(struct stage *stage)
{
	split_sets_close(stage->sets);
	open_stage(stage);
}

static void end(struct stage *stage)
{
	split_sets_close(stage->sets);
	unlink(stage->list_file);
	unlink(stage->state_file);
	rmdir(stage->directory);
	free(stage->list_file);
	free(stage->state_file);
	free(stage->directory);
}

static const struct split_holder first = {.task = 0, .attempt = 1, .epoch = 1},
				 second = {.task = 1, .attempt = 1, .epoch = 1};

static struct split_open lease_one(struct stage *stage, const struct split_holder *holder)
{
	struct split_open lease;

	assert_int_equal(split_set_lease(stage->set, holder, 1, stage->now, &lease), 1);
	return lease;
}

static void expect_lease(struct stage *stage, const struct split_holder *holder, int64_t pass,
			 size_t split, int64_t offset)
{
	struct split_open lease = lease_one(stage, holder);

	assert_int_equal(lease.id.pass, pass);
	assert_int_equal(lease.id.split, split);
	assert_int_equal(lease.offset, offset);
}

static void expect_none(struct stage *stage, const struct split_holder *holder)
{
	struct split_open lease;

	assert_int_equal(split_set_lease(stage->set, holder, 1, stage->now, &lease), 0);
}

static void expect_totals(const struct stage *stage, int64_t done, size_t leased, size_t waiting)
{
	struct split_totals totals;

	split_queue_totals(stage->set->queue, &totals);
	assert_int_equal(totals.done, done);
	assert_int_equal(totals.leased, leased);
	assert_int_equal(totals.waiting, waiting);
}

static bool finish(const struct stage *stage, const struct split_holder *holder, int64_t pass,
		   size_t split)
{
	return split_queue_done(stage->set->queue, holder, &(struct split_id){pass, split});
}

static bool renew(const struct stage *stage, const struct split_holder *holder, int64_t pass,
		  size_t split, int64_t offset)
{
	return split_queue_renew(stage->set->queue, holder, &(struct split_id){pass, split}, offset,
				 stage->now);
}

static bool is_second(void *data, const struct split_holder *holder)
{
	return split_holder_is(holder, &second);
}

static void test_passes_follow_each_other(void **state)
{
	struct stage stage = begin(3, 2, false);

	for (int64_t pass = 1; pass <= 2; pass++)
		for (size_t i = 0; i < 3; i++)
			expect_lease(&stage, i % 2 ? &first : &second, pass, i, 0);
	expect_none(&stage, &first);
	expect_totals(&stage, 0, 6, 0);
	for (int64_t pass = 1; pass <= 2; pass++)
		for (size_t i = 0; i < 3; i++) {
			assert_false(split_queue_has_ended(stage.set->queue));
			assert_true(finish(&stage, i % 2 ? &first : &second, pass, i));
			assert_true(finish(&stage, &first, pass, i)); /* the answer was lost */
		}
	assert_true(split_queue_has_ended(stage.set->queue));
	expect_totals(&stage, 6, 0, 0);
	replace_am(&stage);
	assert_true(split_queue_has_ended(stage.set->queue));
	end(&stage);
}

static void test_a_lost_holders_splits_go_on_where_it_was(void **state)
{
	struct stage stage = begin(5, 1, false);

	expect_lease(&stage, &first, 1, 0, 0);
	expect_lease(&stage, &first, 1, 1, 0);
	expect_lease(&stage, &second, 1, 2, 0);
	assert_true(renew(&stage, &first, 1, 1, 4711));
	assert_false(renew(&stage, &second, 1, 1, 5000));
	assert_int_equal(split_queue_reclaim(stage.set->queue, is_second, NULL), 2);
	expect_totals(&stage, 0, 1, 4);
	replace_am(&stage);
	expect_lease(&stage, &second, 1, 0, 0);
	expect_lease(&stage, &second, 1, 1, 4711);
	expect_lease(&stage, &second, 1, 3, 0);
	end(&stage);
}

static void test_a_lease_that_is_not_renewed_ends(void **state)
{
	struct stage stage = begin(2, 1, false);

	expect_lease(&stage, &first, 1, 0, 0);
	stage.now += LEASE_MS / 2;
	expect_lease(&stage, &first, 1, 1, 0);
	assert_int_equal(split_queue_expire(stage.set->queue, stage.now), 0);
	assert_true(renew(&stage, &first, 1, 0, 10));
	stage.now += LEASE_MS * 3 / 4;
	assert_int_equal(split_queue_deadline(stage.set->queue), LEASE_MS * 3 / 2);
	assert_int_equal(split_queue_expire(stage.set->queue, LEASE_MS * 3 / 2), 2);
	expect_lease(&stage, &second, 1, 1, 0);
	assert_false(finish(&stage, &first, 1, 1)); /* done all the same */
	assert_true(renew(&stage, &first, 1, 0, 20));
	assert_true(finish(&stage, &first, 1, 0));
	assert_true(split_queue_has_ended(stage.set->queue));
	end(&stage);
}

/* The answer was lost on its way. */
static void test_leases_are_told_again(void **state)
{
	struct stage stage = begin(5, 1, false);
	const struct split_id known = {1, 0};
	struct split_open leases[5];

	assert_int_equal(split_set_lease(stage.set, &first, 3, 0, leases), 3);
	replace_am(&stage);
	assert_int_equal(split_queue_repeat(stage.set->queue, &first, &known, 1, 5, leases), 2);
	assert_true(leases[0].id.split + leases[1].id.split == 3);
	assert_int_equal(split_queue_repeat(stage.set->queue, &second, NULL, 0, 5, leases), 0);
	end(&stage);
}

/* An AM that follows may lack what this one did last, as on another machine. */
static void test_what_was_done_before_its_turn_is_passed_over(void **state)
{
	struct stage stage = begin(4, 2, true);
	struct split_open seen = lease_one(&stage, &first), other;

	split_queue_destroy(stage.set->queue);
	stage.set->queue = NULL;
	unlink(stage.state_file);
	replace_am(&stage);
	assert_true(finish(&stage, &first, 1, seen.id.split));
	replace_am(&stage);
	expect_totals(&stage, 1, 0, 3);
	for (size_t i = 0; i < 3; i++) {
		other = lease_one(&stage, &first);
		assert_int_equal(other.id.pass, 1);
		assert_int_not_equal(other.id.split, seen.id.split);
	}
	assert_int_equal(lease_one(&stage, &first).id.pass, 2);
	end(&stage);
}

struct saved {
	struct split_open open[10];
	size_t count;
};

static void save_open(void *data, const struct split_open *open)
{
	struct saved *saved = data;

	saved->open[saved->count++] = *open;
}

static void test_a_state_comes_back(void **state)
{
	struct stage stage = begin(5, 3, false);
	struct saved saved = {0};

	for (size_t i = 0; i < 3; i++)
		expect_lease(&stage, &first, 1, i, 0);
	finish(&stage, &first, 1, 1);
	renew(&stage, &first, 1, 2, 7);
	struct split_position position = split_queue_position(stage.set->queue);
	split_queue_each(stage.set->queue, save_open, &saved);
	for (size_t i = 3; i < 5; i++) {
		expect_lease(&stage, &second, 1, i, 0);
		finish(&stage, &second, 1, i);
	}
	finish(&stage, &first, 1, 0);
	expect_lease(&stage, &second, 2, 0, 0);
	split_queue_reset(stage.set->queue, &position, saved.open, saved.count);
	replace_am(&stage);
	expect_totals(&stage, 1, 0, 4);
	expect_lease(&stage, &first, 1, 0, 0);
	expect_lease(&stage, &first, 1, 2, 7);
	expect_lease(&stage, &first, 1, 3, 0);
	expect_lease(&stage, &first, 1, 4, 0);
	expect_lease(&stage, &first, 2, 0, 0);
	end(&stage);
}

/* As of a program that is to read fewer passes now. */
static void test_a_state_of_a_later_pass_is_the_end(void **state)
{
	const struct split_position behind = {3, 1};
	const struct split_open open[] = {{.id = {2, 4}, .state = SPLIT_RETURNED, .offset = 7},
					  {.id = {3, 0}, .state = SPLIT_RETURNED}};
	struct stage stage = begin(5, 2, false);

	split_queue_reset(stage.set->queue, &behind, open, array_length(open));
	replace_am(&stage);
	expect_lease(&stage, &first, 2, 4, 7);
	expect_none(&stage, &first);
	finish(&stage, &first, 2, 4);
	assert_true(split_queue_has_ended(stage.set->queue));
	end(&stage);
}

static void test_a_list_of_nothing_has_ended(void **state)
{
	struct stage stage = begin(0, 1, true);

	expect_none(&stage, &first);
	assert_true(split_queue_has_ended(stage.set->queue));
	end(&stage);
}

static void expect_item(const struct stage *stage, size_t number, size_t expected_number)
{
	char *expected cleanup_free = item_of(expected_number);
	struct str text cleanup_str = {0};

	split_set_item(stage->set, number, &text);
	assert_string_equal(text.text, expected);
}

static void test_items_are_added_by_number(void **state)
{
	struct stage stage = make_stage();

	begin_list(&stage, 1, false);
	add_items(&stage, 0, 10);
	add_items(&stage, 0, 10);
	assert_int_equal(stage.set->item_count, 10);
	add_items(&stage, 5, 10);
	assert_int_equal(stage.set->item_count, 15);
	add_items(&stage, 20, 10); /* a gap */
	assert_int_equal(stage.set->item_count, 15);
	split_set_complete(stage.set, 0);
	replace_am(&stage);
	assert_non_null(stage.set->queue);
	expect_item(&stage, 12, 12);
	end(&stage);
}

/* The next lister may see other files. */
static void test_a_list_that_is_not_complete_begins_anew(void **state)
{
	struct stage stage = make_stage();

	begin_list(&stage, 1, false);
	add_items(&stage, 0, 10);
	replace_am(&stage);
	assert_int_equal(stage.set->item_count, 0);
	assert_false(stage.set->is_listed);
	add_items(&stage, 0, 5);
	split_set_clear(stage.set);
	split_set_begin(stage.set, &(struct split_list_record){.fingerprint = "ab12",
							       .passes = 1,
							       .lease_ms = LEASE_MS});
	struct str_list others cleanup_str_list = {0};
	list_items(&others, 100, 3);
	assert_int_equal(split_set_add(stage.set, 0, &others), 0);
	split_set_complete(stage.set, 0);
	uint64_t hash = stage.set->list.hash;
	for (int i = 0; i < 2; i++) {
		assert_true(stage.set->list.hash == hash);
		assert_int_equal(stage.set->item_count, 3);
		expect_item(&stage, 0, 100);
		expect_item(&stage, 2, 102);
		replace_am(&stage);
	}
	end(&stage);
}

/* promise: R80 */
static void test_a_full_disk_costs_what_was_done_meanwhile(void **state)
{
	struct stage stage = begin(10, 1, false);
	struct err err cleanup_err = {0};

	expect_lease(&stage, &first, 1, 0, 0);
	assert_true(finish(&stage, &first, 1, 0));
	limit_files(1);
	expect_lease(&stage, &first, 1, 1, 0);
	assert_int_equal(split_sets_mend(stage.sets, &err), -1);
	assert_non_null(strstr(err_message(&err), "splits.state"));
	replace_am(&stage);
	expect_lease(&stage, &first, 1, 1, 0);
	assert_true(finish(&stage, &first, 1, 1));
	limit_files(RLIM_INFINITY);
	assert_int_equal(split_sets_mend(stage.sets, &err), 0);
	replace_am(&stage);
	expect_lease(&stage, &first, 1, 2, 0);
	end(&stage);
}

/* ---- at random ---------------------------------------------------------------------------- */

enum { SPLITS = 40, PASSES = 3 };

/* A process with what it holds, as it knows. */
struct worker {
	struct split_holder holder;
	struct split_id held[SPLITS * PASSES];
	size_t count;
	int read[PASSES][SPLITS]; /* begun, by this worker's processes */
};

struct world {
	struct stage stage;
	struct worker workers[TASKS];
	int done[PASSES][SPLITS];
	unsigned int seed;
	bool loses_processes;
	/* The AM is killed in the midst of what it does: nobody gets the answer. */
	int64_t size_before;
};

static unsigned int draw(struct world *world, unsigned int below)
{
	return (unsigned int)rand_r(&world->seed) % below;
}

static int64_t state_size(const struct world *world)
{
	struct stat status;

	assert_int_equal(stat(world->stage.state_file, &status), 0);
	return status.st_size;
}

/* True: it was, at any byte of what it wrote since `size_before`. */
static bool is_killed(struct world *world)
{
	int64_t written = state_size(world) - world->size_before;

	if (draw(world, 8) > 0 || written < 0)
		return false;
	split_sets_close(world->stage.sets);
	assert_int_equal(truncate(world->stage.state_file,
				  world->size_before + draw(world, (unsigned int)written + 1)),
			 0);
	open_stage(&world->stage);
	return true;
}

static void hold(struct worker *worker, const struct split_open *leases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		worker->held[worker->count++] = leases[i].id;
		worker->read[leases[i].id.pass - 1][leases[i].id.split]++;
	}
}

static void ask(struct world *world, struct worker *worker)
{
	struct split_open leases[3];
	size_t wanted = 1 + draw(world, 3);
	size_t count = split_queue_repeat(world->stage.set->queue, &worker->holder, worker->held,
					  worker->count, wanted, leases);

	if (count == 0)
		count = split_set_lease(world->stage.set, &worker->holder, wanted, world->stage.now,
					leases);
	if (!is_killed(world))
		hold(worker, leases, count);
}

static void finish_one(struct world *world, struct worker *worker)
{
	if (worker->count == 0)
		return;
	size_t which = draw(world, (unsigned int)worker->count);
	struct split_id id = worker->held[which];
	split_queue_done(world->stage.set->queue, &worker->holder, &id);
	if (is_killed(world)) /* it is told again */
		split_queue_done(world->stage.set->queue, &worker->holder, &id);
	world->done[id.pass - 1][id.split]++;
	worker->held[which] = worker->held[--worker->count];
}

static bool holder_lives(void *data, const struct split_holder *holder)
{
	const struct world *world = data;

	return split_holder_is(&world->workers[holder->task].holder, holder);
}

static void lose_process(struct world *world, struct worker *worker)
{
	worker->holder.restart++;
	worker->count = 0;
	if (is_killed(world)) /* before it knows */
		is_killed(world);
	split_queue_reclaim(world->stage.set->queue, holder_lives, world);
	is_killed(world);
	split_queue_reclaim(world->stage.set->queue, holder_lives, world);
}

static void step(struct world *world)
{
	struct worker *worker = &world->workers[draw(world, TASKS)];

	world->size_before = state_size(world);
	switch (draw(world, world->loses_processes ? 8 : 6)) {
	case 0:
	case 1:
		ask(world, worker);
		break;
	case 2:
	case 3:
	case 4:
		finish_one(world, worker);
		break;
	case 5:
		if (worker->count > 0)
			split_queue_renew(world->stage.set->queue, &worker->holder,
					  &worker->held[0], draw(world, 100), world->stage.now);
		is_killed(world);
		break;
	default:
		lose_process(world, worker);
	}
}

static int reads_of(const struct world *world, int pass, size_t split)
{
	int reads = 0;

	for (size_t i = 0; i < TASKS; i++)
		reads += world->workers[i].read[pass][split];
	return reads;
}

static void play(unsigned int seed, bool loses_processes)
{
	struct world world = {.stage = begin(SPLITS, PASSES, seed % 2),
			      .seed = seed,
			      .loses_processes = loses_processes};

	for (size_t i = 0; i < TASKS; i++)
		world.workers[i].holder =
			(struct split_holder){.task = i, .attempt = 1, .epoch = 1};
	for (int i = 0; !split_queue_has_ended(world.stage.set->queue); i++) {
		if (i > 100000)
			fail_msg("seed %u: no end", seed);
		step(&world);
	}
	for (int pass = 0; pass < PASSES; pass++)
		for (size_t split = 0; split < SPLITS; split++) {
			int reads = reads_of(&world, pass, split), done = world.done[pass][split];
			if (done < 1 || (!loses_processes && (reads != 1 || done != 1)))
				fail_msg("seed %u: split %zu of pass %d was read %d times and done "
					 "%d times",
					 seed, split, pass + 1, reads, done);
		}
	end(&world.stage);
}

/* promise: R80 */
static void test_killed_ams_have_no_split_read_twice(void **state)
{
	for (unsigned int seed = 1; seed <= 60; seed++)
		play(seed, false);
}

/* promise: R81 */
static void test_lost_processes_and_killed_ams_lose_no_split(void **state)
{
	for (unsigned int seed = 1; seed <= 60; seed++)
		play(seed, true);
}

/* ---- size --------------------------------------------------------------------------------- */

static void test_a_million_items_are_small(void **state)
{
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	struct stage stage = make_stage();

	begin_list(&stage, 1, true);
	for (size_t at = 0; at < 1000000; at += 10000)
		add_items(&stage, at, 10000);
	split_set_complete(stage.set, 0);
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before < 40 << 20);
	end(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items_come_back),
		cmocka_unit_test(test_a_pack_that_is_none),
		cmocka_unit_test(test_each_pass_has_an_order_of_its_own),
		cmocka_unit_test(test_order_stays_as_it_is),
		cmocka_unit_test(test_passes_follow_each_other),
		cmocka_unit_test(test_a_lost_holders_splits_go_on_where_it_was),
		cmocka_unit_test(test_a_lease_that_is_not_renewed_ends),
		cmocka_unit_test(test_leases_are_told_again),
		cmocka_unit_test(test_what_was_done_before_its_turn_is_passed_over),
		cmocka_unit_test(test_a_state_comes_back),
		cmocka_unit_test(test_a_state_of_a_later_pass_is_the_end),
		cmocka_unit_test(test_a_list_of_nothing_has_ended),
		cmocka_unit_test(test_items_are_added_by_number),
		cmocka_unit_test(test_a_list_that_is_not_complete_begins_anew),
		cmocka_unit_test(test_a_full_disk_costs_what_was_done_meanwhile),
		cmocka_unit_test(test_killed_ams_have_no_split_read_twice),
		cmocka_unit_test(test_lost_processes_and_killed_ams_lose_no_split),
		cmocka_unit_test(test_a_million_items_are_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
