#include "sim.h"

#include <string.h>

#include "base/mem.h"
#include "job/exit_rules.h"
#include "job/policy.h"

/* ---- helpers ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t digest, int64_t value)
{
	return (digest ^ (uint64_t)value) * 0x100000001b3u;
}

/* Of all that the machine shows and that an event may change, but for when it heard of whom. */
uint64_t check_digest(const struct sim *sim)
{
	struct machine_status status;
	uint64_t digest = 0xcbf29ce484222325u;

	machine_status(sim->machine, &status);
	digest = mix(digest, status.state);
	digest = mix(digest, status.epoch);
	digest = mix(digest, status.retries_used);
	digest = mix(digest, status.infrastructure_retries_used);
	digest = mix(digest, status.preemptions);
	digest = mix(digest, status.cause_task);
	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		const struct task *task = machine_task(sim->machine, i);
		digest = mix(digest, task->state | task->attempt << 8);
		digest = mix(digest, task->epoch | (int64_t)task->restart << 32);
		digest = mix(digest, task->restarts_used | (int64_t)task->port << 32);
		digest = mix(digest,
			     task->has_container | task->process_up << 1 | task->blames_peer << 2);
		digest = mix(digest, task->cause.kind);
	}
	for (size_t i = 0; i < sim->job->type_count; i++)
		digest = mix(digest, machine_wanted(sim->machine, i));
	return digest;
}

static const struct job_type *type_of(const struct sim *sim, size_t task)
{
	return &sim->job->types[machine_task(sim->machine, task)->type];
}

static bool is_bad(enum task_state state)
{
	return state == TASK_FAILED || state == TASK_LOST;
}

/* By the actions so far. */
static bool every_task_of(const struct sim *sim, size_t type, bool started_is_enough)
{
	if (job_type_is_elastic(&sim->job->types[type]))
		return elastic_every_task_of(sim, type, started_is_enough);
	for (int i = 0; i < sim->job->types[type].instances; i++) {
		size_t number = machine_task_number(sim->machine, type, i);
		enum task_state state = sim->tasks[number].state;
		bool up = started_is_enough && state == TASK_RUNNING &&
			  machine_task(sim->machine, number)->process_up;
		if (state != TASK_SUCCEEDED && !up)
			return false;
	}
	return true;
}

/* ---- after each action -------------------------------------------------------------------- */

static void check_released_stage(struct sim *sim, size_t task)
{
	const struct job_type *type = type_of(sim, task);

	for (size_t i = 0; i < type->dependency_count; i++)
		if (!every_task_of(sim, type->dependencies[i].type, type->dependencies[i].on_start))
			sim_break(sim, "%s is asked for before what it depends on is there",
				  type->name);
}

/* No container of the task may be left behind when a new one is asked for. */
static void check_request(struct sim *sim, const struct action *action)
{
	const struct container *container = world_newest(sim, action->task);

	elastic_check_request(sim, action->task);
	if (!container)
		return;
	if (sim->weather.starts_by_itself && action->attempt == container->attempt)
		return; /* the next AM asks once more, and finds it */
	if (action->attempt != container->attempt + 1)
		sim_break(sim, "attempt %d follows attempt %d", action->attempt,
			  container->attempt);
	if (container->state == CONTAINER_ASKED)
		sim_break(sim, "asked twice for a container");
	if (container->state == CONTAINER_GIVEN && container->known)
		sim_break(sim, "a container is asked for while the task holds another");
}

/* Re-formations are paid with these: retries, preemptions, and ports that others had. */
int check_charges(const struct sim *sim)
{
	struct machine_status status;

	machine_status(sim->machine, &status);
	int charges = status.retries_used + status.infrastructure_retries_used + status.preemptions;
	for (size_t i = 0; i < machine_task_count(sim->machine); i++)
		charges += machine_task(sim->machine, i)->ports_lost;
	return charges;
}

/* The AM that follows does not know all that this one has done. */
void check_forget(struct sim *sim)
{
	struct machine_status status;
	const uint64_t order = ++sim->order; /* which of the failures was first nobody knows */

	machine_status(sim->machine, &status);
	sim->job_state = status.state;
	sim->known_epoch = status.epoch;
	sim->known_charges = check_charges(sim);
	if (status.state < JOB_FINISHING)
		sim->kill_delivered = false;
	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		const struct task *task = machine_task(sim->machine, i);
		struct known_task *known = &sim->tasks[i];
		known->state = task->state;
		known->rejoins = task->rejoin;
		known->order = machine_order(sim->machine, i);
		known->failure = (struct cause_brief){0};
		known->failed_order = is_bad(task->state) ? order : 0;
		known->succeeded_epoch = task->state == TASK_SUCCEEDED ? task->epoch : 0;
	}
}

