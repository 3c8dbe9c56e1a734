/* LightGBM's own sockets: each worker has a list of all and a port, both parameters of training. No
 * variable of LightGBM's own says them, so programs hand these on; its command line is given them
 * as key=value. */
#include <string.h>

#include "base/mem.h"
#include "framework/address.h"
#include "framework/implementations.h"
#include "framework/rank.h"
#include "framework/variables.h"
#include "job/policy_table.h"

static int check_type(const struct job_type *type, struct err *err)
{
	if (type->processes == 1)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "tony.%s.processes: \"%d\": LightGBM has one process for each port, with as "
		       "many threads as you like; set it to 1, and tony.%s.vcores to %d",
		       type->name, type->processes, type->name, type->processes * type->vcores);
}

static int check(const struct job *job, struct err *err)
{
	return rank_check(job, "LightGBM's machines", check_type, err);
}

/* All workers take part in every step. LightGBM binds its port without SO_REUSEADDR and
 * SO_REUSEPORT: nobody can hold it. */
static void defaults(const struct framework_shape *shape, struct str_list *pairs)
{
	str_list_add(pairs, "tony.application.fail-on-worker-failure-enabled=true");
	for (size_t i = 0; i < shape->types->count; i++)
		str_list_add_format(pairs, "tony.%s.hold-port=false", shape->types->items[i]);
}

/* ---- the list of machines ------------------------------------------------------------------ */

static bool has_names(const struct cluster *cluster)
{
	for (size_t type = 0; type < cluster->type_count; type++)
		for (size_t i = 0; i < cluster->types[type].count; i++)
			if (!address_is_ipv4(cluster->types[type].addresses[i].host))
				return true;
	return false;
}

/* A machine finds itself in the list by its port and a number of one of its devices, and never
 * connects to itself: so where hosts are names, its own, which may have no such number, is that of
 * the loopback device. */
static int append_machine(const struct cluster_address *machine, bool is_own, struct str *list,
			  struct err *err)
{
	if (strchr(machine->host, ':'))
		return err_set(err, ERR_INPUT,
			       "LightGBM's machines know IPv4 only, and the address is %s",
			       machine->host);
	const char *host = is_own && !address_is_ipv4(machine->host) ? "127.0.0.1" : machine->host;
	str_append_format(list, "%s%s:%d", list->length > 0 ? "," : "", host, machine->port);
	return 0;
}

/* In the order of ranks: LightGBM numbers its machines so. */
static int append_machines(const struct framework_task *task, struct str *list, struct err *err)
{
	size_t count, *order cleanup_free = rank_order(task->job, task->cluster, &count);
	const struct cluster_address *own = address_of_task(task);

	for (size_t i = 0; i < count; i++) {
		const struct cluster_type *type = &task->cluster->types[order[i]];
		for (size_t k = 0; k < type->count; k++)
			if (append_machine(&type->addresses[k], &type->addresses[k] == own, list,
					   err) < 0)
				return -1;
	}
	if (list->length + sizeof("LIGHTGBM_MACHINES=") <= ENVIRONMENT_ENTRY_MAX)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "the list of LightGBM's machines would take %zu bytes, and the kernel's "
		       "limit for a variable is %d; use fewer workers with more cores",
		       list->length, ENVIRONMENT_ENTRY_MAX);
}

static int environment(const struct framework_task *task, struct environment *variables,
		       struct err *err)
{
	struct rank rank;
	struct str machines cleanup_str = {0};

	variables_add_cluster_spec(task, variables);
	if (!rank_find(task, &rank))
		return 0;
	if (append_machines(task, &machines, err) < 0)
		return -1;
	environment_set(variables, "LIGHTGBM_MACHINES", str_text(&machines));
	environment_set_format(variables, "LIGHTGBM_NUM_MACHINES", "%d", rank.world);
	environment_set_format(variables, "LIGHTGBM_LOCAL_LISTEN_PORT", "%d",
			       address_of_task(task)->port);
	/* By itself each would have a thread for every core of the machine, which wait by asking
	 * again and again. */
	environment_set_format(variables, "OMP_NUM_THREADS", "%d",
			       task->job->types[task->type].vcores);
	return 0;
}

/* LightGBM takes no names for hosts. They are looked up where it runs, by the C library there. */
static const char resolve_machines[] =
	"LIGHTGBM_MACHINES=$(IFS=,; for machine in $LIGHTGBM_MACHINES; do "
	"number=$(getent ahostsv4 \"${machine%:*}\") || "
	"{ echo \"tony: LightGBM needs the IPv4 address of ${machine%:*}, and getent finds none\" "
	">&2; exit 1; }; echo -n \"${number%% *}:${machine##*:},\"; done) || exit 1\n"
	"LIGHTGBM_MACHINES=${LIGHTGBM_MACHINES%,}\n";

static char *command(const struct framework_task *task, const char *command)
{
	struct rank rank;

	if (!rank_find(task, &rank) || !has_names(task->cluster))
		return mem_strdup(command);
	return mem_printf("%s%s", resolve_machines, command);
}

static const char *const identity[] = {"LIGHTGBM_MACHINES", "LIGHTGBM_NUM_MACHINES",
				       "LIGHTGBM_LOCAL_LISTEN_PORT", "CLUSTER_SPEC", NULL};

static const char *const roles[] = {"worker", NULL};

/* clang-format off */
static const struct policy_row failures[] = {
	{SAYS("Socket recv error", "Socket send error", "Connecting to rank"), PEERS_FAULT,
		.why = "one of its peers is gone"},
	{0},
};
/* clang-format on */

const struct framework_ops framework_lightgbm = {
	.name = "lightgbm",
	.module = "lightgbm",
	.check = check,
	.defaults = defaults,
	.roles = roles,
	.identity = identity,
	.environment = environment,
	.failures = failures,
	.command = command,
};
