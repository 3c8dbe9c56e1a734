/*
 * Gangs that compete for a cluster whose memory is in pieces, as the capacity scheduler has it: a
 * container for each heartbeat of a node, reservations, and preemption by sums, to which a
 * reservation counts as if it were had already. The jobs' state machines are the real ones; gangs
 * are held and given back by gang_pace.h. `test_gangs 417` repeats a seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "job/machine.h"
#include "net/backoff.h"
#include "random.h"
#include "scheduler/gang_pace.h"

enum {
	SEEDS = 300,
	STEP_MS = 100,
	HEARTBEAT_MS = 1000, /* of nodes and executors */
	PREEMPTION_MS = 4000,
	LATEST_MS = 20 * 60 * 1000, /* for programs of a minute or two */
	NODES_MOST = 6,
	JOBS_MOST = 3,
	WORKERS_MOST = 12,
	QUEUE_CAP = 256,
};

/* A container, by job and task. */
struct container {
	enum { NONE, PAUSING, ASKED, HELD, GIVEN } state;
	int attempt, node;
	bool is_up, runs;
	int epoch, restart, stop_epoch;
	int64_t register_at, exit_at, gone_at, came; /* 0: it does not */
};

struct gang {
	size_t count, held;
	bool pauses;
	int64_t until; /* patience or pause; INT64_MAX: nothing came yet */
	struct backoff patience, pause;
};

struct rival {
	struct job *job;
	struct machine *machine;
	int64_t begins, length, worker, am;
	int am_node;
	bool claims; /* what is guaranteed to its queue */
	bool begun, ended;
	struct gang gang; /* what was asked for and is not allocated */
	struct container containers[WORKERS_MOST];
	int64_t reserved_on; /* a node; -1: none */
	int preemptions;
};

struct world {
	struct random random;
	int64_t now, node_memory, free[NODES_MOST];
	int nodes, rivals;
	struct rival jobs[JOBS_MOST];
	struct {
		int job;
		struct machine_event event;
	} events[QUEUE_CAP];
	size_t first, count;
};

static void tell(struct world *world, int job, struct machine_event event)
{
	if (world->count == QUEUE_CAP)
		BUG("too many events at once");
	size_t at = (world->first + world->count++) % QUEUE_CAP;
	world->events[at].job = job;
	world->events[at].event = event;
}

/* ---- gangs: as yarn_gang.c ---------------------------------------------------------------- */

static void give_back(struct world *world, struct container *container)
{
	world->free[container->node] += world->jobs[0].worker;
	container->state = NONE;
}

static void plan(struct world *world, struct gang *gang, struct backoff *backoff, bool counts)
{
	struct backoff copy = *backoff;
	gang->until = world->now + backoff_next(&copy, random_next(&world->random));
	if (counts)
		*backoff = copy;
}

static void ask(struct rival *rival, size_t task, int attempt)
{
	struct gang *gang = &rival->gang;
	int64_t patience = rival->claims ? GANG_CLAIM_MS : GANG_PATIENCE_MS;
	int64_t longest = rival->claims ? GANG_CLAIM_MS : GANG_LONGEST_PATIENCE_MS;
	if (gang->count == 0)
		*gang = (struct gang){
			.until = INT64_MAX,
			.patience = {.first_ms = patience, .cap_ms = longest},
			.pause = {.first_ms = GANG_PAUSE_MS, .cap_ms = GANG_LONGEST_PAUSE_MS}};
	gang->count++;
	rival->containers[task] =
		(struct container){.state = gang->pauses ? PAUSING : ASKED, .attempt = attempt};
}

static void leave_gang(struct world *world, struct rival *rival, struct container *container)
{
	rival->gang.count--;
	if (container->state == HELD) {
		rival->gang.held--;
		give_back(world, container);
	}
	container->state = NONE;
}

