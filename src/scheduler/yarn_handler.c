/* Does the cluster take placement constraints and allocation tags? Its ResourceManager's own
 * configuration says so, "/conf"; without an answer nothing is known. */
#include "base/mem.h"
#include "hadoop/rm_web.h"
#include "scheduler/yarn_client.h"

#define HANDLER	   "yarn.resourcemanager.placement-constraints.handler"
#define TIMEOUT_MS 3000

static bool is_disabled(const struct hadoop_cluster *cluster)
{
	struct rm_web *web = rm_web_open(cluster, TIMEOUT_MS, NULL);
	char *value cleanup_free = NULL, *scheduler cleanup_free = NULL;

	if (web)
		rm_web_conf(web, HANDLER, &value);
	if (str_equal_nocase(value, "scheduler"))
		rm_web_conf(web, "yarn.resourcemanager.scheduler.class", &scheduler);
	rm_web_close(web);
	/* The FairScheduler has none of its own. */
	bool is_fair = scheduler && str_ends_with(scheduler, ".FairScheduler");
	return is_fair || str_equal_nocase(value, "disabled");
}

/* The key of the job's that needs a handler; NULL: none does. The caller frees. */
static char *find_key(const struct hadoop_cluster *cluster, const struct job *job)
{
	if (cluster->placement)
		return mem_strdup("tony.application.placement-spec");
	for (size_t i = 0; i < cluster->type_count; i++) {
		const struct hadoop_cluster_type *type = &cluster->types[i];
		const char *word = type->placement ? "placement-spec" : "allocation-tags";
		char *own cleanup_free = mem_printf("tony.%s.%s", job->types[i].name, word);
		if (type->placement || type->allocation_tags.count > 0)
			return job_config(job, own) ? mem_steal(&own)
						    : mem_printf("tony.containers.%s", word);
	}
	return NULL;
}

int yarn_check_handler(const struct hadoop_cluster *cluster, const struct job *job, struct err *err)
{
	char *key cleanup_free = find_key(cluster, job);

	if (!key || !is_disabled(cluster))
		return 0;
	return err_set(err, ERR_CONFIG,
		       "%s: the cluster takes no placement constraints and no allocation tags "
		       "(" HANDLER "); take the key out, or have an administrator set the handler "
		       "to \"scheduler\", with a FairScheduler to \"placement-processor\"",
		       key);
}
