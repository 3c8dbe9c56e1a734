/* The promises of src/sweep/state.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "sweep/state.h"

static struct sweep_plan plan;

static int begin(void **state)
{
	plan = (struct sweep_plan){.trials = 9, .first_rung = 1, .reduction = 3};
	plan.metric = mem_strdup("loss");
	assert_int_equal(sweep_space_parse("lr=1,2,3", &plan.space, NULL), 0);
	*state = mem_alloc(sizeof(struct sweep));
	((struct sweep *)*state)->plan = &plan;
	return 0;
}

static int end(void **state)
{
	sweep_finish(*state);
	free(*state);
	sweep_plan_finish(&plan);
	return 0;
}

static int try(struct sweep *sweep, const char *line)
{
	json_t *object cleanup_json = json_parse(line, strlen(line), NULL);

	assert_non_null(object);
	return sweep_add(sweep, object, NULL);
}

static void add(struct sweep *sweep, const char *line)
{
	assert_int_equal(try(sweep, line), 0);
}

/* A good value before it does not count, unless it is the best that counts. */
static void test_a_trial_that_ends_with_nan_is_no_candidate(void **state)
{
	struct sweep *sweep = *state;

	for (int i = 0; i < 2; i++) {
		char *line cleanup_free =
			mem_printf("{\"event\": \"ask\", \"trial\": %d, \"values\": [\"2\"]}", i);
		add(sweep, line);
	}
	sweep_note_value(sweep, &sweep->trials[0], 1, 0.01);
	add(sweep, "{\"event\": \"end\", \"trial\": 0, \"state\": \"completed\", \"nan\": true, "
		   "\"best\": 0.01, \"step\": 2}");
	add(sweep, "{\"event\": \"end\", \"trial\": 1, \"state\": \"completed\", \"value\": 3, "
		   "\"best\": 3, \"step\": 2}");
	assert_ptr_equal(sweep_best(sweep), &sweep->trials[1]);
	json_t *table cleanup_json = sweep_to_json(sweep);
	const json_t *trial = json_array_get(json_object_get(table, "trials"), 0);
	assert_true(json_is_true(json_object_get(trial, "nan")));
	assert_null(json_object_get(trial, "value"));
	plan.takes_best = true;
	assert_ptr_equal(sweep_best(sweep), &sweep->trials[0]);
}

/* promise: R83 */
static void test_a_trial_goes_its_way(void **state)
{
	struct sweep *sweep = *state;

	add(sweep, "{\"event\": \"ask\", \"trial\": 0, \"values\": [\"2\"]}");
	assert_int_equal(sweep->trials[0].state, TRIAL_PLANNED);
	assert_int_equal(sweep->trials[0].submissions, 0);
	add(sweep, "{\"event\": \"submit\", \"trial\": 0, \"job\": \"tony-1\"}");
	assert_int_equal(sweep->trials[0].submissions, 1);
	assert_true(sweep->trials[0].submitting);
	assert_int_equal(sweep->trials[0].state, TRIAL_RUNNING); /* not to be submitted again */
	assert_string_equal(sweep->trials[0].job, "tony-1");
	add(sweep, "{\"t\": 5, \"event\": \"job\", \"trial\": 0, \"job\": \"tony-1\"}");
	assert_int_equal(sweep->trials[0].state, TRIAL_RUNNING);
	assert_false(sweep->trials[0].submitting);
	add(sweep, "{\"event\": \"rung\", \"trial\": 0, \"step\": 1, \"value\": 0.5}");
	assert_true(sweep->trials[0].value == 0.5 && sweep->trials[0].rung_count == 1);
	add(sweep, "{\"event\": \"stop\", \"trial\": 0, \"text\": \"a loser\"}");
	assert_true(sweep->trials[0].stopping);
	add(sweep,
	    "{\"t\": 9, \"event\": \"end\", \"trial\": 0, \"state\": \"stopped\", \"step\": 2, "
	    "\"value\": 0.4, \"cores_ms\": 8}");
	assert_int_equal(sweep->trials[0].state, TRIAL_STOPPED);
	assert_string_equal(sweep->trials[0].text, "a loser");
	assert_int_equal(sweep->trials[0].cores_ms, 8);
	assert_ptr_equal(sweep_best(sweep), &sweep->trials[0]);
}

