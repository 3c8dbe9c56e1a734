/* A value's form and range, by the type of its key. */
#include <ctype.h>
#include <string.h>

#include "base/acl.h"
#include "base/mem.h"
#include "conf/keys.h"
#include "conf/resource.h"

/* Limits of rows that have no smaller one of their own: what job.json takes. */
#define MAX_DURATION_MS ((int64_t)3650 * 86400 * 1000)
#define MAX_TEXT	4096
#define MAX_ENVIRONMENT 131071 /* what Linux takes as one argument or variable */

static bool means_no_limit(const struct key *key, const char *value)
{
	return key->min == -1 && str_equal(value, "-1");
}

static int64_t max_of(const struct key *key)
{
	if (key->max)
		return key->max;
	return key->type == KEY_DURATION ? MAX_DURATION_MS : INT64_C(1) << 40;
}

static int check_range(const struct key *key, const char *value, int64_t number, struct err *err)
{
	char *most cleanup_free = NULL, *least cleanup_free = NULL;

	if (number >= key->min && number <= max_of(key))
		return 0;
	if (key->type == KEY_INT) {
		least = mem_printf("%lld", (long long)key->min);
		most = mem_printf("%lld", (long long)max_of(key));
	} else if (key->type == KEY_DURATION) {
		least = str_format_duration(key->min > 0 ? key->min : 0);
		most = str_format_duration(max_of(key));
	} else {
		least = str_format_mib((double)(key->min > 0 ? key->min : 0));
		most = str_format_mib((double)max_of(key));
	}
	return err_set(err, ERR_CONFIG, "\"%s\" is out of range; write a value from %s to %s",
		       value, least, most);
}

static int check_text(const struct key *key, const char *value, struct err *err)
{
	int64_t max = key->max ? key->max : MAX_TEXT;

	if (strlen(value) <= (size_t)max)
		return 0;
	if (key->secret)
		return err_set(err, ERR_CONFIG, "is %zu bytes long; write at most %lld",
			       strlen(value), (long long)max);
	return err_set(err, ERR_CONFIG, "\"%.*s...\" is %zu bytes long; write at most %lld", 40,
		       value, strlen(value), (long long)max);
}

static int check_bool(const char *value, struct err *err)
{
	bool parsed;

	if (str_parse_bool(value, &parsed) == 0)
		return 0;
	return err_set(err, ERR_CONFIG, "\"%s\" is not true or false; write true or false", value);
}

static int check_int(const struct key *key, const char *value, struct err *err)
{
	int64_t number;

	if (str_parse_int(value, INT64_MIN, INT64_MAX, &number) < 0 && str_is_whole_number(value))
		number = *value == '-' ? INT64_MIN : INT64_MAX;
	else if (str_parse_int(value, INT64_MIN, INT64_MAX, &number) < 0)
		return err_set(err, ERR_CONFIG,
			       "\"%s\" is not a whole number; write digits only, such as %lld",
			       value, (long long)(key->min > 1 ? key->min : 1));
	return check_range(key, value, number, err);
}

/* ".5g", "10 gigs": a number, and the letter of a unit behind it. NULL: it is neither. The caller
 * frees. */
static char *guess_size(const char *value)
{
	size_t length = strspn(value, "0123456789.");
	const char *unit = value + length + strspn(value + length, " ");
	char *size cleanup_free = mem_printf("%s%.*s%c", *value == '.' ? "0" : "", (int)length,
					     value, tolower((unsigned char)*unit));
	int64_t mib;

	return *unit && str_parse_mib(size, &mib) == 0 ? mem_steal(&size) : NULL;
}

static int refuse_size(const char *value, struct err *err)
{
	char *size cleanup_free = guess_size(value);

	return err_set(err, ERR_CONFIG, "\"%s\" is not a size; write %s", value,
		       size ? size : "2g or 2048m");
}

