/* The numbers that a task's program tells of itself (loss, accuracy), as time series. */
#ifndef TONY_AM_USER_SERIES_H
#define TONY_AM_USER_SERIES_H

#include "base/str.h"
#include "job/series.h"
#include "protocol/numbers.h"

enum { USER_SERIES_MAX = 64 }; /* of a task; further names are not taken */

/* What the series of all tasks may take together. */
struct user_budget {
	struct series_shape shape; /* of each series */
	size_t left;		   /* bytes */
};

struct user_budget user_budget_of(size_t tasks);

struct user_series;

/* The budget must outlive it. */
struct user_series *user_series_create(struct user_budget *budget);
void user_series_destroy(struct user_series *series); /* NULL is fine */

/* Those that came before are passed over, so that repetitions do no harm. Another container's
 * numbers begin with 0. The first that is new; `count`: none is. */
size_t user_series_add(struct user_series *series, int attempt, const struct number_list *numbers);

/* How many this container's program has told so far, as the AM knows it. */
int64_t user_series_taken(const struct user_series *series);

/* The newest value of this name, in the first run that has it; NAN: as the program told. False:
 * there is none. */
bool user_series_last(const struct user_series *series, const char *name, double *last);

/* Appends "[{"name": "loss", "run": "", "t": [...], "step": [...], "v": [...]}]", as GET /v1/series
 * has it. */
void user_series_write(const struct user_series *series, size_t points, struct str *text);

/* What an AM that follows goes on from, beside the series: {"attempt": 1, "count": 17}. */
json_t *user_series_to_resume(const struct user_series *series);
/* Takes what a line of metrics.jsonl says of a task of which nothing was told yet. What is not
 * good, or of after `now_ms`, is passed over. */
void user_series_restore(struct user_series *series, const json_t *line, int64_t now_ms);

#endif
