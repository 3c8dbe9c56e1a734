#include "sweep/state.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"

static const char *const state_names[] = {"planned", "running", "completed",
					  "stopped", "failed",	"killed"};

const char *trial_state_name(enum trial_state state)
{
	return state_names[state];
}

void sweep_finish(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->count; i++) {
		str_list_finish(&sweep->trials[i].values);
		free(sweep->trials[i].job);
		free(sweep->trials[i].text);
	}
	free(sweep->trials);
	free(sweep->enough);
	free(sweep->first);
	free(sweep->id);
	*sweep = (struct sweep){0};
}

/* ---- the journal's lines ------------------------------------------------------------------ */

static double read_number(const json_t *line, const char *name)
{
	const json_t *value = json_object_get(line, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static int64_t read_int(const json_t *line, const char *name)
{
	return json_integer_value(json_object_get(line, name));
}

static int on_ask(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	struct trial fresh = {.number = (int64_t)sweep->count, .value = NAN, .best = NAN};

	if (trial || sweep->count == SWEEP_TRIALS_MAX)
		return err_set(err, ERR_INPUT, "there is such a trial, or no room for one");
	if (json_read_list(line, "values", &fresh.values, err) < 0)
		return -1;
	if (fresh.values.count != sweep->plan->space.count) {
		str_list_finish(&fresh.values);
		return err_set(err, ERR_INPUT, "its parameters are not those of the sweep");
	}
	sweep->trials = mem_realloc_array(sweep->trials, sweep->count + 1, sizeof(*sweep->trials));
	sweep->trials[sweep->count++] = fresh;
	return 0;
}

static void begin_anew(struct trial *trial)
{
	trial->state = TRIAL_PLANNED;
	trial->submitting = trial->stopping = false;
	trial->rung_count = 0;
	trial->told_step = 0;
	trial->value = trial->best = NAN;
	trial->is_nan = false;
	trial->step = 0;
	mem_replace(&trial->job, NULL);
}

/* It had its chance: it was no loser of the sweep's end. */
static bool is_done(const struct sweep *sweep, const struct trial *trial)
{
	return trial->state == TRIAL_COMPLETED ||
	       (trial->state == TRIAL_STOPPED && !str_equal(trial->text, sweep->enough));
}

static int on_begin(struct sweep *sweep, const json_t *line, struct trial *unused, struct err *err)
{
	(void)unused;
	mem_replace(&sweep->id, NULL);
	if (json_need_text(line, "sweep", &sweep->id, err) < 0)
		return -1;
	sweep->begun_ms = read_int(line, "t");
	sweep->cores_ms_before = 0;
	if (!sweep->first)
		sweep->first = mem_strdup(sweep->id);
	for (size_t i = 0; i < sweep->count; i++) {
		struct trial *trial = &sweep->trials[i];
		if (is_done(sweep, trial)) {
			sweep->cores_ms_before += trial->cores_ms;
			continue;
		}
		begin_anew(trial);
		trial->submissions = 0;
		trial->cores_ms = 0;
		trial->started_ms = trial->ended_ms = 0;
		mem_replace(&trial->text, NULL);
	}
	mem_replace(&sweep->enough, NULL);
	return 0;
}

static int on_submit(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	(void)sweep;
	trial->submissions++;
	trial->submitting = true;
	trial->state = TRIAL_RUNNING;
	mem_replace(&trial->job, NULL);
	return json_need_text(line, "job", &trial->job, err);
}

static int on_job(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	(void)sweep;
	trial->state = TRIAL_RUNNING;
	trial->submitting = false;
	if (trial->started_ms == 0)
		trial->started_ms = read_int(line, "t");
	mem_replace(&trial->job, NULL);
	return json_need_text(line, "job", &trial->job, err);
}

static int on_rung(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	if (trial->rung_count == SWEEP_RUNGS_MAX)
		return err_set(err, ERR_INPUT, "it has no more rungs");
	trial->rungs[trial->rung_count++] = read_number(line, "value");
	sweep_note_value(sweep, trial, read_int(line, "step"), read_number(line, "value"));
	if (!json_object_get(line, "stop"))
		return 0;
	trial->stopping = true;
	mem_replace(&trial->text, NULL);
	return json_read_text(line, "stop", &trial->text, err);
}

static int on_report(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	(void)sweep, (void)err;
	trial->told_step = read_int(line, "step");
	return 0;
}

static int take_text(const json_t *line, char **text, struct err *err)
{
	mem_replace(text, NULL);
	return json_read_text(line, "text", text, err);
}

static int on_stop(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	(void)sweep;
	trial->stopping = true;
	return take_text(line, &trial->text, err);
}

/* It begins anew, so it comes to its rungs again. */
static int on_again(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	(void)sweep;
	begin_anew(trial);
	trial->cores_ms += read_int(line, "cores_ms");
	return take_text(line, &trial->text, err);
}

static int on_end(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	const char *state = json_string_value(json_object_get(line, "state"));
	double best = read_number(line, "best");

	trial->stopping = false;
	for (int i = TRIAL_COMPLETED; i < TRIAL_STATE_COUNT; i++)
		if (str_equal(state, state_names[i]))
			trial->state = (enum trial_state)i;
	trial->ended_ms = read_int(line, "t");
	trial->cores_ms += read_int(line, "cores_ms");
	trial->exit_code = (int)read_int(line, "exit_code");
	if (!isnan(best))
		trial->best = best;
	if (json_is_true(json_object_get(line, "nan")) ||
	    json_is_number(json_object_get(line, "value")))
		sweep_note_value(sweep, trial, read_int(line, "step"), read_number(line, "value"));
	return json_object_get(line, "text") ? take_text(line, &trial->text, err) : 0;
}

static int on_enough(struct sweep *sweep, const json_t *line, struct trial *trial, struct err *err)
{
	(void)trial;
	return take_text(line, &sweep->enough, err);
}

int sweep_add(struct sweep *sweep, const json_t *line, struct err *err)
{
	static const struct {
		const char *event;
		bool is_of_trial;
		int (*add)(struct sweep *sweep, const json_t *line, struct trial *trial,
			   struct err *err);
	} rows[] = {{"begin", false, on_begin},	  {"ask", false, on_ask},
		    {"submit", true, on_submit},  {"job", true, on_job},
		    {"rung", true, on_rung},	  {"stop", true, on_stop},
		    {"again", true, on_again},	  {"end", true, on_end},
		    {"enough", false, on_enough}, {"report", true, on_report}};
	const char *event = json_string_value(json_object_get(line, "event"));
	int64_t number = read_int(line, "trial");
	struct trial *trial = NULL;

	if (number >= 0 && number < (int64_t)sweep->count)
		trial = &sweep->trials[number];
	for (size_t i = 0; i < array_length(rows); i++) {
		if (!str_equal(event, rows[i].event))
			continue;
		return rows[i].is_of_trial && !trial
			       ? err_set(err, ERR_INPUT, "it has no trial %lld", (long long)number)
			       : rows[i].add(sweep, line, trial, err);
	}
	return 0; /* of a later version */
}

/* ------------------------------------------------------------------------------------------- */

void sweep_note_value(const struct sweep *sweep, struct trial *trial, int64_t step, double value)
{
	trial->value = value;
	trial->is_nan = isnan(value);
	trial->step = step;
	if (sweep_plan_is_better(sweep->plan, value, trial->best))
		trial->best = value;
}

double sweep_worth(const struct sweep *sweep, const struct trial *trial)
{
	return sweep->plan->takes_best ? trial->best : trial->value;
}

size_t sweep_count(const struct sweep *sweep, enum trial_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < sweep->count; i++)
		count += sweep->trials[i].state == state;
	return count;
}

const struct trial *sweep_best(const struct sweep *sweep)
{
	const struct trial *best = NULL;

	for (size_t i = 0; i < sweep->count; i++) {
		const struct trial *trial = &sweep->trials[i];
		double worth = sweep_worth(sweep, trial);
		if (trial->state != TRIAL_FAILED && trial->state != TRIAL_KILLED &&
		    sweep_plan_is_better(sweep->plan, worth, best ? sweep_worth(sweep, best) : NAN))
			best = trial;
	}
	return best;
}

bool sweep_goes_on(const struct sweep *sweep, const struct trial *trial, double value,
		   struct sweep_rank *rank)
{
	double *values cleanup_free = mem_alloc_array(sweep->count, sizeof(*values));
	size_t count = 0;

	for (size_t i = 0; i < sweep->count; i++)
		if (sweep->trials[i].rung_count > trial->rung_count)
			values[count++] = sweep->trials[i].rungs[trial->rung_count];
	*rank = (struct sweep_rank){1, count + 1};
	for (size_t i = 0; i < count; i++)
		rank->own += sweep_plan_is_better(sweep->plan, values[i], value);
	return sweep_plan_goes_on(sweep->plan, values, count, value);
}

/* ---- the table ---------------------------------------------------------------------------- */

static void set_number(json_t *object, const char *name, double value)
{
	if (isfinite(value))
		json_object_set_new(object, name, json_real(value));
}

static void set_time(json_t *object, const char *name, int64_t ms)
{
	if (ms > 0)
		json_set_int(object, name, ms);
}

static json_t *trial_to_json(const struct sweep *sweep, const struct trial *trial)
{
	const struct sweep_space *space = &sweep->plan->space;
	json_t *object = json_object(), *parameters = json_object();

	json_set_int(object, "trial", trial->number);
	json_set_text(object, "state", trial_state_name(trial->state));
	json_set_text(object, "job", trial->job);
	for (size_t i = 0; i < space->count; i++)
		json_set_text(parameters, space->items[i].name, trial->values.items[i]);
	json_object_set_new(object, "parameters", parameters);
	set_number(object, "value", sweep_worth(sweep, trial));
	if (trial->is_nan && isnan(sweep_worth(sweep, trial)))
		json_object_set_new(object, "nan", json_true());
	set_time(object, "step", trial->step);
	set_time(object, "started_ms", trial->started_ms);
	set_time(object, "ended_ms", trial->ended_ms);
	set_time(object, "cores_ms", trial->cores_ms);
	json_set_text(object, "text", trial->text);
	return object;
}

json_t *sweep_to_json(const struct sweep *sweep)
{
	const struct sweep_plan *plan = sweep->plan;
	const struct trial *best = sweep_best(sweep);
	json_t *object = json_object(), *names = json_array(), *trials = json_array();

	json_set_text(object, "metric", plan->metric);
	json_set_text(object, "goal", plan->maximize ? "maximize" : "minimize");
	json_set_int(object, "planned", plan->trials);
	for (size_t i = 0; i < plan->space.count; i++)
		json_array_append_new(names, json_string(plan->space.items[i].name));
	json_object_set_new(object, "parameters", names);
	if (best)
		json_set_int(object, "best", best->number);
	json_set_text(object, "enough", sweep->enough);
	for (size_t i = 0; i < sweep->count; i++)
		json_array_append_new(trials, trial_to_json(sweep, &sweep->trials[i]));
	json_object_set_new(object, "trials", trials);
	return object;
}
