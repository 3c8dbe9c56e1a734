#include "../base/test.h"

#include "base/mem.h"
#include "fixture.h"

static int check(struct job *job, struct err *err)
{
	int result = framework_find("jax")->check(job, err);

	job_destroy(job);
	return result;
}

static void gpus_are_shared_out_evenly(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = fixture_job("jax", "jax");

	assert_success(check(job, &err), &err);
	job = fixture_job("jax", "jax");
	job->types[0].processes = 3;
	assert_int_equal(check(job, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message_has(&err, "tony.worker.processes: \"3\"");
	assert_message_has(&err, "let it divide tony.worker.gpus");
}

static void a_helper_has_gpus_as_it_likes(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = fixture_job("jax", "jax");

	job->types[0].processes = 3;
	job->types[0].role = JOB_ROLE_UNTRACKED;
	assert_success(check(job, &err), &err);
}

static void ranks_are_known_at_the_start(void **state)
{
	static const char *const names[] = {"jax", "pytorch", "torchrun"};

	for (size_t i = 0; i < array_length(names); i++) {
		struct err err cleanup_err = {0};
		struct job *job = fixture_job(names[i], "workers");
		job->mode = JOB_MODE_FCFS;
		assert_int_equal(framework_check(job, &err), -1);
		assert_message_has(&err, "need the address of rank 0 when they start; use GANG");
		job_destroy(job);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpus_are_shared_out_evenly),
		cmocka_unit_test(a_helper_has_gpus_as_it_likes),
		cmocka_unit_test(ranks_are_known_at_the_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
