/* "USER\nDETAIL" of a stranger: the line is one, and its members are those that were written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "web/audit.h"

/* Behind the value that begins there; NULL: it does not end. */
static const char *skip_value(const char *value)
{
	if (*value != '"')
		return value + strcspn(value, " ");
	for (value++; *value && *value != '"'; value++)
		if (*value == '\\' && !*++value)
			return NULL;
	return *value ? value + 1 : NULL;
}

static void check(const char *line)
{
	static const char *const members[] = {"user=", "outcome=", "detail="};

	for (size_t i = 0; i < array_length(members); i++) {
		if (!str_starts_with(line, members[i]))
			abort();
		line = skip_value(line + strlen(members[i]));
		if (!line || (*line && *line++ != ' '))
			abort();
	}
	if (*line)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *user cleanup_free = mem_strndup((const char *)bytes, length);
	char *detail = strchr(user, '\n');
	struct audit_refusals *refusals = audit_refusals_create();
	struct str line cleanup_str = {0};

	if (detail)
		*detail++ = '\0';
	if (!audit_tell_refusal(refusals,
				&(struct audit_line){.user = user,
						     .outcome = "refused",
						     .detail = detail ? detail : ""},
				0, &line))
		abort();
	if (strlen(line.text) > 4096)
		abort();
	check(line.text);
	audit_refusals_destroy(refusals);
	return 0;
}
