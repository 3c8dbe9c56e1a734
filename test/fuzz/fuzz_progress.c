/* What a program writes into TONY_PROGRESS_FILE. */
#include <stdint.h>

#include "base/err.h"
#include "executor/progress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct progress progress;

	if (progress_parse((const char *)data, size, &progress) &&
	    (progress.step < 0 || progress.total < 0))
		BUG("a step out of bounds");
	return 0;
}
