/* What the rules share: how advice is written, and what is asked of the input. */
#ifndef TONY_ADVISE_RULES_H
#define TONY_ADVISE_RULES_H

#include <stdbool.h>

#include "advise/advise.h"

/* One rule at work. */
struct advising {
	const struct advise_input *input;
	const struct job_view *view;
	const struct job *job;
	const struct policy_row *failures; /* of its framework */
	const char *rule;
	enum advice_severity severity;
	struct advice_list *list;
};

typedef void advise_rule(struct advising *advising);
advise_rule rule_memory_exceeded, rule_memory_tight, rule_memory_oversized;
advise_rule rule_cpu_short, rule_cpu_oversized;
advise_rule rule_gpu_idle, rule_gpu_partly_used, rule_gpu_starved, rule_gpu_waits;
advise_rule rule_input_bound;
advise_rule rule_number_nan;
advise_rule rule_straggler;
advise_rule rule_ps_saturated, rule_ps_idle;
advise_rule rule_gang_wait, rule_slow_launch, rule_slow_start;
advise_rule rule_heartbeat_short, rule_heartbeat_long, rule_heartbeat_often;
advise_rule rule_registration_short, rule_registration_long, rule_time_limit;
advise_rule rule_retries_useless, rule_bad_node, rule_preempted, rule_port_thief,
	rule_retries_short;
advise_rule rule_no_checkpoint, rule_checkpoint_interval, rule_store_trouble;

/* ---- writing ------------------------------------------------------------------------------ */

#define FORMAT_AT_2 __attribute__((format(printf, 2, 3)))

/* Valid until the next one begins. */
struct advice *advice_begin(struct advising *advising, const char *format, ...) FORMAT_AT_2;
void advice_evidence(struct advice *advice, const char *format, ...) FORMAT_AT_2;
void advice_remedy(struct advice *advice, const char *format, ...) FORMAT_AT_2;
void advice_type(struct advice *advice, const struct advising *advising, size_t type);
/* `now` is what holds where the configuration does not say. Both texts are taken. */
void advice_set(struct advice *advice, const struct advising *advising, const char *key, char *now,
		char *suggested);
/* The type's "memory", "vcores", "gpus" ... */
void advice_set_type(struct advice *advice, const struct advising *advising, size_t type,
		     const char *what, char *now, char *suggested);

/* "3g", "384m"; "25s", "15m": as a user writes them. The callers free. */
char *advise_mib(int64_t mib);
char *advise_duration(int64_t ms);
/* Up to a number that one would choose. */
int64_t advise_round_mib(int64_t mib);
int64_t advise_round_ms(int64_t ms);

/* ---- asking ------------------------------------------------------------------------------- */

struct advise_numbers {
	double *items;
	size_t count;
};
void advise_numbers_add(struct advise_numbers *numbers, double value);
void advise_numbers_finish(struct advise_numbers *numbers);
#define cleanup_numbers __attribute__((cleanup(advise_numbers_finish)))
/* Sorts. 50: the median. `numbers` must not be empty. */
double advise_percentile(struct advise_numbers *numbers, double percent);

/* for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));) */
const struct advise_use *advise_next_use(const struct advising *advising, size_t type,
					 const struct advise_use *use);

/* For the type at `type`: at least half of its tasks have a use that was measured `samples` times
 * and for `least_ms`, or for `whole_ms` and to its good end. */
struct advise_enough {
	int64_t samples, least_ms, whole_ms;
};
bool advise_is_enough(const struct advising *advising, size_t type,
		      const struct advise_enough *enough);

/* The mean of a figure over the type's uses, each by the time it was measured; -1: not known. */
double advise_mean(const struct advising *advising, size_t type,
		   double (*figure)(const struct advise_use *use));
double advise_average_cores(const struct advise_use *use); /* figures for advise_mean() */
double advise_average_gpu(const struct advise_use *use);   /* of all GPUs of the use */

/* The job's time in state running or after it, so far. */
int64_t advise_running_ms(const struct advising *advising);

/* How the type did in a past run; NULL: it had no such type, or as many tasks. */
const struct history_type *advise_past_type(const struct advising *advising,
					    const struct history_summary *past, size_t type);

/* A failure that is not another one's consequence: of tasks that fail in one epoch within 30 s,
 * only the first counts. */
struct incident {
	size_t task;
	const struct attempt_view *attempt; /* its cause is not CAUSE_NONE */
};
struct incidents {
	struct incident *items; /* by time */
	size_t count;
};
void advise_incidents(const struct advising *advising, struct incidents *incidents);
void advise_incidents_finish(struct incidents *incidents);
#define cleanup_incidents __attribute__((cleanup(advise_incidents_finish)))
size_t advise_count_causes(const struct advising *advising, enum cause_kind kind);

#endif
