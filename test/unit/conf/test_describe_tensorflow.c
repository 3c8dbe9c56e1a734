/* What follows from the task types of a job that runs TensorFlow. */
#include "describe_bed.h"

#define RESTARTS 10

static void assert_role(const struct bed *bed, const char *type, enum job_role role, int restarts)
{
	assert_int_equal(bed_type(bed, type)->role, role);
	assert_int_equal(bed_type(bed, type)->max_restarts, restarts);
}

static void all_workers_take_part_in_every_step(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "chief=1", "worker=2");
	assert_true(bed_describe(bed)->fail_fast);
	assert_role(bed, "chief", JOB_ROLE_TRACKED, 0);
	assert_role(bed, "worker", JOB_ROLE_TRACKED, 0);
}

static void there_is_one_chief(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "chief=2", "worker=2");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--conf: tony.chief.instances: \"2\": TensorFlow knows one chief; "
		    "set it to 1 and ask for more workers");
}

static void the_master_is_a_chief(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "chief=1", "master=1");
	bed_refuse(bed);
	assert_line_has(bed_errors(bed),
			"tony.master.instances: \"1\": TensorFlow knows one chief; set "
			"it to 0");
}

static void with_servers_only_the_chief_is_waited_for(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "chief=1", "worker=2", "ps=2");
	bed_describe(bed);
	assert_role(bed, "chief", JOB_ROLE_TRACKED, 0);
	assert_role(bed, "worker", JOB_ROLE_UNTRACKED, RESTARTS);
	assert_role(bed, "ps", JOB_ROLE_UNTRACKED, 0);
	assert_no_lines(bed_warnings(bed));
}

static void servers_without_a_chief_are_of_tonys_time(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "worker=2", "ps=1", "chief=0");
	assert_false(bed_describe(bed)->fail_fast);
	assert_role(bed, "worker", JOB_ROLE_TRACKED, 0);
	assert_role(bed, "ps", JOB_ROLE_UNTRACKED, 0);
}

static void an_evaluator_stands_beside_the_training(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "worker=2", "evaluator=1", "monitor=1");
	assert_true(bed_describe(bed)->fail_fast);
	assert_role(bed, "evaluator", JOB_ROLE_SIDECAR, RESTARTS);
	assert_role(bed, "monitor", JOB_ROLE_TRACKED, 0);
	assert_no_lines(bed_warnings(bed)); /* of a list that no user wrote */
}

static void an_evaluator_alone_is_the_job(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "evaluator=1");
	bed_describe(bed);
	assert_role(bed, "evaluator", JOB_ROLE_TRACKED, 0);
}

/* Who says how long a type may outlive another wants it to be waited for. */
static void a_group_timeout_says_who_is_waited_for(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "chief=1", "worker=2", "ps=1", "evaluator=1");
	bed_conf(bed, "tony.application.group.training=chief");
	bed_conf(bed, "tony.application.dependency.evaluator.timeout.after.training=10m");
	bed_describe(bed);
	assert_role(bed, "evaluator", JOB_ROLE_TRACKED, RESTARTS);
	assert_role(bed, "worker", JOB_ROLE_UNTRACKED, RESTARTS);
}

static void a_group_timeout_of_the_workers_has_them_waited_for(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "chief=1", "worker=2", "ps=1");
	bed_conf(bed, "tony.application.group.training=chief");
	bed_conf(bed, "tony.application.dependency.worker.timeout.after.training=10m");
	bed_describe(bed);
	assert_role(bed, "worker", JOB_ROLE_TRACKED, RESTARTS);
	assert_role(bed, "ps", JOB_ROLE_UNTRACKED, 0);
}

/* TonY's advice for an evaluator that never ends. */
static void what_the_user_lists_as_untracked_is_untracked(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "chief=1", "worker=2", "ps=1", "evaluator=1");
	bed_conf(bed, "tony.application.untracked.jobtypes=ps,evaluator");
	bed_describe(bed);
	assert_role(bed, "evaluator", JOB_ROLE_UNTRACKED, RESTARTS);
	assert_role(bed, "worker", JOB_ROLE_TRACKED, RESTARTS);
}

static void what_the_user_lists_as_a_sidecar_is_one(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	BED_TYPES(bed, "worker=2", "evaluator=1", "ps=1");
	bed_conf(bed, "tony.application.untracked.jobtypes=ps,evaluator");
	bed_conf(bed, "tony.application.sidecar.jobtypes=evaluator");
	bed_describe(bed);
	assert_role(bed, "evaluator", JOB_ROLE_SIDECAR, RESTARTS);
}

/* Each task is on its own: nobody waits for it, hangs without it or has its address. */
static void first_come_first_served_is_as_in_tony(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	bed_conf(bed, "tony.application.distributed-mode=fcfs");
	bed_conf(bed, "tony.worker.processes=2");
	BED_TYPES(bed, "chief=1", "worker=2", "ps=1", "evaluator=1");
	assert_false(bed_describe(bed)->fail_fast);
	assert_role(bed, "worker", JOB_ROLE_TRACKED, 0);
	assert_role(bed, "evaluator", JOB_ROLE_TRACKED, 0);
	assert_role(bed, "ps", JOB_ROLE_UNTRACKED, 0);
}

static void a_gang_has_one_process_for_each_address(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.framework=tensorflow");
	bed_conf(bed, "tony.worker.processes=2");
	BED_TYPES(bed, "worker=2");
	bed_refuse(bed);
	assert_line_has(bed_errors(bed),
			"tony.worker.processes: \"2\": TensorFlow knows one process "
			"per address; set it to 1 and ask for more instances");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(all_workers_take_part_in_every_step),
		BED_TEST(there_is_one_chief),
		BED_TEST(the_master_is_a_chief),
		BED_TEST(with_servers_only_the_chief_is_waited_for),
		BED_TEST(servers_without_a_chief_are_of_tonys_time),
		BED_TEST(an_evaluator_stands_beside_the_training),
		BED_TEST(an_evaluator_alone_is_the_job),
		BED_TEST(a_group_timeout_says_who_is_waited_for),
		BED_TEST(a_group_timeout_of_the_workers_has_them_waited_for),
		BED_TEST(what_the_user_lists_as_untracked_is_untracked),
		BED_TEST(what_the_user_lists_as_a_sidecar_is_one),
		BED_TEST(first_come_first_served_is_as_in_tony),
		BED_TEST(a_gang_has_one_process_for_each_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
