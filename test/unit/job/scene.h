/*
 * A bed whose every action leaves a line, as in an AM; the next AM has another clock.
 */
#ifndef TEST_SCENE_H
#define TEST_SCENE_H

#include <jansson.h>

#include "job/view.h"
#include "machine_bed.h"

#define SCENE_WALL_MS 1795241651000 /* when the bed's clock stood at 0 */

struct scene {
	struct bed *bed;
	struct job_view *view;
	int64_t wall_at_zero;
	bool is_out; /* no store takes a line */
};

/* One retry of the user's, two of the infrastructure's, fail fast. */
struct scene scene_begin(const char *types);
void scene_submit(struct scene *scene); /* after the job was adjusted */
void scene_end(struct scene *scene);

/* "a0 r0": Allocated, Registered, Started, eXited well, Failed, Blames a peer, Lost or Gone, of
 * worker 0. */
void scene_play(struct scene *scene, const char *steps);
void scene_step(struct scene *scene, char what, const char *name);

/* What the journal is told: a record of the test's own, or the actions of the last event. */
void scene_add(struct scene *scene, json_t *record);
void scene_write_down(struct scene *scene);

/* Another AM comes `later`, when the wall clock has gone on by `wall` ms. */
void scene_restart_after(struct scene *scene, int64_t later, int64_t wall);
void scene_restart(struct scene *scene);

#endif