static void complete(struct world *world, int number)
{
	struct rival *rival = &world->jobs[number];
	for (size_t i = 0; i < WORKERS_MOST; i++) {
		if (rival->containers[i].state != HELD)
			continue;
		rival->containers[i].state = GIVEN;
		tell(world, number,
		     (struct machine_event){.kind = EVENT_ALLOCATED,
					    .task = i,
					    .attempt = rival->containers[i].attempt,
					    .container = "container",
					    .host = "host"});
	}
	rival->gang = (struct gang){0};
}

static void take(struct world *world, int number, struct container *container, int node)
{
	struct rival *rival = &world->jobs[number];
	container->state = HELD;
	container->node = node;
	container->came = world->now;
	world->free[node] -= rival->worker;
	if (++rival->gang.held == rival->gang.count)
		complete(world, number);
	else
		plan(world, &rival->gang, &rival->gang.patience, false);
}

static bool has_room(const struct world *world, const struct rival *rival)
{
	int64_t room = 0;
	for (int i = 0; i < world->nodes; i++)
		room += world->free[i] / rival->worker;
	return room >= (int64_t)rival->gang.count;
}

static void set_members(struct rival *rival, int from, int to)
{
	for (size_t i = 0; i < WORKERS_MOST; i++)
		if ((int)rival->containers[i].state == from)
			rival->containers[i].state = to;
}

static void pace(struct world *world, struct rival *rival)
{
	struct gang *gang = &rival->gang;
	if (gang->count == 0)
		return;
	if (gang->pauses && gang->until > world->now + 3000 && has_room(world, rival))
		gang->until = world->now + random_between(&world->random, 0, 3000);
	if (world->now < gang->until)
		return;
	if (gang->pauses) {
		gang->pauses = false;
		gang->until = INT64_MAX;
		set_members(rival, PAUSING, ASKED);
		return;
	}
	for (size_t i = 0; i < WORKERS_MOST; i++)
		if (rival->containers[i].state == HELD) {
			give_back(world, &rival->containers[i]);
			rival->containers[i].state = ASKED;
		}
	set_members(rival, ASKED, PAUSING);
	gang->held = 0;
	gang->pauses = true;
	rival->reserved_on = -1;
	plan(world, gang, &gang->pause, true);
	gang->patience.tries++;
}

/* ---- what the machine wants ---------------------------------------------------------------- */

static void release(struct world *world, struct container *container)
{
	if (container->state == GIVEN && container->gone_at == 0)
		container->gone_at = world->now + random_between(&world->random, 100, 1000);
}

static void obey(struct world *world, struct rival *rival, const struct action *action)
{
	struct container *container = &rival->containers[action->task];
	switch (action->kind) {
	case ACTION_REQUEST:
		ask(rival, action->task, action->attempt);
		break;
	case ACTION_CANCEL:
		if (container->state != NONE && container->state != GIVEN)
			leave_gang(world, rival, container);
		break;
	case ACTION_LAUNCH:
		container->register_at = world->now + random_between(&world->random, 300, 2000);
		break;
	case ACTION_RELEASE:
		if (container->attempt == action->attempt)
			release(world, container);
		break;
	case ACTION_JOB_CHANGED:
		rival->ended = job_state_is_final((enum job_state)action->to);
		break;
	default:
		break;
	}
}

static void feed_all(struct world *world)
{
	struct action_list actions = {0};
	while (world->count > 0) {
		int number = world->events[world->first].job;
		struct rival *rival = &world->jobs[number];
		machine_handle(rival->machine, &world->events[world->first].event, world->now,
			       &actions);
		world->first = (world->first + 1) % QUEUE_CAP;
		world->count--;
		for (size_t i = 0; i < actions.count; i++)
			obey(world, rival, &actions.items[i]);
		action_list_clear(&actions);
	}
	action_list_finish(&actions);
}

/* ---- executors ------------------------------------------------------------------------------ */