/* A type whose end others wait for, and got. */
bool check_is_finished_stage(const struct sim *sim, size_t type)
{
	bool awaited = false;

	for (size_t i = 0; i < sim->job->type_count; i++)
		for (size_t k = 0; k < sim->job->types[i].dependency_count; k++)
			awaited = awaited || (sim->job->types[i].dependencies[k].type == type &&
					      !sim->job->types[i].dependencies[k].on_start);
	return awaited && every_task_of(sim, type, false);
}

static void check_started(struct sim *sim, size_t task)
{
	const struct container *container = world_newest(sim, task);

	if (!container || !container->registered)
		sim_break(sim, "a process is ordered where no executor is registered");
}

/* `joins`: some have run in this epoch already, and others join them. */
static void check_member(struct sim *sim, size_t number, int epoch, bool joins)
{
	const struct task *task = machine_task(sim->machine, number);
	const struct container *container = world_newest(sim, number);

	if (!machine_type_is_active(sim->machine, task->type) ||
	    sim->job->types[task->type].role == JOB_ROLE_SIDECAR)
		return;
	/* Nobody remembers that it ever started. It is stopped as soon as it is heard of. */
	bool is_forgotten = sim->losses > 0 && task->state == TASK_LAUNCHING &&
			    job_type_is_elastic(&sim->job->types[task->type]);
	if (container && container->process && !container->released && !is_forgotten &&
	    container->epoch != epoch)
		sim_break(sim, "%s:%d of epoch %d runs while epoch %d starts",
			  type_of(sim, number)->name, task->index, container->epoch, epoch);
	if (job_type_is_elastic(&sim->job->types[task->type]) &&
	    !machine_task_is_member(sim->machine, number))
		return; /* it may join later */
	if (task->state == TASK_SUCCEEDED) {
		if (task->epoch != epoch && !check_is_finished_stage(sim, task->type))
			sim_break(sim, "a task that succeeded in epoch %d is missing in epoch %d",
				  task->epoch, epoch);
	} else if (!joins && task->state != TASK_RUNNING && task->state != TASK_REGISTERED &&
		   !(is_bad(task->state) && task->epoch == epoch)) {
		sim_break(sim, "the gang starts while a task is %s", task_state_name(task->state));
	}
}

static bool counts_as_success(const struct sim *sim, const struct feed *feed)
{
	const struct cause cause = {.kind = feed->cause.kind,
				    .exit_code = feed->cause.exit_code,
				    .signal = feed->cause.signal};

	return cause.kind == CAUSE_NONE ||
	       exit_rules_find(&type_of(sim, feed->event.task)->on_exit, &cause) == EXIT_IGNORE;
}

/* With GANG, a new formation starts only when all of it is there, and nothing of the old runs. */
static void check_formation(struct sim *sim)
{
	struct machine_status status;

	machine_status(sim->machine, &status);
	if (sim->job->mode != JOB_MODE_GANG || status.state >= JOB_FINISHING)
		return;
	bool joins = elastic_has_formed(sim, status.epoch);
	for (size_t i = 0; i < machine_task_count(sim->machine); i++)
		check_member(sim, i, status.epoch, joins);
	elastic_check_formation(sim, &status);
}

/* An AM that dies may not come to it. */
static bool was_launched(struct sim *sim, size_t task)
{
	const struct container *container = world_newest(sim, task);

	return !container || container->launched;
}

/* What an elastic type gets beyond that may be asked for at any time. */
static bool is_needed(const struct sim *sim, size_t task)
{
	return machine_task(sim->machine, task)->index < job_type_minimum(type_of(sim, task));
}

