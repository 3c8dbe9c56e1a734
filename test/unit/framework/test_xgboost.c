#include "../base/test.h"

#include "base/mem.h"
#include "fixture.h"

static void expect_refusal(struct job *job, const char *part)
{
	struct err err cleanup_err = {0};

	assert_int_equal(framework_find("xgboost")->check(job, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message_has(&err, part);
	job_destroy(job);
}

static void what_works_is_taken(void **state)
{
	static const char *const shapes[] = {"xgboost", "xgboost_dense", "workers", "single"};

	for (size_t i = 0; i < array_length(shapes); i++) {
		struct err err cleanup_err = {0};
		struct job *job = fixture_job("xgboost", shapes[i]);
		assert_success(framework_find("xgboost")->check(job, &err), &err);
		job_destroy(job);
	}
}

static void one_tracker_that_is_no_worker(void **state)
{
	struct job *job = fixture_job("xgboost", "xgboost");

	job->types[1].instances = 2;
	expect_refusal(job, "tony.tracker.instances: \"2\"");
	job = fixture_job("xgboost", "xgboost");
	job->types[1].processes = 3;
	expect_refusal(job, "tony.tracker.processes: \"3\"");
	job = fixture_job("xgboost", "xgboost");
	job->types[1].role = JOB_ROLE_TRACKED;
	expect_refusal(job, "add tracker to this list");
	job = fixture_job("xgboost", "xgboost");
	job->types[1].role = JOB_ROLE_SIDECAR; /* would not start anew with the workers */
	expect_refusal(job, "add tracker to this list");
}

static void somebody_trains_and_knows_the_tracker(void **state)
{
	struct job *job = fixture_job("xgboost", "xgboost");

	job->types[0].role = JOB_ROLE_UNTRACKED;
	expect_refusal(job, "nobody trains");
	job = fixture_job("xgboost", "xgboost");
	job->mode = JOB_MODE_FCFS;
	expect_refusal(job, "use GANG");
}

static void the_tracker_is_added_and_runs_with_the_tasks_python(void **state)
{
	struct str_list types cleanup_str_list = {0}, pairs cleanup_str_list = {0};
	const struct framework_shape shape = {.types = &types, .python = "'venv/bin/python'"};

	str_list_add(&types, "worker");
	framework_find("xgboost")->defaults(&shape, &pairs);
	assert_true(str_list_has(&pairs, "tony.tracker.instances=1"));
	assert_true(str_list_has(&pairs, "tony.application.untracked.jobtypes=tracker"));
	const char *command = pairs.items[pairs.count - 1];
	assert_true(str_starts_with(command,
				    "tony.tracker.command=exec 'venv/bin/python' -c 'import "));
	/* In quotes as a whole. */
	assert_ptr_equal(strchr(strstr(command, " -c '") + strlen(" -c '"), '\''),
			 command + strlen(command) - 1);
}

static void a_single_program_gets_no_tracker(void **state)
{
	struct str_list types cleanup_str_list = {0}, pairs cleanup_str_list = {0};
	const struct framework_shape shape = {.types = &types, .python = "python3"};

	framework_find("xgboost")->defaults(&shape, &pairs);
	assert_false(str_list_has(&pairs, "tony.tracker.instances=1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_works_is_taken),
		cmocka_unit_test(one_tracker_that_is_no_worker),
		cmocka_unit_test(somebody_trains_and_knows_the_tracker),
		cmocka_unit_test(the_tracker_is_added_and_runs_with_the_tasks_python),
		cmocka_unit_test(a_single_program_gets_no_tracker),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
