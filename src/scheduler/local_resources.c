#include "scheduler/local_resources.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/user.h"
#include "conf/conf.h"
#include "scheduler/allotment.h"
#include "scheduler/local_parent.h"
#include "scheduler/resources.h"
#include "scheduler/shared_ledger.h"
#include "scheduler/state_dir.h"

#define QUEUE_NAME "default" /* of tony.application.queue */

/* This machine, and what the jobs on it hold. */
struct machine {
	struct capacity capacity;
	struct ledger *ledger; /* NULL: this user has had no job here */
	const struct ledger_entry *own;
	size_t own_count;
	struct neighbours neighbours;
	struct share total, used;
	int64_t user_gpus;
	char *note;
};

static void machine_finish(struct machine *machine)
{
	capacity_finish(&machine->capacity);
	ledger_close(machine->ledger);
	neighbours_finish(&machine->neighbours);
	free(machine->note);
}
#define cleanup_machine __attribute__((cleanup(machine_finish)))

/* ---- reading it --------------------------------------------------------------------------- */

static int find_capacity(struct capacity *capacity, struct err *err)
{
	static const char *const keys[] = {"tony.local.memory", "tony.local.vcores",
					   "tony.local.gpus", "tony.local.max-gpus-per-user"};
	struct conf *site cleanup_conf = conf_create();
	json_t *config cleanup_json = json_object();

	if (conf_load_site(site, err) < 0)
		return -1;
	conf_resolve(site, true);
	for (size_t i = 0; i < array_length(keys); i++) {
		const char *value = conf_text(site, "%s", keys[i]);
		if (value)
			json_object_set_new(config, keys[i], json_pack("{ss}", "value", value));
	}
	return local_parent_capacity(config, capacity, err);
}

static int read_own(struct machine *machine, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *any_job cleanup_free = state ? state_dir_job(state, local_traits.folder, "-") : NULL;
	char *ledger cleanup_free = any_job ? state_dir_ledger(any_job) : NULL;

	if (!ledger)
		return -1;
	if (!fs_exists(ledger))
		return 0;
	machine->ledger = ledger_look(ledger, err);
	if (!machine->ledger)
		return -1;
	machine->own = ledger_others(machine->ledger, &machine->own_count);
	return 0;
}

/* Where there are no GPUs, that others are not seen matters to nobody. */
static void read_others(struct machine *machine)
{
	const struct str_list *gpus =
		machine->capacity.gpus.count > 0 ? &machine->capacity.gpus : NULL;
	struct err err cleanup_err = {0};
	char *directory cleanup_free = shared_ledger_find(&err);

	if (directory)
		shared_ledger_look(directory, machine->own, machine->own_count,
				   machine->capacity.max_gpus, &machine->neighbours, &err);
	if (err.kind != ERR_NONE)
		machine->note = gpus ? mem_strdup(err_message(&err)) : NULL;
	else if (gpus)
		machine->note = neighbours_text(&machine->neighbours, gpus);
	if (!machine->note)
		machine->note = neighbours_text(&machine->neighbours, NULL);
}

static void count_shares(struct machine *machine)
{
	static const struct ledger_entry none = {0};
	const struct capacity *capacity = &machine->capacity;
	const struct allotment allotment = {.capacity = capacity,
					    .own = &none,
					    .others = machine->own,
					    .count = machine->own_count,
					    .neighbours = &machine->neighbours,
					    .user = geteuid()};
	struct share left = allotment_free(&allotment);
	bool is_limited = capacity->vcores > 0;
	int64_t gpus = (int64_t)capacity->gpus.count;

	machine->total = (struct share){.memory = capacity->memory,
					.vcores = is_limited ? capacity->vcores : capacity->cores,
					.gpus = gpus};
	machine->used = (struct share){.memory = capacity->memory - left.memory,
				       .vcores = is_limited ? capacity->vcores - left.vcores : -1,
				       .gpus = gpus - left.gpus};
	machine->user_gpus = allotment_users_gpus(&allotment);
}

