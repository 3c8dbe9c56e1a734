/* A line that a program tells of itself. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "executor/number_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *data, const struct number *number)
{
	size_t length = strlen(number->name);

	if (length < 1 || length > NUMBER_NAME_MAX || strlen(number->run) > NUMBER_NAME_MAX)
		BUG("a name out of bounds");
	if (number->step < -1 || number->time_ms < 0)
		BUG("step %lld", (long long)number->step);
	if (isinf(number->value))
		BUG("a number that JSON does not have");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err cleanup_err = {0};

	number_line_read((const char *)data, size, take, NULL, &err);
	return 0;
}
