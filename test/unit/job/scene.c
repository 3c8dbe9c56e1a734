#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/record.h"

void scene_add(struct scene *scene, json_t *record)
{
	struct err err cleanup_err = {0};
	char *text cleanup_free = json_text(record);
	struct journal_line line = {.sequence = scene->view->sequence + 1,
				    .time_ms = scene->bed->now + scene->wall_at_zero,
				    .text = text,
				    .length = strlen(text)};

	json_decref(record);
	assert_int_equal(job_view_add(scene->view, &line, &err), 0);
}

void scene_write_down(struct scene *scene)
{
	const struct bed *bed = scene->bed;

	for (size_t i = 0; i < bed->actions.count && !scene->is_out; i++) {
		const struct action *action = &bed->actions.items[i];
		if (action->kind == ACTION_TASK_CHANGED)
			scene_add(scene,
				  record_task(bed->job, machine_task(bed->machine, action->task),
					      (enum task_state)action->from,
					      (enum task_state)action->to, NULL));
		else if (action->kind == ACTION_JOB_CHANGED)
			scene_add(scene,
				  record_job(bed->job, bed->machine, (enum job_state)action->from,
					     (enum job_state)action->to));
	}
}

struct scene scene_begin(const char *types)
{
	struct bed *bed = bed_create(types);

	bed->job->retry_count = 1;
	bed->job->infrastructure_retry_count = 2;
	bed->job->fail_fast = true;
	return (struct scene){
		.bed = bed, .view = job_view_create(bed->job), .wall_at_zero = SCENE_WALL_MS};
}

void scene_submit(struct scene *scene)
{
	bed_submit(scene->bed);
	scene_write_down(scene);
}

void scene_end(struct scene *scene)
{
	job_view_destroy(scene->view);
	bed_destroy(scene->bed);
}

void scene_step(struct scene *scene, char what, const char *name)
{
	struct bed *bed = scene->bed;

	bed->now += 10;
	switch (what) {
	case 'a':
		bed_allocate(bed, name);
		break;
	case 'r':
		bed_register(bed, name);
		break;
	case 's':
		bed_start(bed, name);
		break;
	case 'x':
		bed_exit(bed, name, 0);
		break;
	case 'f':
		bed_exit(bed, name, 3);
		break;
	case 'b':
		bed_exit_blaming(bed, name);
		break;
	case 'l':
		bed_lose(bed, name, CAUSE_NODE_LOST);
		break;
	case 'g':
		bed_gone(bed, name);
		break;
	default:
		fail_msg("no step %c", what);
	}
	scene_write_down(scene);
}

void scene_play(struct scene *scene, const char *steps)
{
	for (const char *at = steps; *at; at += at[2] ? 3 : 2) {
		const char name[] = {'w', 'o', 'r', 'k', 'e', 'r', ':', at[1], '\0'};
		scene_step(scene, at[0], name);
	}
}

void scene_restart_after(struct scene *scene, int64_t later, int64_t wall)
{
	struct bed *bed = scene->bed;
	int64_t wall_now = bed->now + scene->wall_at_zero + wall;

	machine_destroy(bed->machine);
	bed->now = 500 + later; /* on a machine that has just come up */
	scene->wall_at_zero = wall_now - bed->now;
	bed->machine = machine_restore(bed->job, 2, scene->view, bed->now, wall_now);
	action_list_clear(&bed->actions);
	machine_resume(bed->machine, bed->now, &bed->actions);
	scene_write_down(scene);
}

void scene_restart(struct scene *scene)
{
	scene_restart_after(scene, 100, 100);
}
