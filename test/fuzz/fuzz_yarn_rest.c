/* Any bytes as what a ResourceManager's web service says of queues, of which two are known. */
#include <stdint.h>
#include <stdlib.h>

#include "scheduler/yarn_rest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};

	scheduler_queues_add(&queues, "default", "root.default");
	scheduler_queues_add(&queues, "ml", "root.ml");
	yarn_rest_parse((const char *)bytes, length, "root", &queues, NULL);
	for (size_t i = 0; i < queues.count; i++)
		for (size_t k = 0; k < queues.items[i].part_count; k++) {
			const struct share left = scheduler_queue_left(&queues.items[i].parts[k]);
			if (left.memory < -1 || left.vcores < -1 || left.gpus < -1)
				abort();
		}
	return 0;
}
