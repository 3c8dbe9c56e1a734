#include "sweep/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLANKS " \t\r\n"

static int refuse(struct err *err, const char *item, const char *why)
{
	return err_set(err, ERR_USAGE, "\"%s\" %s", item, why);
}

/* ---- names -------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	const char *rest = name;

	if (!*name || strlen(name) > SWEEP_NAME_MAX)
		return false;
	if (str_starts_with(name, "tony."))
		return !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-")];
	rest += strspn(rest, letters);
	if (rest == name)
		return false;
	while (*rest && (strchr(letters, *rest) || (*rest >= '0' && *rest <= '9')))
		rest++;
	return !*rest;
}

bool sweep_parameter_is_key(const struct sweep_parameter *parameter)
{
	return strchr(parameter->name, '.');
}

/* ---- values ------------------------------------------------------------------------------- */

/* Six digits tell more than any of these numbers is worth, and are the same on every machine. */
static char *number_text(double value)
{
	return mem_printf("%.6g", value);
}

/* Less than that beside a step is rounding: 0..1:0.1 has eleven values, and one of them is 0.3. */
static double hair(double step)
{
	return fabs(step) * 1e-9;
}

/* The shortest that reads back as it. int() of Python's takes no 1e+06. */
static char *step_text(double value, double step)
{
	char text[32];
	double whole = nearbyint(value) + 0.0, read;

	if (fabs(whole) < 1e15 && fabs(value - whole) <= hair(step))
		return mem_printf("%.0f", whole);
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (str_parse_double(text, &read) == 0 && fabs(read - value) <= hair(step))
			break;
	}
	return mem_strdup(text);
}

bool sweep_space_is_plain(const char *value)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "._+-/:=@%";

	return *value && !value[strspn(value, plain)];
}

static int add_value(struct sweep_parameter *parameter, const char *value, const char *item,
		     struct err *err)
{
	double number;

	if (!sweep_space_is_plain(value))
		return refuse(err, item,
			      "has a value that is no plain word; write letters, digits and "
			      "._+-/:=@% with commas between the values");
	if (str_list_has(&parameter->values, value))
		return refuse(err, item, "has a value twice; take one out");
	if (parameter->values.count == SWEEP_VALUES_MAX)
		return refuse(err, item, "has more than 10000 values; write uniform(LOW,HIGH)");
	parameter->are_numbers = (parameter->values.count == 0 || parameter->are_numbers) &&
				 str_parse_double(value, &number) == 0;
	str_list_add(&parameter->values, value);
	return 0;
}

static int read_list(struct sweep_parameter *parameter, const char *text, const char *item,
		     struct err *err)
{
	char *rest cleanup_free = mem_strdup(text);
	char *next = rest;

	do {
		char *value = next;
		next = strchr(value, ',');
		if (next)
			*next++ = '\0';
		if (add_value(parameter, value, item, err) < 0)
			return -1;
	} while (next);
	return 0;
}

static int add_steps(struct sweep_parameter *parameter, double step, bool multiplies,
		     const char *item, struct err *err)
{
	double value = parameter->low;

	for (int64_t i = 1; value <= parameter->high + hair(multiplies ? value : step); i++) {
		char *text cleanup_free = step_text(value, multiplies ? value : step);
		if (add_value(parameter, text, item, err) < 0)
			return -1;
		value = multiplies ? value * step : parameter->low + (double)i * step;
	}
	return 0;
}

/* "32..512:x2", "0..1:0.25", "1..5" */
static int read_range(struct sweep_parameter *parameter, const char *text, const char *item,
		      struct err *err)
{
	const char *dots = strstr(text, ".."), *colon = strchr(text, ':');
	bool multiplies = colon && colon[1] == 'x';
	double step = 1;
	char *low cleanup_free = mem_strndup(text, (size_t)(dots - text));
	char *high cleanup_free =
		colon ? mem_strndup(dots + 2, (size_t)(colon - dots - 2)) : mem_strdup(dots + 2);

	if (str_parse_double(low, &parameter->low) < 0 ||
	    str_parse_double(high, &parameter->high) < 0 || parameter->high < parameter->low ||
	    (colon && (str_parse_double(colon + 1 + multiplies, &step) < 0 || step <= 0)) ||
	    (multiplies && (step <= 1 || parameter->low <= 0)))
		return refuse(err, item, "is no range; write 1..5, 0..1:0.25 or 32..512:x2");
	return add_steps(parameter, step, multiplies, item, err);
}

static int read_function(struct sweep_parameter *parameter, const char *text, const char *item,
			 struct err *err)
{
	static const char *const names[] = {NULL, "uniform", "loguniform", "int"};
	const char *open = strchr(text, '('), *comma = strchr(open, ',');
	size_t length = strlen(text);
	char *name cleanup_free = mem_strndup(text, (size_t)(open - text));

