/* The diagnostics of an application whose AM has failed, as a ResourceManager tells them. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "scheduler/yarn_diagnostics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text cleanup_free = mem_strndup((const char *)data, size);
	struct cause cause = {0};

	yarn_diagnostics_judge_am(text, size % 2, &cause);
	if (!cause.text || cause.tail.count > 20)
		abort();
	free(cause_sentence(&cause));
	free(yarn_diagnostics_container(text));
	cause_finish(&cause);
	return 0;
}
