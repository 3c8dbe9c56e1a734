/*
 * What a job's settings cost it, told from what it did: a table of rules (advise.c), each of which
 * looks at the job's record, at what its containers used and at past runs, and gives advice with
 * its evidence in figures and the settings to change. docs/advice.md has every rule with its
 * thresholds. No I/O and no clock: the AM advises a live job, tony one that has ended.
 *
 * Rules are silent unless there is enough to tell from.
 */
#ifndef TONY_ADVISE_ADVISE_H
#define TONY_ADVISE_ADVISE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "advise/use.h"
#include "base/str.h"
#include "history/layout.h"
#include "history/summary.h"
#include "job/view.h"

enum advice_severity {
	ADVICE_INFO,	 /* something is wasted */
	ADVICE_WARNING,	 /* the job loses time, or is about to fail */
	ADVICE_CRITICAL, /* it failed for this, and will again */
};

struct advice_setting {
	char *key;
	char *now; /* NULL: it is not set */
	char *suggested;
};

struct advice {
	const char *rule; /* "memory-oversized" */
	enum advice_severity severity;
	char *title;
	struct str_list evidence;
	struct str_list types;
	char *remedy; /* what no setting can do, a sentence; NULL: nothing */
	struct advice_setting *settings;
	size_t setting_count;
};

struct advice_list {
	struct advice *items; /* the most severe first */
	size_t count;
};
void advice_list_finish(struct advice_list *list);
#define cleanup_advice_list __attribute__((cleanup(advice_list_finish)))

/* What past runs are worth looking at: so many, the newest ones, of so many ms. */
#define ADVISE_PAST_RUNS 20
#define ADVISE_PAST_MS	 (30 * HISTORY_DAY_MS)

/* All borrowed. */
struct advise_input {
	const struct job_view *view;
	int64_t now_ms; /* wall clock */
	struct advise_uses uses;
	/* Ended runs of jobs with the same name, in any order; this job is not looked at. */
	const struct history_summary *past;
	size_t past_count;
};

/* `list` is overwritten. */
void advise(const struct advise_input *input, struct advice_list *list);

/* {"advice": [{"rule", "severity", "title", "evidence": [], "types": [], "remedy", "settings":
 * [{"key", "now", "suggested"}], "xml"}]} */
json_t *advice_list_to_json(const struct advice_list *list);

/* The settings as properties of a tony.xml, one <property> for each; "" when there are none. The
 * caller frees. */
char *advice_xml(const struct advice *advice);
#endif
