/* Can the cluster ever run this job? Asked before anything is sent; a refusal names the numbers. */
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "hadoop/methods.h"
#include "hadoop/placement.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_near.h"

#define MAX_TAGS      10 /* YARN's own limits */
#define MAX_TAG_BYTES 100

/* ---- the largest container ---------------------------------------------------------------- */

static int64_t maximum_of(const Hadoop__ResourceProto *maximum, const char *name)
{
	for (size_t i = 0; i < maximum->n_resource_value_map; i++)
		if (str_equal(maximum->resource_value_map[i]->key, name))
			return maximum->resource_value_map[i]->value;
	return -1;
}

/* "worker:0" asks for a container, by keys that begin with "tony.worker". */
struct asker {
	const char *who, *keys;
};

/* `key` sets the limit, and `resource` is the word of the key that asks for too much. */
static int refuse_size(const struct asker *asker, const char *need, const char *most,
		       const char *key, const char *resource, struct err *err)
{
	return err_set(err, ERR_CAPACITY,
		       "%s needs %s; the cluster's largest container has %s (%s); lower %s.%s",
		       asker->who, need, most, key, asker->keys, resource);
}

static int check_size(const struct asker *asker, int64_t memory, int64_t vcores,
		      const Hadoop__ResourceProto *maximum, struct err *err)
{
	if (memory > maximum->memory) {
		char *need cleanup_free = str_format_mib_beside(memory, maximum->memory);
		char *most cleanup_free = str_format_mib_beside(maximum->memory, memory);
		return refuse_size(asker, need, most, "yarn.scheduler.maximum-allocation-mb",
				   "memory", err);
	}
	if (vcores > maximum->virtual_cores) {
		char *need cleanup_free =
			mem_printf("%" PRId64 " vcore%s", vcores, str_plural(vcores));
		char *most cleanup_free = mem_printf("%d", maximum->virtual_cores);
		return refuse_size(asker, need, most, "yarn.scheduler.maximum-allocation-vcores",
				   "vcores", err);
	}
	return 0;
}

/* YARN itself drops a resource that it does not know without a word. */
static int check_amount(const struct asker *asker, const struct hadoop_amount *amount,
			const Hadoop__ResourceProto *maximum, struct err *err)
{
	int64_t most = maximum_of(maximum, amount->name);
	bool is_gpu = str_equal(amount->name, "yarn.io/gpu");
	char *resource cleanup_free =
		is_gpu ? mem_strdup("gpus") : mem_printf("resource.%s", amount->name);

	if (most < 0)
		return err_set(err, ERR_CAPACITY,
			       "%s needs %" PRId64 " of %s, but %s not available on the cluster "
			       "(yarn.resource-types); take %s.%s out",
			       asker->who, amount->value, amount->name,
			       is_gpu ? "GPU is" : "that resource is", asker->keys, resource);
	if (amount->value <= most)
		return 0;
	char *need cleanup_free = mem_printf("%" PRId64 " of %s", amount->value, amount->name);
	char *number cleanup_free = mem_printf("%" PRId64, most);
	char *key cleanup_free =
		mem_printf("yarn.resource-types.%s.maximum-allocation", amount->name);
	return refuse_size(asker, need, number, key, resource, err);
}

static int check_tasks(const struct hadoop_cluster *cluster, const struct job *job,
		       const Hadoop__ResourceProto *maximum, struct err *err)
{
	struct yarn_am_size am = yarn_am_size(job);
	const struct asker am_asker = {"the application master", "tony.am"};

	if (check_size(&am_asker, am.memory, am.vcores, maximum, err) < 0)
		return -1;
	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		const struct hadoop_cluster_type *more = &cluster->types[i];
		char *who cleanup_free = mem_printf("%s:0", type->name);
		char *keys cleanup_free = mem_printf("tony.%s", type->name);
		const struct asker asker = {who, keys};
		if (type->instances == 0)
			continue;
		if (check_size(&asker, type->memory, type->vcores, maximum, err) < 0)
			return -1;
		for (size_t k = 0; k < more->amount_count; k++)
			if (check_amount(&asker, &more->amounts[k], maximum, err) < 0)
				return -1;
	}
	return 0;
}

/* ---- what the types want beside memory and cores ------------------------------------------ */

static void add_amount(struct hadoop_cluster_type *type, const char *name, int64_t value)
{
	type->amounts =
		mem_realloc_array(type->amounts, type->amount_count + 1, sizeof(*type->amounts));
	type->amounts[type->amount_count++] =
		(struct hadoop_amount){.name = mem_strdup(name), .value = value};
}

/* tony.<type>.resource.<name> */
static int add_amounts(const struct job *job, const struct job_type *from,
		       struct hadoop_cluster_type *type, struct err *err)
{
	char *prefix cleanup_free = mem_printf("tony.%s.resource.", from->name);
	const char *key;
	json_t *entry;

