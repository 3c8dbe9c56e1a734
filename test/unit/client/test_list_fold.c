/* One row in place of a sweep with its trials, a pipeline or an array: job_list_fold(). */
#include "../base/test.h"

#include "base/mem.h"
#include "client/job_list.h"

#define SWEEP	 "tony-20260101-000000-00000000"
#define PIPELINE "pipeline-20260101-000000-0000000a"

static struct job_list list;

static void add(const char *id, const char *name, const char *tag, enum job_state state,
		const char *message)
{
	struct job_summary job = {.id = mem_strdup(id),
				  .name = mem_strdup(name),
				  .state = state,
				  .message = mem_strdup(message),
				  .submitted_ms = 1000 - (int64_t)list.count,
				  .ended_ms = job_state_is_final(state) ? 2000 : 0};

	if (tag)
		str_list_add(&job.tags, tag);
	list.items = mem_realloc_array(list.items, list.count + 1, sizeof(*list.items));
	list.items[list.count++] = job;
}

static void add_of(const char *user, const char *id, const char *name, const char *tag,
		   enum job_state state)
{
	add(id, name, tag, state, NULL);
	list.items[list.count - 1].user = mem_strdup(user);
}

/* "ID STATE NAME|..." */
static void expect_rows(const char *expected)
{
	struct job_list folded cleanup_job_list = {0};
	struct str rows cleanup_str = {0};

	job_list_fold(&list, &folded);
	for (size_t i = 0; i < folded.count; i++)
		str_append_format(&rows, "%s%s %s %s", i > 0 ? "|" : "", folded.items[i].id,
				  job_state_name(folded.items[i].state), folded.items[i].name);
	assert_string_equal(str_text(&rows), expected);
	job_list_finish(&list);
	list = (struct job_list){0};
}

static void trials_stand_in_the_row_of_their_sweep(void **state)
{
	add("c", "tune_1", "sweep=" SWEEP, JOB_RUNNING, NULL);
	add("b", "other", NULL, JOB_FAILED, "exit 1");
	add("a", "tune_0", "sweep=" SWEEP, JOB_KILLED, "by its sweep");
	add(SWEEP, "tune", NULL, JOB_RUNNING, NULL);
	expect_rows("b failed other|" SWEEP " running tune (2 trials: 1 running, 1 killed)");
}

static void trials_without_their_sweep_are_one_row_as_well(void **state)
{
	add("b", "tune_1", "sweep=" SWEEP, JOB_SUCCEEDED, NULL);
	add("a", "tune_0", "sweep=" SWEEP, JOB_SUCCEEDED, NULL);
	expect_rows(SWEEP " succeeded tune (2 trials: 2 succeeded)");
}

static void the_jobs_of_a_pipeline_are_a_row_in_the_state_that_matters_most(void **state)
{
	add("c", "digits.publish", PIPELINE, JOB_KILLED, "skipped");
	add("b", "digits.train", PIPELINE, JOB_FAILED, "exit 1");
	add("a", "digits.prepare", PIPELINE, JOB_SUCCEEDED, NULL);
	expect_rows(PIPELINE " failed digits (3 jobs: 1 failed, 1 killed, 1 succeeded)");
}

static void a_sweep_within_a_pipeline_is_one_of_its_jobs(void **state)
{
	add("b", "digits.tune_0", "sweep=" SWEEP, JOB_SUCCEEDED, NULL);
	add(SWEEP, "digits.tune", PIPELINE, JOB_SUCCEEDED, NULL);
	add("a", "digits.prepare", PIPELINE, JOB_SUCCEEDED, NULL);
	expect_rows(PIPELINE " succeeded digits (2 jobs: 2 succeeded)");
}

static void a_row_is_found_by_its_name(void **state)
{
	add("c", "digits.train", PIPELINE, JOB_RUNNING, NULL);
	add("b", "tune_0", "sweep=" SWEEP, JOB_SUCCEEDED, NULL);
	add("a", "other", NULL, JOB_SUCCEEDED, NULL);
	assert_string_equal(job_list_family_named(&list, "digits"), PIPELINE);
	assert_string_equal(job_list_family_named(&list, "tune"), SWEEP);
	assert_null(job_list_family_named(&list, "other"));
	job_list_finish(&list);
}

static void one_job_alone_stays_as_it_is(void **state)
{
	add("a", "digits.prepare", PIPELINE, JOB_RUNNING, NULL);
	add("b", "job", PIPELINE "_prepare", JOB_RUNNING, NULL);
	expect_rows("a running digits.prepare|b running job");
}

static void a_job_that_another_user_tags_stays_outside(void **state)
{
	add_of("bob", "d", "his_0", "sweep=" SWEEP, JOB_FAILED);
	add_of("bob", SWEEP "x", "his_1", PIPELINE, JOB_RUNNING);
	add_of("alice", "b", "tune_0", "sweep=" SWEEP, JOB_SUCCEEDED);
	add_of("alice", SWEEP, "tune", NULL, JOB_SUCCEEDED);
	add_of("alice", "c", "digits.train", PIPELINE, JOB_SUCCEEDED);
	add_of("alice", "a", "digits.prepare", PIPELINE, JOB_SUCCEEDED);
	expect_rows("d failed his_0|" SWEEP "x running his_1|" SWEEP
		    " succeeded tune (1 trial: 1 succeeded)|" PIPELINE
		    " succeeded digits (2 jobs: 2 succeeded)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trials_stand_in_the_row_of_their_sweep),
		cmocka_unit_test(trials_without_their_sweep_are_one_row_as_well),
		cmocka_unit_test(the_jobs_of_a_pipeline_are_a_row_in_the_state_that_matters_most),
		cmocka_unit_test(a_sweep_within_a_pipeline_is_one_of_its_jobs),
		cmocka_unit_test(a_row_is_found_by_its_name),
		cmocka_unit_test(one_job_alone_stays_as_it_is),
		cmocka_unit_test(a_job_that_another_user_tags_stays_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
