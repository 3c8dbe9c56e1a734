/* A value of --secret that a program prints before it fails is not told on. */
#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bed.h"
#include "executor/secrets.h"
#include "executor/tail.h"

struct bed {
	struct job *job;
	struct settings settings;
	struct cause cause;
};

static int setup(void **state)
{
	struct bed *bed = mem_alloc(sizeof(*bed));

	*bed = (struct bed){.job = bed_job("true")};
	bed->settings.job = bed->job;
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	cause_finish(&bed->cause);
	job_destroy(bed->job);
	free(bed);
	return 0;
}

static void add_secret(struct bed *bed, const char *value, size_t length)
{
	char *copy = mem_alloc(length + 1);

	memcpy(copy, value, length);
	job_secrets_add(&bed->job->secrets,
			(struct job_secret){mem_strdup("KEY"), false, copy, length});
}

static void set_cause(struct bed *bed, const char *text, const char *headline, const char *line)
{
	bed->cause = (struct cause){.kind = CAUSE_EXIT,
				    .text = mem_strdup(text),
				    .headline = headline ? mem_strdup(headline) : NULL};
	str_list_add(&bed->cause.tail, line);
	secrets_mask(&bed->settings, &bed->cause);
}

/* promise: S80 */
static void test_a_cause_has_no_value(void **state)
{
	struct bed *bed = *state;

	add_secret(bed, "canary-1", 8);
	set_cause(bed, "exited with code 1: canary-1: not found",
		  "OSError: https://me:canary-1@host/?key=canary-1", "canary-1");
	assert_string_equal(bed->cause.text, "exited with code 1: ***: not found");
	assert_string_equal(bed->cause.headline, "OSError: https://me:***@host/?key=***");
	assert_string_equal(bed->cause.tail.items[0], "***");
}

/* promise: S80 */
static void test_each_line_of_a_key_is_masked(void **state)
{
	struct bed *bed = *state;
	static const char key[] = "-----BEGIN KEY-----\r\n  first-part\0\xff \n\nshort\nlast-part";

	add_secret(bed, key, sizeof(key) - 1);
	set_cause(bed, "short", NULL, "bad key: first-part?? or last-part.");
	assert_string_equal(bed->cause.text, "short");
	assert_null(bed->cause.headline);
	assert_string_equal(bed->cause.tail.items[0], "bad key: *** or ***.");
}

/* promise: S80 */
static void test_a_value_is_masked_where_its_line_was_cut(void **state)
{
	struct bed *bed = *state;
	struct tail tail;
	struct str line cleanup_str = {0}, masked cleanup_str = {0};

	add_secret(bed, "canary-of-some-length", 21);
	for (size_t i = 0; i < TAIL_LINE_CAP - 10; i++)
		str_append_char(&line, '.');
	str_append(&masked, str_text(&line));
	str_append(&masked, "***");
	str_append(&line, "canary-of-some-length\n");
	tail_init(&tail, 1);
	tail_feed(&tail, str_text(&line), line.length);
	bed->cause.kind = CAUSE_EXIT;
	tail_list(&tail, &bed->cause.tail);
	tail_finish(&tail);
	secrets_mask(&bed->settings, &bed->cause);
	assert_string_equal(bed->cause.tail.items[0], str_text(&masked));
}

static void test_nothing_else_is_masked(void **state)
{
	struct bed *bed = *state;

	add_secret(bed, "true", 4);
	add_secret(bed, "canary-1", 8);
	set_cause(bed, "it is true", "canary-2", "ends with canary-");
	assert_string_equal(bed->cause.text, "it is true");
	assert_string_equal(bed->cause.headline, "canary-2");
	assert_string_equal(bed->cause.tail.items[0], "ends with canary-");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_cause_has_no_value),
		TEST(test_each_line_of_a_key_is_masked),
		TEST(test_a_value_is_masked_where_its_line_was_cut),
		TEST(test_nothing_else_is_masked),
	};

	return cmocka_run_group_tests_name("secrets", tests, NULL, NULL);
}