	if (from->gpus > 0)
		add_amount(type, "yarn.io/gpu", from->gpus);
	json_object_foreach(job->config, key, entry)
	{
		const char *text = job_config(job, key);
		int64_t value;
		if (!str_starts_with(key, prefix) || !text)
			continue;
		if (str_parse_int(text, 0, INT64_MAX, &value) < 0)
			return err_set(err, ERR_CONFIG, "%s: \"%s\" is not a number; write 1", key,
				       text);
		if (value > 0)
			add_amount(type, key + strlen(prefix), value);
	}
	return 0;
}

/* The variables of YARN's Docker runtime (yarn.nodemanager.runtime.linux.docker.*). */
static int add_docker(const struct job *job, const char *image, struct str_list *environment,
		      struct err *err)
{
	const char *mounts = job_config(job, "tony.docker.containers.mount");

	if (!job_config_bool(job, "tony.docker.enabled"))
		return 0;
	if (!image)
		return err_set(err, ERR_CONFIG,
			       "tony.docker.enabled is true, but there is no image; write "
			       "tony.docker.containers.image");
	if (strpbrk(image, "\"$`\\\r\n") || (mounts && strpbrk(mounts, "\"$`\\\r\n")))
		return err_set(err, ERR_CONFIG,
			       "tony.docker.*: \"%s\" has a letter that no image or path has",
			       strpbrk(image, "\"$`\\\r\n") ? image : mounts);
	str_list_add(environment, "YARN_CONTAINER_RUNTIME_TYPE=docker");
	str_list_add_format(environment, "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=%s", image);
	if (mounts)
		str_list_add_format(environment, "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS=%s", mounts);
	return 0;
}

static int check_placement(const char *key, const char *text, struct err *err)
{
	Hadoop__PlacementConstraintProto *constraint = placement_parse(text, strlen(text), err);

	if (!constraint)
		return err_wrap(err, "%s", key);
	placement_free(constraint);
	return 0;
}

static int check_placements(const struct job *job, struct err *err)
{
	static const char last[] = ".placement-spec";
	const char *key;
	json_t *entry;

	json_object_foreach(job->config, key, entry)
	{
		const char *text = job_config(job, key);
		if (text && str_ends_with(key, last) && check_placement(key, text, err) < 0)
			return -1;
	}
	return 0;
}

/* A path in HDFS is written out, as its executors need it; any other is the programs' affair. */
static int resolve_checkpoint_dir(const struct hadoop_cluster *cluster, struct job *job,
				  struct err *err)
{
	const char *place = job->checkpoint_dir;
	if (!place || (!str_starts_with(place, "hdfs:") && !str_starts_with(place, "viewfs:")))
		return 0;
	char *url = yarn_url_within(cluster, job->checkpoint_dir);
	if (!url)
		return err_set(err, ERR_CONFIG,
			       "tony.application.checkpoint-dir: %s is not in the cluster's file "
			       "system; write %s/PATH%s",
			       job->checkpoint_dir, hadoop_cluster_fs_name(cluster),
			       hadoop_cluster_has_hdfs(cluster) ? " or hdfs:///PATH" : "");
	mem_replace(&job->checkpoint_dir, url);
	return 0;
}

static const char *own_or_common(const struct job *job, const char *type, const char *what)
{
	const char *own = job_config_format(job, "tony.%s.%s", type, what);

	return own ? own : job_config_format(job, "tony.containers.%s", what);
}

/* A container that may be taken away at any time is only for what the job can do without. */
static int describe_execution(const struct job *job, const struct job_type *from,
			      struct hadoop_cluster_type *type, struct err *err)
{
	const char *wanted = job_config_format(job, "tony.%s.execution-type", from->name);

	type->is_opportunistic = str_equal(wanted, "opportunistic");
	if (!type->is_opportunistic)
		return 0;
	if (!job_type_is_elastic(from))
		return err_set(err, ERR_CONFIG,
			       "tony.%s.execution-type: opportunistic containers are killed "
			       "whenever their node needs the room, and the job cannot do without "
			       "a %s; write guaranteed, or say in tony.%s.min-instances how many "
			       "it needs",
			       from->name, from->name, from->name);
	if (type->placement || type->allocation_tags.count > 0 || type->node_attributes.count > 0)
		return err_set(
			err, ERR_CONFIG,
			"tony.%s.execution-type: YARN places no opportunistic containers by "
			"placement-spec, node-attribute or allocation-tags; write guaranteed, "
			"or take these out",
			from->name);
	return 0;
}

/* Beside a label YARN would look for the attribute on nodes without one. */
static int describe_attributes(const struct job *job, const struct job_type *from,
			       struct hadoop_cluster_type *type, struct err *err)
{
	const char *text = own_or_common(job, from->name, "node-attribute");
	const char *label = from->node_label ? from->node_label
					     : job_config(job, "tony.application.node-label");

