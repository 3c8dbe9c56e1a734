/* TF_CONFIG and CLUSTER_SPEC, by TonY's rules (tony-java.md 3.4; its issues #506, #512, #515). */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/variables.h"

static int check(const struct job *job, struct err *err)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].processes > 1)
			return err_set(err, ERR_CONFIG,
				       "tony.%s.processes: \"%d\": TensorFlow knows one process "
				       "per address; set it to 1 and ask for more instances",
				       job->types[i].name, job->types[i].processes);
	return 0;
}

/* With parameter servers a lost worker is replaced while the chief goes on. Without them all
 * workers take part in every step: the others hang when one is gone. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add_format(pairs, "tony.application.fail-on-worker-failure-enabled=%s",
			    framework_shape_has(shape, "ps") ? "false" : "true");
}

/* The sidecar serves the browser, not the cluster. An evaluator is in its own cluster only: the
 * others would wait for it to join theirs. */
static bool is_seen_by(const char *type, const char *self)
{
	if (str_equal(type, "tensorboard"))
		return false;
	return !str_equal_nocase(type, "evaluator") || str_equal_nocase(self, "evaluator");
}

static json_t *tf_config(const struct framework_task *task)
{
	const struct cluster *cluster = task->cluster;
	const char *self = task->job->types[task->type].name;
	json_t *types = json_object();

	for (size_t i = 0; i < cluster->type_count; i++)
		if (cluster->types[i].count > 0 && is_seen_by(cluster->types[i].name, self))
			json_object_set_new(types, cluster->types[i].name,
					    address_list_to_json(&cluster->types[i]));
	return json_pack("{s:o, s:{s:s, s:i}}", "cluster", types, "task", "type", self, "index",
			 task->index);
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	if (task->job->mode != JOB_MODE_GANG)
		return 0;
	json_t *config cleanup_json = tf_config(task);
	char *text cleanup_free = json_text(config);
	if (strlen(text) + sizeof("TF_CONFIG=") > ENVIRONMENT_ENTRY_MAX)
		return err_set(err, ERR_CONFIG,
			       "TF_CONFIG would take %zu bytes, and the kernel's limit for a "
			       "variable is %d; use fewer tasks",
			       strlen(text), ENVIRONMENT_ENTRY_MAX);
	variables_add_cluster_spec(task, variables);
	environment_set(variables, "TF_CONFIG", text);
	return 0;
}

const struct framework_ops framework_tensorflow = {
	.name = "tensorflow",
	.check = check,
	.defaults = defaults,
	.environment = environment,
};
