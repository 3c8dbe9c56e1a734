/* Which containers a job has had, by its journal: what an engine finds their logs by. */
#ifndef TONY_CLIENT_LOG_PLACES_H
#define TONY_CLIENT_LOG_PLACES_H

#include "client/opened.h"
#include "logs/job_logs.h"

struct log_places;

struct log_places *log_places_read(const struct opened *opened, struct err *err);
void log_places_destroy(struct log_places *places); /* NULL is fine */

/* Sets container and host of an attempt of a task, from 1; `task` -1: of the job's AM. Not known:
 * NULL. They are borrowed. */
void log_places_find(const struct log_places *places, int64_t task, struct log_place *place);

#endif
