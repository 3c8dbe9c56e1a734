/* JSON from strangers, and JSON for others. */
#include "test.h"

#include "base/json.h"
#include "base/mem.h"

static json_t *parse(const char *text)
{
	struct err err cleanup_err = {0};
	json_t *value = json_parse(text, strlen(text), &err);

	if (!value)
		fail_msg("%s: %s", text, err_message(&err));
	return value;
}

static void refuse(const char *text, size_t length, const char *part)
{
	struct err err cleanup_err = {0};

	if (json_parse(text, length, &err))
		fail_msg("was taken for JSON: %s", text);
	assert_int_equal(err.kind, ERR_INPUT);
	assert_message_has(&err, part);
}

static void objects_and_arrays_are_parsed(void **state)
{
	json_t *a cleanup_json = parse(" {\"a\": [1, true, null, \"\\u20ac\"]}\n");
	json_t *b cleanup_json = parse("[]");

	assert_int_equal(json_array_size(json_object_get(a, "a")), 4);
	assert_true(json_is_array(b));
}

static void errors_name_the_place(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{"", "line 1, column"},
		{"{\n \"a\": 1,\n \"b\" 2}", "line 3, column 6: "},
		{"{\"a\": 1, \"a\": 2}", "line 1, column "},
		{"{} x", "line 1, column 4: "},
		{"{}{}", "line 1, column "},
		{"{\"a\": 01}", "line 1, column "},
		{"[1,]", "line 1, column "},
		{"{'a': 1}", "line 1, column "},
		{"\"text\"", "line 1, column "},
		{"{\"a\": 99999999999999999999}", "line 1, column "},
		{"{\"a\": \"\xff\"}", "line 1, column "},
		{"{\"a\": \"\\u0000\"}", "line 1, column "},
		{"{\"a\": NaN}", "line 1, column "},
		{"]]]", "line 1, column "},
		{"[\"open", "line 1, column "},
		{"[\"open\\", "line 1, column "},
	};

	for (size_t i = 0; i < array_length(cases); i++)
		refuse(cases[i].text, strlen(cases[i].text), cases[i].part);
	refuse("{}\0", 3, "line 1, column ");
	refuse("{\"a\": \"x\0y\"}", 12, "line 1, column ");
}

static void an_error_holds_no_control_characters(void **state)
{
	struct err err cleanup_err = {0};
	const char text[] = "{\033[2J";

	assert_null(json_parse(text, sizeof(text) - 1, &err));
	assert_null(strchr(err_message(&err), '\033'));
}

static char *nested(int depth)
{
	struct str text = {0};

	for (int i = 0; i < depth; i++)
		str_append(&text, i % 2 ? "{\"a\":" : "[");
	if (depth % 2 == 0)
		str_append(&text, "1");
	for (int i = depth - 1; i >= 0; i--)
		str_append(&text, i % 2 ? "}" : "]");
	return str_steal(&text);
}

static void depth_is_bounded(void **state)
{
	char *fits cleanup_free = nested(64);
	char *too_deep cleanup_free = nested(65);
	char *huge cleanup_free = mem_alloc(1000001);
	json_t *value cleanup_json = parse(fits);

	assert_non_null(value);
	refuse(too_deep, strlen(too_deep), "nested deeper than 64");
	memset(huge, '[', 1000000);
	refuse(huge, 1000000, "line 1, column 65: nested deeper than 64");
}

static void brackets_in_texts_are_no_depth(void **state)
{
	struct str text cleanup_str = {0};

	str_append(&text, "[\"\\\"");
	for (int i = 0; i < 100; i++)
		str_append_char(&text, '[');
	str_append(&text, "\\\\\"]");
	json_t *value cleanup_json = parse(text.text);
	assert_int_equal(json_string_length(json_array_get(value, 0)), 102);
}

static void present_members_are_read(void **state)
{
	json_t *object cleanup_json =
		parse("{\"t\": \"x\", \"i\": -3, \"b\": true, \"l\": [\"a\", \"b\"]}");
	struct err err cleanup_err = {0};
	char *text cleanup_free = mem_strdup("preset");
	struct str_list list cleanup_str_list = {0};
	int64_t number = 0;
	bool truth = false;

	str_list_add(&list, "preset");
	assert_success(json_read_text(object, "t", &text, &err), &err);
	assert_string_equal(text, "x");
	assert_success(json_need_text(object, "t", &text, &err), &err);
	assert_success(json_read_int(object, "i", -3, 0, &number, &err), &err);
	assert_success(json_need_int(object, "i", -3, -3, &number, &err), &err);
	assert_true(number == -3);
	assert_success(json_read_bool(object, "b", &truth, &err), &err);
	assert_true(truth);
	assert_success(json_read_list(object, "l", &list, &err), &err);
	assert_text_freed(str_list_join(&list, ","), "a,b");
}

