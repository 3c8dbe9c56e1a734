#include "base/json_flat.h"

#include <string.h>

#include "base/mem.h"

#define DIGITS 18

struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *cursor, const char *text, size_t length)
{
	if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, text, length) != 0)
		return false;
	cursor->at += length;
	return true;
}

static bool take_char(struct cursor *cursor, char c)
{
	return take(cursor, &c, 1);
}

static bool take_text(struct cursor *cursor, const char **text, size_t *length)
{
	if (!take_char(cursor, '"'))
		return false;
	*text = cursor->at;
	while (cursor->at < cursor->end && *cursor->at >= ' ' && *cursor->at < 0x7f &&
	       *cursor->at != '"' && *cursor->at != '\\')
		cursor->at++;
	*length = (size_t)(cursor->at - *text);
	return take_char(cursor, '"');
}

static bool take_number(struct cursor *cursor, int64_t *number)
{
	bool is_negative = take_char(cursor, '-');
	const char *first = cursor->at;

	*number = 0;
	for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
		if (cursor->at - first == DIGITS)
			return false;
		*number = 10 * *number + (*cursor->at - '0');
	}
	if (is_negative)
		*number = -*number;
	return cursor->at > first && (*first != '0' || cursor->at == first + 1);
}

static bool take_value(struct cursor *cursor, struct json_flat_member *member)
{
	if (cursor->at < cursor->end && *cursor->at == '"') {
		member->kind = JSON_FLAT_TEXT;
		return take_text(cursor, &member->text, &member->text_length);
	}
	member->kind = JSON_FLAT_BOOL;
	member->number = take(cursor, "true", 4);
	if (member->number || take(cursor, "false", 5))
		return true;
	member->kind = JSON_FLAT_INT;
	return take_number(cursor, &member->number);
}

static const struct json_flat_member *find(const struct json_flat *flat, const char *name,
					   size_t length)
{
	for (size_t i = 0; i < flat->count; i++)
		if (flat->members[i].name_length == length &&
		    memcmp(flat->members[i].name, name, length) == 0)
			return &flat->members[i];
	return NULL;
}

/* Two of one name are refused, as json_parse() does it. */
static bool take_member(struct cursor *cursor, struct json_flat *flat)
{
	if (flat->count == JSON_FLAT_MEMBERS)
		return false;
	struct json_flat_member *member = &flat->members[flat->count];
	if (!take_text(cursor, &member->name, &member->name_length) ||
	    find(flat, member->name, member->name_length) || !take_char(cursor, ':') ||
	    !take_value(cursor, member))
		return false;
	flat->count++;
	return true;
}

bool json_flat_parse(struct json_flat *flat, const char *bytes, size_t length)
{
	struct cursor cursor = {bytes, bytes + length};

	flat->count = 0;
	if (!take_char(&cursor, '{'))
		return false;
	do {
		if (!take_member(&cursor, flat))
			return false;
	} while (take_char(&cursor, ','));
	return take_char(&cursor, '}') && cursor.at == cursor.end;
}

const struct json_flat_member *json_flat_find(const struct json_flat *flat, const char *name)
{
	return find(flat, name, strlen(name));
}

int json_flat_read_text(const struct json_flat *flat, const char *name, char **value,
			struct err *err)
{
	const struct json_flat_member *member = json_flat_find(flat, name);

	if (!member)
		return 0;
	if (member->kind != JSON_FLAT_TEXT)
		return err_set(err, ERR_INPUT, "%s: is not a text", name);
	mem_replace(value, mem_strndup(member->text, member->text_length));
	return 0;
}

int json_flat_read_int(const struct json_flat *flat, const char *name, int64_t min, int64_t max,
		       int64_t *value, struct err *err)
{
	const struct json_flat_member *member = json_flat_find(flat, name);

	if (!member)
		return 0;
	if (member->kind != JSON_FLAT_INT)
		return err_set(err, ERR_INPUT, "%s: is not a whole number", name);
	if (member->number < min || member->number > max)
		return err_set(err, ERR_INPUT, "%s: %lld is not between %lld and %lld", name,
			       (long long)member->number, (long long)min, (long long)max);
	*value = member->number;
	return 0;
}

int json_flat_read_bool(const struct json_flat *flat, const char *name, bool *value,
			struct err *err)
{
	const struct json_flat_member *member = json_flat_find(flat, name);

	if (!member)
		return 0;
	if (member->kind != JSON_FLAT_BOOL)
		return err_set(err, ERR_INPUT, "%s: is neither true nor false", name);
	*value = member->number;
	return 0;
}
