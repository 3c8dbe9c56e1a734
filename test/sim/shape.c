#include "sim.h"

#include <string.h>

#include "base/mem.h"

/* ---- types -------------------------------------------------------------------------------- */

static void add_rules(struct job_type *type, struct random *random)
{
	static const char *const rules[] = {"1-99->retry",    "100-127->ignore", "128-199->fail",
					    "SIGTERM->fail",  "SIGKILL->ignore", "127->retry",
					    "200-255->retry", "*->retry",	 "*->fail"};

	while (random_chance(random, 150))
		str_list_add(&type->on_exit,
			     rules[random_between(random, 0, (int64_t)array_length(rules) - 1)]);
}

static struct job_type *add_type(struct job *job, const char *name, int instances,
				 struct random *random)
{
	struct job_type *type = &job->types[job->type_count++];

	*type = (struct job_type){
		.name = mem_strdup(name),
		.instances = instances,
		.processes = 1,
		.memory = 1024,
		.vcores = 1,
		.command = mem_strdup("true"),
		.max_restarts = random_chance(random, 300) ? (int)random_between(random, 1, 3) : 0,
		.stop_on_failure = random_chance(random, 100),
		.hold_port = true,
		.stop_grace_ms = random_between(random, 0, 5000),
	};
	add_rules(type, random);
	return type;
}

static void depend(struct job *job, const char *name, const char *on, bool on_start)
{
	int type = job_find_type(job, name), other = job_find_type(job, on);

	if (type < 0 || other < 0 || type == other)
		return;
	struct job_type *waiting = &job->types[type];
	waiting->dependencies =
		mem_realloc_array(waiting->dependencies, waiting->dependency_count + 1,
				  sizeof(*waiting->dependencies));
	waiting->dependencies[waiting->dependency_count++] =
		(struct job_dependency){.type = (size_t)other, .on_start = on_start};
}

static void add_types(struct job *job, struct random *random, int max_tasks)
{
	int workers = (int)random_between(random, 1, random_chance(random, 150) ? max_tasks : 8);

	if (random_chance(random, 250)) /* first in line, so that a later type may wait for it */
		add_type(job, "prepare", (int)random_between(random, 1, 3), random);
	add_type(job, "worker", workers, random);
	if (random_chance(random, 300))
		add_type(job, "ps", (int)random_between(random, 1, 4), random)->role =
			JOB_ROLE_UNTRACKED;
	if (random_chance(random, 200))
		add_type(job, "chief", 1, random);
	if (random_chance(random, 200))
		add_type(job, "evaluator", (int)random_between(random, 0, 2), random);
	if (random_chance(random, 200))
		add_type(job, "tensorboard", 1, random)->role = JOB_ROLE_SIDECAR;
}

/* Only on tracked types does anyone wait for the end: the others have none of their own. */
static void add_dependencies(struct job *job, struct random *random)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (strcmp(job->types[i].name, "prepare") != 0 && random_chance(random, 850))
			depend(job, job->types[i].name, "prepare", random_chance(random, 150));
	if (random_chance(random, 300))
		depend(job, "worker", "ps", true);
	if (random_chance(random, 200))
		depend(job, "evaluator", "worker", random_chance(random, 600));
	if (random_chance(random, 200))
		depend(job, "chief", "worker", true);
	if (random_chance(random, 150))
		depend(job, "tensorboard", "chief", true);
	else if (random_chance(random, 150))
		depend(job, "worker", "tensorboard", true);
}

static void add_group_timeout(struct job *job, struct random *random)
{
	int worker = job_find_type(job, "worker"), other = job_find_type(job, "chief");

	if (other < 0 || !random_chance(random, 500))
		return;
	struct job_group_timeout *timeout = mem_alloc(sizeof(*timeout));
	timeout->type = (size_t)worker;
	timeout->group = mem_strdup("leaders");
	timeout->members = mem_alloc(sizeof(*timeout->members));
	timeout->members[0] = (size_t)other;
	timeout->member_count = 1;
	timeout->timeout_ms = random_between(random, 0, 30000);
	timeout->ignored = random_chance(random, 500);
	job->group_timeouts = timeout;
	job->group_timeout_count = 1;
}

/* ---- the job ------------------------------------------------------------------------------ */

