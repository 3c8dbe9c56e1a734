/*
 * What a driver of Horovod writes into its file. The first byte is the place of the process that is
 * looked for. What is taken can be told on, and gives that process whole numbers.
 */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "framework/horovod_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_number(const struct environment *variables, const char *name)
{
	const char *value = environment_get(variables, name);
	int64_t number;

	if (!value || str_parse_int(value, 0, INT32_MAX, &number) < 0)
		BUG("%s=%s", name, value ? value : "(none)");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct environment variables cleanup_environment = {0};
	struct err err cleanup_err = {0};

	if (size < 1 || size > HOROVOD_PLAN_CAP)
		return 0;
	char *plan cleanup_free =
		horovod_plan_make(1, "driver", (const char *)data + 1, size - 1, &err);
	if (!plan)
		return 0;
	environment_set(&variables, "HOROVOD_HOSTNAME", "a");
	environment_set_format(&variables, "HOROVOD_LOCAL_RANK", "%d", data[0]);
	environment_set(&variables, "CLUSTER_SPEC", "{}");
	if (horovod_plan_apply(plan, strlen(plan), &variables, &err) < 0) {
		if (!strstr(err_message(&err), "no slot"))
			BUG("a plan that was made: %s", err_message(&err));
		return 0;
	}
	expect_number(&variables, "HOROVOD_RANK");
	expect_number(&variables, "HOROVOD_CROSS_SIZE");
	return 0;
}
