/* Directories of the task that are kept in a store (mirror.h): the job's checkpoints and the task's
 * results, which a program gets as TONY_CHECKPOINT_DIR and TONY_OUTPUT_DIR of its container and
 * needs to know nothing of the store. All are fetched, then stored, one after the other. */
#ifndef TONY_EXECUTOR_MIRRORS_H
#define TONY_EXECUTOR_MIRRORS_H

#include "executor/mirror.h"
#include "executor/settings.h"

struct mirrors;

/* *mirrors is NULL where the task's directories are found by their path. */
int mirrors_open(const struct settings *settings, struct event_base *base, struct mirrors **mirrors,
		 struct err *err);
void mirrors_destroy(struct mirrors *mirrors); /* NULL is fine */

/* As their namesakes of mirror.h. An error says which directory it is about; of several the first
 * is told, after all have been tried. */
void mirrors_fetch(struct mirrors *mirrors, mirror_done *done, void *data);
void mirrors_watch(struct mirrors *mirrors);
void mirrors_flush(struct mirrors *mirrors, mirror_done *done, void *data);

/* "its checkpoints cannot be stored: ...; trying again", or "fetched"; NULL: all can, or could some
 * seconds ago. The caller frees. */
char *mirrors_trouble(const struct mirrors *mirrors);
/* Of all of them. */
struct storing;
void mirrors_measure(const struct mirrors *mirrors, struct storing *storing);

#endif
