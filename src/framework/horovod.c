/* Horovod over Gloo, started as horovodrun starts it (horovod/runner/gloo_run.py), with what TonY
 * gives besides. */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/environment.h"
#include "framework/horovod_place.h"
#include "framework/implementations.h"
#include "framework/interface.h"
#include "framework/slots.h"
#include "job/policy_table.h"

#define DEBUG_KEY     "tony.horovod.driver.mode.debug"
#define DRIVER_PREFIX "tony.driver."

/* For how long a process waits for another that does not answer. TonY's value; Horovod's own, 30 s,
 * is short for processes that load at different speeds. In an elastic ring it is also how long some
 * of those who are left may take to notice that one is lost: Gloo tells its neighbours only. */
#define TIMEOUT	     "2000"
#define LIVE_TIMEOUT "60"

/* Gloo connects each with each: what they tell each other there grows with the square. */
enum { PROCESSES_MAX = 4096 };

static const char driver_type[] = "driver";

/* The user's own driver serves the rendezvous: TonY's driver debug mode. A single node's only task
 * has the same name. */
static bool has_driver(const struct job *job)
{
	int type = job_find_type(job, driver_type);

	return type >= 0 && job->types[type].instances > 0 && !framework_is_single_node(job);
}

static bool serves_rendezvous(const struct job *job)
{
	return !has_driver(job);
}

/* ---- the shape ---------------------------------------------------------------------------- */

static const char *find_driver_key(const struct job *job)
{
	const char *key;
	json_t *value;

	json_object_foreach(job->config, key, value)
	{
		if (str_starts_with(key, DRIVER_PREFIX))
			return key;
	}
	return NULL;
}

/* TonY: "Illegal keys". */
static int check_no_driver(const struct job *job, struct err *err)
{
	const char *key = framework_is_single_node(job) ? NULL : find_driver_key(job);

	if (!key)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "%s: the application master serves Horovod's rendezvous itself; leave "
		       "out " DRIVER_PREFIX "*, or set " DEBUG_KEY
		       "=true to run a driver of your own",
		       key);
}

static int check_driver(const struct job *job, struct err *err)
{
	if (!job_config_bool(job, DEBUG_KEY))
		return check_no_driver(job, err);
	if (!has_driver(job))
		return err_set(err, ERR_CONFIG,
			       DEBUG_KEY ": \"true\": there is no driver; set "
					 "tony.driver.instances to 1");
	const struct job_type *driver = &job->types[job_find_type(job, driver_type)];
	if (driver->instances * driver->processes != 1)
		return err_set(err, ERR_CONFIG,
			       "tony.driver.instances: \"%d\": Horovod has one driver; set it, and "
			       "its processes, to 1",
			       driver->instances * driver->processes);
	if (!job_config(job, "tony.driver.command"))
		return err_set(err, ERR_CONFIG,
			       DEBUG_KEY ": \"true\": tony.driver.command is not set; write the "
					 "command of your driver there");
	if (driver->role != JOB_ROLE_UNTRACKED)
		return err_set(err, ERR_CONFIG,
			       "tony.application.untracked.jobtypes: the driver serves the workers "
			       "for ever, and the job ends without it; add driver to this list");
	return 0;
}

/* What others wait for to end is not in their ring. */
static bool is_stage(const struct job *job, size_t type)
{
	for (size_t i = 0; i < job->type_count; i++)
		for (size_t k = 0; k < job->types[i].dependency_count; k++)
			if (job->types[i].dependencies[k].type == type &&
			    !job->types[i].dependencies[k].on_start)
				return true;
	return false;
}

static int check_restarts(const struct job *job, size_t type, struct err *err)
{
	int restarts = job->types[type].max_restarts;

	if (restarts == 0 || is_stage(job, type) || job->live_elastic)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "tony.%s.max-restarts: \"%d\": a process cannot join a ring of Horovod that "
		       "is formed; leave it out, and set tony.am.retry-count for the ring to form "
		       "anew, or make the type elastic",
		       job->types[type].name, restarts);
}

static int check(const struct job *job, struct err *err)
{
	int64_t processes = 0;

	if (job->mode != JOB_MODE_GANG)
		return err_set(err, ERR_CONFIG,
			       "tony.application.distributed-mode: \"FCFS\": Horovod's processes "
			       "need to know how many they are when they start; use GANG");
	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		if (type->role != JOB_ROLE_TRACKED || type->instances == 0)
			continue;
		if (check_restarts(job, i, err) < 0)
			return -1;
		processes += (int64_t)job_type_slots(type) * type->processes;
	}
	if (processes == 0)
		return err_set(
			err, ERR_CONFIG,
			"tony.application.untracked.jobtypes: every task is untracked, so no "
			"one trains; leave one type, such as worker, out of it");
	if (processes > PROCESSES_MAX)
		return err_set(err, ERR_CONFIG,
			       "tony.worker.instances: %lld processes in one ring, in which Gloo "
			       "connects each with each; ask for at most %d",
			       (long long)processes, PROCESSES_MAX);
	return check_driver(job, err);
}

