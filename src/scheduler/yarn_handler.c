/* Does the cluster take placement constraints and allocation tags? */
#include "base/mem.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_rules.h"

/* The key of the job's that needs a handler; NULL: none does. The caller frees. */
static char *find_key(const struct hadoop_cluster *cluster, const struct job *job)
{
	if (cluster->placement)
		return mem_strdup("tony.application.placement-spec");
	for (size_t i = 0; i < cluster->type_count; i++) {
		const struct hadoop_cluster_type *type = &cluster->types[i];
		const char *word = type->placement		     ? "placement-spec"
				   : type->node_attributes.count > 0 ? "node-attribute"
								     : "allocation-tags";
		char *own cleanup_free = mem_printf("tony.%s.%s", job->types[i].name, word);
		if (type->placement || type->node_attributes.count > 0 ||
		    type->allocation_tags.count > 0)
			return job_config(job, own) ? mem_steal(&own)
						    : mem_printf("tony.containers.%s", word);
	}
	return NULL;
}

int yarn_check_handler(const struct hadoop_cluster *cluster, const struct job *job,
		       struct yarn_rules *rules, struct err *err)
{
	char *key cleanup_free = find_key(cluster, job);

	if (!key || !yarn_rules_refuse_placement(rules))
		return 0;
	return err_set(err, ERR_CONFIG,
		       "%s: the cluster takes no placement constraints, node attributes and "
		       "allocation tags "
		       "(" YARN_PLACEMENT_HANDLER
		       "); take the key out, or have an administrator set the handler "
		       "to \"scheduler\", with a FairScheduler to \"placement-processor\"",
		       key);
}
