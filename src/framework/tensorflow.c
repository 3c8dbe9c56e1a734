/* TF_CONFIG and CLUSTER_SPEC, by TonY's rules (its issues #506, #512, #515). */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/variables.h"
#include "job/policy_table.h"

/* "master" is TensorFlow 1's name of it. */
static int check_chief(const struct job *job, struct err *err)
{
	static const char *const names[] = {"chief", "master"};
	int chiefs = 0;

	for (size_t i = 0; i < array_length(names); i++) {
		int type = job_find_type(job, names[i]);
		int instances = type < 0 ? 0 : job->types[type].instances;
		chiefs += instances;
		if (instances > 0 && chiefs > 1)
			return err_set(
				err, ERR_CONFIG,
				"tony.%s.instances: \"%d\": TensorFlow knows one chief; set it "
				"to %d and ask for more workers",
				names[i], instances, chiefs == instances ? 1 : 0);
	}
	return 0;
}

static int check(const struct job *job, struct err *err)
{
	if (job->mode != JOB_MODE_GANG)
		return 0; /* no process has an address that another one knows */
	if (check_chief(job, err) < 0)
		return -1;
	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].processes > 1)
			return err_set(err, ERR_CONFIG,
				       "tony.%s.processes: \"%d\": TensorFlow knows one process "
				       "per address; set it to 1 and ask for more instances",
				       job->types[i].name, job->types[i].processes);
	return 0;
}

#define RESTARTS "10"

/* ParameterServerStrategy: the chief tells workers and servers what to do, and these sit in
 * Server.join() for ever. It goes on while a worker is away, and finds it where it was. With ps but
 * no chief the job is one of TonY's time: each worker has a training loop of its own, and ends. */
static void add_parameter_servers(const struct framework_shape *shape, struct str_list *pairs)
{
	if (!framework_shape_has(shape, "chief") || !framework_shape_has(shape, "worker"))
		return;
	if (!str_list_has(shape->timed, "worker"))
		str_list_add(pairs, "tony.application.untracked.jobtypes=ps,worker");
	str_list_add(pairs, "tony.worker.max-restarts=" RESTARTS);
}

/* It follows the checkpoints, often for ever, and nobody's step needs it: the training neither
 * waits for it nor forms anew for its sake. With a group timeout the user decides who is waited
 * for. */
static void add_evaluator(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.evaluator.max-restarts=" RESTARTS);
	if (shape->timed->count == 0)
		str_list_add(pairs, "tony.application.sidecar.jobtypes=tensorboard,evaluator");
}

/* Of types with a server of TensorFlow's, which sets SO_REUSEPORT when it is asked to. Where nobody
 * has named a framework, tasks may run any server. */
static void add_strict_ports(const struct framework_shape *shape, struct str_list *pairs)
{
	static const char *const types[] = {"chief", "master", "worker", "ps", "evaluator"};

	for (size_t i = 0; i < array_length(types); i++)
		if (framework_shape_has(shape, types[i]))
			str_list_add_format(pairs, "tony.%s.strict-port=true", types[i]);
}

/* Without servers (MultiWorkerMirroredStrategy) all workers take part in every step: the others end
 * or hang when one is gone. With FCFS the tasks know nothing of each other. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	bool is_gang = shape->mode == JOB_MODE_GANG, has_ps = framework_shape_has(shape, "ps");
	bool trains = framework_shape_has(shape, "worker") || framework_shape_has(shape, "chief");

	str_list_add_format(pairs, "tony.application.fail-on-worker-failure-enabled=%s",
			    is_gang && !has_ps ? "true" : "false");
	if (is_gang && has_ps)
		add_parameter_servers(shape, pairs);
	if (is_gang && trains && framework_shape_has(shape, "evaluator"))
		add_evaluator(shape, pairs);
	if (is_gang && shape->is_chosen)
		add_strict_ports(shape, pairs);
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
	environment_set(variables, "TF_GRPC_REUSE_PORT", "true");
	return 0;
}

static const char *fixed(const struct job_type *type)
{
	return str_equal(type->name, "ps") ? "each parameter server holds a part of the model"
					   : NULL;
}

static const char *const identity[] = {"TF_CONFIG", "CLUSTER_SPEC", NULL};

static const char *const roles[] = {"chief", "master", "worker", "ps", "evaluator", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("UnavailableError", "AbortedError"), PEERS_FAULT,
		.why = "one of its peers is gone"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_tensorflow = {
	.name = "tensorflow",
	.module = "tensorflow",
	.check = check,
	.defaults = defaults,
	.fixed = fixed,
	.roles = roles,
	.identity = identity,
	.environment = environment,
	.failures = failures,
};