/* All ranks take part in every step. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
	if (framework_shape_has(shape, driver_type))
		str_list_add(pairs, "tony.application.untracked.jobtypes=driver");
	/* Gloo listens at ports of its own choice. */
	for (size_t i = 0; i < shape->types->count; i++)
		if (!str_equal(shape->types->items[i], driver_type))
			str_list_add_format(pairs, "tony.%s.strict-port=true",
					    shape->types->items[i]);
}

/* ---- the environment ---------------------------------------------------------------------- */

/* The indexes of the tasks on the host of this one. */
static json_t *same_host_tasks(const struct framework_task *task, const struct slots *slots)
{
	const struct cluster_address *self = address_of_task(task);
	json_t *list = json_array();

	for (size_t i = 0; self && i < slots->count; i++)
		if (slots->items[i].process == 0 && str_equal(slots->items[i].host, self->host))
			json_array_append_new(list, json_integer(slots->items[i].index));
	return list;
}

/* TonY's; of the user's own driver it is known only later (horovod_plan.h). */
static void add_spec(const struct framework_task *task, const struct slots *slots,
		     struct environment *variables)
{
	const struct cluster_address *rendezvous = &task->cluster->rendezvous;
	json_t *spec cleanup_json = json_object();

	json_object_set_new(spec, "slotInfos", slots_to_json(slots));
	if (rendezvous->host) {
		char *port cleanup_free = mem_printf("%d", rendezvous->port);
		json_set_text(spec, "port", port);
		json_set_text(spec, "amHost", rendezvous->host);
	}
	json_object_set_new(spec, "sameHostTaskIndexList", same_host_tasks(task, slots));
	char *text cleanup_free = json_text(spec);
	if (strlen(text) + sizeof("CLUSTER_SPEC=") <= ENVIRONMENT_ENTRY_MAX)
		environment_set(variables, "CLUSTER_SPEC", text);
}

static void add_driver(const struct framework_task *task, const struct slots *slots,
		       struct environment *variables)
{
	char *hosts cleanup_free = slots_hosts(slots);
	char *container cleanup_free = fs_dirname(task->cluster_file);

	environment_set(variables, "CLUSTER_SPEC", hosts);
	environment_set(variables, "CLUSTER_WORKER_LIST", hosts);
	/* One of its own for every run: what is in it is of this one. */
	environment_set_format(variables, "DRIVER_OUTPUT_PATH", "%s/driver-%d-%d", container,
			       task->cluster->epoch, task->restart);
}

static void add_gloo(const char *host, const char *timeout, struct environment *variables)
{
	/* Without it Gloo takes the address that the machine's name resolves to: often one that
	 * peers cannot reach (Debian's 127.0.1.1). */
	char *interface cleanup_free = interface_of(host);

	environment_set(variables, "HOROVOD_CONTROLLER", "gloo");
	environment_set(variables, "HOROVOD_CPU_OPERATIONS", "gloo");
	environment_set(variables, "HOROVOD_GLOO_TIMEOUT_SECONDS", timeout);
	if (interface)
		environment_set(variables, "HOROVOD_GLOO_IFACE", interface);
}

static void add_slot(const struct slot *slot, size_t size, struct environment *variables)
{
	add_gloo(slot->host, TIMEOUT, variables);
	environment_set(variables, "HOROVOD_HOSTNAME", slot->host);
	environment_set_format(variables, "HOROVOD_RANK", "%d", slot->rank);
	environment_set_format(variables, "HOROVOD_SIZE", "%zu", size);
	environment_set_format(variables, "HOROVOD_LOCAL_RANK", "%d", slot->local_rank);
	environment_set_format(variables, "HOROVOD_LOCAL_SIZE", "%d", slot->local_size);
	environment_set_format(variables, "HOROVOD_CROSS_RANK", "%d", slot->cross_rank);
	environment_set_format(variables, "HOROVOD_CROSS_SIZE", "%d", slot->cross_size);
}

static bool is_driver(const struct framework_task *task)
{
	return has_driver(task->job) && str_equal(task->job->types[task->type].name, driver_type);
}

