/* dask.distributed: a scheduler, workers, and the user's program as their client. */
#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/pool.h"
#include "framework/variables.h"
#include "job/policy_table.h"

/* Dask would show its dashboard on a port of every interface: here it is on the scheduler's address
 * (and needs the package bokeh). tony is the nanny: a worker's own would hide its death. Workers
 * listen on ports of their choice, which they tell the scheduler. The scheduler's port is in no
 * argument list, which other users read: one could be faster there. */
static const struct pool pool = {
	.framework = "Dask",
	.server = "scheduler",
	.server_arguments = "-c 'import os, sys; from distributed.cli.dask_scheduler import main; "
			    "sys.argv += [\"--port\", os.environ[\"TONY_PORT\"]]; "
			    "main(prog_name=\"dask-scheduler\")' --host \"$TONY_HOST\" "
			    "--dashboard-address \"$TONY_HOST:0\"",
	.worker_arguments =
		"-m distributed.cli.dask_worker --no-nanny --no-dashboard --host \"$TONY_HOST\" "
		"--name \"${TONY_TASK/:/-}-{{task.process}}\" "
		"--nthreads $((({{task.vcores}} + {{task.processes}} - 1) / {{task.processes}})) "
		"--memory-limit $(({{task.memory}} / {{task.processes}}))MiB",
};

static int check(const struct job *job, struct err *err)
{
	return pool_check(&pool, job, err);
}

static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	pool_defaults(&pool, shape, pairs);
	str_list_add(pairs, "tony.scheduler.memory=1g");
}

/* Text of a module, which Dask runs in a scheduler (distributed.scheduler.preload). A scheduler
 * that closes would tell its workers to close, too, while tony ends them: they print tracebacks
 * then. So it waits for the workers that are going. */
#define CLOSES_LAST "  # tony: the scheduler closes last"
static const char closes_last[] =
	"from asyncio import sleep" CLOSES_LAST "\n"
	"async def dask_teardown(scheduler):" CLOSES_LAST "\n"
	"    for _ in range(20):" CLOSES_LAST "\n"
	"        if scheduler.workers: await sleep(0.05)" CLOSES_LAST "\n";

/* In the driver only a LocalCluster has a scheduler. */
#define WARNS "def dask_setup(scheduler): import sys; print(\"tony: warning: "
static const char warns_of_local_cluster[] = WARNS
	"LocalCluster starts workers "
	"of its own beside the "
	"program, and this job's workers get nothing to do: write Client() without arguments in "
	"its "
	"place\", file=sys.stderr, flush=True)";

/* What the nanny would set for its workers: each core has a thread of Dask's already
 * (distributed.yaml, nanny.pre-spawn-environ). */
static void add_worker(struct environment *variables)
{
	environment_set(variables, "MALLOC_TRIM_THRESHOLD_", "65536");
	environment_set(variables, "OMP_NUM_THREADS", "1");
	environment_set(variables, "MKL_NUM_THREADS", "1");
	environment_set(variables, "OPENBLAS_NUM_THREADS", "1");
}

/* Client() gives up after 30 s: on a busy machine, or with a slow disk, the scheduler may take
 * longer to start. Workers ask for ever. */
static void add_driver(struct environment *variables)
{
	environment_set(variables, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "300s");
	environment_set(variables, "DASK_DISTRIBUTED__SCHEDULER__PRELOAD", warns_of_local_cluster);
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	const struct cluster_address *scheduler = pool_server(&pool, task, err);
	const char *type = task->job->types[task->type].name;

	if (!scheduler)
		return -1;
	char *address cleanup_free = address_text(scheduler);
	variables_add_cluster_spec(task, variables);
	environment_set_format(variables, "DASK_SCHEDULER_ADDRESS", "tcp://%s", address);
	/* Otherwise what does not fit into memory goes to /tmp, and stays there. */
	environment_set(variables, "DASK_TEMPORARY_DIRECTORY", task->scratch_dir);
	if (pool_is_worker(type))
		add_worker(variables);
	else if (str_equal(type, pool.server))
		environment_set(variables, "DASK_DISTRIBUTED__SCHEDULER__PRELOAD", closes_last);
	else
		add_driver(variables);
	return 0;
}

static const char *const identity[] = {"DASK_SCHEDULER_ADDRESS", "CLUSTER_SPEC", NULL};

/* It logs the text of such a module. */
static const char *const noise[] = {CLOSES_LAST, "Creating preload: " WARNS, NULL};

static const char *const roles[] = {"scheduler", "worker", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("CommClosedError", "KilledWorker"), PEERS_FAULT,
		.why = "a worker of the Dask cluster is gone"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_dask = {
	.name = "dask",
	.module = "dask",
	.check = check,
	.defaults = defaults,
	.fixed = pool_fixed,
	.lives_through_changes = pool_lives_through_changes,
	.roles = roles,
	.noise = noise,
	.identity = identity,
	.environment = environment,
	.failures = failures,
};