static void check_task_changed(struct sim *sim, const struct action *action,
			       const struct feed *feed)
{
	struct known_task *known = &sim->tasks[action->task];
	enum task_state from = (enum task_state)action->from, to = (enum task_state)action->to;

	if (known->state != from)
		sim_break(sim, "a task goes from %s, but was %s", task_state_name(from),
			  task_state_name(known->state));
	/* With FCFS the rest of a stage may succeed before one that is run again is asked for. */
	if (from == TASK_SUCCEEDED && from != to && !known->rejoins &&
	    check_is_finished_stage(sim, machine_task(sim->machine, action->task)->type))
		sim_break(sim, "a finished stage is run again");
	if (to == TASK_STOPPING && sim->losses == 0 &&
	    type_of(sim, action->task)->role == JOB_ROLE_SIDECAR)
		sim_break(sim, "a sidecar is disturbed");
	/* One that rests is wanted, but not asked for while a back-off runs. */
	bool may_rest = job_type_is_elastic(type_of(sim, action->task)) &&
			(from == TASK_WAITING || from == TASK_STOPPED);
	if (to == TASK_LOST && from != to && sim->losses == 0 && from != TASK_FAILED && !may_rest &&
	    was_launched(sim, action->task) && sim->job_state != JOB_FINISHING &&
	    weather_spares_machines(&sim->weather))
		sim_break(sim, "a task is lost, but no machine failed");
	known->state = to;
	known->rejoins = machine_task(sim->machine, action->task)->rejoin;
	if (from == TASK_WAITING && to == TASK_REQUESTED && is_needed(sim, action->task))
		check_released_stage(sim, action->task);
	if (to == TASK_SUCCEEDED && from != to &&
	    (feed->event.kind != EVENT_EXITED || !counts_as_success(sim, feed) ||
	     feed->event.task != action->task || feed->stale))
		sim_break(sim, "a task succeeds that did not end well");
	if (to == TASK_SUCCEEDED)
		known->succeeded_epoch = machine_task(sim->machine, action->task)->epoch;
	if (to == TASK_RUNNING)
		check_started(sim, action->task);
	if (!is_bad(to))
		known->failed_order = 0;
	else if (!is_bad(from)) {
		bool told = feed->event.task == action->task;
		known->failed_order = ++sim->order;
		known->failure = told ? feed->cause : (struct cause_brief){0};
	}
}

static void forget_failures(struct sim *sim)
{
	for (size_t i = 0; i < machine_task_count(sim->machine); i++)
		sim->tasks[i].failed_order = 0;
}

static void check_job_changed(struct sim *sim, const struct action *action)
{
	struct machine_status status;

	if (sim->job_state != (enum job_state)action->from)
		sim_break(sim, "the job goes from %s, but was %s",
			  job_state_name((enum job_state)action->from),
			  job_state_name(sim->job_state));
	if (job_state_is_final(sim->job_state))
		sim_break(sim, "the job goes on after its end");
	sim->job_state = (enum job_state)action->to;
	if (sim->job_state == JOB_REFORMING && action->from != action->to)
		forget_failures(sim);
	machine_status(sim->machine, &status);
	if (status.epoch != sim->known_epoch)
		elastic_check_anew(sim, &status);
}

void check_action(struct sim *sim, const struct action *action, const struct feed *feed)
{
	switch (action->kind) {
	case ACTION_ORDER:
	case ACTION_RELEASE:
		sim->tasks[action->task].told_at = sim->events;
		break;
	case ACTION_TASK_CHANGED:
		check_task_changed(sim, action, feed);
		break;
	case ACTION_JOB_CHANGED:
		check_job_changed(sim, action);
		break;
	case ACTION_REQUEST:
		check_request(sim, action);
		break;
	case ACTION_EPOCH:
		check_formation(sim);
		break;
	default:
		break;
	}
}

/* ---- after each event --------------------------------------------------------------------- */

void check_task(struct sim *sim, size_t number)
{
	const struct task *task = machine_task(sim->machine, number);
	const struct known_task *known = &sim->tasks[number];

	if (task->state != known->state)
		sim_break(sim, "a task is %s, but its actions say %s", task_state_name(task->state),
			  task_state_name(known->state));
	if (task->restarts_used > type_of(sim, number)->max_restarts)
		sim_break(sim, "more restarts in place than max-restarts");
	if (task->restart > task->restarts_used + known->user_restarts && sim->losses == 0)
		sim_break(sim, "a restart that nobody paid for");
}

/* An executor must not have to wait for its next beat. */
void check_told(struct sim *sim, size_t number)
{
	struct known_task *known = &sim->tasks[number];
	struct order order = machine_order(sim->machine, number);
	bool same = order.kind == known->order.kind && order.restart == known->order.restart &&
		    (order.epoch == known->order.epoch || order.kind != ORDER_RUN);

	known->order = order;
	if (!same && (order.kind == ORDER_RUN || order.kind == ORDER_STOP) &&
	    known->told_at != sim->events)
		sim_break(sim, "an order changes, and nobody is told");
}

/* A task that has ended, or was lost, holds no container. */
void check_given_back(struct sim *sim, size_t number)
{
	const struct container *container = world_newest(sim, number);

	if (sim->tasks[number].state >= TASK_SUCCEEDED && container &&
	    container->state == CONTAINER_GIVEN && container->known && !container->released)
		sim_break(sim, "a task that is %s keeps its container",
			  task_state_name(sim->tasks[number].state));
}