static void absent_members_keep_their_preset(void **state)
{
	json_t *object cleanup_json = parse("{}");
	struct err err cleanup_err = {0};
	char *text cleanup_free = mem_strdup("preset");
	struct str_list list cleanup_str_list = {0};
	int64_t number = 7;
	bool truth = true;

	str_list_add(&list, "preset");
	assert_success(json_read_text(object, "t", &text, &err), &err);
	assert_success(json_read_int(object, "i", 0, 1, &number, &err), &err);
	assert_success(json_read_bool(object, "b", &truth, &err), &err);
	assert_success(json_read_list(object, "l", &list, &err), &err);
	assert_string_equal(text, "preset");
	assert_int_equal(number, 7);
	assert_true(truth);
	assert_int_equal(list.count, 1);
}

static void needed_members_must_be_there(void **state)
{
	json_t *object cleanup_json = parse("{}");
	struct err err cleanup_err = {0};
	char *text cleanup_free = NULL;
	int64_t number;

	assert_int_equal(json_need_text(object, "task", &text, &err), -1);
	assert_string_equal(err_message(&err), "task: is missing");
	assert_int_equal(json_need_int(object, "epoch", 0, 1, &number, &err), -1);
	assert_string_equal(err_message(&err), "epoch: is missing");
}

static void wrong_types_and_ranges_are_named(void **state)
{
	json_t *object cleanup_json = parse("{\"n\": null, \"t\": \"1\", \"r\": 1.0, \"i\": 5,"
					    " \"l\": [\"a\", 1], \"o\": {}}");
	struct err err cleanup_err = {0};
	char *text cleanup_free = mem_strdup("preset");
	struct str_list list cleanup_str_list = {0};
	int64_t number = 7;
	bool truth = true;

	assert_int_equal(json_read_text(object, "i", &text, &err), -1);
	assert_string_equal(err_message(&err), "i: is not a text");
	assert_int_equal(json_read_text(object, "n", &text, &err), -1);
	assert_int_equal(json_read_int(object, "t", 0, 9, &number, &err), -1);
	assert_string_equal(err_message(&err), "t: is not a whole number");
	assert_int_equal(json_read_int(object, "r", 0, 9, &number, &err), -1);
	assert_int_equal(json_read_int(object, "i", 6, 9, &number, &err), -1);
	assert_string_equal(err_message(&err), "i: 5 is not between 6 and 9");
	assert_int_equal(json_read_int(object, "i", 0, 4, &number, &err), -1);
	assert_int_equal(json_read_bool(object, "i", &truth, &err), -1);
	assert_string_equal(err_message(&err), "i: is neither true nor false");
	assert_int_equal(json_read_list(object, "o", &list, &err), -1);
	assert_string_equal(err_message(&err), "o: is not a list");
	assert_int_equal(json_read_list(object, "l", &list, &err), -1);
	assert_string_equal(err_message(&err), "l[1]: is not a text");
	assert_int_equal(err.kind, ERR_INPUT);
	assert_string_equal(text, "preset");
	assert_int_equal(number, 7);
	assert_int_equal(list.count, 0);
}

static void only_objects_have_members(void **state)
{
	json_t *array cleanup_json = parse("[1]");
	struct err err cleanup_err = {0};
	int64_t number = 7;

	assert_int_equal(json_read_int(array, "i", 0, 9, &number, &err), -1);
	assert_int_equal(json_need_int(NULL, "i", 0, 9, &number, &err), -1);
	assert_message_has(&err, "not an object");
}

static void texts_are_compact_and_ordered(void **state)
{
	json_t *object cleanup_json = json_object();
	struct str_list list cleanup_str_list = {0};

	json_set_text(object, "z", "a\"b\n");
	json_set_text(object, "none", NULL);
	json_set_int(object, "i", INT64_MIN);
	json_set_bool(object, "b", false);
	json_set_list(object, "empty", &list);
	str_list_add(&list, "one");
	str_list_add(&list, "t\xc3\xa9");
	json_set_list(object, "a", &list);
	assert_text_freed(json_text(object),
			  "{\"z\":\"a\\\"b\\n\",\"i\":-9223372036854775808,\"b\":false,"
			  "\"empty\":[],\"a\":[\"one\",\"t\xc3\xa9\"]}");
}

static void bytes_that_are_no_text_do_not_break_it(void **state)
{
	json_t *object cleanup_json = json_object();
	struct str_list list cleanup_str_list = {0};

	json_set_text(object, "t", "a\xff");
	str_list_add(&list, "\xc3");
	json_set_list(object, "l", &list);
	assert_text_freed(json_text(object), "{\"t\":\"a?\",\"l\":[\"?\"]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_and_arrays_are_parsed),
		cmocka_unit_test(errors_name_the_place),
		cmocka_unit_test(an_error_holds_no_control_characters),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(brackets_in_texts_are_no_depth),
		cmocka_unit_test(present_members_are_read),
		cmocka_unit_test(absent_members_keep_their_preset),
		cmocka_unit_test(needed_members_must_be_there),
		cmocka_unit_test(wrong_types_and_ranges_are_named),
		cmocka_unit_test(only_objects_have_members),
		cmocka_unit_test(texts_are_compact_and_ordered),
		cmocka_unit_test(bytes_that_are_no_text_do_not_break_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
