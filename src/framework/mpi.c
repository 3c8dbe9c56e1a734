/*
 * Open MPI without ssh. One task, the launcher, runs the user's mpirun; the workers run `tony-agent
 * host`, in which mpirun has its daemons started: its rsh agent is `tony-agent rsh`. The ranks of a
 * worker are tony.worker.processes.
 *
 * Open MPI reads its parameters as OMPI_MCA_<name>; mpirun hands its own on to the ranks.
 * All that is said here was measured with 4.1.4.
 */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/mpi_host.h"
#include "framework/variables.h"
#include "job/policy_table.h"

static const char launcher_type[] = "launcher", worker_type[] = "worker";

enum { CONCURRENT_DEFAULT = 128 }; /* of plm_rsh_num_concurrent */

static const struct job_type *find_type(const struct job *job, const char *name)
{
	int type = job_find_type(job, name);

	return type >= 0 && job->types[type].instances > 0 ? &job->types[type] : NULL;
}

/* ---- the job ------------------------------------------------------------------------------ */

static int check_worker(const struct job_type *worker, struct err *err)
{
	if (!worker)
		return err_set(err, ERR_CONFIG,
			       "tony.worker.instances: \"0\": with MPI the ranks run in tasks of "
			       "type worker; ask for 1 or more");
	if (worker->role != JOB_ROLE_UNTRACKED)
		return err_set(err, ERR_CONFIG,
			       "tony.application.untracked.jobtypes: with MPI the workers serve "
			       "mpirun for as long as the job lasts; add worker");
	if (!strstr(worker->command, "TONY_AGENT"))
		return err_set(
			err, ERR_CONFIG,
			"tony.worker.command: \"%s\": with MPI the workers run \"$TONY_AGENT\" "
			"host, in which mpirun starts the ranks; leave the key out, and write "
			"tony.launcher.command or -- mpirun COMMAND",
			worker->command);
	return 0;
}

static int check(const struct job *job, struct err *err)
{
	const struct job_type *launcher = find_type(job, launcher_type);

	if (framework_is_single_node(job))
		return 0;
	if (job->mode != JOB_MODE_GANG)
		return err_set(err, ERR_CONFIG,
			       "tony.application.distributed-mode: \"FCFS\": mpirun needs all "
			       "workers when it starts; use GANG");
	if (!launcher || launcher->instances != 1)
		return err_set(err, ERR_CONFIG,
			       "tony.launcher.instances: \"%d\": one task runs mpirun; set it to 1",
			       launcher ? launcher->instances : 0);
	return check_worker(find_type(job, worker_type), err);
}

/* mpirun ends when a rank does, and with it the launcher. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	if (shape->types->count == 0)
		return; /* a single program: mpirun runs the ranks itself */
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
	str_list_add(pairs, "tony.application.untracked.jobtypes=worker");
	str_list_add(pairs, "tony.launcher.instances=1");
	str_list_add(pairs, "tony.launcher.memory=512m");
	str_list_add(pairs, "tony.worker.command=exec \"$TONY_AGENT\" host");
	str_list_add(pairs, "tony.worker.strict-port=true");
	/* mpirun listens at ports of its own choice. */
	str_list_add(pairs, "tony.launcher.strict-port=true");
}

/* ---- the environment ---------------------------------------------------------------------- */

static void set_parameter(struct environment *variables, const char *name, const char *value)
{
	char *key cleanup_free = mem_printf("OMPI_MCA_%s", name);

	environment_set(variables, key, value);
}

static bool is_loopback(const struct cluster_address *address)
{
	return str_starts_with(address->host, "127.") || str_equal(address->host, "::1") ||
	       str_equal(address->host, "localhost");
}

static bool is_on_one_machine(const struct framework_task *task)
{
	const struct cluster *cluster = task->cluster;

	for (size_t type = 0; type < cluster->type_count; type++)
		for (size_t i = 0; i < cluster->types[type].count; i++)
			if (!is_loopback(&cluster->types[type].addresses[i]))
				return false;
	return true;
}

/* Files of mpirun, daemons and ranks, in the container's own directory: daemons of one machine get
 * into each other's way in /tmp, and what a killed one has left is gone with the job. */
static void add_directory(const struct framework_task *task, bool has_ranks,
			  struct environment *variables)
{
	char *directory cleanup_free = fs_dirname(task->cluster_file);

	set_parameter(variables, "orte_tmpdir_base", directory);
	/* The memory that ranks of a container share is a file, which bears the machine's name and
	 * the rank's number within the container: in /dev/shm, ranks of two containers would take
	 * each other's, and crash. The launcher's value would be that of all ranks. */
	if (has_ranks)
		set_parameter(variables, "btl_vader_backing_directory", directory);
}

/* Containers share a machine's cores: to bind, each would begin with the first one. And how busy
 * the machine is, none of them knows. */
static void add_machine(struct environment *variables)
{
	/* Left to themselves, they never use the loopback device. */
	set_parameter(variables, "oob_tcp_if_include", "lo");
	set_parameter(variables, "btl_tcp_if_include", "lo");
	set_parameter(variables, "mpi_yield_when_idle", "1");
	environment_set(variables, "UCX_NET_DEVICES", "lo");
}

