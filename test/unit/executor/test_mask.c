/* Secrets that a program prints are "***" in its logs. */
#include "../base/test.h"

#include "base/mem.h"
#include "executor/mask.h"

struct scene {
	struct job_secrets secrets;
	struct mask_words *words;
};

static int setup(void **state)
{
	*state = mem_alloc(sizeof(struct scene));
	*(struct scene *)*state = (struct scene){0};
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	mask_words_destroy(scene->words);
	job_secrets_finish(&scene->secrets);
	free(scene);
	return 0;
}

static void add(struct scene *scene, const void *value, size_t length)
{
	char *copy = mem_alloc(length + 1);

	memcpy(copy, value, length);
	job_secrets_add(&scene->secrets,
			(struct job_secret){mem_strdup("KEY"), false, copy, length});
	mask_words_destroy(scene->words);
	scene->words = mask_words_create(&scene->secrets, NULL);
}

/* In pieces of so many bytes. */
static void expect_in_pieces(const struct scene *scene, const char *text, size_t length,
			     const char *masked, size_t piece)
{
	struct mask mask = {.words = scene->words};
	struct str out cleanup_str = {0};

	for (size_t at = 0; at < length; at += piece)
		mask_feed(&mask, text + at, length - at < piece ? length - at : piece, &out);
	mask_end(&mask, &out);
	mask_finish(&mask);
	assert_string_equal(str_text(&out), masked);
}

static void expect(const struct scene *scene, const char *text, const char *masked)
{
	char *whole cleanup_free = mem_strdup(text);

	mask_text(scene->words, &whole);
	assert_string_equal(whole, masked);
	for (size_t piece = 1; piece <= strlen(text); piece++)
		expect_in_pieces(scene, text, strlen(text), masked, piece);
}

/* promise: S80 */
static void test_a_value_is_masked_wherever_it_stands(void **state)
{
	struct scene *scene = *state;

	add(scene, "canary-1", 8);
	expect(scene, "canary-1", "***");
	expect(scene, "https://me:canary-1@host/?key=canary-1&canary-1canary-1\n",
	       "https://me:***@host/?key=***&******\n");
	expect(scene, "canary-2 canary-", "canary-2 canary-");
	expect(scene, "canarycanary-1canary", "canary***canary");
}

/* promise: S80 */
static void test_each_line_of_a_key_is_masked(void **state)
{
	struct scene *scene = *state;
	static const char key[] =
		"-----BEGIN KEY-----\r\n  first part\0\xff \n\n   \nshort\nlast-part";
	static const char said[] = "first part\0\xff; short, last-part";

	add(scene, key, sizeof(key) - 1);
	expect(scene, "-----BEGIN KEY-----\n", "***\n");
	for (size_t piece = 1; piece < sizeof(said); piece++)
		expect_in_pieces(scene, said, sizeof(said) - 1, "***; short, ***", piece);
}

static void test_the_longest_of_several_values_counts(void **state)
{
	struct scene *scene = *state;

	add(scene, "canary-1", 8);
	add(scene, "canary-1-and-more", 17);
	add(scene, "nary-1-and-others", 17);
	expect(scene, "canary-1-and-more canary-1-and-less", "*** ***-and-less");
	expect(scene, "canary-1-and-others", "***-and-others");
	expect(scene, "binary-1-and-others", "bi***");
}

static void test_a_short_value_may_be_any_word(void **state)
{
	struct scene *scene = *state;

	add(scene, "trueish", 7);
	assert_null(scene->words);
	char *text cleanup_free = mem_strdup("trueish"), *none = NULL;
	mask_text(NULL, &text);
	assert_string_equal(text, "trueish");
	add(scene, "canary-1", 8);
	expect(scene, "trueish", "trueish");
	mask_text(scene->words, &none);
	assert_null(none);
}

static void test_nothing_else_is_held_back(void **state)
{
	struct scene *scene = *state;
	struct str out cleanup_str = {0};

	add(scene, "canary-1", 8);
	struct mask mask = {.words = scene->words};
	mask_feed(&mask, "step 1, a can", 13, &out);
	assert_string_equal(str_text(&out), "step 1, a ");
	mask_feed(&mask, "dle\n", 4, &out);
	assert_string_equal(str_text(&out), "step 1, a candle\n");
	mask_feed(&mask, "", 0, &out);
	mask_finish(&mask);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Every job has one: the end of a text that begins like it does not wait for more. */
static void test_token(void **state)
{
	static const char prompt[] = "step 012345678";
	struct scene *scene = *state;
	struct str out cleanup_str = {0};

	scene->words = mask_words_create(&scene->secrets, TOKEN);
	struct mask mask = {.words = scene->words};
	mask_feed(&mask, prompt, strlen(prompt), &out);
	assert_string_equal(str_text(&out), prompt);
	mask_feed(&mask, "\nBearer " TOKEN, 8 + 40, &out);
	mask_feed(&mask, &TOKEN[40], 24, &out);
	mask_feed(&mask, "\n", 1, &out);
	assert_string_equal(str_text(&out), "step 012345678\nBearer ***\n");
	mask_finish(&mask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_value_is_masked_wherever_it_stands),
		TEST(test_each_line_of_a_key_is_masked),
		TEST(test_the_longest_of_several_values_counts),
		TEST(test_a_short_value_may_be_any_word),
		TEST(test_nothing_else_is_held_back),
		TEST(test_token),
	};

	return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}