	str_split(&type->node_attributes, text ? text : "", ',');
	for (size_t i = 0; i < type->node_attributes.count; i++)
		if (placement_check_attribute(type->node_attributes.items[i], err) < 0)
			return err_wrap(err, "tony.%s.node-attribute", from->name);
	return text && label
		       ? err_set(err, ERR_CONFIG,
				 "tony.%s.node-attribute: YARN takes no attribute beside a node "
				 "label, here \"%s\"; take one of them out",
				 from->name, label)
		       : 0;
}

static int describe_type(const struct job *job, const struct job_type *from,
			 struct hadoop_cluster_type *type, struct err *err)
{
	const char *tags = own_or_common(job, from->name, "allocation-tags");

	type->placement = mem_strdup(own_or_common(job, from->name, "placement-spec"));
	str_split(&type->allocation_tags, tags ? tags : "", ',');
	if (describe_attributes(job, from, type, err) < 0 ||
	    describe_execution(job, from, type, err) < 0 || add_amounts(job, from, type, err) < 0)
		return -1;
	return add_docker(job, from->docker_image, &type->environment, err);
}

static bool has_tag(const struct hadoop_cluster *cluster, const char *tag)
{
	for (size_t i = 0; i < cluster->type_count; i++)
		if (str_list_has(&cluster->types[i].allocation_tags, tag))
			return true;
	return false;
}

/* A tag of a constraint that no container of the job has; NULL: none. */
static const char *find_strange_tag(const struct hadoop_cluster *cluster,
				    const Hadoop__PlacementConstraintProto *constraint)
{
	const Hadoop__SimplePlacementConstraintProto *simple = constraint->simpleconstraint;
	const Hadoop__CompositePlacementConstraintProto *all = constraint->compositeconstraint;
	const char *found = NULL;

	for (size_t i = 0; simple && i < simple->n_targetexpressions && !found; i++) {
		const Hadoop__PlacementConstraintTargetProto *target = simple->targetexpressions[i];
		for (size_t k = 0; k < target->n_targetvalues && !found; k++)
			found = has_tag(cluster, target->targetvalues[k]) ? NULL
									  : target->targetvalues[k];
	}
	for (size_t i = 0; all && i < all->n_childconstraints && !found; i++)
		found = find_strange_tag(cluster, all->childconstraints[i]);
	return found;
}

/* Of the words within a key; the type's own comes first. */
static const char *placement_place(const struct job *job, const char *type)
{
	if (job_config_format(job, "tony.%s.placement-spec", type))
		return type;
	return job_config(job, "tony.containers.placement-spec") ? "containers" : "application";
}

/* YARN takes such a constraint: "notin" then has no effect, and "in" is never fulfilled. */
static int check_constraint_tags(const struct hadoop_cluster *cluster, const struct job *job,
				 size_t type, struct err *err)
{
	const char *own = cluster->types[type].placement, *name = job->types[type].name;
	const char *text = own ? own : cluster->placement;

	if (!text)
		return 0;
	Hadoop__PlacementConstraintProto *constraint = placement_parse(text, strlen(text), err);
	const char *tag = constraint ? find_strange_tag(cluster, constraint) : NULL;
	if (tag)
		err_set(err, ERR_CONFIG,
			"tony.%s.placement-spec: \"%s\" names the tag \"%s\", and no container of "
			"the "
			"job has it; write tony.%s.allocation-tags=%s",
			placement_place(job, name), text, tag, name, tag);
	int result = constraint && !tag ? 0 : -1;
	placement_free(constraint);
	return result;
}

static int describe(struct hadoop_cluster *cluster, const struct job *job, struct err *err)
{
	const char *am_image = job_config(job, "tony.docker.am.image");
	struct str_list am cleanup_str_list = {0};

	cluster->queue = mem_strdup(job->queue);
	cluster->node_label = mem_strdup(job_config(job, "tony.application.node-label"));
	cluster->placement = mem_strdup(job_config(job, "tony.application.placement-spec"));
	cluster->type_count = job->type_count;
	cluster->types = mem_alloc_array(job->type_count, sizeof(*cluster->types));
	if (am_image && add_docker(job, am_image, &am, err) < 0)
		return -1;
	for (size_t i = 0; i < job->type_count; i++)
		if (describe_type(job, &job->types[i], &cluster->types[i], err) < 0)
			return -1;
	for (size_t i = 0; i < job->type_count; i++)
		if (check_constraint_tags(cluster, job, i, err) < 0)
			return -1;
	return 0;
}

/* ---- logs --------------------------------------------------------------------------------- */

