/* Ray: a head with the cluster's table, workers, and the user's program as their driver. */
#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/pool.h"
#include "framework/variables.h"
#include "job/policy_table.h"

/* What every node is given.
 *
 * Its files belong into the container, but its sockets lie among them, and a socket's path has at
 * most 107 bytes: /proc/PID/cwd of the executor's guardian is the same directory by a short name,
 * for as long as anything of the node lives, also when the executor is killed. In a PID namespace,
 * where no guardian is to be seen, the shell's parent has that directory.
 *
 * Ports are of the kernel's choice: Ray's own are the same for every node of a machine.
 *
 * Of the memory three tenths are for the object store, as Ray itself would have it of the
 * machine's, and the rest for what tasks declare to need. */
#define NODE_ARGUMENTS                                                                             \
	" --block --temp-dir /proc/${TONY_GUARDIAN_PID:-$PPID}/cwd/ray --node-ip-address "         \
	"\"$TONY_HOST\""                                                                           \
	" --dashboard-agent-listen-port 0 --min-worker-port 0 --max-worker-port 0"                 \
	" --num-gpus {{task.gpus}}"                                                                \
	" --object-store-memory $(({{task.memory}} * 3 / 10 << 20))"                               \
	" --memory $(({{task.memory}} * 7 / 10 << 20))"

/* The head does no tasks, so that it dies of none. No monitor: that is Ray's autoscaler. */
static const struct pool pool = {
	.framework = "Ray",
	.server = "head",
	.server_arguments = "-m ray.scripts.scripts start --head --port \"$TONY_PORT\" --num-cpus 0"
			    " --include-dashboard false --no-monitor" NODE_ARGUMENTS,
	.worker_arguments = "-m ray.scripts.scripts start --address \"$RAY_ADDRESS\""
			    " --num-cpus {{task.vcores}}" NODE_ARGUMENTS,
};

static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	pool_defaults(&pool, shape, pairs);
}

/* Ray takes no object store below 75 MiB. */
enum { LEAST_MIB = 512 };

static int check_node(const struct job_type *type, struct err *err)
{
	if (type->processes > 1)
		return err_set(err, ERR_CONFIG,
			       "tony.%s.processes: \"%d\": a Ray node starts as many processes as "
			       "it has cores; set it to 1 and tony.%s.vcores to %d",
			       type->name, type->processes, type->name,
			       type->processes * type->vcores);
	if (type->memory < LEAST_MIB)
		return err_set(err, ERR_CONFIG,
			       "tony.%s.memory: %lld MiB: a Ray node alone needs more; ask for "
			       "%d MiB or more",
			       type->name, (long long)type->memory, LEAST_MIB);
	return 0;
}

/* A driver talks to a node of its machine, which it looks for in /proc. */
static int check_isolation(const struct job_type *type, struct err *err)
{
	bool talks = str_equal(type->name, pool.server) || type->role == JOB_ROLE_TRACKED;

	if (type->isolation == JOB_ISOLATION_NONE || !talks)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "tony.%s.isolation: \"pid-namespace\": Ray's driver and head must see each "
		       "other's processes; write none",
		       type->name);
}

static int check(const struct job *job, struct err *err)
{
	if (pool_check(&pool, job, err) < 0)
		return -1;
	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		bool is_node = str_equal(type->name, pool.server) || pool_is_worker(type->name);
		if (type->instances > 0 && is_node && check_node(type, err) < 0)
			return -1;
		if (check_isolation(type, err) < 0)
			return -1;
	}
	return 0;
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	const struct cluster_address *head = pool_server(&pool, task, err);

	if (!head)
		return -1;
	char *address cleanup_free = address_text(head);
	variables_add_cluster_spec(task, variables);
	environment_set(variables, "RAY_ADDRESS", address);
	environment_set(variables, "RAY_AUTH_MODE", "token");
	environment_set(variables, "RAY_AUTH_TOKEN_PATH", task->secret_file);
	if (task->guardian > 0)
		environment_set_format(variables, "TONY_GUARDIAN_PID", "%d", task->guardian);
	/* Nothing is told to Ray's makers behind the user's back. */
	environment_set(variables, "RAY_USAGE_STATS_ENABLED", "0");
	/* On SIGTERM a node would wait for its head to move its work elsewhere: but all of them end
	 * at the same time. */
	environment_set(variables, "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S", "0");
	return 0;
}

static const char *const identity[] = {"RAY_ADDRESS", "CLUSTER_SPEC", NULL};

static const char *const roles[] = {"head", "worker", NULL};

/* Ray Train asks once a second for the state of its own actor, which only Ray's dashboard could
 * tell. It is there to clear up after a driver that has died: with tony, all of the cluster ends
 * then. */
static const char *const noise[] = {"Failed to query Ray Train Controller actor state.", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("NodeDiedError", "ActorDiedError", "RaySystemError"), PEERS_FAULT,
		.why = "a node of the Ray cluster is gone"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_ray = {
	.name = "ray",
	.module = "ray",
	.check = check,
	.defaults = defaults,
	.fixed = pool_fixed,
	.lives_through_changes = pool_lives_through_changes,
	.secret = true,
	.roles = roles,
	.identity = identity,
	.noise = noise,
	.environment = environment,
	.failures = failures,
};
