/* Any text as a placement constraint. What is taken can be sent. */
#include <stdint.h>

#include "base/err.h"
#include "hadoop/message.h"
#include "hadoop/placement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err cleanup_err = {0};
	Hadoop__PlacementConstraintProto *constraint =
		placement_parse((const char *)data, size, &err);

	if (!constraint) {
		if (err.kind != ERR_CONFIG)
			BUG("a refusal without a reason");
		return 0;
	}
	message_free(message_copy(&constraint->base));
	placement_free(constraint);
	return 0;
}
