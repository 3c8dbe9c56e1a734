/* Types that may have fewer or more tasks: which there are, and what must hold of them. */
#include "sim.h"

#include "base/mem.h"

/* ---- shapes ------------------------------------------------------------------------------- */

static void stretch(struct job_type *type, struct random *random)
{
	if (type->instances == 0 || type->role == JOB_ROLE_SIDECAR)
		return;
	type->min_instances = (int)random_between(random, 1, type->instances);
	type->max_instances = type->instances + (int)random_between(random, 0, 4);
	if (type->min_instances == type->max_instances)
		type->max_instances++;
}

/* With a randomness of its own, so that a job without elastic types is what it was before. */
void shape_elastic(struct job *job, const struct random *seed)
{
	static const char *const names[] = {"worker", "worker",	   "worker", "worker",
					    "worker", "evaluator", "ps",     "prepare"};
	struct random random = {.state = ~seed->state};

	if (job->mode != JOB_MODE_GANG || random_chance(&random, 400))
		return;
	do {
		int64_t name = random_between(&random, 0, (int64_t)array_length(names) - 1);
		int type = job_find_type(job, names[name]);
		if (type >= 0)
			stretch(&job->types[type], &random);
	} while (random_chance(&random, 300));
	job->live_elastic = random_chance(&random, 300);
	job->elastic_settle_ms =
		random_chance(&random, 200) ? 0 : random_between(&random, 100, 20000);
}

bool elastic_any(const struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (job_type_is_elastic(&job->types[i]))
			return true;
	return false;
}

/* Now and then more or fewer than there can be, or of a type that is not elastic. */
struct machine_event elastic_draw_scale(struct sim *sim)
{
	int64_t last = (int64_t)sim->job->type_count - 1;
	size_t type = (size_t)random_between(&sim->random, 0, last);
	for (int i = 0; i < 3 && !job_type_is_elastic(&sim->job->types[type]); i++)
		type = (size_t)random_between(&sim->random, 0, last);
	int slots = job_type_slots(&sim->job->types[type]);

	return (struct machine_event){
		.kind = EVENT_SCALE,
		.type = type,
		.count = (int)random_between(&sim->random, -1, slots + 1),
	};
}

/* ---- what is promised --------------------------------------------------------------------- */

static const struct job_type *type_of(const struct sim *sim, size_t task)
{
	return &sim->job->types[machine_task(sim->machine, task)->type];
}

static bool is_resting(const struct sim *sim, size_t task)
{
	return sim->tasks[task].state == TASK_WAITING || sim->tasks[task].state == TASK_STOPPED;
}

bool elastic_every_task_of(const struct sim *sim, size_t type, bool started_is_enough)
{
	bool any = false;

	for (int i = 0; i < job_type_slots(&sim->job->types[type]); i++) {
		size_t number = machine_task_number(sim->machine, type, i);
		const struct task *task = machine_task(sim->machine, number);
		enum task_state state = sim->tasks[number].state;
		if (is_resting(sim, number) || (started_is_enough && state < TASK_RUNNING) ||
		    (started_is_enough && task->rejoin))
			continue;
		if (state != TASK_SUCCEEDED &&
		    !(started_is_enough && state == TASK_RUNNING && task->process_up))
			return false;
		any = true;
	}
	return any;
}

static size_t count_in(const struct sim *sim, size_t type, enum task_state state)
{
	size_t count = 0;

	for (int i = 0; i < job_type_slots(&sim->job->types[type]); i++) {
		size_t number = machine_task_number(sim->machine, type, i);
		count += machine_task(sim->machine, number)->state == state;
	}
	return count;
}

bool elastic_has_formed(const struct sim *sim, int epoch)
{
	for (size_t i = 0; i < sim->job->type_count; i++)
		if (sim->job->live_elastic && sim->formed_epochs[i] == epoch)
			return true;
	return false;
}

