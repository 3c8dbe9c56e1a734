/* Any bytes as an object of plain members: what is taken apart is what json_parse() would read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_flat.h"
#include "base/mem.h"

static void compare(const struct json_flat_member *member, const json_t *object)
{
	char *name cleanup_free = mem_strndup(member->name, member->name_length);
	const json_t *value = json_object_get(object, name);

	switch (member->kind) {
	case JSON_FLAT_TEXT:
		if (json_string_length(value) != member->text_length ||
		    memcmp(json_string_value(value), member->text, member->text_length) != 0)
			abort();
		return;
	case JSON_FLAT_INT:
		if (!json_is_integer(value) || json_integer_value(value) != member->number)
			abort();
		return;
	case JSON_FLAT_BOOL:
		if (!json_is_boolean(value) || json_is_true(value) != (member->number == 1))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_flat flat;

	if (!json_flat_parse(&flat, (const char *)data, size))
		return 0;
	json_t *object cleanup_json = json_parse((const char *)data, size, NULL);
	if (!object || json_object_size(object) != flat.count)
		abort();
	for (size_t i = 0; i < flat.count; i++)
		compare(&flat.members[i], object);
	return 0;
}
