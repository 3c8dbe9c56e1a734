/* The growing buffer, lists, comparisons, and the map. */
#include "test.h"

#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

static void a_buffer_grows_and_stays_terminated(void **state)
{
	struct str str cleanup_str = {0};

	assert_string_equal(str_text(&str), "");
	for (int i = 0; i < 1000; i++) {
		str_append_format(&str, "%d,", i % 10);
		assert_int_equal(strlen(str.text), str.length);
	}
	assert_int_equal(str.length, 2000);
	assert_memory_equal(str.text + 1990, "5,6,7,8,9,", 10);
}

static void a_buffer_holds_any_bytes(void **state)
{
	struct str str cleanup_str = {0};

	str_append_bytes(&str, "a\0b", 3);
	str_append_bytes(&str, NULL, 0);
	str_append_char(&str, '\0');
	assert_int_equal(str.length, 4);
	assert_memory_equal(str.text, "a\0b\0\0", 5);
}

static void truncating_only_shortens(void **state)
{
	struct str str cleanup_str = {0};

	str_truncate(&str, 0);
	str_append(&str, "abcdef");
	str_truncate(&str, 9);
	assert_string_equal(str.text, "abcdef");
	str_truncate(&str, 2);
	str_append(&str, "X");
	assert_string_equal(str.text, "abX");
}

static void stealing_leaves_an_empty_buffer(void **state)
{
	struct str str cleanup_str = {0};

	assert_text_freed(str_steal(&str), "");
	str_append(&str, "mine");
	assert_text_freed(str_steal(&str), "mine");
	assert_null(str.text);
	assert_int_equal(str.length, 0);
}

static void a_list_is_an_argument_vector(void **state)
{
	struct str_list list cleanup_str_list = {0};

	for (int i = 0; i < 300; i++) {
		str_list_add_format(&list, "%d", i);
		assert_null(list.items[list.count]);
	}
	str_list_take(&list, mem_strdup("taken"));
	assert_int_equal(list.count, 301);
	assert_string_equal(list.items[299], "299");
	assert_string_equal(list.items[300], "taken");
	assert_true(str_list_has(&list, "17"));
	assert_false(str_list_has(&list, "300"));
}

static void lists_sort_and_join(void **state)
{
	struct str_list list cleanup_str_list = {0};

	assert_text_freed(str_list_join(&list, ", "), "");
	str_list_sort(&list);
	str_list_add(&list, "ps");
	str_list_add(&list, "chief");
	str_list_add(&list, "worker");
	assert_text_freed(str_list_join(&list, ", "), "ps, chief, worker");
	str_list_sort(&list);
	assert_text_freed(str_list_join(&list, ""), "chiefpsworker");
}

static void splitting_trims_and_drops_empty_items(void **state)
{
	static const struct {
		const char *text, *joined;
	} cases[] = {
		{"a, ,b", "a|b"},
		{"", ""},
		{" , ,, ", ""},
		{"one", "one"},
		{"  two words , x\t", "two words|x"},
		{",a,", "a"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct str_list list cleanup_str_list = {0};
		str_split(&list, cases[i].text, ',');
		assert_text_freed(str_list_join(&list, "|"), cases[i].joined);
	}
}

static void prefixes_and_suffixes(void **state)
{
	assert_true(str_starts_with("tony.worker", "tony."));
	assert_true(str_starts_with("x", ""));
	assert_false(str_starts_with("ton", "tony"));
	assert_string_equal(str_after_form("job-07-fF_3", "job-00-xx"), "_3");
	assert_null(str_after_form("job-07-f", "job-00-xx"));
	assert_null(str_after_form("job-a7-ff", "job-00-xx"));
	assert_true(str_ends_with("a.tar.gz", ".gz"));
	assert_true(str_ends_with("x", ""));
	assert_false(str_ends_with("gz", ".gz"));
}

static void null_equals_null_only(void **state)
{
	assert_true(str_equal(NULL, NULL));
	assert_false(str_equal(NULL, ""));
	assert_false(str_equal("", NULL));
	assert_true(str_equal("a", "a"));
	assert_false(str_equal("a", "A"));
	assert_true(str_equal_nocase("GanG", "gANg"));
	assert_false(str_equal_nocase("a", NULL));
	assert_true(str_equal_nocase(NULL, NULL));
}

static void the_nearest_name_is_suggested(void **state)
{
	static const char *const names[] = {"worker", "ps", "chief", "tensorboard", "list"};
	static const struct {
		const char *text, *nearest;
	} cases[] = {
		{"worker", "worker"},
		{"wroker", "worker"},
		{"workers", "worker"},
		{"WORKER", "worker"},
		{"tensorbord", "tensorboard"},
		{"lst", "list"},
		{"cheif", "chief"},
		{"evaluator", NULL},
		{"x", NULL},
		{"", NULL},
		{"p", NULL},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		const char *nearest = str_nearest(cases[i].text, names, array_length(names));
		if (!str_equal(nearest, cases[i].nearest))
			fail_msg("%s: %s", cases[i].text, nearest ? nearest : "(none)");
	}
	assert_null(str_nearest("worker", names, 0));
}

static void a_huge_name_has_no_neighbour(void **state)
{
	char *huge cleanup_free = mem_alloc(1000001);
	const char *const names[] = {huge, "worker"};

	memset(huge, 'w', 1000000);
	assert_null(str_nearest(huge, names, 2));
	assert_string_equal(str_nearest("workr", names, 2), "worker");
}

static int freed;

static void count_free(void *value)
{
	freed++;
	free(value);
}

static void a_map_finds_what_was_set(void **state)
{
	struct map *map = map_create(NULL);
	int values[1000];
	char key[32];

	assert_null(map_get(map, "absent"));
	map_remove(map, "absent");
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "worker:%d", i);
		map_set(map, key, &values[i]);
	}
	assert_int_equal(map_count(map), 1000);
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "worker:%d", i);
		assert_ptr_equal(map_get(map, key), &values[i]);
	}
	assert_null(map_get(map, "worker:1000"));
	assert_null(map_get(map, ""));
	map_destroy(map);
	map_destroy(NULL);
}

