#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "avro_maker.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/avro.h"

static int collect(void *data, const json_t *record, struct err *err)
{
	char *text cleanup_free = json_text(record);

	str_append_format(data, "%s\n", text);
	return 0;
}

/* What a file of one record says. */
static char *read_one(const char *schema, bool deflate, const struct str *record, struct err *err)
{
	struct str file cleanup_str = {0}, told = {0};

	put_file(&file, schema, deflate, 1, record);
	if (avro_read(file.text, file.length, collect, &told, err) == 0)
		return str_steal(&told);
	str_finish(&told);
	return NULL;
}

static void assert_told(const char *schema, const struct str *record, const char *expected)
{
	struct err err cleanup_err = {0};

	for (int deflate = 0; deflate < 2; deflate++) {
		char *told cleanup_free = read_one(schema, deflate, record, &err);
		assert_string_equal(err_message(&err), "no error");
		assert_string_equal(told, expected);
	}
}

static void plain_values_are_told(void **state)
{
	struct str record cleanup_str = {0};

	put_long(&record, -1);
	put_long(&record, INT64_MAX);
	put_long(&record, INT64_MIN);
	put_double(&record, 2.5);
	put_text(&record, "caf\xc3\xa9 \xff\n");
	str_append_char(&record, 1);
	put_long(&record, 1);
	assert_told("{\"type\":\"record\",\"name\":\"a.b.R\",\"fields\":["
		    "{\"name\":\"i\",\"type\":\"int\"},{\"name\":\"max\",\"type\":\"long\"},"
		    "{\"name\":\"min\",\"type\":\"long\"},{\"name\":\"d\",\"type\":\"double\"},"
		    "{\"name\":\"s\",\"type\":\"string\"},{\"name\":\"b\",\"type\":\"boolean\"},"
		    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":"
		    "[\"X\",\"Y\"]}}]}",
		    &record,
		    "{\"$record\":\"R\",\"i\":-1,\"max\":9223372036854775807,"
		    "\"min\":-9223372036854775808,\"d\":2.5,\"s\":\"caf\xc3\xa9 ?\\n\",\"b\":true,"
		    "\"e\":\"Y\"}\n");
}

static void lists_maps_and_unions_are_told(void **state)
{
	struct str record cleanup_str = {0};

	put_long(&record, -2); /* a block with its size */
	put_long(&record, 2);
	put_long(&record, 7);
	put_long(&record, 8);
	put_long(&record, 1);
	put_long(&record, 9);
	put_long(&record, 0);
	put_long(&record, 1);
	put_text(&record, "key");
	put_long(&record, 1);
	put_text(&record, "value");
	put_long(&record, 0);
	assert_told(
		"{\"type\":\"record\",\"name\":\"R\",\"fields\":["
		"{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":\"long\"}},"
		"{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"string\"]}}]}",
		&record, "{\"$record\":\"R\",\"l\":[7,8,9],\"m\":{\"key\":\"value\"}}\n");
}

static void a_type_is_known_by_its_name(void **state)
{
	struct str record cleanup_str = {0};

	put_long(&record, 1);
	put_long(&record, 1);
	put_long(&record, 2);
	put_long(&record, 0);
	assert_told("{\"type\":\"record\",\"name\":\"List\",\"namespace\":\"x\",\"fields\":["
		    "{\"name\":\"v\",\"type\":\"int\"},"
		    "{\"name\":\"next\",\"type\":[\"null\",\"x.List\"]}]}",
		    &record,
		    "{\"$record\":\"List\",\"v\":1,\"next\":"
		    "{\"$record\":\"List\",\"v\":2,\"next\":null}}\n");
}

/* ---- flaws -------------------------------------------------------------------------------- */

static void refuse(const char *schema, const struct str *record, const char *why)
{
	struct err err cleanup_err = {0};
	char *told cleanup_free = read_one(schema, false, record, &err);

	assert_null(told);
	assert_int_equal(err.kind, ERR_INPUT);
	assert_non_null(strstr(err_message(&err), why));
}

static void endless_values_end(void **state)
{
	struct str nulls cleanup_str = {0}, deep cleanup_str = {0}, negative cleanup_str = {0};
	struct str few_bytes cleanup_str = {0};

	put_long(&nulls, INT64_MAX);
	refuse("{\"type\":\"array\",\"items\":\"null\"}", &nulls, "too many values");
	put_long(&few_bytes, 20000);
	put_long(&few_bytes, 0);
	refuse("{\"type\":\"array\",\"items\":\"null\"}", &few_bytes, "too many values");
	for (int i = 0; i < 1000; i++)
		put_long(&deep, 1);
	refuse("{\"type\":\"record\",\"name\":\"L\",\"fields\":[{\"name\":\"n\",\"type\":"
	       "[\"null\",\"L\"]}]}",
	       &deep, "nested too deep");
	put_long(&negative, INT64_MIN);
	refuse("{\"type\":\"array\",\"items\":\"long\"}", &negative, "impossible length");
	refuse("{\"type\":\"string\"}", &negative, "negative length");
}

static void a_schema_that_is_none_is_named(void **state)
{
	struct str one cleanup_str = {0};

	put_long(&one, 1);
	refuse("{\"type\":\"nothing\"}", &one, "a type that it does not have");
	refuse("7", &one, "its schema");
	refuse("{", &one, "its schema");
	refuse("[\"null\"]", &one, "none of its union's");
	refuse("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"X\"]}", &one,
	       "none of its enum's");
	refuse("{\"type\":\"array\"}", &one, "is no type");
}

static void what_stands_before_a_cut_is_told(void **state)
{
	struct str records cleanup_str = {0}, file cleanup_str = {0};

	for (int i = 0; i < 3; i++)
		put_long(&records, i);
	put_file(&file, "{\"type\":\"long\"}", false, 3, &records);
	size_t whole = file.length;
	put_long(&file, 5); /* a block that was begun */
	put_long(&file, 100);
	for (size_t length = 0; length <= file.length; length++) {
		struct str told cleanup_str = {0};
		int result = avro_read(file.text, length, collect, &told, NULL);
		assert_int_equal(result, length == whole || length == whole - 3 - 16 - 2 ? 0 : -1);
		assert_string_equal(str_text(&told), length >= whole ? "0\n1\n2\n" : "");
	}
	file.text[whole - 1] ^= 1;
	struct str told cleanup_str = {0};
	assert_int_equal(avro_read(file.text, whole, collect, &told, NULL), -1);
}

static void what_is_packed_otherwise_is_named(void **state)
{
	struct str file cleanup_str = {0}, none cleanup_str = {0};
	struct err err cleanup_err = {0};

	put_file(&file, "{\"type\":\"null\"}", true, 0, &none);
	char *codec = memmem(file.text, file.length, "deflate", 7);
	memcpy(codec, "snappy!", 7);
	assert_int_equal(avro_read(file.text, file.length, collect, &none, &err), -1);
	assert_string_equal(err_message(&err),
			    "is packed with \"snappy!\"; only null and deflate are read");
	err_finish(&err);
	assert_int_equal(avro_read("PK\3\4", 4, collect, &none, &err), -1);
	assert_string_equal(err_message(&err), "is not an Avro file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_values_are_told),
		cmocka_unit_test(lists_maps_and_unions_are_told),
		cmocka_unit_test(a_type_is_known_by_its_name),
		cmocka_unit_test(endless_values_end),
		cmocka_unit_test(a_schema_that_is_none_is_named),
		cmocka_unit_test(what_stands_before_a_cut_is_told),
		cmocka_unit_test(what_is_packed_otherwise_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