static void say(struct world *world, int number, size_t task, enum machine_event_kind kind)
{
	const struct container *container = &world->jobs[number].containers[task];
	bool registers = kind == EVENT_REGISTERED;
	tell(world, number,
	     (struct machine_event){.kind = kind,
				    .task = task,
				    .attempt = container->attempt,
				    .epoch = registers ? container->stop_epoch : container->epoch,
				    .restart = registers ? 0 : container->restart,
				    .host = "host",
				    .port = 1});
}

static void follow_order(struct world *world, int number, size_t task)
{
	struct rival *rival = &world->jobs[number];
	struct container *container = &rival->containers[task];
	struct order order = machine_order(rival->machine, task);
	bool is_new = order.epoch != container->epoch || order.restart != container->restart;

	if (order.kind == ORDER_RUN && is_new) {
		container->runs = true;
		container->epoch = order.epoch;
		container->restart = order.restart;
		container->exit_at = world->now + rival->length;
		say(world, number, task, EVENT_STARTED);
	} else if (order.kind == ORDER_STOP && container->stop_epoch < order.epoch) {
		container->runs = false;
		container->stop_epoch = order.epoch;
		container->register_at = world->now + random_between(&world->random, 100, 1500);
		container->is_up = false;
	}
}

static void run_executor(struct world *world, int number, size_t task)
{
	struct container *container = &world->jobs[number].containers[task];

	if (container->gone_at > 0 && world->now >= container->gone_at) {
		say(world, number, task, EVENT_CONTAINER_ENDED);
		give_back(world, container);
		return;
	}
	if (container->register_at > 0 && world->now >= container->register_at) {
		container->register_at = 0;
		container->is_up = true;
		say(world, number, task, EVENT_REGISTERED);
	} else if (container->is_up && container->gone_at == 0) {
		follow_order(world, number, task);
		if (container->runs && world->now >= container->exit_at) {
			container->runs = false;
			say(world, number, task, EVENT_EXITED);
		} else if (world->now % HEARTBEAT_MS == 0) {
			say(world, number, task, EVENT_BEAT);
		}
	}
}

/* ---- the scheduler --------------------------------------------------------------------------- */

static int64_t count_in(const struct rival *rival, int state)
{
	int64_t count = 0;
	for (size_t i = 0; i < WORKERS_MOST; i++)
		count += (int)rival->containers[i].state == state;
	return count;
}

static int64_t used_by(const struct rival *rival)
{
	int64_t has = count_in(rival, HELD) + count_in(rival, GIVEN) + (rival->reserved_on >= 0);
	return rival->begun && !rival->ended ? rival->am + has * rival->worker : 0;
}

/* The one that asks and has least of its share. */
static int neediest(const struct world *world)
{
	int found = -1;
	for (int i = 0; i < world->rivals; i++)
		if (count_in(&world->jobs[i], ASKED) > 0 &&
		    (found < 0 || used_by(&world->jobs[i]) < used_by(&world->jobs[found])))
			found = i;
	return found;
}

static void give_to(struct world *world, int number, int node)
{
	struct rival *rival = &world->jobs[number];
	if (world->free[node] < rival->worker) {
		rival->reserved_on = rival->reserved_on < 0 ? node : rival->reserved_on;
		return;
	}
	if (rival->reserved_on == node || count_in(rival, ASKED) == 1)
		rival->reserved_on = -1;
	for (size_t i = 0; i < WORKERS_MOST; i++)
		if (rival->containers[i].state == ASKED) {
			take(world, number, &rival->containers[i], node);
			return;
		}
}

static void hear_node(struct world *world, int node)
{
	int number = neediest(world);
	for (int i = 0; i < world->rivals; i++)
		if (world->jobs[i].reserved_on == node && count_in(&world->jobs[i], ASKED) > 0)
			number = i;
	if (number >= 0)
		give_to(world, number, node);
}

