/* What is promised: src/executor/scalars.h, of event files that grow. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "executor/scalars.h"

enum { BEGIN_S = 1000 };

struct reading {
	struct numbers *numbers;
	struct scalars *scalars;
};

static struct reading begin(void **state)
{
	struct reading reading = {.numbers = numbers_create(scratch_path(state, "none"))};

	reading.scalars =
		scalars_create(scratch_path(state, "logs"), BEGIN_S * 1000, reading.numbers);
	return reading;
}

static void end(struct reading *reading)
{
	scalars_destroy(reading->scalars);
	numbers_destroy(reading->numbers);
}

static void append_number(struct str *bytes, uint64_t value, int count)
{
	for (int i = 0; i < count; i++)
		str_append_char(bytes, (char)(value >> 8 * i));
}

static void append_checksum(struct str *bytes, const char *of, size_t length)
{
	uint32_t crc = crc32c(of, length);

	append_number(bytes, (crc >> 15 | crc << 17) + 0xa282ead8u, 4);
}

/* A record of an event that has one simple_value; steps and lengths below 128. */
static void append_record(struct str *bytes, double wall_s, int step, const char *tag, float value)
{
	struct str data cleanup_str = {0};
	struct str head cleanup_str = {0};
	uint64_t wall;
	uint32_t bits;
	char tag_length = (char)strlen(tag);

	memcpy(&wall, &wall_s, sizeof(wall));
	memcpy(&bits, &value, sizeof(bits));
	str_append_char(&data, 1 << 3 | 1);
	append_number(&data, wall, 8);
	str_append_char(&data, 2 << 3);
	str_append_char(&data, (char)step);
	str_append_char(&data, 5 << 3 | 2);
	str_append_char(&data, (char)(tag_length + 9));
	str_append_char(&data, 1 << 3 | 2);
	str_append_char(&data, (char)(tag_length + 7));
	str_append_char(&data, 1 << 3 | 2);
	str_append_char(&data, tag_length);
	str_append(&data, tag);
	str_append_char(&data, 2 << 3 | 5);
	append_number(&data, bits, 4);
	append_number(&head, data.length, 8);
	str_append_bytes(bytes, head.text, head.length);
	append_checksum(bytes, head.text, head.length);
	str_append_bytes(bytes, data.text, data.length);
	append_checksum(bytes, data.text, data.length);
}

