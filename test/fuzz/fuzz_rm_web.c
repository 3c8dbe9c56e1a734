/* Any bytes as what a ResourceManager tells of its scheduler, and as one key of its configuration.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "hadoop/rm_web.h"
#include "hadoop/site.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char *const paths[] = {"root", "root.ml", "root.users.bob",
					    "",	    ".",       "root..x"};
	const char *text = (const char *)bytes;
	struct hadoop_site *site cleanup_hadoop_site =
		hadoop_site_parse(text, length, "/conf", NULL);
	json_t *scheduler cleanup_json = json_parse(text, length, NULL);

	if (site)
		hadoop_site_get(site, "yarn.scheduler.minimum-allocation-mb");
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct rm_web_queue queue = {.makes = RM_WEB_MAKES_NONE};
		if (rm_web_find_queue(scheduler, paths[i], &queue) &&
		    (queue.makes < RM_WEB_MAKES_NONE || queue.makes > RM_WEB_MAKES_ANY))
			abort();
	}
	return 0;
}