static int add_rendezvous(const struct framework_task *task, struct environment *variables,
			  struct err *err)
{
	const struct cluster_address *rendezvous = &task->cluster->rendezvous;

	if (!rendezvous->host)
		return serves_rendezvous(task->job)
			       ? err_set(err, ERR_INPUT, "the cluster spec has no rendezvous")
			       : 0;
	environment_set(variables, "HOROVOD_GLOO_RENDEZVOUS_ADDR", rendezvous->host);
	environment_set_format(variables, "HOROVOD_GLOO_RENDEZVOUS_PORT", "%d", rendezvous->port);
	return 0;
}

static int add_member(const struct framework_task *task, const struct slots *slots,
		      struct environment *variables, struct err *err)
{
	add_slot(slots_find(slots, task), slots->count, variables);
	return add_rendezvous(task, variables, err);
}

/* Its place in the ring is what it asks for itself (command()). */
static int add_live_member(const struct framework_task *task, struct environment *variables,
			   struct err *err)
{
	const struct cluster_address *address = address_of_task(task);

	if (!address)
		return err_set(err, ERR_INPUT, "the cluster spec has no address for this task");
	char *name cleanup_free = horovod_process_name(&(struct horovod_process){
		.host = address->host,
		.type = task->job->types[task->type].name,
		.slot = task->slot,
		.process = task->process,
		.attempt = task->attempt,
		.epoch = task->cluster->epoch,
		.restart = task->restart,
	});
	add_gloo(address->host, LIVE_TIMEOUT, variables);
	environment_set(variables, "HOROVOD_ELASTIC", "1");
	environment_set(variables, "HOROVOD_HOSTNAME", name);
	return add_rendezvous(task, variables, err);
}

static bool is_member(const struct framework_task *task)
{
	return task->job->types[task->type].role == JOB_ROLE_TRACKED;
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	struct slots slots cleanup_slots = {0};
	bool needs_ring = is_member(task) || is_driver(task);

	if (task->job->live_elastic)
		return is_member(task) ? add_live_member(task, variables, err) : 0;
	/* A sidecar may start while the ring is not complete. */
	if (slots_build(task->job, task->cluster, &slots, needs_ring ? err : NULL) < 0)
		return needs_ring ? -1 : 0;
	if (is_driver(task))
		add_driver(task, &slots, variables);
	else
		add_spec(task, &slots, variables);
	return is_member(task) ? add_member(task, &slots, variables, err) : 0;
}

static bool needs_driver(const struct framework_task *task)
{
	return has_driver(task->job) && is_member(task) && !is_stage(task->job, task->type);
}

/* The user's driver is watched until it has told where its rendezvous is, and those that need it
 * wait so long; a member of an elastic ring waits until the others are ready to take it in
 * (executor/horovod.h). $0 is the shell that runs this. */
static char *command(const struct framework_task *task, const char *command)
{
	bool driver = is_driver(task), is_live = task->job->live_elastic && is_member(task);

	if (!driver && !is_live && !needs_driver(task))
		return mem_strdup(command);
	char *agent cleanup_free = str_shell_quote(task->agent);
	char *quoted cleanup_free = str_shell_quote(command);
	if (!driver)
		return mem_printf("exec %s horovod %s \"$0\" -c %s", agent,
				  is_live ? "member" : "worker", quoted);
	return mem_printf("exec %s horovod driver %lld \"$0\" -c %s", agent,
			  (long long)task->job->registration_timeout_ms, quoted);
}

static const char *const identity[] = {"HOROVOD_RANK",
				       "HOROVOD_SIZE",
				       "HOROVOD_LOCAL_RANK",
				       "HOROVOD_LOCAL_SIZE",
				       "HOROVOD_CROSS_RANK",
				       "HOROVOD_CROSS_SIZE",
				       "HOROVOD_HOSTNAME",
				       "HOROVOD_GLOO_RENDEZVOUS_ADDR",
				       "HOROVOD_GLOO_RENDEZVOUS_PORT",
				       "CLUSTER_SPEC",
				       NULL};

static const char *const roles[] = {"driver", "worker", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("HorovodInternalError", "Horovod has been shut down"), PEERS_FAULT,
		.why = "a collective operation failed: one of its peers is gone"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_horovod = {
	.name = "horovod",
	.module = "horovod",
	.defaults = defaults,
	.check = check,
	.rendezvous = serves_rendezvous,
	.lives_through_changes = serves_rendezvous,
	.roles = roles,
	.identity = identity,
	.environment = environment,
	.failures = failures,
	.command = command,
};