/* Of the newest container first. */
static bool preempt_one(struct world *world, int number)
{
	struct rival *rival = &world->jobs[number];
	size_t newest = WORKERS_MOST;
	for (size_t i = 0; i < WORKERS_MOST; i++) {
		const struct container *container = &rival->containers[i];
		if (container->state == GIVEN && container->gone_at == 0 && container->is_up &&
		    (newest == WORKERS_MOST || container->came >= rival->containers[newest].came))
			newest = i;
	}
	if (newest == WORKERS_MOST)
		return false;
	rival->preemptions++;
	say(world, number, newest, EVENT_PREEMPTED);
	feed_all(world);
	return true;
}

static int64_t leaving_of(const struct world *world)
{
	int64_t sum = 0;
	for (int i = 0; i < world->rivals; i++)
		for (size_t k = 0; k < WORKERS_MOST; k++)
			if (world->jobs[i].containers[k].gone_at > 0)
				sum += world->jobs[i].worker;
	return sum;
}

static void preempt_for(struct world *world, struct rival *claimant, int64_t share)
{
	int64_t asked =
		(count_in(claimant, ASKED) - (claimant->reserved_on >= 0)) * claimant->worker;
	int64_t lack = share - used_by(claimant);
	int64_t need = (asked < lack ? asked : lack) - leaving_of(world);

	for (int i = 0; i < world->rivals && need > 0; i++) {
		struct rival *victim = &world->jobs[i];
		while (victim != claimant && need > 0 && used_by(victim) > share) {
			if (!preempt_one(world, i))
				break;
			need -= victim->worker;
		}
	}
}

static void preempt(struct world *world)
{
	int64_t all = world->node_memory * world->nodes;
	for (int i = 0; i < world->rivals; i++)
		if (world->jobs[i].claims)
			preempt_for(world, &world->jobs[i], all / 2);
}

/* ---- worlds ---------------------------------------------------------------------------------- */

static struct job *describe_job(int workers)
{
	struct job *job = mem_alloc(sizeof(*job));
	*job = (struct job){
		.id = mem_strdup("tony-sim"),
		.name = mem_strdup("sim"),
		.user = mem_strdup("sim"),
		.framework = mem_strdup("generic"),
		.mode = JOB_MODE_GANG,
		.fail_fast = true,
		.retry_delay_ms = 200,
		.heartbeat_interval_ms = HEARTBEAT_MS,
		.max_missed_heartbeats = 25,
		.executor_give_up_ms = 25000,
	};
	job->types = mem_alloc_array(1, sizeof(*job->types));
	job->type_count = 1;
	job->types[0] = (struct job_type){.name = mem_strdup("worker"),
					  .instances = workers,
					  .processes = 1,
					  .command = mem_strdup("true"),
					  .hold_port = true};
	return job;
}

static void add(struct world *world, int workers, int64_t begins, bool claims)
{
	struct rival *rival = &world->jobs[world->rivals++];
	*rival = (struct rival){
		.job = describe_job(workers),
		.begins = begins,
		.length = random_between(&world->random, 30000, 120000),
		.worker = world->jobs[0].worker,
		.am = 512,
		.claims = claims,
		.reserved_on = -1,
	};
	rival->machine = machine_create(rival->job, random_next(&world->random));
}

/* Each node has room for two, and a piece that is too small for another. */
static void shape(struct world *world)
{
	int64_t piece = random_between(&world->random, 512, 1200);
	world->nodes = (int)random_between(&world->random, 3, NODES_MOST);
	world->jobs[0].worker = random_between(&world->random, piece + 64, 2048);
	world->node_memory = 2 * world->jobs[0].worker + piece;
	for (int i = 0; i < world->nodes; i++)
		world->free[i] = world->node_memory;
}

/* The second job has a right to its half, of which the first one has a part. */
static void shape_claim(struct world *world)
{
	shape(world);
	int64_t half = world->nodes * world->node_memory / 2;
	add(world, 2 * world->nodes, 0, false);
	add(world, (int)((half - 512) / world->jobs[0].worker), 60000, true);
}

