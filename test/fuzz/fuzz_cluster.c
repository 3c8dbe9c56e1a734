/* Any JSON as job->engine and job->stores: what is taken is within all limits, and is written and
 * read again to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "hadoop/cluster.h"

static void check(const struct hadoop_cluster *cluster)
{
	for (size_t i = 0; i < cluster->type_count; i++) {
		const struct hadoop_cluster_type *type = &cluster->types[i];
		for (size_t k = 0; k < type->link_count; k++)
			if (type->links[k].file >= cluster->file_count ||
			    type->links[k].name[0] == '/' ||
			    str_starts_with(type->links[k].name, "../"))
				abort();
		for (size_t k = 0; k < type->environment.count; k++)
			if (strpbrk(type->environment.items[k], "\"$`\\\n"))
				abort();
	}
	if (cluster->rm.count == 0 ||
	    (cluster->file_count > 0 && cluster->agent >= cluster->file_count))
		abort();
}

static struct hadoop_cluster *from_json(const json_t *job, struct err *err)
{
	return hadoop_cluster_from_json(json_object_get(job, "engine"),
					json_object_get(job, "stores"), err);
}

static json_t *to_json(const struct hadoop_cluster *cluster)
{
	json_t *job = json_pack("{s:o, s:{}}", "engine", hadoop_cluster_to_json(cluster), "stores");

	if (hadoop_cluster_has_hdfs(cluster))
		hdfs_access_write(&cluster->hdfs, json_object_get(job, "stores"));
	return job;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct err err cleanup_err = {0};
	json_t *object cleanup_json = json_parse((const char *)bytes, length, NULL);
	struct hadoop_cluster *cluster = from_json(object, &err);

	if (!cluster)
		return 0;
	check(cluster);
	json_t *written cleanup_json = to_json(cluster);
	struct hadoop_cluster *again = from_json(written, &err);
	if (!again)
		abort();
	json_t *written_again cleanup_json = to_json(again);
	if (!json_equal(written, written_again))
		abort();
	hadoop_cluster_destroy(again);
	hadoop_cluster_destroy(cluster);
	return 0;
}
