/* Any bytes as the line of metrics.jsonl that an AM goes on from: what it then tells is JSON, which
 * the next AM goes on from. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "am/usage.h"
#include "am/user_series.h"
#include "base/json.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { POINTS = 32, WRITTEN = 64 /* more than there are */ };

static const int64_t now_ms = 1795000000000;

static void add_member(json_t *line, const char *name, const struct str *text)
{
	json_t *value = json_parse(text->text, text->length, NULL);

	if (!value)
		BUG("what is told is no JSON: %s", text->text);
	json_object_set_new(line, name, value);
}

/* The caller frees. */
static char *restore(const json_t *line)
{
	struct user_budget budget = user_budget_of(1);
	struct user_series *numbers = user_series_create(&budget);
	struct usage *usage =
		usage_create(&(struct series_shape){USAGE_COLUMNS, POINTS, false, true}, 60000);
	struct str series cleanup_str = {0}, user cleanup_str = {0};

	usage_restore(usage, line, now_ms);
	user_series_restore(numbers, line, now_ms);
	usage_write_series(usage, WRITTEN, &series);
	user_series_write(numbers, WRITTEN, &user);
	json_t *written cleanup_json = usage_to_json(usage);
	json_object_set_new(written, "resume", usage_to_resume(usage));
	json_object_set_new(written, "numbers", user_series_to_resume(numbers));
	add_member(written, "series", &series);
	add_member(written, "user", &user);
	usage_destroy(usage);
	user_series_destroy(numbers);
	return json_text(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *line cleanup_json = json_parse((const char *)data, size, NULL);

	if (!line)
		return 0;
	char *first cleanup_free = restore(line);
	json_t *again cleanup_json = json_parse(first, strlen(first), NULL);
	if (!again)
		BUG("no JSON: %s", first);
	char *second cleanup_free = restore(again);
	if (strlen(second) == 0)
		BUG("nothing is left of %s", first);
	return 0;
}