static int check_size(const struct key *key, const char *value, struct err *err)
{
	int64_t bytes, mib;

	if (means_no_limit(key, value))
		return 0;
	if (str_parse_bytes(value, &bytes) < 0 || str_parse_mib(value, &mib) < 0)
		return refuse_size(value, err);
	if (bytes > 0 && bytes < 1 << 20)
		return err_set(err, ERR_CONFIG, "\"%s\" is less than 1 MiB; write 1m or more",
			       value);
	return check_range(key, value, mib, err);
}

static int check_duration(const struct key *key, const char *value, struct err *err)
{
	int64_t ms;

	if (means_no_limit(key, value))
		return 0;
	if (str_parse_duration(value, key->bare_ms, &ms) < 0)
		return err_set(err, ERR_CONFIG, "\"%s\" is not a duration; write 90s, 10m or 1h30m",
			       value);
	return check_range(key, value, ms, err);
}

const char *key_find_choice(const struct key *key, const char *value)
{
	for (size_t i = 0; key->choices[i]; i++)
		if (str_equal_nocase(key->choices[i], value))
			return key->choices[i];
	return NULL;
}

static int check_choice(const struct key *key, const char *value, struct err *err)
{
	struct str_list all cleanup_str_list = {0};

	if (key_find_choice(key, value))
		return 0;
	for (size_t i = 0; key->choices[i]; i++)
		str_list_add(&all, key->choices[i]);
	char *list cleanup_free = str_list_join(&all, " or ");
	return err_set(err, ERR_CONFIG, "\"%s\" is not known; write %s", value, list);
}

static int check_dependency(const char *item, struct err *err)
{
	const char *colon = strchr(item, ':');
	char *type cleanup_free = mem_strndup(item, colon ? (size_t)(colon - item) : strlen(item));

	if (colon && !str_equal(colon, ":start") && !str_equal(colon, ":finish"))
		return err_set(err, ERR_CONFIG,
			       "\"%s\" is not a dependency; write TYPE, TYPE:start or TYPE:finish",
			       item);
	return key_check_task_type(type, err);
}