static void add_common(struct environment *variables)
{
	/* Who may run a job here is not for mpirun to say. */
	environment_set(variables, "OMPI_ALLOW_RUN_AS_ROOT", "1");
	environment_set(variables, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
	set_parameter(variables, "hwloc_base_binding_policy", "none");
	/* To share what it knows of the hardware, a daemon maps it where it believes that nothing
	 * is: one in twenty hit its own stack, and crashed. */
	set_parameter(variables, "rtc_hwloc_vmhole", "none");
	/* One-sided communication between workers, each of which is a host, needs a component that
	 * Debian's openmpi-mca-params.conf takes out (osc = ^ucx,pt2pt): UCX's, or for programs
	 * without threads pt2pt. The one that is out now only counts what others do. */
	set_parameter(variables, "osc", "^monitoring");
	/* PMIx's other store prints errors for a host without ranks. */
	environment_set(variables, "PMIX_MCA_gds", "hash");
}

/* Open MPI splits the agent's value at blanks and colons. */
static int add_agent(const char *agent, struct environment *variables, struct err *err)
{
	if (agent[strcspn(agent, " \t\n:")])
		return err_set(err, ERR_CONFIG,
			       "tony-agent is \"%s\", and Open MPI can start no program with a "
			       "blank or a colon in its path; install tony elsewhere",
			       agent);
	char *value cleanup_free = mem_printf("%s rsh", agent);
	set_parameter(variables, "plm_rsh_agent", value);
	/* Else daemons start daemons, and detach themselves: then nobody sees one crash. */
	set_parameter(variables, "plm_rsh_no_tree_spawn", "1");
	set_parameter(variables, "orte_leave_session_attached", "1");
	/* Daemons have what all tasks get from their own container: directories differ. */
	set_parameter(variables, "plm_rsh_pass_environ_mca_params", "0");
	/* Whatever batch system tony itself may run in. */
	set_parameter(variables, "plm", "rsh");
	set_parameter(variables, "ras", "^slurm,gridengine,tm,lsf,loadleveler,alps");
	return 0;
}

/* "tony-worker-0:2,tony-worker-1:2" */
static int add_hosts(const struct cluster_type *workers, int slots, struct environment *variables,
		     struct err *err)
{
	struct str hosts cleanup_str = {0};

	for (size_t i = 0; i < workers->count; i++) {
		char *name cleanup_free = mpi_host_name(worker_type, i);
		str_append_format(&hosts, "%s%s:%d", i > 0 ? "," : "", name, slots);
	}
	if (hosts.length + sizeof("OMPI_MCA_orte_default_dash_host=") > ENVIRONMENT_ENTRY_MAX)
		return err_set(err, ERR_CONFIG,
			       "tony.worker.instances: \"%zu\": the list of hosts would take %zu "
			       "bytes, and the kernel's limit for a variable is %d; use fewer "
			       "workers with more processes",
			       workers->count, hosts.length, ENVIRONMENT_ENTRY_MAX);
	set_parameter(variables, "orte_default_dash_host", str_text(&hosts));
	/* mpirun waits for ever when there are more daemons than it may have agents. */
	if (workers->count > CONCURRENT_DEFAULT)
		environment_set_format(variables, "OMPI_MCA_plm_rsh_num_concurrent", "%zu",
				       workers->count);
	return 0;
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	const char *type = task->job->types[task->type].name;
	bool launches = str_equal(type, launcher_type);
	int worker = job_find_type(task->job, worker_type);

	variables_add_cluster_spec(task, variables);
	if (!launches && !str_equal(type, worker_type) && !framework_is_single_node(task->job))
		return 0;
	add_common(variables);
	add_directory(task, !launches, variables);
	if (is_on_one_machine(task))
		add_machine(variables);
	if (!launches)
		return 0;
	if (add_agent(task->agent, variables, err) < 0)
		return -1;
	return add_hosts(&task->cluster->types[worker], task->job->types[worker].processes,
			 variables, err);
}

static const char *fixed(const struct job_type *type)
{
	return str_equal(type->name, launcher_type) ? "one task runs mpirun" : NULL;
}

static const char *const identity[] = {"OMPI_MCA_orte_default_dash_host", "CLUSTER_SPEC", NULL};

static const char *const roles[] = {"launcher", "worker", NULL};

/* mpirun gives each agent a process group of its own, as the agent has done for itself by then:
 * where it has also begun to run, mpirun's attempt fails, and mpirun goes on
 * (plm_rsh_module.c, process_launch_list). */
static const char *const noise[] = {"plm:rsh: Warning: setpgid(", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("not enough slots"), NEVER,
		.why = "mpirun wants more processes than the job has places for"},
	{SAYS("ORTE daemon has unexpectedly failed", "PRTE daemon has unexpectedly failed",
	      "lost communication with", "daemon did not report back"), CLUSTERS_FAULT,
		.why = "mpirun lost one of its machines"},
	{SAYS("communication peer process has unexpectedly disconnected"), PEERS_FAULT,
		.why = "one of its peers is gone"},
	{SAYS("unable to launch the specified application", "could not access or execute an executable"),
		NEVER,
		.why = "mpirun could not find or execute the program"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_mpi = {
	.name = "mpi",
	.module = "mpi4py",
	.launcher = "mpirun python3",
	.check = check,
	.defaults = defaults,
	.starts_processes = true,
	.fixed = fixed,
	.roles = roles,
	.identity = identity,
	.noise = noise,
	.environment = environment,
	.failures = failures,
};