static int64_t maybe(struct random *random, int per_mille, int64_t low, int64_t high)
{
	return random_chance(random, per_mille) ? random_between(random, low, high) : 0;
}

struct job *shape_job(struct random *random, int max_tasks)
{
	struct job *job = mem_alloc(sizeof(*job));
	bool stubborn = random_chance(random, 300); /* so that much can happen to it */

	*job = (struct job){
		.id = mem_strdup("tony-sim"),
		.name = mem_strdup("sim"),
		.user = mem_strdup("sim"),
		.framework = mem_strdup("generic"),
		.mode = random_chance(random, 700) ? JOB_MODE_GANG : JOB_MODE_FCFS,
		.fail_fast = random_chance(random, 600),
		.stop_after_chief = random_chance(random, 400),
		.retry_count = (int)random_between(random, 0, stubborn ? 20 : 3),
		.infrastructure_retry_count = (int)random_between(random, 0, stubborn ? 60 : 5),
		.retry_delay_ms = random_between(random, 0, 5000),
		.application_timeout_ms = maybe(random, 300, 30000, 600000),
		.allocation_timeout_ms = maybe(random, 700, 20000, 300000),
		.registration_timeout_ms = maybe(random, 700, 10000, 120000),
		.execution_timeout_ms = maybe(random, 300, 30000, 200000),
		.executor_give_up_ms = 25000,
		.heartbeat_interval_ms = random_between(random, 1000, 5000),
		.max_missed_heartbeats = (int)random_between(random, 3, 25),
	};
	job->types = mem_alloc_array(8, sizeof(*job->types));
	add_types(job, random, max_tasks);
	add_dependencies(job, random);
	add_group_timeout(job, random);
	shape_elastic(job, random);
	return job;
}

/* ---- the weather -------------------------------------------------------------------------- */

bool weather_is_calm(const struct weather *weather)
{
	return weather->failing_process + weather->user_kill + weather->lost_message +
		       weather->outage ==
	       0;
}

bool weather_spares_machines(const struct weather *weather)
{
	return weather->lost_message == 0;
}

void shape_weather(struct random *random, const struct job *job, struct weather *weather)
{
	/* Per container or process; in a big job each must be rarer for the job to get anywhere. */
	int tasks = 0;
	for (size_t i = 0; i < job->type_count; i++)
		tasks += job->types[i].instances;
	int rough = (int)random_between(random, 0, 5) * 40 / (1 + tasks / 10);
	bool has_end = job->application_timeout_ms > 0;

	/* Of the events of a job: so that several AMs die in a short one as well. */
	int death = random_chance(random, 700)
			    ? 1 + (int)random_between(random, 0, 40) / (1 + tasks / 4)
			    : 0;

	int scale = elastic_any(job) ? 500 : 0;

	bool by_itself = random_chance(random, 300);
	int outage = random_chance(random, 250) ? 20 : 0;

	*weather = (struct weather){.am_death = death,
				    .outage = outage,
				    .user_scale = scale,
				    .starts_by_itself = by_itself};
	if (random_chance(random, 100))
		return;
	if (random_chance(random, 150)) {
		weather->failing_process = rough * 2;
		weather->hanging_process = job->execution_timeout_ms > 0 ? rough : 0;
		weather->repeated_message = (int)random_between(random, 0, 200);
		weather->user_restart = 100;
		return;
	}
	*weather = (struct weather){
		.am_death = death,
		.outage = outage,
		.am_stall = random_chance(random, 300) ? 20 : 0,
		.user_scale = scale,
		.starts_by_itself = by_itself,
		.slow_allocation = rough,
		.too_late = 200,
		.refused = rough / 20,
		.launch_failed = rough,
		.never_up = job->registration_timeout_ms > 0 ? rough / 2 : 0,
		.late_up = rough,
		.container_lost = rough,
		.stuck = rough / 2,
		.deaf = rough,
		.failing_process = rough * 2,
		.hanging_process = has_end || job->execution_timeout_ms > 0 ? rough : 0,
		.lost_message = (int)random_between(random, 1, 50),
		.repeated_message = (int)random_between(random, 0, 200),
		.user_kill = 50,
		.user_restart = (int)random_between(random, 0, 1) * 300,
		.noticed_loss = (int)random_between(random, 0, 3) * 200,
	};
}