/* Three of which one fits, and nobody has a right to more. */
static void shape_rivals(struct world *world)
{
	shape(world);
	int workers = (int)random_between(&world->random, world->nodes + 1, 2 * world->nodes);
	for (int i = 0; i < JOBS_MOST; i++)
		add(world, workers, 0, false);
}

/* The AM takes a piece that is of no use to workers. */
static void begin(struct world *world, int number)
{
	struct rival *rival = &world->jobs[number];
	while (world->free[rival->am_node] % rival->worker < rival->am &&
	       rival->am_node < world->nodes - 1)
		rival->am_node++;
	world->free[rival->am_node] -= rival->am;
	rival->begun = true;
	tell(world, number, (struct machine_event){.kind = EVENT_SUBMIT});
}

static bool step(struct world *world)
{
	bool all_ended = true;
	for (int i = 0; i < world->rivals; i++) {
		struct rival *rival = &world->jobs[i];
		bool had_ended = rival->ended;
		if (!rival->begun && world->now >= rival->begins)
			begin(world, i);
		if (rival->begun && world->now >= machine_deadline(rival->machine))
			tell(world, i, (struct machine_event){.kind = EVENT_TICK});
		feed_all(world);
		for (size_t k = 0; k < WORKERS_MOST; k++)
			if (rival->containers[k].state == GIVEN)
				run_executor(world, i, k);
		feed_all(world);
		pace(world, rival);
		if (rival->ended && !had_ended)
			world->free[rival->am_node] += rival->am;
		all_ended = all_ended && rival->ended;
	}
	if (world->now % HEARTBEAT_MS == 0)
		for (int i = 0; i < world->nodes; i++)
			hear_node(world, i);
	if (world->now % PREEMPTION_MS == 0)
		preempt(world);
	feed_all(world);
	world->now += STEP_MS;
	return !all_ended;
}

/* ---- what must hold -------------------------------------------------------------------------- */

static bool check(const struct world *world, const char *what, uint64_t seed)
{
	bool well = true;
	for (int i = 0; i < world->rivals; i++) {
		struct machine_status status;
		machine_status(world->jobs[i].machine, &status);
		if (status.state == JOB_SUCCEEDED && status.infrastructure_retries_used == 0)
			continue;
		printf("seed %" PRIu64 ", %s: job %d is %s after %" PRId64
		       " s, epoch %d, %d preemptions\n",
		       seed, what, i, job_state_name(status.state), world->now / 1000, status.epoch,
		       world->jobs[i].preemptions);
		well = false;
	}
	return well;
}

static void finish(struct world *world)
{
	for (int i = 0; i < world->rivals; i++) {
		machine_destroy(world->jobs[i].machine);
		job_destroy(world->jobs[i].job);
	}
}

static bool run(uint64_t seed, const char *what, void (*make)(struct world *world), int64_t *sum)
{
	struct world world = {.random = {.state = seed}};
	make(&world);
	while (step(&world) && world.now < LATEST_MS)
		;
	int64_t programs = 0;
	for (int i = 0; i < world.rivals; i++)
		programs += world.jobs[i].length;
	bool well = check(&world, what, seed);
	*sum += world.now - programs;
	finish(&world);
	return well;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t last = argc > 1 ? first : SEEDS;
	int broken = 0;
	int64_t claims = 0, rivals = 0;

	for (uint64_t seed = first; seed <= last; seed++) {
		broken += !run(seed, "a claim", shape_claim, &claims);
		broken += !run(seed, "three of which one fits", shape_rivals, &rivals);
	}
	int64_t count = (int64_t)(last - first + 1);
	printf("%" PRId64
	       " seeds: beyond their programs, one after the other, two jobs took %" PRId64
	       " s, three %" PRId64 " s on average; %d broke\n",
	       count, claims / count / 1000, rivals / count / 1000, broken);
	return broken > 0;
}