static void a_map_frees_its_values_once(void **state)
{
	struct map *map = map_create(count_free);
	char *same = mem_strdup("same");

	freed = 0;
	map_set(map, "a", mem_strdup("1"));
	map_set(map, "a", mem_strdup("2"));
	assert_int_equal(freed, 1);
	map_set(map, "b", same);
	map_set(map, "b", same);
	assert_int_equal(freed, 1);
	map_remove(map, "a");
	map_remove(map, "a");
	assert_int_equal(freed, 2);
	map_destroy(map);
	assert_int_equal(freed, 3);
}

static void check_order(const struct map *map, const char *expected)
{
	struct str seen cleanup_str = {0};
	const char *key;
	void *value;

	for (size_t i = 0; map_next(map, &i, &key, &value);) {
		str_append(&seen, key);
		assert_string_equal(value, key);
	}
	assert_string_equal(str_text(&seen), expected);
}

static void a_map_is_walked_in_order_of_insertion(void **state)
{
	struct map *map = map_create(NULL);

	check_order(map, "");
	map_set(map, "c", "c");
	map_set(map, "a", "a");
	map_set(map, "b", "b");
	check_order(map, "cab");
	map_set(map, "c", "c");
	check_order(map, "cab");
	map_remove(map, "c");
	check_order(map, "ab");
	map_set(map, "c", "c");
	check_order(map, "abc");
	assert_int_equal(map_count(map), 3);
	map_destroy(map);
}

static void removing_while_walking_is_fine(void **state)
{
	struct map *map = map_create(NULL);
	const char *key;
	char name[16];
	int met = 0;

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "%d", i);
		map_set(map, name, map);
	}
	for (size_t i = 0; map_next(map, &i, &key, NULL); met++)
		map_remove(map, key);
	assert_int_equal(met, 100);
	assert_int_equal(map_count(map), 0);
	map_destroy(map);
}

/* Against a model: many sets and removals over few keys, so that gaps are rebuilt over and over. */
static void a_map_survives_churn(void **state)
{
	enum { KEYS = 50 };
	struct map *map = map_create(NULL);
	bool present[KEYS] = {0};
	unsigned seed = 1;
	char key[16];

	for (int i = 0; i < 50000; i++) {
		seed = seed * 1103515245 + 12345;
		unsigned which = (seed >> 16) % KEYS;
		snprintf(key, sizeof(key), "k%u", which);
		assert_int_equal(map_get(map, key) != NULL, present[which]);
		present[which] = !present[which];
		if (present[which])
			map_set(map, key, present);
		else
			map_remove(map, key);
	}
	size_t count = 0;
	for (int i = 0; i < KEYS; i++)
		count += present[i];
	assert_int_equal(map_count(map), count);
	map_destroy(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_grows_and_stays_terminated),
		cmocka_unit_test(a_buffer_holds_any_bytes),
		cmocka_unit_test(truncating_only_shortens),
		cmocka_unit_test(stealing_leaves_an_empty_buffer),
		cmocka_unit_test(a_list_is_an_argument_vector),
		cmocka_unit_test(lists_sort_and_join),
		cmocka_unit_test(splitting_trims_and_drops_empty_items),
		cmocka_unit_test(prefixes_and_suffixes),
		cmocka_unit_test(null_equals_null_only),
		cmocka_unit_test(the_nearest_name_is_suggested),
		cmocka_unit_test(a_huge_name_has_no_neighbour),
		cmocka_unit_test(a_map_finds_what_was_set),
		cmocka_unit_test(a_map_frees_its_values_once),
		cmocka_unit_test(a_map_is_walked_in_order_of_insertion),
		cmocka_unit_test(removing_while_walking_is_fine),
		cmocka_unit_test(a_map_survives_churn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