void elastic_check_formation(struct sim *sim, const struct machine_status *status)
{
	for (size_t i = 0; i < sim->job->type_count; i++) {
		const struct job_type *type = &sim->job->types[i];
		size_t running = count_in(sim, i, TASK_RUNNING);
		bool formed = sim->formed_epochs[i] == status->epoch;
		if (!job_type_is_elastic(type) || running == 0)
			continue;
		if (!formed && running < (size_t)type->min_instances)
			sim_break(sim, "%zu of %s start, and %d is the least", running, type->name,
				  type->min_instances);
		sim->formed_epochs[i] = status->epoch;
	}
}

/* By the task that it tells of: ended for good in an epoch whose members must stay what they are.
 */
static bool has_ended(const struct sim *sim, size_t task, int epoch)
{
	return type_of(sim, task)->role != JOB_ROLE_SIDECAR &&
	       sim->tasks[task].succeeded_epoch == epoch &&
	       sim->tasks[task].state >= TASK_SUCCEEDED && sim->tasks[task].state != TASK_STOPPED;
}

static bool is_present(enum task_state state)
{
	return state == TASK_REGISTERED || state == TASK_RUNNING || state == TASK_STOPPING;
}

/* Of an elastic type, among those that are still wanted: members of the epoch that was. */
static bool too_few_stay(const struct sim *sim)
{
	for (size_t i = 0; i < sim->job->type_count; i++) {
		const struct job_type *type = &sim->job->types[i];
		int members = 0;
		for (int k = 0; k < machine_wanted(sim->machine, i); k++) {
			const struct task *task =
				machine_task(sim->machine, machine_task_number(sim->machine, i, k));
			members += is_present(task->state) && task->epoch == sim->known_epoch;
		}
		if (job_type_is_elastic(type) && members < type->min_instances)
			return true;
	}
	return false;
}

void elastic_check_anew(struct sim *sim, const struct machine_status *status)
{
	int charges = check_charges(sim);
	int epochs = status->epoch - sim->known_epoch;

	bool is_free = epochs > charges - sim->known_charges;

	if (is_free && sim->losses == 0 && sim->job->live_elastic && !too_few_stay(sim))
		sim_break(sim, "programs are stopped that could have lived on");
	for (size_t i = 0; is_free && sim->losses == 0 && i < machine_task_count(sim->machine); i++)
		if (has_ended(sim, i, sim->known_epoch) &&
		    !check_is_finished_stage(sim, machine_task(sim->machine, i)->type))
			sim_break(sim, "what has succeeded is run again though nothing failed");
	sim->free_epochs += is_free;
	sim->known_epoch = status->epoch;
	sim->known_charges = charges;
}

void elastic_check_request(struct sim *sim, size_t task)
{
	const struct task *t = machine_task(sim->machine, task);

	if (job_type_is_elastic(type_of(sim, task)) &&
	    t->index >= machine_wanted(sim->machine, t->type))
		sim_break(sim, "a container is asked for that nobody wants");
}

/* Enough are left, and none has ended: its loss must be for nothing. */
bool elastic_is_free_loss(const struct sim *sim, const struct machine_event *event)
{
	const struct task *task = machine_task(sim->machine, event->task);
	const struct job_type *type = type_of(sim, event->task);
	int present = 0;

	if ((event->kind != EVENT_CONTAINER_ENDED && event->kind != EVENT_PREEMPTED) ||
	    !job_type_is_elastic(type) || !is_present(task->state) ||
	    event->attempt != task->attempt)
		return false;
	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		const struct task *other = machine_task(sim->machine, i);
		present += other->type == task->type && is_present(other->state);
		if (other->state >= TASK_SUCCEEDED && other->state != TASK_STOPPED &&
		    !other->rejoin && type_of(sim, i)->role != JOB_ROLE_SIDECAR &&
		    !check_is_finished_stage(sim, other->type))
			return false;
	}
	return present > type->min_instances;
}

/* Of those that were asked for all that were left have succeeded. */
void elastic_check_success(struct sim *sim)
{
	for (size_t i = 0; i < sim->job->type_count; i++) {
		const struct job_type *type = &sim->job->types[i];
		if (job_type_is_elastic(type) && type->role == JOB_ROLE_TRACKED &&
		    count_in(sim, i, TASK_SUCCEEDED) < (size_t)type->min_instances)
			sim_break(sim, "the job succeeds with too few of %s", type->name);
	}
}
