/* What is promised: src/executor/numbers.h and number_line.h, of a file that a program appends to.
 */
#include "../base/scratch.h"
#include "../base/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "executor/numbers.h"

enum { NOW = 1000 };

static void append(void **state, const char *text)
{
	scratch_append(state, "numbers", text);
}

static struct numbers *open_numbers(void **state)
{
	return numbers_create(scratch_path(state, "numbers"));
}

/* What waits now, after a look. */
static void expect(struct numbers *numbers, const char *wanted)
{
	struct number_list list;
	json_t *body cleanup_json = json_object();

	numbers_look(numbers, NOW);
	numbers_next(numbers, 100000, &list);
	number_list_set_member(body, &list);
	const json_t *json = json_object_get(body, "numbers");
	char *text cleanup_free = json ? json_text(json) : mem_strdup("");
	assert_string_equal(text, wanted);
	number_list_finish(&list);
}

static void lines_are_read_as_they_come(void **state)
{
	struct numbers *numbers = open_numbers(state);

	expect(numbers, "");
	append(state, "{\"step\": 1, \"loss\": 2}\n{\"step\":2,");
	expect(numbers, "{\"from\":0,\"rows\":[[\"loss\",\"\",1000,1,2.0]]}");
	append(state, "\"loss\":1.5,\"run\":\"eval\",\"t\":77}\n");
	expect(numbers, "{\"from\":0,\"rows\":[[\"loss\",\"\",1000,1,2.0],"
			"[\"loss\",\"eval\",77,2,1.5]]}");
	numbers_destroy(numbers);
}

static void the_farthest_step_is_known(void **state)
{
	struct numbers *numbers = open_numbers(state);

	append(state, "{\"loss\":2}\n");
	numbers_look(numbers, NOW);
	assert_int_equal(numbers_step(numbers), 0);
	append(state, "{\"step\":20,\"loss\":2}\n{\"step\":3,\"loss\":1,\"run\":\"eval\"}\n");
	numbers_look(numbers, NOW);
	numbers_taken(numbers, 3);
	assert_int_equal(numbers_step(numbers), 20);
	numbers_destroy(numbers);
}

static void what_the_am_has_is_not_sent_again(void **state)
{
	struct numbers *numbers = open_numbers(state);

	append(state, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
	numbers_look(numbers, NOW);
	numbers_taken(numbers, 2);
	numbers_taken(numbers, 1); /* an answer that is late */
	numbers_taken(numbers, -1);
	expect(numbers, "{\"from\":2,\"rows\":[[\"a\",\"\",1000,null,3.0]]}");
	numbers_taken(numbers, 3);
	expect(numbers, "");
	append(state, "{\"a\":4}\n");
	expect(numbers, "{\"from\":3,\"rows\":[[\"a\",\"\",1000,null,4.0]]}");
	numbers_destroy(numbers);
}

static void what_is_no_number_is_passed_over(void **state)
{
	struct numbers *numbers = open_numbers(state);

	append(state, "nonsense\n\n  \r\n[1]\n{\"a\":\"text\",\"b\":{\"c\":1},\"d\":true,\"\":1,"
		      "\"e\\u0007\":1,\"z\":null,\"NaN\":5}\n{\"a\":7\n");
	expect(numbers, "{\"from\":0,\"rows\":[[\"NaN\",\"\",1000,null,5.0]]}");
	numbers_destroy(numbers);
}

/* As Python writes it, and as writers of JSON do that has no such numbers. */
static void nan_is_told(void **state)
{
	struct numbers *numbers = open_numbers(state);

	append(state, "{\"x\":NaN,\"y\":-Infinity,\"z\":\"NaN\"}\n");
	expect(numbers, "{\"from\":0,\"rows\":[[\"x\",\"\",1000,null,null],"
			"[\"y\",\"\",1000,null,null],[\"z\",\"\",1000,null,null]]}");
	numbers_destroy(numbers);
}

static void a_line_has_its_limit(void **state)
{
	struct numbers *numbers = open_numbers(state);
	struct str line cleanup_str = {0};

	for (int i = 0; i < 3 * NUMBER_LINE_CAP / 10; i++)
		str_append(&line, "          ");
	str_append(&line, "{\"a\":1}\n{\"b\":2}\n");
	append(state, line.text);
	expect(numbers, "{\"from\":0,\"rows\":[[\"b\",\"\",1000,null,2.0]]}");
	numbers_destroy(numbers);
}

static void a_file_that_begins_anew_is_read_from_its_beginning(void **state)
{
	struct numbers *numbers = open_numbers(state);

	append(state, "{\"a\":1}\n{\"a\":2}\n");
	numbers_look(numbers, NOW);
	numbers_taken(numbers, 2);
	assert_int_equal(truncate(scratch_path(state, "numbers"), 0), 0);
	append(state, "{\"a\":3}\n");
	expect(numbers, "{\"from\":2,\"rows\":[[\"a\",\"\",1000,null,3.0]]}");
	numbers_destroy(numbers);
}

static void only_so_many_names_are_taken(void **state)
{
	struct numbers *numbers = open_numbers(state);

	for (int i = 0; i < NUMBERS_NAMES_MAX + 5; i++) {
		char *line cleanup_free = mem_printf("{\"n%d\":1}\n", i);
		append(state, line);
	}
	append(state, "{\"n0\":2}\n");
	numbers_look(numbers, NOW);
	struct number_list list;
	numbers_next(numbers, 100000, &list);
	assert_int_equal(list.count, NUMBERS_NAMES_MAX + 1);
	number_list_finish(&list);
	numbers_destroy(numbers);
}

/* It is read on when the AM has taken some; nothing is lost. */
static void a_program_that_floods_waits_for_the_am(void **state)
{
	struct numbers *numbers = open_numbers(state);
	struct str lines cleanup_str = {0};
	int64_t count = 0;

	for (int i = 0; i < 50000; i++)
		str_append_format(&lines, "{\"a\":%d}\n", i);
	append(state, lines.text);
	while (count < 50000) {
		numbers_look(numbers, NOW);
		struct number_list list;
		numbers_next(numbers, 128 << 10, &list);
		assert_int_equal(list.from, count);
		assert_in_range(list.count, 1, 2048);
		assert_float_equal((float)list.items[0].value, (float)count, 0);
		count += (int64_t)list.count;
		number_list_finish(&list);
		numbers_taken(numbers, count);
	}
	expect(numbers, "");
	numbers_destroy(numbers);
}

/* It is the user's file: whatever stands there does no harm. */
static void what_is_no_file_is_not_read(void **state)
{
	struct numbers *numbers = open_numbers(state);

	assert_int_equal(symlink("/etc/passwd", scratch_path(state, "numbers")), 0);
	expect(numbers, "");
	assert_int_equal(unlink(scratch_path(state, "numbers")), 0);
	assert_int_equal(mkfifo(scratch_path(state, "numbers"), 0600), 0);
	expect(numbers, "");
	numbers_destroy(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(lines_are_read_as_they_come),
		scratch_test(the_farthest_step_is_known),
		scratch_test(what_the_am_has_is_not_sent_again),
		scratch_test(what_is_no_number_is_passed_over),
		scratch_test(nan_is_told),
		scratch_test(a_line_has_its_limit),
		scratch_test(a_file_that_begins_anew_is_read_from_its_beginning),
		scratch_test(only_so_many_names_are_taken),
		scratch_test(a_program_that_floods_waits_for_the_am),
		scratch_test(what_is_no_file_is_not_read),
	};

	return cmocka_run_group_tests_name("numbers", tests, NULL, NULL);
}
