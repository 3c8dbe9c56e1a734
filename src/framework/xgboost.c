/* XGBoost's collective: the workers find each other through a tracker, which is a task of its own.
 * Programs hand these variables to xgboost.collective.CommunicatorContext(); before XGBoost 2.1 its
 * own code read them. */
#include "base/mem.h"
#include "framework/implementations.h"
#include "framework/rank.h"
#include "framework/variables.h"
#include "job/policy_table.h"

#define TRACKER "tracker"

/* XGBoost's own tracker, at our door. It would bind its port without SO_REUSEADDR, so that tony
 * could not hold it; and a worker that comes before it listens waits for 6 seconds, since the
 * second of its three attempts always fails (the socket is used again: ECONNABORTED). So the
 * command listens from the start, before Python loads the library, and then puts its socket in the
 * place of the one that the tracker has just opened.
 *
 * Ranks follow DMLC_TASK_ID. No timeout: whoever dies or freezes ends the formation, and the
 * tracker with it; without that, workers may take as long as they like to load their data. */
static const char tracker_program[] =
	"import os, socket; "
	"at = os.environ[\"DMLC_TRACKER_URI\"], int(os.environ[\"DMLC_TRACKER_PORT\"]); "
	"door = socket.create_server(at, family=socket.getaddrinfo(*at)[0][0], backlog=1024, "
	"reuse_port=True); "
	"from xgboost.tracker import RabitTracker; "
	"number = os.dup(door.fileno()); "
	"os.close(number); "
	"tracker = RabitTracker(n_workers=int(os.environ[\"DMLC_NUM_WORKER\"]), host_ip=at[0], "
	"sortby=\"task\"); "
	"own = socket.socket(fileno=os.dup(number)); "
	"assert own.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN), "
	"\"this XGBoost has another tracker: set tony.tracker.command\"; "
	"os.dup2(door.fileno(), number); "
	"tracker.start(); "
	"tracker.wait_for()";

static int check_tracker(const struct job_type *tracker, struct err *err)
{
	if (tracker->instances > 1 || tracker->processes > 1)
		return err_set(err, ERR_CONFIG,
			       "tony.tracker.%s: \"%d\": the workers know one tracker; set it to 1",
			       tracker->instances > 1 ? "instances" : "processes",
			       tracker->instances > 1 ? tracker->instances : tracker->processes);
	if (tracker->instances == 1 && tracker->role != JOB_ROLE_UNTRACKED)
		return err_set(err, ERR_CONFIG,
			       "tony.application.untracked.jobtypes: the tracker is no worker, and "
			       "starts anew with the workers; add tracker to this list");
	return 0;
}

static int check(const struct job *job, struct err *err)
{
	int tracker = job_find_type(job, TRACKER);

	if (job->mode != JOB_MODE_GANG)
		return err_set(err, ERR_CONFIG,
			       "tony.application.distributed-mode: \"FCFS\": the workers need the "
			       "tracker's address when they start; use GANG");
	if (tracker >= 0 && check_tracker(&job->types[tracker], err) < 0)
		return -1;
	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].role == JOB_ROLE_TRACKED && job->types[i].instances > 0)
			return 0;
	return err_set(err, ERR_CONFIG,
		       "tony.worker.instances: nobody trains; ask for 1 worker or more");
}

/* All workers take part in every step. They need the tracker only to find each other and to leave:
 * while it starts again in its place they train on. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	char *program cleanup_free = str_shell_quote(tracker_program);

	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
	if (shape->types->count == 0)
		return; /* a single program */
	str_list_add(pairs, "tony.application.untracked.jobtypes=" TRACKER);
	str_list_add(pairs, "tony." TRACKER ".instances=1");
	str_list_add(pairs, "tony." TRACKER ".memory=256m");
	str_list_add(pairs, "tony." TRACKER ".max-restarts=3");
	str_list_add(pairs, "tony." TRACKER ".strict-port=true");
	/* A worker listens at ports of its own choice, but for a tracker that rank 0 starts. */
	for (size_t i = 0; i < shape->types->count; i++)
		str_list_add_format(pairs, "tony.%s.strict-port=true", shape->types->items[i]);
	str_list_add_format(pairs, "tony." TRACKER ".command=exec %s -c %s", shape->python,
			    program);
}

/* Who asked for no tracker has a program whose rank 0 starts one, on its own port. */
static const struct cluster_address *find_tracker(const struct framework_task *task,
						  const struct rank *rank)
{
	int type = job_find_type(task->job, TRACKER);

	if (type >= 0 && task->cluster->types[type].count > 0)
		return &task->cluster->types[type].addresses[0];
	return rank->master;
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	struct rank rank;
	bool ranked = rank_find(task, &rank);
	const struct cluster_address *tracker = find_tracker(task, &rank);

	variables_add_cluster_spec(task, variables);
	if (!tracker || !tracker->host)
		return err_set(err, ERR_INPUT, "the cluster spec has no address for the tracker");
	environment_set(variables, "DMLC_TRACKER_URI", tracker->host);
	environment_set_format(variables, "DMLC_TRACKER_PORT", "%d", tracker->port);
	environment_set_format(variables, "DMLC_NUM_WORKER", "%d", rank.world);
	if (ranked)
		environment_set_format(variables, "DMLC_TASK_ID", "%d", rank.rank);
	return 0;
}

static const char *fixed(const struct job_type *type)
{
	return str_equal(type->name, TRACKER) ? "the workers know one tracker" : NULL;
}

static const char *const identity[] = {"DMLC_TASK_ID",	  "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT",
				       "DMLC_NUM_WORKER", "CLUSTER_SPEC",     NULL};

static const char *const roles[] = {"tracker", "worker", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("rabit", "Rabit", "tracker", "allreduce"), PEERS_FAULT,
		.why = "a peer of its collective operations is gone"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_xgboost = {
	.name = "xgboost",
	.module = "xgboost",
	.check = check,
	.defaults = defaults,
	.fixed = fixed,
	.roles = roles,
	.identity = identity,
	.environment = environment,
	.failures = failures,
};