/* promise: R84 */
static void test_what_was_done_stays_done_when_another_sweep_goes_on(void **state)
{
	struct sweep *sweep = *state;

	add(sweep, "{\"t\": 1, \"event\": \"begin\", \"sweep\": \"tony-a\"}");
	for (int i = 0; i < 4; i++) {
		char *line cleanup_free =
			mem_printf("{\"event\": \"ask\", \"trial\": %d, \"values\": [\"2\"]}", i);
		add(sweep, line);
	}
	add(sweep, "{\"event\": \"end\", \"trial\": 0, \"state\": \"completed\", \"value\": 0.4, "
		   "\"cores_ms\": 8}");
	add(sweep, "{\"event\": \"rung\", \"trial\": 1, \"value\": 0.5, \"stop\": \"a loser\"}");
	add(sweep, "{\"event\": \"end\", \"trial\": 1, \"state\": \"stopped\"}");
	add(sweep, "{\"event\": \"submit\", \"trial\": 2, \"job\": \"tony-1\"}");
	add(sweep, "{\"event\": \"enough\", \"text\": \"the time is over\"}");
	add(sweep, "{\"event\": \"stop\", \"trial\": 2, \"text\": \"the time is over\"}");
	add(sweep, "{\"event\": \"end\", \"trial\": 2, \"state\": \"stopped\", \"cores_ms\": 5}");
	add(sweep, "{\"event\": \"end\", \"trial\": 3, \"state\": \"failed\", \"text\": \"why\"}");
	add(sweep, "{\"t\": 9, \"event\": \"begin\", \"sweep\": \"tony-b\"}");
	assert_string_equal(sweep->first, "tony-a");
	assert_int_equal(sweep->begun_ms, 9);
	assert_null(sweep->enough);
	assert_int_equal(sweep->trials[0].state, TRIAL_COMPLETED);
	assert_int_equal(sweep->trials[1].state, TRIAL_STOPPED);
	assert_int_equal(sweep->trials[2].state, TRIAL_PLANNED);
	assert_null(sweep->trials[2].job);
	assert_int_equal(sweep->trials[3].state, TRIAL_PLANNED);
	assert_null(sweep->trials[3].text);
	assert_int_equal(sweep->trials[0].cores_ms, 8);
	assert_int_equal(sweep->trials[2].cores_ms, 0);
	assert_int_equal(sweep->cores_ms_before, 8);
}

static void test_a_lost_job_begins_anew(void **state)
{
	struct sweep *sweep = *state;

	add(sweep, "{\"event\": \"ask\", \"trial\": 0, \"values\": [\"2\"]}");
	add(sweep, "{\"event\": \"submit\", \"trial\": 0, \"job\": \"tony-1\"}");
	add(sweep, "{\"event\": \"job\", \"trial\": 0, \"job\": \"tony-1\"}");
	add(sweep, "{\"event\": \"rung\", \"trial\": 0, \"step\": 1, \"value\": 0.5}");
	add(sweep, "{\"event\": \"again\", \"trial\": 0, \"text\": \"lost\"}");
	assert_int_equal(sweep->trials[0].state, TRIAL_PLANNED);
	assert_int_equal(sweep->trials[0].rung_count, 0);
	assert_null(sweep->trials[0].job);
	assert_null(sweep_best(sweep));
}

static void test_what_failed_is_never_the_best(void **state)
{
	struct sweep *sweep = *state;

	add(sweep, "{\"event\": \"ask\", \"trial\": 0, \"values\": [\"2\"]}");
	add(sweep, "{\"event\": \"ask\", \"trial\": 1, \"values\": [\"3\"]}");
	add(sweep, "{\"event\": \"end\", \"trial\": 0, \"state\": \"failed\", \"value\": 0.1}");
	add(sweep, "{\"event\": \"end\", \"trial\": 1, \"state\": \"completed\", \"value\": 0.2}");
	assert_ptr_equal(sweep_best(sweep), &sweep->trials[1]);
}

static void test_the_best_value_counts_where_it_is_to(void **state)
{
	struct sweep *sweep = *state;

	add(sweep, "{\"event\": \"ask\", \"trial\": 0, \"values\": [\"2\"]}");
	sweep_note_value(sweep, &sweep->trials[0], 1, 0.2);
	sweep_note_value(sweep, &sweep->trials[0], 2, 0.7);
	assert_true(sweep_worth(sweep, &sweep->trials[0]) == 0.7);
	plan.takes_best = true;
	assert_true(sweep_worth(sweep, &sweep->trials[0]) == 0.2);
}

static void test_a_line_that_cannot_be_is_refused(void **state)
{
	struct sweep *sweep = *state;

	assert_int_equal(try(sweep, "{\"event\": \"submit\", \"trial\": 0}"), -1);
	assert_int_equal(try(sweep, "{\"event\": \"ask\", \"trial\": 0, \"values\": []}"), -1);
	add(sweep, "{\"event\": \"ask\", \"trial\": 0, \"values\": [\"1\"]}");
	assert_int_equal(try(sweep, "{\"event\": \"ask\", \"trial\": 0, \"values\": [\"1\"]}"), -1);
	assert_int_equal(try(sweep, "{\"event\": \"job\", \"trial\": 0}"), -1);
	assert_int_equal(try(sweep, "{\"event\": \"submit\", \"trial\": 0}"), -1);
	add(sweep, "{\"event\": \"of a later version\", \"trial\": 77}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_trial_that_ends_with_nan_is_no_candidate,
						begin, end),
		cmocka_unit_test_setup_teardown(test_a_trial_goes_its_way, begin, end),
		cmocka_unit_test_setup_teardown(
			test_what_was_done_stays_done_when_another_sweep_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(test_a_lost_job_begins_anew, begin, end),
		cmocka_unit_test_setup_teardown(test_what_failed_is_never_the_best, begin, end),
		cmocka_unit_test_setup_teardown(test_the_best_value_counts_where_it_is_to, begin,
						end),
		cmocka_unit_test_setup_teardown(test_a_line_that_cannot_be_is_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