static int read_machine(struct machine *machine, struct err *err)
{
	if (find_capacity(&machine->capacity, err) < 0 || read_own(machine, err) < 0)
		return -1;
	read_others(machine);
	count_shares(machine);
	return 0;
}

/* ---- the node ----------------------------------------------------------------------------- */

int local_nodes(struct scheduler_nodes *nodes, struct err *err)
{
	struct machine machine cleanup_machine = {0};
	struct utsname name;

	if (read_machine(&machine, err) < 0)
		return -1;
	uname(&name);
	nodes->items = mem_alloc_array(1, sizeof(*nodes->items));
	nodes->count = 1;
	nodes->items[0] = (struct scheduler_node){.name = mem_strdup(name.nodename),
						  .total = machine.total,
						  .used = machine.used,
						  .opportunistic = -1,
						  .opportunistic_waiting = -1,
						  .note = mem_steal(&machine.note)};
	for (size_t i = 0; i < machine.own_count; i++)
		nodes->items[0].containers += machine.own[i].containers;
	for (size_t i = 0; i < machine.neighbours.count; i++)
		nodes->items[0].containers += machine.neighbours.items[i].entry.containers;
	return 0;
}

/* ---- the queue ---------------------------------------------------------------------------- */

/* A job that holds something goes before those that hold nothing (allotment.h). */
static int compare_jobs(const void *a, const void *b)
{
	const struct ledger_entry *first = *(const struct ledger_entry *const *)a;
	const struct ledger_entry *second = *(const struct ledger_entry *const *)b;
	bool waits = first->ticket > 0, other_waits = second->ticket > 0;

	if (waits != other_waits)
		return waits - other_waits;
	if (!first->containers != !second->containers)
		return !first->containers - !second->containers;
	return (first->ticket > second->ticket) - (first->ticket < second->ticket);
}

static void add_job(struct scheduler_queue *queue, const struct ledger_entry *entry, char *user)
{
	queue->jobs = mem_realloc_array(queue->jobs, queue->job_count + 1, sizeof(*queue->jobs));
	queue->jobs[queue->job_count++] = (struct scheduler_queue_job){.id = mem_strdup(entry->job),
								       .user = user,
								       .holds = entry->holds,
								       .wants = entry->wants};
	if (entry->ticket > 0)
		queue->waiting++;
	else
		queue->running++;
}

/* The ledger of all users tells nothing of jobs that wait. */
static void add_jobs(struct scheduler_queue *queue, const struct machine *machine)
{
	const struct ledger_entry **sorted cleanup_free =
		mem_alloc_array(machine->own_count, sizeof(*sorted));

	for (size_t i = 0; i < machine->own_count; i++)
		sorted[i] = &machine->own[i];
	qsort(sorted, machine->own_count, sizeof(*sorted), compare_jobs);
	for (size_t i = 0; i < machine->own_count; i++)
		add_job(queue, sorted[i], user_name());
	queue->user_running = queue->running;
	queue->user_waiting = queue->waiting;
	for (size_t i = 0; i < machine->neighbours.count; i++) {
		const struct neighbour *neighbour = &machine->neighbours.items[i];
		add_job(queue, &neighbour->entry, mem_strdup(neighbour->user));
	}
}

int local_queues(struct scheduler_queues *queues, struct err *err)
{
	struct machine machine cleanup_machine = {0};

	if (read_machine(&machine, err) < 0)
		return -1;
	struct scheduler_queue *queue = scheduler_queues_add(queues);

	scheduler_queue_init(queue, QUEUE_NAME, NULL);
	struct scheduler_queue_part *part = queue->parts;
	queue->access = QUEUE_ACCESS_GRANTED;
	queue->largest = part->maximum = machine.total;
	queue->running = queue->waiting = 0;
	part->used = machine.used;
	if (machine.capacity.max_gpus > 0) {
		part->user_limit.gpus = machine.capacity.max_gpus;
		part->user_used.gpus = machine.user_gpus;
	}
	add_jobs(queue, &machine);
	return 0;
}
