/* Time series as JSON (docs/rest.md, "Series"). The text is written without building a tree: there
 * are those of thousands of tasks. */
#ifndef TONY_JOB_SERIES_TEXT_H
#define TONY_JOB_SERIES_TEXT_H

#include <jansson.h>

#include "base/str.h"
#include "job/series.h"

void series_write_number(struct str *text, double value); /* NAN is null */

/* Appends "[0.31, ...]", of each point one. */
void series_write_values(struct str *text, const struct series_point *points, size_t count);

struct series_form {
	bool is_told, has_steps;
	const struct series_facts *facts; /* NULL: the points have them all */
};
/* Appends the members "t", "step" of one that is told, "v", and where there is more to say "least",
 * "most", "nan", "gap" and "exact". */
void series_write(struct str *text, const struct series_point *points, size_t count,
		  const struct series_form *form);

/* Reads the points of such an object again. The time of one that is not good is -1, a step that was
 * not said, too. Returns how many; the caller frees `*points`. */
size_t series_parse(const json_t *series, struct series_point **points);

/* The exact facts, or those of the points, as an older version of tony wrote them. Returns how many
 * points have a number, and their mean. */
size_t series_parse_facts(const json_t *series, struct series_facts *facts, double *mean);
/* False: it has none of its own. */
bool series_parse_exact(const json_t *series, struct series_facts *facts);

/* Leaves at most `limit` points of the object. */
void series_thin_object(json_t *series, size_t limit);

/* "NaN since step 60", or "12 NaN, the first at step 37". NULL: the program told none. The caller
 * frees. */
char *series_nan_words(const struct series_facts *facts);

#endif
