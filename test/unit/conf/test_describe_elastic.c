/* Types that may have fewer or more tasks. */
#include "describe_bed.h"

static void test_least_and_most(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=4", "ps=1");
	bed_conf(bed, "tony.worker.min-instances=2");
	bed_conf(bed, "tony.worker.max-instances=8");
	const struct job *job = bed_describe(bed);
	const struct job_type *worker = bed_type(bed, "worker");
	assert_true(job_type_is_elastic(worker));
	assert_int_equal(worker->instances, 4);
	assert_int_equal(job_type_minimum(worker), 2);
	assert_int_equal(job_type_slots(worker), 8);
	assert_int_equal(job_task_count(job), 9);
	assert_int_equal(job->elastic_settle_ms, 10000);
	assert_false(job_type_is_elastic(bed_type(bed, "ps")));
	assert_no_lines(bed_warnings(bed));
}

static void test_most_is_what_is_asked_for(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=4");
	bed_conf(bed, "tony.worker.min-instances=1");
	bed_conf(bed, "tony.application.elastic-settle-time=3s");
	const struct job *job = bed_describe(bed);
	assert_int_equal(job_type_slots(bed_type(bed, "worker")), 4);
	assert_int_equal(job->elastic_settle_ms, 3000);
}

/* A limit alone makes no type elastic. */
static void test_a_limit_is_no_wish(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=4");
	bed_conf(bed, "tony.worker.max-instances=8");
	const struct job *job = bed_describe(bed);
	assert_false(job_type_is_elastic(bed_type(bed, "worker")));
	assert_int_equal(job_task_count(job), 4);
	assert_int_equal(job->elastic_settle_ms, 0);
}

static void test_nothing_to_stretch(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=4");
	bed_conf(bed, "tony.worker.min-instances=4");
	bed_describe(bed);
	assert_false(job_type_is_elastic(bed_type(bed, "worker")));
	assert_line(bed_warnings(bed), "--conf: tony.worker.min-instances: has no effect: it is "
				       "all that worker may have; write less, or set "
				       "tony.worker.max-instances to more");
}

static void test_refusals(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2", "chief=2", "board=2");
	bed_conf(bed, "tony.application.framework=pytorch");
	bed_conf(bed, "tony.worker.min-instances=3");
	bed_conf(bed, "tony.chief.min-instances=1");
	bed_conf(bed, "tony.application.stop-after-chief=false");
	bed_conf(bed, "tony.board.min-instances=1");
	bed_conf(bed, "tony.application.sidecar.jobtypes=board");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 3);
	assert_line(bed_errors(bed), "--conf: tony.worker.min-instances: \"3\" is more than "
				     "tony.worker.instances; write 2 or less");
	assert_line(bed_errors(bed), "--conf: tony.chief.min-instances: chief cannot have fewer or "
				     "more tasks: every chief is needed; take the key out");
	assert_line(bed_errors(bed), "--conf: tony.board.min-instances: board cannot have fewer or "
				     "more tasks: nobody waits for a sidecar; take the key out");
}

static void test_not_one_by_one(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.worker.min-instances=1");
	bed_conf(bed, "tony.application.distributed-mode=FCFS");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.min-instances: worker cannot have fewer or more tasks: "
		    "with tony.application.distributed-mode=FCFS each task starts when it comes; "
		    "take the key out");
}

/* A site's limit may be far beyond what a job can have. */
static void test_a_limit_that_is_none(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.worker.min-instances=1");
	bed_conf(bed, "tony.worker.max-instances=1000000");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.min-instances: without a limit of its own worker could "
		    "grow to 1000000 tasks, and 100000 is the most; set tony.worker.max-instances "
		    "to what it may grow to");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_least_and_most),
		BED_TEST(test_most_is_what_is_asked_for),
		BED_TEST(test_a_limit_is_no_wish),
		BED_TEST(test_nothing_to_stretch),
		BED_TEST(test_refusals),
		BED_TEST(test_not_one_by_one),
		BED_TEST(test_a_limit_that_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
