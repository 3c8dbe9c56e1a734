#include "protocol/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "protocol/message.h"

/* Of a row: ["loss", "train", 1795000000000, 120, 0.31] */
enum { NAME, RUN, TIME, STEP, VALUE, MEMBERS };

bool number_is_name(const char *text, size_t min)
{
	size_t length = text ? strlen(text) : 0;

	if (!text || length < min || length > NUMBER_NAME_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static json_t *row_of(const struct number *number)
{
	json_t *row = json_array();

	json_array_append_new(row, json_string(number->name));
	json_array_append_new(row, json_string(number->run));
	json_array_append_new(row, json_integer(number->time_ms));
	json_array_append_new(row, number->step < 0 ? json_null() : json_integer(number->step));
	json_array_append_new(row,
			      isfinite(number->value) ? json_real(number->value) : json_null());
	return row;
}

void number_list_set_member(json_t *body, const struct number_list *numbers)
{
	if (numbers->count == 0)
		return;
	json_t *object = json_object(), *rows = json_array();
	for (size_t i = 0; i < numbers->count; i++)
		json_array_append_new(rows, row_of(&numbers->items[i]));
	json_set_int(object, "from", numbers->from);
	json_object_set_new(object, "rows", rows);
	json_object_set_new(body, "numbers", object);
}

static bool is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool read_row(const json_t *row, struct number *number)
{
	const json_t *members[MEMBERS];

	if (!json_is_array(row) || json_array_size(row) != MEMBERS)
		return false;
	for (size_t i = 0; i < MEMBERS; i++)
		members[i] = json_array_get(row, i);
	*number = (struct number){
		.name = json_string_value(members[NAME]),
		.run = json_string_value(members[RUN]),
		.time_ms = json_integer_value(members[TIME]),
		.step = json_is_null(members[STEP]) ? -1 : json_integer_value(members[STEP]),
		.value = json_is_null(members[VALUE]) ? (double)NAN
						      : json_number_value(members[VALUE]),
	};
	return number_is_name(number->name, 1) && number_is_name(number->run, 0) &&
	       is_count(members[TIME]) &&
	       (json_is_null(members[STEP]) || is_count(members[STEP])) &&
	       (json_is_null(members[VALUE]) || json_is_number(members[VALUE]));
}

static int read_rows(json_t *list, struct number_list *numbers, struct err *err)
{
	if (!json_is_array(list) || json_array_size(list) > NUMBERS_MAX)
		return err_set(err, ERR_INPUT, "numbers.rows: is not a list of at most %d",
			       NUMBERS_MAX);
	numbers->texts = json_incref(list);
	numbers->count = json_array_size(list);
	numbers->items = mem_alloc_array(numbers->count, sizeof(*numbers->items));
	for (size_t i = 0; i < numbers->count; i++) {
		if (!read_row(json_array_get(list, i), &numbers->items[i]))
			return err_set(err, ERR_INPUT,
				       "numbers.rows[%zu]: is not [name, run, time, step, value]",
				       i);
	}
	return 0;
}

int number_list_read_member(const json_t *body, struct number_list *numbers, struct err *err)
{
	const json_t *object = json_object_get(body, "numbers");

	if (!object)
		return 0;
	if (json_need_int(object, "from", 0, MESSAGE_AMOUNT_MAX, &numbers->from, err) < 0)
		return err_wrap(err, "numbers");
	return read_rows(json_object_get(object, "rows"), numbers, err);
}

void number_list_finish(struct number_list *numbers)
{
	free(numbers->items);
	json_decref(numbers->texts);
	*numbers = (struct number_list){0};
}
