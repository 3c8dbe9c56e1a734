#include "executor/number_line.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

/* Numbers of Python's JSON that JSON does not have. */
static const char *const foreign[] = {"NaN", "Infinity", "-Infinity"};

static bool is_at(const char *bytes, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - bytes) >= length && memcmp(bytes, word, length) == 0;
}

/* The length of the foreign number at `bytes`; 0: there is none. */
static size_t foreign_length(const char *bytes, const char *end)
{
	for (size_t i = 0; i < array_length(foreign); i++)
		if (is_at(bytes, end, foreign[i]))
			return strlen(foreign[i]);
	return 0;
}

/* As a text, which is what other writers of JSON make of them. */
static bool is_foreign(const json_t *value)
{
	for (size_t i = 0; json_is_string(value) && i < array_length(foreign); i++)
		if (str_equal(json_string_value(value), foreign[i]))
			return true;
	return false;
}

static void translate(const char *bytes, size_t length, struct str *text)
{
	const char *end = bytes + length;
	bool in_text = false;

	while (bytes < end) {
		size_t length_here = in_text ? 0 : foreign_length(bytes, end);
		if (length_here > 0) {
			str_append_format(text, "\"%.*s\"", (int)length_here, bytes);
			bytes += length_here;
			continue;
		}
		if (*bytes == '"')
			in_text = !in_text;
		if (in_text && *bytes == '\\' && bytes + 1 < end)
			str_append_char(text, *bytes++);
		str_append_char(text, *bytes++);
	}
}

static int64_t whole(const json_t *value, int64_t otherwise)
{
	double number = json_number_value(value);

	if (!json_is_number(value) || number < 0 || number > 9e15)
		return otherwise;
	return (int64_t)number;
}

static const char *run_of(const json_t *object)
{
	const char *run = json_string_value(json_object_get(object, "run"));

	return number_is_name(run, 1) ? run : "";
}

static void take_numbers(json_t *object, void (*take)(void *data, const struct number *number),
			 void *data)
{
	static const char *const told[] = {"t", "step", "run"};
	struct number number = {
		.run = run_of(object),
		.time_ms = whole(json_object_get(object, "t"), 0),
		.step = whole(json_object_get(object, "step"), -1),
	};
	json_t *value;

	json_object_foreach(object, number.name, value)
	{
		bool is_own = true;
		for (size_t i = 0; i < array_length(told); i++)
			is_own = is_own && strcmp(number.name, told[i]) != 0;
		if (!is_own || !number_is_name(number.name, 1) ||
		    !(json_is_number(value) || is_foreign(value)))
			continue;
		number.value = json_is_number(value) ? json_number_value(value) : (double)NAN;
		take(data, &number);
	}
}

int number_line_read(const char *bytes, size_t length,
		     void (*take)(void *data, const struct number *number), void *data,
		     struct err *err)
{
	struct str text cleanup_str = {0};

	translate(bytes, length, &text);
	json_t *object cleanup_json = json_parse(str_text(&text), text.length, err);
	if (!object)
		return -1;
	if (!json_is_object(object))
		return err_set(err, ERR_INPUT, "is not an object");
	take_numbers(object, take, data);
	return 0;
}