static bool is_variable(const char *name)
{
	if (isdigit((unsigned char)*name))
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

static int check_environment(const char *item, struct err *err)
{
	size_t length = strcspn(item, "=");

	if (strlen(item) > MAX_ENVIRONMENT)
		return err_set(err, ERR_CONFIG,
			       "\"%.*s=...\" is longer than %d bytes; write it to a file", 64, item,
			       MAX_ENVIRONMENT);
	/* TonY takes a bare KEY for an empty value. */
	if (!item[length] && !is_variable(item))
		return err_set(err, ERR_CONFIG,
			       "\"%s\" is not KEY=VALUE; write \"\\,\" for a comma within a value",
			       item);
	if (length > 0 && strcspn(item, " \t\n") >= length)
		return 0;
	if (length > 0)
		return err_set(err, ERR_CONFIG,
			       "\"%s\" is not KEY=VALUE; write a name without blanks before \"=\"",
			       item);
	return err_set(err, ERR_CONFIG, "\"%s\" is not KEY=VALUE; write a name before \"=\"", item);
}

static int check_item(const struct key *key, const char *item, struct err *err)
{
	struct resource_spec spec = {0};

	switch (key->type) {
	case KEY_LIST:
		return check_text(key, item, err);
	case KEY_TYPES:
		return key_check_task_type(item, err);
	case KEY_DEPENDENCIES:
		return check_dependency(item, err);
	case KEY_ENVIRONMENT:
		return check_environment(item, err);
	case KEY_RESOURCES:
		if (resource_parse(item, &spec, err) < 0)
			return -1;
		resource_finish(&spec);
		return 0;
	default:
		return 0;
	}
}

static int check_list(const struct key *key, const char *value, struct err *err)
{
	struct str_list items cleanup_str_list = {0};

	key_read_list(key, value, &items);
	for (size_t i = 0; i < items.count; i++)
		if (check_item(key, items.items[i], err) < 0)
			return -1;
	return 0;
}

/* tony.task.heartbeat-interval-ms says it itself. */
static bool names_its_unit(const struct key *key)
{
	return str_ends_with(key->name, "-ms") || str_ends_with(key->name, "-sec");
}

char *key_explain_number(const struct key *key, const char *value)
{
	double number;

	if (str_parse_double(value, &number) < 0 || number <= 0)
		return NULL;
	if (key->type == KEY_SIZE)
		return mem_printf("\"%s\" has no unit and counts MiB; write %sm, or %sg for GiB",
				  value, value, value);
	if (key->type != KEY_DURATION || names_its_unit(key))
		return NULL;
	char *length cleanup_free = str_format_duration(key_read_ms(key, value));
	if (key->bare_ms == 1000)
		return mem_printf("\"%s\" has no unit and counts seconds (%s); write %ss", value,
				  length, value);
	return mem_printf("\"%s\" has no unit and counts milliseconds (%s); write %sms, or %ss for "
			  "seconds",
			  value, length, value, value);
}

int key_check(const struct key *key, const char *value, struct err *err)
{
	if (!str_is_utf8(value, strlen(value))) {
		char *printable cleanup_free = str_printable(value, strlen(value));
		return err_set(err, ERR_CONFIG, "\"%s\" is not UTF-8 text; write it in UTF-8",
			       key->secret ? "***" : printable);
	}
	switch (key->type) {
	case KEY_TEXT:
		return check_text(key, value, err);
	case KEY_BOOL:
		return check_bool(value, err);
	case KEY_INT:
		return check_int(key, value, err);
	case KEY_SIZE:
		return check_size(key, value, err);
	case KEY_DURATION:
		return check_duration(key, value, err);
	case KEY_CHOICE:
		return check_choice(key, value, err);
	case KEY_ACL:
		return check_text(key, value, err) < 0 ? -1 : acl_check(value, err);
	default:
		return check_list(key, value, err);
	}
}

bool key_read_bool(const char *value)
{
	bool parsed = false;

	if (str_parse_bool(value, &parsed) < 0)
		BUG("unchecked truth value");
	return parsed;
}

int64_t key_read_int(const char *value)
{
	int64_t number = 0;

	if (str_parse_int(value, INT64_MIN, INT64_MAX, &number) < 0)
		BUG("unchecked number");
	return number;
}

int64_t key_read_mib(const char *value)
{
	int64_t mib = 0;

	if (str_equal(value, "-1"))
		return -1;
	if (str_parse_mib(value, &mib) < 0)
		BUG("unchecked size");
	return mib;
}

int64_t key_read_ms(const struct key *key, const char *value)
{
	int64_t ms = 0;

	if (means_no_limit(key, value))
		return 0;
	if (str_parse_duration(value, key->bare_ms, &ms) < 0)
		BUG("unchecked duration");
	return ms;
}

/* Splits at commas that no backslash protects. Values keep their inner blanks. */
static void read_pairs(const char *value, struct str_list *list)
{
	struct str item cleanup_str = {0};

	for (bool last = false; !last; value++) {
		last = *value == '\0';
		if (*value == '\\' && value[1] == ',') {
			str_append_char(&item, *++value);
		} else if (last || *value == ',') {
			const char *start = str_text(&item);
			while (isspace((unsigned char)*start))
				start++;
			if (*start)
				str_list_add(list, start);
			str_truncate(&item, 0);
		} else {
			str_append_char(&item, *value);
		}
	}
}

void key_append_item(const struct key *key, const char *item, struct str *list)
{
	if (list->length > 0)
		str_append_char(list, ',');
	for (; *item; item++) {
		if (*item == ',' && key && key->type == KEY_ENVIRONMENT)
			str_append_char(list, '\\');
		str_append_char(list, *item);
	}
}

void key_read_list(const struct key *key, const char *value, struct str_list *list)
{
	if (key->type == KEY_ENVIRONMENT)
		read_pairs(value, list);
	else
		str_split(list, value, ',');
}