/* While the job re-forms it says for what, and no longer. */
static void check_repair(struct sim *sim, const struct machine_status *status)
{
	bool told = status->cause->kind != CAUSE_NONE;
	bool past = told && status->cause_epoch != status->epoch;

	if (status->state == JOB_REFORMING && !told && !elastic_any(sim->job) && sim->losses == 0)
		sim_break(sim, "the job re-forms for no reason");
	if (status->state != JOB_REFORMING && past)
		sim_break(sim, "a failure is told that the job has recovered from");
}

static void check_budgets(struct sim *sim)
{
	struct machine_status status;
	size_t sum = 0;

	machine_status(sim->machine, &status);
	if (status.state != sim->job_state)
		sim_break(sim, "the job is %s, but its actions say %s",
			  job_state_name(status.state), job_state_name(sim->job_state));
	if (status.retries_used > sim->job->retry_count)
		sim_break(sim, "more retries than retry-count");
	if (status.infrastructure_retries_used > sim->job->infrastructure_retry_count)
		sim_break(sim, "more infrastructure retries than their count");
	if (status.epoch > 1 + check_charges(sim) && !elastic_any(sim->job) && sim->losses == 0)
		sim_break(sim, "a re-formation that nobody paid for");
	check_repair(sim, &status);
	for (int i = 0; i < TASK_STATE_COUNT; i++)
		sum += status.tasks_in[i];
	if (sum != machine_task_count(sim->machine))
		sim_break(sim, "the tasks do not add up");
}

/* What was given is current, given back, or gone. */
static void check_leaks(struct sim *sim, bool ended)
{
	for (size_t i = 0; i < sim->container_count; i++) {
		const struct container *container = &sim->containers[i];
		const struct task *task = machine_task(sim->machine, container->task);
		bool current = !ended && container->attempt == task->attempt;
		if (container->state == CONTAINER_GIVEN && container->known &&
		    !container->released && !current)
			sim_break(sim, "the container of attempt %d leaks", container->attempt);
		if (container->state == CONTAINER_ASKED && !current)
			sim_break(sim, "the request of attempt %d is left open",
				  container->attempt);
	}
}

/* It was gone before `failed`'s program ended, and the machine has heard nothing of it since. */
static bool was_missed(const struct sim *sim, size_t task, const struct container *failed)
{
	const struct container *container = &sim->containers[sim->tasks[task].newest];

	return sim->tasks[task].newest != SIZE_MAX && sim->tasks[task].state == TASK_RUNNING &&
	       type_of(sim, task)->role != JOB_ROLE_SIDECAR && !container->released &&
	       container->state == CONTAINER_GONE && container->epoch == failed->epoch &&
	       container->gone_at < failed->ended_at && container->echo_at < failed->ended_at;
}

/* A program that blames its peers is not paid for by the user when one of them was lost. Before the
 * actions of the event in hand. */
void check_blame(struct sim *sim, int retries_before)
{
	struct machine_status status;

	machine_status(sim->machine, &status);
	if (status.retries_used == retries_before || sim->job->mode != JOB_MODE_GANG ||
	    !policy_judge(type_of(sim, (size_t)status.cause_task), status.cause, NULL).blames_peer)
		return;
	const struct container *failed = world_newest(sim, (size_t)status.cause_task);
	for (size_t i = 0; i < machine_task_count(sim->machine); i++)
		if (was_missed(sim, i, failed))
			sim_break(sim, "the user pays for a machine that was lost");
}

void check_all(struct sim *sim)
{
	for (size_t i = 0; i < machine_task_count(sim->machine); i++)
		check_task(sim, i);
	check_budgets(sim);
	check_leaks(sim, false);
}

/* ---- at the end --------------------------------------------------------------------------- */

static bool chief_succeeded(const struct sim *sim)
{
	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		const struct task *task = machine_task(sim->machine, i);
		if (task->state == TASK_SUCCEEDED &&
		    job_is_chief(sim->job, task->type,
				 job_type_is_elastic(type_of(sim, i)) ? 0 : task->index))
			return true;
	}
	return false;
}

/* An ignored group timeout has freed the job from this type. */
static bool may_be_exempt(const struct sim *sim, size_t type)
{
	for (size_t i = 0; i < sim->job->group_timeout_count; i++)
		if (sim->job->group_timeouts[i].type == type && sim->job->group_timeouts[i].ignored)
			return true;
	return false;
}

