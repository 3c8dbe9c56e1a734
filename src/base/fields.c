#include "base/fields.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define TEXT_CAP 4096
#define MS_CAP	 (366LL * 86400 * 1000)

int field_check_text(const char *name, const char *text, struct err *err)
{
	if (strlen(text) <= TEXT_CAP && !strpbrk(text, "\r\n"))
		return 0;
	return err_set(err, ERR_INPUT, "%s: is longer than %d bytes, or has a newline", name,
		       TEXT_CAP);
}

int field_check_list(const char *name, const struct str_list *list, size_t cap, struct err *err)
{
	if (list->count > cap)
		return err_set(err, ERR_INPUT, "%s: has more than %zu entries", name, cap);
	for (size_t i = 0; i < list->count; i++)
		if (field_check_text(name, list->items[i], err) < 0)
			return -1;
	return 0;
}

static int read_field(const struct field *field, const json_t *object, void *to, struct err *err)
{
	char **text = to;

	switch (field->kind) {
	case FIELD_TEXT:
		if (json_need_text(object, field->name, text, err) < 0)
			return -1;
		return field_check_text(field->name, *text, err);
	case FIELD_OPTIONAL:
		if (json_read_text(object, field->name, text, err) < 0)
			return -1;
		return *text ? field_check_text(field->name, *text, err) : 0;
	case FIELD_LINES:
		if (json_read_text(object, field->name, text, err) < 0)
			return -1;
		return *text && strlen(*text) > FIELD_LINES_CAP
			       ? err_set(err, ERR_INPUT, "%s: is too long", field->name)
			       : 0;
	case FIELD_LIST:
		if (json_read_list(object, field->name, to, err) < 0)
			return -1;
		return field_check_list(field->name, to, FIELD_LIST_CAP, err);
	case FIELD_BOOL:
		return json_read_bool(object, field->name, to, err);
	case FIELD_MS:
		return json_need_int(object, field->name, -1, MS_CAP, to, err);
	case FIELD_OPTIONAL_MS:
		return json_read_int(object, field->name, -1, MS_CAP, to, err);
	}
	return 0;
}

int fields_read(const struct field *fields, size_t count, const json_t *object, void *target,
		struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (read_field(&fields[i], object, (char *)target + fields[i].offset, err) < 0)
			return -1;
	return 0;
}

static void write_field(const struct field *field, const void *from, json_t *object)
{
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_OPTIONAL:
	case FIELD_LINES:
		json_set_text(object, field->name, *(char *const *)from);
		break;
	case FIELD_LIST:
		json_set_list(object, field->name, from);
		break;
	case FIELD_BOOL:
		json_set_bool(object, field->name, *(const bool *)from);
		break;
	case FIELD_OPTIONAL_MS:
		if (*(const int64_t *)from == 0)
			break;
		__attribute__((fallthrough));
	case FIELD_MS:
		json_set_int(object, field->name, *(const int64_t *)from);
		break;
	}
}

void fields_write(const struct field *fields, size_t count, const void *source, json_t *object)
{
	for (size_t i = 0; i < count; i++)
		write_field(&fields[i], (const char *)source + fields[i].offset, object);
}

static bool is_freed(enum field_kind kind)
{
	return kind == FIELD_TEXT || kind == FIELD_OPTIONAL || kind == FIELD_LINES;
}

void fields_finish(const struct field *fields, size_t count, void *target)
{
	for (size_t i = 0; i < count; i++) {
		void *slot = (char *)target + fields[i].offset;
		if (fields[i].kind == FIELD_LIST)
			str_list_finish(slot);
		else if (is_freed(fields[i].kind))
			mem_replace(slot, NULL);
	}
}
