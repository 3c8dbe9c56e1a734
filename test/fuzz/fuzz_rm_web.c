/* Any bytes as what a ResourceManager's web service tells: of its scheduler, where two queues are
 * known, and one key of its configuration. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "hadoop/site.h"
#include "scheduler/yarn_resources.h"

static void read_queues(json_t *answer, const char *type)
{
	static const char *const names[] = {"", "root", "ml", "root.ml.bob", ".", "root..x"};
	Hadoop__GetQueueUserAclsInfoResponseProto access =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_RESPONSE_PROTO__INIT;
	Hadoop__QueueInfoProto root = HADOOP__QUEUE_INFO_PROTO__INIT, leaf = root, ml = root,
			       *children[] = {&leaf, &ml};
	struct scheduler_queues queues cleanup_scheduler_queues = {0};

	root.queuename = (char *)"root";
	leaf.queuename = (char *)"default";
	ml.queuename = (char *)"ml";
	root.n_childqueues = 2;
	root.childqueues = children;
	struct yarn_tree *tree =
		yarn_tree_read(&root, &access, "root", yarn_rules_of(json_incref(answer), type));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		free(yarn_tree_path(tree, names[i]));
	yarn_queues_take(tree, &queues);
	for (size_t i = 0; i < queues.count; i++)
		for (size_t k = 0; k < queues.items[i].part_count; k++) {
			const struct share left = scheduler_queue_left(&queues.items[i].parts[k]);
			if (left.memory < -1 || left.vcores < -1 || left.gpus < -1)
				abort();
		}
	yarn_tree_destroy(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *text = (const char *)bytes;
	struct hadoop_site *site cleanup_hadoop_site =
		hadoop_site_parse(text, length, "/conf", NULL);
	json_t *answer cleanup_json = json_parse(text, length, NULL);

	if (site)
		hadoop_site_get(site, "yarn.scheduler.minimum-allocation-mb");
	read_queues(answer, NULL);
	read_queues(answer, "FairScheduler");
	return 0;
}