/* A NodeManager that cannot read an expression collects no log of the job's, and deletes all. */
static int check_log_pattern(const char *key, const char *pattern, struct err *err)
{
	if (!pattern || !*pattern || !strchr("*+?", *pattern))
		return 0;
	return err_set(err, ERR_CONFIG,
		       "%s: \"%s\" is no regular expression of Java's: nothing stands before its "
		       "first letter; write .%s",
		       key, pattern, pattern);
}

/* Of the files that yarn_submit() has collected at the end only, one that the user means, too;
 * NULL: there is none, as far as the expression is one of POSIX, too. */
static const char *find_own_log(const char *pattern)
{
	static const char *const names[] = {"stdout",	    "stderr",	    "stdout.1",
					    "stdout.times", "executor.log", "am.stderr",
					    "journal.jsonl"};
	const char *found = NULL;
	regex_t regex;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return NULL;
	for (size_t i = 0; i < array_length(names) && !found; i++)
		found = regexec(&regex, names[i], 0, NULL, 0) == 0 ? names[i] : NULL;
	regfree(&regex);
	return found;
}

static int check_logs(const struct job *job, struct err *err)
{
	static const char *const keys[] = {"tony.yarn.log-include", "tony.yarn.log-exclude",
					   "tony.yarn.rolled-log-include",
					   "tony.yarn.rolled-log-exclude"};
	const char *rolled = job_config(job, "tony.yarn.rolled-log-include");

	for (size_t i = 0; i < array_length(keys); i++)
		if (check_log_pattern(keys[i], job_config(job, keys[i]), err) < 0)
			return -1;
	const char *own = rolled ? find_own_log(rolled) : NULL;
	if (own)
		log_warning("tony.yarn.rolled-log-include: \"%s\" means %s, too; what tony writes, "
			    "YARN collects at the job's end only, since it deletes a file that it "
			    "has collected",
			    rolled, own);
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int check_tags(const struct job *job, struct err *err)
{
	if (job->tags.count + 2 > MAX_TAGS)
		return err_set(err, ERR_CONFIG,
			       "tony.application.tags: YARN takes %d of them at most, and tony "
			       "needs two; there are %zu",
			       MAX_TAGS, job->tags.count);
	for (size_t i = 0; i < job->tags.count; i++) {
		const char *tag = job->tags.items[i];
		bool is_ascii = true;
		for (const char *c = tag; *c; c++)
			is_ascii = is_ascii && *c >= ' ' && *c <= '~';
		if (!is_ascii || strlen(tag) > MAX_TAG_BYTES)
			return err_set(err, ERR_CONFIG,
				       "tony.application.tags: YARN does not take \"%s\": a tag is "
				       "of ASCII letters, %d at most",
				       tag, MAX_TAG_BYTES);
	}
	return 0;
}

/* A job that may have been submitted before has its id. */
static void take_identity(struct hadoop_cluster *cluster, struct job *job,
			  const Hadoop__ApplicationIdProto *id)
{
	char *text = yarn_is_id(job->id) ? mem_strdup(job->id) : hadoop_application_id_text(id);

	cluster->job_dir = yarn_user_path(cluster, text);
	mem_replace(&job->id, text);
	mem_replace(&job->user, mem_strdup(cluster->user));
	yarn_cluster_note(cluster, job);
	if (cluster->require_sasl && str_equal(job_config(job, "tony.application.tls"), "auto"))
		job->tls = true;
}

int yarn_preflight(struct hadoop_cluster *cluster, struct job *job, struct share *given,
		   struct err *err)
{
	Hadoop__GetNewApplicationRequestProto request =
		HADOOP__GET_NEW_APPLICATION_REQUEST_PROTO__INIT;
	ProtobufCMessage *response cleanup_message = NULL;

	if (check_tags(job, err) < 0 || check_placements(job, err) < 0 ||
	    check_logs(job, err) < 0 || yarn_get_tokens(cluster, job, err) < 0 ||
	    yarn_check_staging(cluster, err) < 0 || resolve_checkpoint_dir(cluster, job, err) < 0 ||
	    yarn_history_prepare(cluster, job, err) < 0 || describe(cluster, job, err) < 0 ||
	    yarn_call(cluster, &RM_GET_NEW_APPLICATION, &request.base, &response, NULL, err) < 0)
		return -1;
	const Hadoop__GetNewApplicationResponseProto *made =
		(const Hadoop__GetNewApplicationResponseProto *)response;
	if (!made->application_id || !made->maximumcapability)
		return err_set(err, ERR_INPUT, "the ResourceManager gives no application id");
	if (check_tasks(cluster, job, made->maximumcapability, err) < 0 ||
	    yarn_near_find(cluster, job, err) < 0 ||
	    yarn_check_queue(cluster, job, made->maximumcapability, given, err) < 0)
		return -1;
	take_identity(cluster, job, made->application_id);
	return 0;
}
