/* A notice says what tony status says, under one id, and a command finds every
 * fact in its environment and none in another form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "am/notice.h"
#include "base/json.h"
#include "base/mem.h"

static struct job make_job(void)
{
	struct job job = {.id = (char *)"tony-1", .name = (char *)"digits", .user = (char *)"ada"};

	job.framework = (char *)"pytorch";
	job.submitted_ms = 1000;
	str_list_add(&job.tags, "a");
	str_list_add(&job.tags, "b c");
	return job;
}

static json_t *facts_of(struct job *job, enum job_state state_of_it)
{
	struct job_view *view = job_view_create(job);

	view->state = view->outcome = state_of_it;
	view->ended_ms = 5000;
	view->message = mem_strdup("worker:0 exited with code 3: $(x)\nno data");
	view->cause.kind = CAUSE_EXIT;
	view->cause.exit_code = 3;
	str_list_add(&view->cause.tail, "line");
	json_t *facts = notice_facts(view);
	job_view_destroy(view);
	str_list_finish(&job->tags);
	return facts;
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void test_facts(void **state)
{
	struct job job = make_job();
	json_t *facts cleanup_json = facts_of(&job, JOB_FAILED);
	const json_t *told = json_object_get(facts, "job");

	assert_string_equal(text_of(facts, "id"), "tony-1/end");
	assert_string_equal(text_of(facts, "event"), "end");
	assert_string_equal(text_of(facts, "text"),
			    "digits (tony-1) failed: worker:0 exited with code 3: $(x)\nno data");
	assert_string_equal(text_of(told, "state"), "failed");
	assert_int_equal(json_integer_value(json_object_get(told, "exit_code")), 1);
	const json_t *cause = json_object_get(told, "cause");
	assert_int_equal(json_integer_value(json_object_get(cause, "exit_code")), 3);
	assert_null(json_object_get(cause, "tail"));
	assert_null(json_object_get(told, "portal_url"));
}

static void test_success_is_told_shortly(void **state)
{
	struct job job = make_job();
	json_t *facts cleanup_json = facts_of(&job, JOB_SUCCEEDED);

	assert_string_equal(text_of(facts, "text"), "digits (tony-1) succeeded");
}

static void test_environment(void **state)
{
	static const char *const expected[] = {
		"TONY_NOTICE_ID=tony-1/end",
		"TONY_JOB_ID=tony-1",
		"TONY_JOB_NAME=digits",
		"TONY_JOB_TAGS=a,b c",
		"TONY_JOB_STATE=killed",
		"TONY_JOB_EXIT_CODE=8",
		"TONY_JOB_SUBMITTED_MS=1000",
		"TONY_JOB_ENDED_MS=5000",
		"TONY_JOB_MESSAGE=worker:0 exited with code 3: $(x)\nno data",
	};
	struct str_list environment cleanup_str_list = {0};
	struct job job = make_job();
	json_t *facts cleanup_json = facts_of(&job, JOB_KILLED);

	notice_environment(facts, &environment);
	for (size_t i = 0; i < array_length(expected); i++)
		if (!str_list_has(&environment, expected[i]))
			fail_msg("%s is not there", expected[i]);
	for (size_t i = 0; i < environment.count; i++)
		assert_false(str_starts_with(environment.items[i], "TONY_JOB_CAUSE="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_success_is_told_shortly),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
