/* What is promised by ring.h: who is in a ring, in which order, and when it forms anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/scratch.h"
#include "am/horovod/ring.h"
#include "am/horovod/ring_file.h"
#include "base/map.h"
#include "base/mem.h"

static struct ring *ring;
static struct map *asking;

static int open_ring(void **state)
{
	ring = ring_create();
	asking = map_create(NULL);
	return 0;
}

static int close_ring(void **state)
{
	ring_destroy(ring);
	map_destroy(asking);
	return 0;
}

/* "a/x b/y": process x on host a, y on b. */
static void expect(const char *text)
{
	struct str_list names cleanup_str_list = {0};

	str_split(&names, text, ' ');
	struct ring_process *processes = mem_alloc_array(names.count, sizeof(*processes));
	for (size_t i = 0; i < names.count; i++) {
		size_t host = strcspn(names.items[i], "/");
		processes[i].host = mem_strndup(names.items[i], host);
		processes[i].name = mem_strdup(names.items[i] + host + 1);
		processes[i].slot.index = (int)i;
	}
	ring_expect(ring, processes, names.count);
}

static void ask(const char *text)
{
	struct str_list names cleanup_str_list = {0};

	str_split(&names, text, ' ');
	for (size_t i = 0; i < names.count; i++)
		map_set(asking, names.items[i], ring);
}

/* All ask who are expected, and are placed so. */
static void expect_ring(const char *want)
{
	struct str_list names cleanup_str_list = {0};

	assert_true(ring_form(ring, asking));
	map_destroy(asking);
	asking = map_create(NULL);
	ring_list(ring, &names);
	char *got cleanup_free = str_list_join(&names, " ");
	assert_string_equal(got, want);
}

static const char *to_tell(void)
{
	const struct ring_process *process = ring_to_tell(ring, asking);

	return process ? process->name : NULL;
}

static void it_forms_when_all_have_asked(void **state)
{
	assert_false(ring_form(ring, asking));
	expect("a/x a/y b/z");
	ask("x z stranger");
	assert_false(ring_form(ring, asking));
	ask("y");
	expect_ring("x y z");
	assert_int_equal(ring_slots(ring)->count, 3);
	const struct slot *slot = &ring_find(ring, "z")->slot;
	assert_int_equal(slot->rank, 2);
	assert_int_equal(slot->local_rank, 0);
	assert_int_equal(slot->local_size, 1);
	assert_int_equal(slot->cross_rank, 1);
	assert_int_equal(slot->cross_size, 2);
	assert_false(ring_form(ring, asking));
}

static void those_who_have_a_state_come_first(void **state)
{
	expect("a/x b/y c/z");
	ask("x y z");
	expect_ring("x y z");
	/* What takes the place of x has nothing to give. */
	expect("a/x2 b/y c/z");
	ask("x2 y z");
	expect_ring("y z x2");
	/* On a host its processes are next to each other. */
	expect("b/new a/x2 b/y c/z");
	ask("new x2 y z");
	expect_ring("y new z x2");
	expect("a/x3 b/y3");
	ask("x3 y3");
	expect_ring("x3 y3");
}

static void who_is_lost_is_not_waited_for(void **state)
{
	expect("a/x b/y c/z");
	ask("x y z");
	expect_ring("x y z");
	ask("y z");
	assert_false(ring_form(ring, asking));
	expect("b/y c/z");
	expect_ring("y z");
}

static void rank_0_is_told_when_a_newcomer_waits(void **state)
{
	expect("a/x b/y");
	ask("x");
	assert_null(to_tell());
	ask("y");
	expect_ring("x y");
	expect("a/x b/y c/z");
	assert_null(to_tell());
	ask("z");
	assert_string_equal(to_tell(), "x");
	ask("y");
	assert_string_equal(to_tell(), "x");
	ask("x");
	assert_null(to_tell());
	expect_ring("x y z");
	/* Of a ring whose rank 0 is lost the others hear by themselves. */
	expect("b/y c/z a/x2");
	ask("x2");
	assert_null(to_tell());
}

static void one_that_asks_without_cause_needs_the_others(void **state)
{
	expect("a/x b/y");
	ask("x y");
	expect_ring("x y");
	ask("y");
	assert_false(ring_form(ring, asking));
	assert_null(to_tell());
	ask("x");
	expect_ring("x y");
}

/* promise: R41 */
static void the_next_am_knows_the_order(void **state)
{
	struct str_list names cleanup_str_list = {0};

	str_split(&names, "z x y", ' ');
	ring_restore(ring, &names);
	expect("a/x b/y c/z d/new");
	ask("new");
	assert_string_equal(to_tell(), "z");
	ask("x y z");
	expect_ring("z x y new");
}

/* ---- the file ----------------------------------------------------------------------------- */

static void the_file_tells_the_next_am(void **state)
{
	struct map *services = map_create(free), *read = map_create(free);
	struct ring *next = ring_create();
	struct str_list names cleanup_str_list = {0};
	struct worker_service *service = mem_alloc(sizeof(*service));
	const char *path = scratch_path(state, "ring.json");

	open_ring(NULL);
	assert_int_equal(ring_file_read(path, next, read, NULL), 0);
	expect("a/x b/y");
	ask("x y");
	expect_ring("x y");
	*service = (struct worker_service){.port = 4711, .key = {0, 255, 16}};
	map_set(services, "y", service);
	assert_int_equal(ring_file_write(path, ring, services, NULL), 0);
	assert_int_equal(ring_file_read(path, next, read, NULL), 0);
	ring_list(next, &names);
	assert_int_equal(names.count, 2);
	assert_string_equal(names.items[0], "x");
	assert_int_equal(map_count(read), 1);
	assert_memory_equal(map_get(read, "y"), service, sizeof(*service));
	ring_destroy(next);
	map_destroy(services);
	map_destroy(read);
	close_ring(NULL);
}

static void another_file_is_refused(void **state)
{
	static const char *const texts[] = {"", "{\"ring\":1}",
					    "{\"services\":{\"x\":{\"port\":1,\"key\":\"0\"}}}"};
	struct map *read = map_create(free);

	open_ring(NULL);
	for (size_t i = 0; i < array_length(texts); i++) {
		scratch_write(state, "ring.json", texts[i], 0600);
		assert_int_equal(ring_file_read(scratch_path(state, "ring.json"), ring, read, NULL),
				 -1);
	}
	map_destroy(read);
	close_ring(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_forms_when_all_have_asked, open_ring,
						close_ring),
		cmocka_unit_test_setup_teardown(those_who_have_a_state_come_first, open_ring,
						close_ring),
		cmocka_unit_test_setup_teardown(who_is_lost_is_not_waited_for, open_ring,
						close_ring),
		cmocka_unit_test_setup_teardown(rank_0_is_told_when_a_newcomer_waits, open_ring,
						close_ring),
		cmocka_unit_test_setup_teardown(one_that_asks_without_cause_needs_the_others,
						open_ring, close_ring),
		cmocka_unit_test_setup_teardown(the_next_am_knows_the_order, open_ring, close_ring),
		scratch_test(the_file_tells_the_next_am),
		scratch_test(another_file_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
