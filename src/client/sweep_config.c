#include "client/sweep_config.h"

#include <stdlib.h>

#include "base/mem.h"
#include "conf/keys.h"
#include "job/job.h"
#include "sweep/state.h"

#define PARAMETERS "tony.sweep.parameters"
#define STRATEGY   "tony.sweep.strategy"
#define EARLY_STOP "tony.sweep.early-stop"
#define PROGRAM	   "tony.sweep.program"
#define METRIC	   "tony.sweep.metric"
#define TRIALS	   "tony.sweep.trials"
#define LATIN	   "latin-hypercube"

enum { TRIALS_DEFAULT = 20 }; /* of a sweep that is no grid */

void sweep_config_finish(struct sweep_config *config)
{
	sweep_plan_finish(&config->plan);
	free(config->program);
	*config = (struct sweep_config){0};
}

bool sweep_is_configured(const json_t *config)
{
	const char *parameters = job_config_value(config, PARAMETERS);

	return parameters && *parameters;
}

/* NULL: it is not set, and has no default. */
static const char *value_of(const json_t *config, const char *key)
{
	const char *value = job_config_value(config, key);

	return value && *value ? value : key_find(key, NULL)->default_value;
}

bool sweep_is_same(const json_t *one, const json_t *other, const char **key)
{
	static const char *const keys[] = {PARAMETERS, STRATEGY, METRIC, "tony.sweep.goal", TRIALS};
	bool is_cut = str_equal_nocase(value_of(one, STRATEGY), LATIN); /* by the last key */

	for (size_t i = 0; i < array_length(keys) - !is_cut; i++) {
		*key = keys[i];
		if (!str_equal(job_config_value(one, *key), job_config_value(other, *key)))
			return false;
	}
	return true;
}

static int64_t number_of(const json_t *config, const char *key)
{
	return key_read_int(value_of(config, key));
}

static int64_t ms_of(const json_t *config, const char *key)
{
	return key_read_ms(key_find(key, NULL), value_of(config, key));
}

static void read_strategy(const json_t *config, struct sweep_plan *plan)
{
	static const char *const names[] = {"grid", "random", LATIN, "program"};
	const char *strategy = value_of(config, STRATEGY);

	for (size_t i = 0; i < array_length(names); i++)
		if (str_equal_nocase(strategy, names[i]))
			plan->strategy = (enum sweep_strategy)i;
}

static int read_trials(const json_t *config, struct sweep_plan *plan, const char **key,
		       struct err *err)
{
	int64_t size = sweep_space_size(&plan->space);
	bool is_chosen = value_of(config, TRIALS);

	*key = STRATEGY;
	if (plan->strategy == SWEEP_GRID && size == 0)
		return err_set(err, ERR_USAGE,
			       "a grid needs a list or range for each parameter; write %s=random, "
			       "or NAME=VALUE,VALUE",
			       STRATEGY);
	plan->trials = is_chosen		      ? number_of(config, TRIALS)
		       : plan->strategy == SWEEP_GRID ? size
						      : TRIALS_DEFAULT;
	if (plan->strategy == SWEEP_GRID && plan->trials > size)
		plan->trials = size;
	*key = TRIALS;
	if (plan->trials > SWEEP_TRIALS_MAX)
		return err_set(err, ERR_USAGE,
			       "the grid has %lld combinations, and a sweep %d trials at most; "
			       "write " STRATEGY "=random and " TRIALS "=N",
			       (long long)plan->trials, SWEEP_TRIALS_MAX);
	return 0;
}

static int read_metric(const json_t *config, struct sweep_plan *plan, const char **key,
		       struct err *err)
{
	bool stops = !str_equal_nocase(value_of(config, EARLY_STOP), "none");

	plan->metric = mem_strdup(value_of(config, METRIC));
	plan->maximize = str_equal_nocase(value_of(config, "tony.sweep.goal"), "maximize");
	plan->takes_best = str_equal_nocase(value_of(config, "tony.sweep.compare"), "best");
	plan->first_rung = number_of(config, "tony.sweep.first-rung");
	plan->reduction = stops ? number_of(config, "tony.sweep.reduction") : 0;
	*key = METRIC;
	if (!plan->metric && (stops || plan->strategy == SWEEP_ASKED))
		return err_set(err, ERR_USAGE,
			       "is not set, and %s goes by it; name a number that the programs "
			       "report (docs/metrics.md)",
			       stops ? EARLY_STOP : STRATEGY "=program");
	return 0;
}

static int read_program(const json_t *config, struct sweep_config *sweep, const char **key,
			struct err *err)
{
	*key = PROGRAM;
	sweep->program = mem_strdup(value_of(config, PROGRAM));
	if (!sweep->program == (sweep->plan.strategy == SWEEP_ASKED))
		return err_set(err, ERR_USAGE,
			       sweep->program ? "is set, and " STRATEGY " is not \"program\""
					      : "is not set, and " STRATEGY "=program asks it; "
						"write python3 -m tony.optuna");
	return 0;
}

int sweep_config_read(const json_t *config, struct sweep_config *sweep, const char **key,
		      struct err *err)
{
	struct sweep_plan *plan = &sweep->plan;

	*key = PARAMETERS;
	if (sweep_space_parse(value_of(config, PARAMETERS), &plan->space, err) < 0)
		return -1;
	plan->seed = number_of(config, "tony.sweep.seed");
	sweep->parallel = number_of(config, "tony.sweep.parallel");
	sweep->program_timeout_ms = ms_of(config, "tony.sweep.program-timeout");
	sweep->time_ms = ms_of(config, "tony.sweep.time");
	sweep->core_time_ms = ms_of(config, "tony.sweep.core-time");
	sweep->retries = number_of(config, "tony.sweep.retries");
	sweep->max_failures = number_of(config, "tony.sweep.max-failures");
	read_strategy(config, plan);
	if (read_trials(config, plan, key, err) < 0 || read_metric(config, plan, key, err) < 0)
		return -1;
	return read_program(config, sweep, key, err);
}
