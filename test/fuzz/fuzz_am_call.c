/* What comes to an executor's door. */
#include <stdint.h>

#include "base/mem.h"
#include "protocol/am_call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nobody who does not know the token is believed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct am_call_to self = {
		.token = "0123456789abcdef", .job = "application_1_0001", .task = "worker:0"};
	struct am_call call cleanup_am_call = {0};
	struct err err cleanup_err = {0};

	if (am_call_parse(&self, (const char *)data, size, &call, &err) == 0)
		BUG("believed");
	return 0;
}