	for (size_t i = 1; i < array_length(names); i++)
		if (str_equal(name, names[i]))
			parameter->kind = (enum sweep_kind)i;
	if (parameter->kind == SWEEP_VALUES || !comma || text[length - 1] != ')')
		return refuse(err, item,
			      "is none of uniform(LOW,HIGH), loguniform(LOW,HIGH) and "
			      "int(LOW,HIGH)");
	char *low cleanup_free = mem_strndup(open + 1, (size_t)(comma - open - 1));
	char *high cleanup_free = mem_strndup(comma + 1, (size_t)(text + length - 1 - comma - 1));
	if (str_parse_double(low, &parameter->low) < 0 ||
	    str_parse_double(high, &parameter->high) < 0 || parameter->high <= parameter->low)
		return refuse(err, item, "needs two numbers, the smaller one first");
	if (!isfinite(parameter->high - parameter->low))
		return refuse(err, item, "is wider than a number can be");
	if (parameter->kind == SWEEP_LOG_UNIFORM && parameter->low <= 0)
		return refuse(err, item, "has no logarithm; write numbers above 0");
	if (parameter->kind == SWEEP_INTEGER &&
	    (parameter->low != floor(parameter->low) || parameter->high != floor(parameter->high) ||
	     fabs(parameter->low) > 1e15 || fabs(parameter->high) > 1e15))
		return refuse(err, item, "needs whole numbers");
	return 0;
}

static int read_parameter(struct sweep_space *space, const char *item, struct err *err)
{
	const char *equals = strchr(item, '=');
	struct sweep_parameter *parameter = &space->items[space->count];

	if (!equals || !equals[1])
		return refuse(err, item, "is no parameter; write NAME=VALUE,VALUE");
	parameter->name = mem_strndup(item, (size_t)(equals - item));
	space->count++;
	if (!is_name(parameter->name))
		return refuse(err, item,
			      "has a name that is no word of letters, digits and _, and no key of "
			      "a job; write lr=0.1,0.01");
	for (size_t i = 0; i + 1 < space->count; i++)
		if (str_equal(space->items[i].name, parameter->name))
			return refuse(err, item, "is given twice; take one out");
	if (strchr(equals, '('))
		return read_function(parameter, equals + 1, item, err);
	if (strstr(equals, "..") && !strchr(equals, ','))
		return read_range(parameter, equals + 1, item, err);
	return read_list(parameter, equals + 1, item, err);
}

int sweep_space_parse(const char *text, struct sweep_space *space, struct err *err)
{
	space->items = mem_alloc_array(SWEEP_PARAMETERS_MAX, sizeof(*space->items));
	for (text += strspn(text, BLANKS); *text; text += strspn(text, BLANKS)) {
		size_t length = strcspn(text, BLANKS);
		char *item cleanup_free = mem_strndup(text, length);
		if (space->count == SWEEP_PARAMETERS_MAX)
			return refuse(err, item, "is the 65th parameter; a sweep has 64 at most");
		if (read_parameter(space, item, err) < 0)
			return -1;
		text += length;
	}
	return space->count > 0
		       ? 0
		       : err_set(err, ERR_USAGE, "it names no parameter; write lr=0.1,0.01");
}

void sweep_space_finish(struct sweep_space *space)
{
	for (size_t i = 0; i < space->count; i++) {
		free(space->items[i].name);
		str_list_finish(&space->items[i].values);
	}
	free(space->items);
	*space = (struct sweep_space){0};
}

/* ------------------------------------------------------------------------------------------- */

char *sweep_parameter_at(const struct sweep_parameter *parameter, double part)
{
	double low = parameter->low, high = parameter->high;
	size_t count = parameter->values.count, index = (size_t)(part * (double)count);

	switch (parameter->kind) {
	case SWEEP_UNIFORM:
		return number_text(low + part * (high - low));
	case SWEEP_LOG_UNIFORM:
		return number_text(exp(log(low) + part * (log(high) - log(low))));
	case SWEEP_INTEGER:
		return mem_printf("%.0f", fmin(low + floor(part * (high - low + 1)), high));
	case SWEEP_VALUES:
		break;
	}
	return mem_strdup(parameter->values.items[index < count ? index : count - 1]);
}

int64_t sweep_space_size(const struct sweep_space *space)
{
	int64_t size = 1;

	for (size_t i = 0; i < space->count; i++) {
		if (space->items[i].kind != SWEEP_VALUES)
			return 0;
		size *= (int64_t)space->items[i].values.count;
		if (size > INT32_MAX)
			return INT32_MAX;
	}
	return size;
}
