/* Elastic types whose programs live through changes, one promise per test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine_bed.h"

#define FIRST_PAUSE_MAX_MS 1250

#define assert_task(bed, name, expected) assert_int_equal(bed_look(bed, name)->state, expected)
#define assert_job(bed, expected)	 assert_int_equal(bed_status(bed).state, expected)
#define assert_epoch(bed, expected)	 assert_int_equal(bed_status(bed).epoch, expected)

static void assert_nothing_paid(struct bed *bed)
{
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).retries_used, 0);
}

static struct bed *living(const char *types)
{
	struct bed *bed = bed_create_elastic(types);
	bed->job->live_elastic = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	assert_job(bed, JOB_RUNNING);
	return bed;
}

static void test_live_loss_disturbs_nobody(void **state)
{
	struct bed *bed = living("worker=3");
	bed_lose(bed, "worker:0", CAUSE_NODE_LOST);
	assert_epoch(bed, 1);
	assert_job(bed, JOB_RUNNING);
	assert_task(bed, "worker:1", TASK_RUNNING);
	assert_false(machine_task_is_member(bed->machine, bed_task(bed, "worker:0")));
	bed_pass(bed, FIRST_PAUSE_MAX_MS);
	bed_come(bed, "worker:0");
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_true(bed_acted(bed, ACTION_EPOCH, "worker:0"));
	assert_int_equal(bed_look(bed, "worker:0")->epoch, 1);
	assert_task(bed, "worker:1", TASK_RUNNING);
	assert_epoch(bed, 1);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

static void test_live_arrivals_start_together(void **state)
{
	struct bed *bed = living("worker=2");
	assert_true(bed_scale(bed, "worker", 4));
	bed_come(bed, "worker:2");
	assert_task(bed, "worker:2", TASK_REGISTERED);
	bed_come(bed, "worker:3");
	assert_true(bed_acted(bed, ACTION_ORDER, "worker:2"));
	assert_true(bed_acted(bed, ACTION_ORDER, "worker:3"));
	assert_epoch(bed, 1);
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_destroy(bed);
}

static void test_live_scale_down_disturbs_nobody(void **state)
{
	struct bed *bed = living("worker=3");
	assert_true(bed_scale(bed, "worker", 2));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:2"));
	assert_task(bed, "worker:0", TASK_RUNNING);
	assert_epoch(bed, 1);
	bed_destroy(bed);
}

/* worker:1 is away, and its number is not among those that are stopped. */
static void test_live_scale_down_below_the_least_forms_anew(void **state)
{
	struct bed *bed = living("worker=3");
	bed_type(bed, "worker")->min_instances = 2;
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST);
	assert_epoch(bed, 1);
	assert_true(bed_scale(bed, "worker", 2));
	assert_epoch(bed, 2);
	assert_task(bed, "worker:0", TASK_STOPPING);
	assert_nothing_paid(bed);
	bed_destroy(bed);
}

static void test_live_below_the_least_forms_anew(void **state)
{
	struct bed *bed = living("worker=2");
	bed->job->infrastructure_retry_count = 1;
	bed_lose(bed, "worker:1", CAUSE_NODE_LOST);
	assert_epoch(bed, 2);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 1);
	assert_task(bed, "worker:0", TASK_STOPPING);
	bed_destroy(bed);
}

/* Who waits for the workers to have started is not asked for when none is left that has. */
static void test_dependents_of_nobody_wait(void **state)
{
	struct bed *bed = bed_create_elastic("worker=4 evaluator=1");
	bed_depend(bed, "evaluator", "worker", true);
	bed_type(bed, "worker")->min_instances = 1;
	bed->job->live_elastic = true;
	bed_submit(bed);
	bed_come(bed, "worker:0");
	bed_pass(bed, BED_SETTLE_MS);
	assert_task(bed, "worker:0", TASK_RUNNING);
	bed_come(bed, "worker:1");
	bed_lose(bed, "worker:0", CAUSE_NODE_LOST);
	bed_pass(bed, FIRST_PAUSE_MAX_MS);
	assert_task(bed, "worker:1", TASK_REGISTERED);
	assert_task(bed, "evaluator:0", TASK_WAITING);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_loss_disturbs_nobody),
		cmocka_unit_test(test_live_arrivals_start_together),
		cmocka_unit_test(test_live_scale_down_disturbs_nobody),
		cmocka_unit_test(test_live_scale_down_below_the_least_forms_anew),
		cmocka_unit_test(test_live_below_the_least_forms_anew),
		cmocka_unit_test(test_dependents_of_nobody_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
