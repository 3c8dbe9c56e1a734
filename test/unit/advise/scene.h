/* A job, what happened to it and what it used, put together for the rules of src/advise. */
#ifndef TONY_TEST_UNIT_ADVISE_SCENE_H
#define TONY_TEST_UNIT_ADVISE_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "advise/advise.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define MIB    (INT64_C(1) << 20)
#define BEGIN  INT64_C(1795241640000) /* the job is submitted; it runs a minute later */

struct scene {
	struct job *job;
	struct job_view *view;
	struct advise_input input;
	struct history_summary *past;
	struct advice_list list;
};

/* Types "worker=2 ps=1": 4 GiB, 4 cores and no GPU each, registered within 10 s; the task number N
 * is on node-N. */
struct scene scene_begin(const char *types);
/* All tasks have run so long, and do. */
void scene_run(struct scene *scene, int64_t ms);
/* They have ended as the job has. */
void scene_end(struct scene *scene, enum job_state state, int64_t ms);
void scene_finish(struct scene *scene);

struct task_view *scene_task(const struct scene *scene, const char *name);

/* Another attempt of the task, from and to so long after BEGIN, which failed for `kind` as exit
 * code 1 does. Valid until the next one. */
struct attempt_view *scene_failure(struct scene *scene, const char *name, enum cause_kind kind,
				   int64_t from_ms, int64_t to_ms);

/* The task's last attempt was measured each 5 s all its life. Valid until the next one. */
struct advise_use *scene_use(struct scene *scene, const char *name);
/* The same for all tasks of a type: cores on average and at most, MiB at most. */
void scene_uses(struct scene *scene, const char *type, double cores, int64_t mib);
void scene_gpu(struct advise_use *use, double percent, double memory_percent);
/* Steps at so many per second from a step on, between two times after BEGIN. */
void scene_steps(struct advise_use *use, int64_t from_ms, int64_t to_ms, int64_t first,
		 double per_second);

/* A past run that succeeded with the same types: `mib` and percent of a core for each. */
void scene_past(struct scene *scene, int64_t mib, int64_t cpu_percent, int64_t lasted_ms);

/* What the rule says of the scene; fails unless it says something, and unless all settings that any
 * rule suggests make a valid configuration. */
const struct advice *scene_advice(struct scene *scene, const char *rule);
/* Fails when the rule says something. */
void scene_silence(struct scene *scene, const char *rule);

void assert_setting(const struct advice *advice, const char *key, const char *now,
		    const char *suggested);
void assert_evidence(const struct advice *advice, const char *part);

#endif
