#include "job/job_family.h"

#include <string.h>

#include "base/mem.h"

/* NULL: it is no tag of this kind. */
static const char *after_id(const char *tag, const char *beginning)
{
	char *form cleanup_free = mem_printf("%s00000000-000000-xxxxxxxx", beginning);

	return str_after_form(tag, form);
}

/* The tag of one of the jobs has more behind it. */
static bool is_whole(const char *tag, const char *beginning)
{
	const char *rest = after_id(tag, beginning);

	return rest && !*rest;
}

bool job_family_gave(const char *tag)
{
	return str_starts_with(tag, JOB_FAMILY_SWEEP "tony-") ||
	       str_after_form(tag, JOB_FAMILY_INPUTS "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") ||
	       after_id(tag, JOB_FAMILY_PIPELINE) || after_id(tag, JOB_FAMILY_ARRAY);
}

const char *job_family(const struct str_list *tags)
{
	const char *family = NULL;

	for (size_t i = 0; i < tags->count; i++) {
		const char *tag = tags->items[i];
		if (str_starts_with(tag, JOB_FAMILY_SWEEP))
			return tag + strlen(JOB_FAMILY_SWEEP);
		if (is_whole(tag, JOB_FAMILY_PIPELINE) || is_whole(tag, JOB_FAMILY_ARRAY))
			family = tag;
	}
	return family;
}

char *job_family_key(const char *id, const char *user)
{
	return mem_printf("%s %s", id, user ? user : "");
}

bool job_family_has_head(const char *family)
{
	return !str_starts_with(family, JOB_FAMILY_PIPELINE) &&
	       !str_starts_with(family, JOB_FAMILY_ARRAY);
}
