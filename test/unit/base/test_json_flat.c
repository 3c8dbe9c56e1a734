/* What base/json_flat.h promises: what it takes apart, json_parse() would have read the same. */
#include "test.h"

#include <string.h>

#include "base/json.h"
#include "base/json_flat.h"
#include "base/mem.h"

static bool parse(struct json_flat *flat, const char *text)
{
	return json_flat_parse(flat, text, strlen(text));
}

static void members_are_found_by_name(void **state)
{
	struct json_flat flat;
	char *text cleanup_free = NULL;
	int64_t number = 7, absent = 7;
	bool yes = false, no = true;

	assert_true(parse(&flat, "{\"a\":\"some text\",\"ab\":-12,\"up\":true,\"down\":false,"
				 "\"none\":\"\",\"most\":999999999999999999}"));
	assert_int_equal(flat.count, 6);
	assert_int_equal(json_flat_read_text(&flat, "a", &text, NULL), 0);
	assert_string_equal(text, "some text");
	assert_int_equal(json_flat_read_text(&flat, "none", &text, NULL), 0);
	assert_string_equal(text, "");
	assert_int_equal(json_flat_read_int(&flat, "ab", -12, 0, &number, NULL), 0);
	assert_int_equal(number, -12);
	assert_int_equal(json_flat_read_int(&flat, "abc", 0, 0, &absent, NULL), 0);
	assert_int_equal(absent, 7);
	assert_int_equal(json_flat_read_bool(&flat, "up", &yes, NULL), 0);
	assert_int_equal(json_flat_read_bool(&flat, "down", &no, NULL), 0);
	assert_true(yes && !no);
	assert_null(json_flat_find(&flat, ""));
	assert_true(parse(&flat, "{\"\":0}"));
}

static void what_is_of_another_kind_is_refused_in_the_same_words(void **state)
{
	static const char text[] = "{\"text\":\"x\",\"number\":5,\"bool\":true}";
	struct json_flat flat;
	json_t *object cleanup_json = json_parse(text, strlen(text), NULL);

	assert_true(parse(&flat, text));
	for (size_t i = 0; i < 3; i++) {
		const char *name = (const char *[]){"text", "number", "bool"}[i];
		struct err first cleanup_err = {0}, second cleanup_err = {0};
		char *value cleanup_free = NULL;
		int64_t number;
		bool is_true;
		assert_int_equal(json_flat_read_text(&flat, name, &value, &first),
				 json_read_text(object, name, &value, &second));
		assert_string_equal(err_message(&first), err_message(&second));
		err_finish(&first);
		err_finish(&second);
		assert_int_equal(json_flat_read_int(&flat, name, 6, 9, &number, &first), -1);
		assert_int_equal(json_read_int(object, name, 6, 9, &number, &second), -1);
		assert_string_equal(err_message(&first), err_message(&second));
		err_finish(&first);
		err_finish(&second);
		assert_int_equal(json_flat_read_bool(&flat, name, &is_true, &first),
				 json_read_bool(object, name, &is_true, &second));
		assert_string_equal(err_message(&first), err_message(&second));
	}
}

static void all_else_is_left_to_json_parse(void **state)
{
	static const char *const others[] = {
		"",
		"{",
		"[]",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1",
		"{\"a\":1,}",
		"{\"a\":1}x",
		" {\"a\":1}",
		"{\"a\": 1}",
		"{\"a\":01}",
		"{\"a\":-}",
		"{\"a\":1.5}",
		"{\"a\":1e3}",
		"{\"a\":1234567890123456789}",
		"{\"a\":null}",
		"{\"a\":tru}",
		"{\"a\":[]}",
		"{\"a\":{}}",
		"{\"a\":\"\\n\"}",
		"{\"a\":\"\xc3\xa9\"}",
		"{\"a\":\"\x01\"}",
		"{\"a\":1,\"a\":2}",
		"{a:1}",
	};
	struct json_flat flat;
	struct str many cleanup_str = {0};

	for (size_t i = 0; i < array_length(others); i++)
		assert_false(parse(&flat, others[i]));
	for (int i = 0; i <= JSON_FLAT_MEMBERS; i++)
		str_append_format(&many, "%s\"%d\":1", i == 0 ? "{" : ",", i);
	str_append(&many, "}");
	assert_false(parse(&flat, many.text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_found_by_name),
		cmocka_unit_test(what_is_of_another_kind_is_refused_in_the_same_words),
		cmocka_unit_test(all_else_is_left_to_json_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