static void append_bytes(void **state, const char *name, const char *bytes, size_t length)
{
	scratch_append(state, name, "");
	int fd = open(scratch_path(state, name), O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

static void record(void **state, const char *name, double wall_s, int step, float value)
{
	struct str bytes cleanup_str = {0};

	append_record(&bytes, wall_s, step, "loss", value);
	append_bytes(state, name, bytes.text, bytes.length);
}

/* What a look finds, and is then taken. */
static void expect(struct reading *reading, const char *wanted)
{
	struct number_list list;
	json_t *body cleanup_json = json_object();

	scalars_look(reading->scalars);
	numbers_next(reading->numbers, 100000, &list);
	number_list_set_member(body, &list);
	const json_t *rows = json_object_get(json_object_get(body, "numbers"), "rows");
	char *text cleanup_free = rows ? json_text(rows) : mem_strdup("");
	assert_string_equal(text, wanted);
	numbers_taken(reading->numbers, list.from + (int64_t)list.count);
	number_list_finish(&list);
}

#define FILE_NAME  "logs/events.out.tfevents.1"
#define TRAIN_NAME "logs/run 1/train/events.out.tfevents.1.v2"

static void set_up(void **state)
{
	scratch_write(state, FILE_NAME, "", 0600);
	scratch_write(state, TRAIN_NAME, "", 0600);
}

static void scalars_are_read_as_they_come(void **state)
{
	struct reading reading = begin(state);

	expect(&reading, "");
	set_up(state);
	record(state, FILE_NAME, 1001, 10, 0.5F);
	expect(&reading, "[[\"loss\",\"\",1001000,10,0.5]]");
	record(state, TRAIN_NAME, 1001.5, 3, 2);
	expect(&reading, "[[\"loss\",\"run 1/train\",1001500,3,2.0]]");
	expect(&reading, "");
	record(state, FILE_NAME, 1003, 50, 0.25F);
	expect(&reading,
	       "[[\"loss\",\"\",1003000,50,0.25],[\"steps_per_s\",\"\",1003000,50,20.0]]");
	end(&reading);
}

static void half_a_record_waits_for_its_rest(void **state)
{
	struct reading reading = begin(state);
	struct str bytes cleanup_str = {0};

	set_up(state);
	append_record(&bytes, 1001, 1, "loss", 1);
	for (size_t i = 0; i + 1 < bytes.length; i++) {
		append_bytes(state, FILE_NAME, bytes.text + i, 1);
		expect(&reading, "");
	}
	append_bytes(state, FILE_NAME, bytes.text + bytes.length - 1, 1);
	expect(&reading, "[[\"loss\",\"\",1001000,1,1.0]]");
	end(&reading);
}

/* A container that follows another one finds its files. */
static void what_was_there_before_is_not_told_again(void **state)
{
	struct reading reading = begin(state);

	set_up(state);
	record(state, FILE_NAME, 999, 1, 1);
	record(state, FILE_NAME, 1000, 2, 2);
	expect(&reading, "[[\"loss\",\"\",1000000,2,2.0]]");
	end(&reading);
}

static void a_flawed_file_hurts_no_other(void **state)
{
	struct reading reading = begin(state);
	struct str bytes cleanup_str = {0};

	set_up(state);
	append_record(&bytes, 1001, 1, "loss", 1);
	bytes.text[bytes.length - 6]++;
	append_bytes(state, FILE_NAME, bytes.text, bytes.length);
	record(state, FILE_NAME, 1002, 2, 2);
	record(state, TRAIN_NAME, 1002, 2, 2);
	expect(&reading, "[[\"loss\",\"run 1/train\",1002000,2,2.0]]");
	scratch_append(state, "logs/tfevents", "what nobody reads who wants numbers");
	expect(&reading, "");
	end(&reading);
}

static void pictures_are_passed_over(void **state)
{
	struct reading reading = begin(state);
	struct str bytes cleanup_str = {0};
	char *picture cleanup_free = mem_alloc(SCALARS_RECORD_MAX + 5);

	set_up(state);
	append_number(&bytes, SCALARS_RECORD_MAX + 1, 8);
	append_checksum(&bytes, bytes.text, 8);
	append_bytes(state, FILE_NAME, bytes.text, bytes.length);
	append_bytes(state, FILE_NAME, picture, SCALARS_RECORD_MAX + 5);
	record(state, FILE_NAME, 1002, 2, 2);
	expect(&reading, "[[\"loss\",\"\",1002000,2,2.0]]");
	end(&reading);
}

static void nan_is_told(void **state)
{
	struct reading reading = begin(state);

	set_up(state);
	record(state, FILE_NAME, 1001, 10, NAN);
	record(state, FILE_NAME, 1002, 10, INFINITY);
	expect(&reading, "[[\"loss\",\"\",1001000,10,null],[\"loss\",\"\",1002000,10,null]]");
	end(&reading);
}

static void links_are_not_followed(void **state)
{
	struct reading reading = begin(state);

	set_up(state);
	record(state, FILE_NAME, 1002, 2, 2);
	assert_int_equal(symlink(".", scratch_path(state, "logs/again")), 0);
	expect(&reading, "[[\"loss\",\"\",1002000,2,2.0]]");
	end(&reading);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(scalars_are_read_as_they_come),
		scratch_test(half_a_record_waits_for_its_rest),
		scratch_test(what_was_there_before_is_not_told_again),
		scratch_test(a_flawed_file_hurts_no_other),
		scratch_test(pictures_are_passed_over),
		scratch_test(nan_is_told),
		scratch_test(links_are_not_followed),
	};

	return cmocka_run_group_tests_name("scalars", tests, NULL, NULL);
}