static void check_success(struct sim *sim)
{
	if (sim->job->stop_after_chief && chief_succeeded(sim))
		return;
	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		const struct task *task = machine_task(sim->machine, i);
		enum job_role role = sim->job->types[task->type].role;
		bool may_rest = job_type_is_elastic(type_of(sim, i)) && task->state == TASK_STOPPED;
		if (role == JOB_ROLE_TRACKED && task->state != TASK_SUCCEEDED && !may_rest &&
		    !may_be_exempt(sim, task->type))
			sim_break(sim, "the job succeeds, but a tracked task is %s",
				  task_state_name(task->state));
		if (role == JOB_ROLE_UNTRACKED && task->state == TASK_FAILED)
			sim_break(sim, "the job succeeds, but an untracked task failed");
	}
	if (sim->job->group_timeout_count == 0)
		elastic_check_success(sim);
}

/* The first task that failed for good, of those whose failure counts; SIZE_MAX: none. A lost one
 * may be on its way to a new container, so it counts only when `with_lost`. */
static size_t first_failure(const struct sim *sim, bool with_lost)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		uint64_t order = sim->tasks[i].failed_order;
		bool counts = order != 0 && type_of(sim, i)->role != JOB_ROLE_SIDECAR &&
			      (with_lost || sim->tasks[i].state == TASK_FAILED);
		if (counts && (first == SIZE_MAX || order < sim->tasks[first].failed_order))
			first = i;
	}
	return first;
}

static void check_told_cause(struct sim *sim, const struct machine_status *status)
{
	const struct cause_brief *failure = &sim->tasks[status->cause_task].failure;
	char *text cleanup_free = mem_printf("failure %u", failure->number);

	if (failure->kind == CAUSE_NONE)
		return;
	if (status->cause->kind != failure->kind || !str_equal(status->cause->text, text))
		sim_break(sim, "the cause is told as %s (%s), but was %s (%s)",
			  cause_kind_name(status->cause->kind), status->cause->text,
			  cause_kind_name(failure->kind), text);
}

static void check_failure(struct sim *sim, const struct machine_status *status)
{
	size_t failed = first_failure(sim, false);

	if (status->cause->kind == CAUSE_NONE) {
		sim_break(sim, "the job fails without a cause");
		return;
	}
	if (status->cause_task < 0) {
		if (failed != SIZE_MAX)
			sim_break(sim, "a task failed before the cause that is told");
		return;
	}
	size_t blamed = (size_t)status->cause_task;
	if (sim->tasks[blamed].failed_order == 0)
		sim_break(sim, "a task is blamed that did not fail");
	if (failed != SIZE_MAX && sim->tasks[blamed].failed_order > sim->tasks[failed].failed_order)
		sim_break(sim, "another task failed before the one that is blamed");
	check_told_cause(sim, status);
}

static void check_ended_tasks(struct sim *sim)
{
	for (size_t i = 0; i < machine_task_count(sim->machine); i++) {
		const struct task *task = machine_task(sim->machine, i);
		if (task->state < TASK_SUCCEEDED)
			sim_break(sim, "the job has ended, but a task is %s",
				  task_state_name(task->state));
		if (task->has_container && !sim->finish_overdue)
			sim_break(sim, "the job has ended, but a task has its container");
	}
}

void check_end(struct sim *sim)
{
	struct machine_status status;

	machine_status(sim->machine, &status);
	check_all(sim);
	check_leaks(sim, true);
	check_ended_tasks(sim);
	if (status.outcome != status.state)
		sim_break(sim, "the outcome %s is not the end %s", job_state_name(status.outcome),
			  job_state_name(status.state));
	if ((status.state == JOB_KILLED) != sim->kill_delivered)
		sim_break(sim, "the job is %s, and the user %s", job_state_name(status.state),
			  sim->kill_delivered ? "killed it" : "did not kill it");
	if (status.state == JOB_SUCCEEDED)
		check_success(sim);
	if (status.state == JOB_FAILED)
		check_failure(sim, &status);
	if (weather_is_calm(&sim->weather) && sim->job->application_timeout_ms == 0 &&
	    sim->job->execution_timeout_ms == 0 && sim->job->group_timeout_count == 0 &&
	    (status.state != JOB_SUCCEEDED || (status.epoch != 1 && !elastic_any(sim->job)) ||
	     status.retries_used + status.infrastructure_retries_used > 0))
		sim_break(sim, "nothing went wrong, but the job is %s in epoch %d",
			  job_state_name(status.state), status.epoch);
}
