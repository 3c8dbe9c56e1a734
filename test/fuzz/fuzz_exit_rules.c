/* A rule of tony.<type>.on-exit, out of a configuration or a job.json. */
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "job/exit_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(char *rule, bool is_good)
{
	struct str_list rules = {.items = &rule, .count = 1};
	bool fits = false;

	for (int code = 1; code <= 255; code++) {
		const struct cause cause = {.kind = CAUSE_EXIT, .exit_code = code};
		fits |= exit_rules_find(&rules, &cause) != EXIT_DEFAULT;
	}
	if (fits != is_good)
		BUG("a rule that is %s fits %s", is_good ? "good" : "bad",
		    fits ? "something" : "nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *rule cleanup_free = mem_strndup((const char *)data, size);
	struct err err cleanup_err = {0};

	find(rule, exit_rule_check(rule, &err) == 0);
	return 0;
}
