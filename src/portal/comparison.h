/*
 * Runs side by side, out of what each says of itself: what they came to, what they were told, and
 * the last values of what their programs measured.
 *
 * A run is {"job": as GET job has it, "summary": of its history or null, "config": as GET config,
 * "environment": {TYPE: as GET environment with marks}, "metrics": [as GET series of a task, ...]}.
 * Members that are missing or of another form count as empty.
 */
#ifndef TONY_PORTAL_COMPARISON_H
#define TONY_PORTAL_COMPARISON_H

#include <jansson.h>

#include "base/str.h"

enum { COMPARISON_LEAST = 2, COMPARISON_MOST = 10 };

/* {"runs": [{"id", "label", "state", "types": [NAME]}], "rows": [{"group", "key", "unit", "values":
 * [...], "differs": true}]}: a value is a text, a number or null, one for each run. `unit` is
 * "time" (ms since 1970), "ms", "mib", "bytes", "percent" or absent. A variable of the environment
 * is a row of its own. In the place of a secret's value is "differs, hidden", "same, hidden", or
 * "hidden" where that cannot be told, which counts as a difference. */
json_t *comparison_make(const json_t *runs);

/* RFC 4180, in UTF-8: a line of headings, and one for each row. */
void comparison_to_csv(const json_t *comparison, struct str *out);

#endif
