#include "client/tokens_line.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

json_t *tokens_ask(const struct opened *opened)
{
	json_t *answer cleanup_json =
		opened->ops->traits->has_tokens && !opened->view->is_final && opened->door.address
			? opened_ask(opened, "GET", "/v1/job/tokens", NULL, NULL)
			: NULL;

	return json_object_get(answer, "good_until_ms") ? json_incref(answer) : NULL;
}

static char *time_of(const json_t *tokens, const char *member)
{
	return str_format_time(json_integer_value(json_object_get(tokens, member)));
}

char *tokens_text(const json_t *tokens)
{
	const char *first = json_string_value(json_object_get(tokens, "first"));
	bool is_renewed =
		str_equal(json_string_value(json_object_get(tokens, "renewed_by")), "scheduler");

	if (!first)
		return NULL;
	char *until cleanup_free = time_of(tokens, "good_until_ms");
	char *last cleanup_free = time_of(tokens, "ends_ms");
	if (json_integer_value(json_object_get(tokens, "good_until_ms")) < clock_wall_ms())
		return mem_printf("%s has ended at %s; tony renew brings another one", first,
				  until);
	if (is_renewed)
		return mem_printf("%s is good until %s, the scheduler renews it until then; tony "
				  "renew brings another one",
				  first, until);
	return mem_printf("%s is good until about %s, and nobody renews it; tony renew brings "
			  "another one (this one ends at %s at the latest)",
			  first, until, last);
}
