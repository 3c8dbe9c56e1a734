#include "executor/number_line.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

static bool is_at(const char *bytes, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - bytes) >= length && memcmp(bytes, word, length) == 0;
}

/* How long the word at `bytes` is that Python's JSON has beyond everybody's; 0: there is none. */
static size_t foreign_word(const char *bytes, const char *end)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};

	for (size_t i = 0; i < array_length(words); i++)
		if (is_at(bytes, end, words[i]))
			return strlen(words[i]);
	return 0;
}

static void translate(const char *bytes, size_t length, struct str *text)
{
	const char *end = bytes + length;
	bool in_text = false;

	while (bytes < end) {
		size_t foreign = in_text ? 0 : foreign_word(bytes, end);
		if (foreign > 0) {
			str_append(text, "null");
			bytes += foreign;
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
		    !(json_is_number(value) || json_is_null(value)))
			continue;
		number.value = json_is_null(value) ? (double)NAN : json_number_value(value);
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
