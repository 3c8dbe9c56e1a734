#include "base/json.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DEPTH_CAP = 64 };

static void overwrite_and_free(void *memory)
{
	if (memory)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

void json_overwrite_freed(void)
{
	json_set_alloc_funcs(malloc, overwrite_and_free);
}

/* jansson recurses, and its own limit (2048) is too generous for a small stack. Counts brackets
 * outside of strings; what is malformed otherwise is left to the parser. */
static int check_depth(const char *bytes, size_t length, struct err *err)
{
	int depth = 0, line = 1;
	size_t line_start = 0;
	bool in_string = false;

	for (size_t i = 0; i < length; i++) {
		char c = bytes[i];
		if (c == '\n') {
			line++;
			line_start = i + 1;
		} else if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == ']' || c == '}') {
			depth--;
		} else if ((c == '[' || c == '{') && ++depth > DEPTH_CAP) {
			return err_set(err, ERR_INPUT, "line %d, column %zu: nested deeper than %d",
				       line, i - line_start + 1, DEPTH_CAP);
		}
	}
	return 0;
}

json_t *json_parse(const char *bytes, size_t length, struct err *err)
{
	json_error_t error;

	if (check_depth(bytes, length, err) < 0)
		return NULL;
	json_t *value = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
	if (!value) {
		/* The text quotes the input. */
		char *text cleanup_free = str_printable(error.text, strlen(error.text));
		err_set(err, ERR_INPUT, "line %d, column %d: %s", error.line, error.column, text);
	}
	return value;
}

/* 0 and the member in *member (NULL when absent), or -1 when `object` is none. */
static int get(const json_t *object, const char *name, json_t **member, struct err *err)
{
	if (!json_is_object(object))
		return err_set(err, ERR_INPUT, "%s: looked for in what is not an object", name);
	*member = json_object_get(object, name);
	return 0;
}

static int need(const json_t *object, const char *name, struct err *err)
{
	json_t *member = NULL;

	if (get(object, name, &member, err) < 0)
		return -1;
	return member ? 0 : err_set(err, ERR_INPUT, "%s: is missing", name);
}

int json_read_text(const json_t *object, const char *name, char **value, struct err *err)
{
	json_t *member = NULL;

	if (get(object, name, &member, err) < 0)
		return -1;
	if (!member)
		return 0;
	if (!json_is_string(member))
		return err_set(err, ERR_INPUT, "%s: is not a text", name);
	mem_replace(value, mem_strdup(json_string_value(member)));
	return 0;
}

int json_need_text(const json_t *object, const char *name, char **value, struct err *err)
{
	return need(object, name, err) < 0 ? -1 : json_read_text(object, name, value, err);
}

int json_read_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
		  struct err *err)
{
	json_t *member = NULL;

	if (get(object, name, &member, err) < 0)
		return -1;
	if (!member)
		return 0;
	if (!json_is_integer(member))
		return err_set(err, ERR_INPUT, "%s: is not a whole number", name);
	int64_t number = json_integer_value(member);
	if (number < min || number > max)
		return err_set(err, ERR_INPUT, "%s: %lld is not between %lld and %lld", name,
			       (long long)number, (long long)min, (long long)max);
	*value = number;
	return 0;
}

int json_need_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
		  struct err *err)
{
	return need(object, name, err) < 0 ? -1 : json_read_int(object, name, min, max, value, err);
}

int json_read_bool(const json_t *object, const char *name, bool *value, struct err *err)
{
	json_t *member = NULL;

	if (get(object, name, &member, err) < 0)
		return -1;
	if (!member)
		return 0;
	if (!json_is_boolean(member))
		return err_set(err, ERR_INPUT, "%s: is neither true nor false", name);
	*value = json_is_true(member);
	return 0;
}

int json_read_list(const json_t *object, const char *name, struct str_list *list, struct err *err)
{
	json_t *member, *item;
	size_t i;

	if (get(object, name, &member, err) < 0)
		return -1;
	if (!member)
		return 0;
	if (!json_is_array(member))
		return err_set(err, ERR_INPUT, "%s: is not a list", name);
	json_array_foreach(member, i, item)
	{
		if (!json_is_string(item))
			return err_set(err, ERR_INPUT, "%s[%zu]: is not a text", name, i);
	}
	str_list_finish(list);
	json_array_foreach(member, i, item)
	{
		str_list_add(list, json_string_value(item));
	}
	return 0;
}

size_t json_count_of(const json_t *list_or_item)
{
	return json_is_array(list_or_item) ? json_array_size(list_or_item)
					   : json_is_object(list_or_item);
}

const json_t *json_item_of(const json_t *list_or_item, size_t index)
{
	return json_is_array(list_or_item) ? json_array_get(list_or_item, index) : list_or_item;
}

char *json_text(const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY);

	if (!text)
		BUG("json_text: no value, or a text in it that is not UTF-8");
	return text;
}

static json_t *make_text(const char *text)
{
	size_t length = strlen(text);

	if (str_is_utf8(text, length))
		return json_string(text);
	char *printable cleanup_free = str_printable(text, length);
	return json_string(printable);
}

void json_set_text(json_t *object, const char *name, const char *text)
{
	if (text)
		json_object_set_new(object, name, make_text(text));
}

void json_set_int(json_t *object, const char *name, int64_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

void json_set_bool(json_t *object, const char *name, bool value)
{
	json_object_set_new(object, name, json_boolean(value));
}

void json_set_list(json_t *object, const char *name, const struct str_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, make_text(list->items[i]));
	json_object_set_new(object, name, array);
}

void json_cleanup(json_t **value)
{
	json_decref(*value);
}
