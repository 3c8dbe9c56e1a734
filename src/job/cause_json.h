/*
 * A cause as JSON. One shape everywhere; only the member that holds the kind's name differs:
 *   {"kind": "exit", "exit_code": 1, "signal": 0, "text": "...", "headline": "...", "tail": [...]}
 * in the journal and in what the AM tells, and with "cause" for "kind" in an executor's exit
 * report (docs/rest.md). Members that say nothing (0, NULL, no lines) are left out.
 */
#ifndef TONY_JOB_CAUSE_JSON_H
#define TONY_JOB_CAUSE_JSON_H

#include <jansson.h>

#include "base/err.h"
#include "job/machine.h"

#define CAUSE_TEXT_CAP 4096 /* bytes of a text, a headline or a line; the rest is cut off */
#define CAUSE_TAIL_CAP 1000 /* lines; the first ones are cut off */

/* With the kind in member "kind". */
json_t *cause_to_json(const struct cause *cause);
/* As the member "cause" of `object`; none when all is well. */
void cause_set_member(json_t *object, const struct cause *cause);
int cause_from_json(const json_t *object, struct cause *cause, struct err *err);

/* Adds to, or reads from, an object that holds more than the cause. On failure `cause` is as it
 * was; on success what it held is freed. */
void cause_set_json(json_t *object, const char *kind_member, const struct cause *cause);
int cause_read_json(const json_t *object, const char *kind_member, struct cause *cause,
		    struct err *err);

#endif
