/* What is promised: docs/rest.md of /v1/work, and of a task's `straggler`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "api_bed.h"
#include "base/json.h"
#include "base/mem.h"

enum { WORKERS = 5, ROUNDS_MAX = 20000 };

static void measure_often(struct bed *bed)
{
	bed->job->metrics_interval_ms = 1;
}

static void may_grow(struct bed *bed)
{
	struct job_type *workers = bed_type(bed, "worker");

	measure_often(bed);
	workers->min_instances = 2;
	workers->max_instances = 100;
}

/* All run, in the first epoch. */
static struct api_bed *run_workers(void (*tune)(struct bed *bed))
{
	struct api_bed *bed = api_bed_create("worker=5 ps=1:untracked", tune);

	for (int i = 0; i < WORKERS; i++) {
		char *task cleanup_free = mem_printf("worker:%d", i);
		bring_in(bed, task, 4000 + i);
	}
	bring_in(bed, "ps:0", 5000);
	return bed;
}

static int set_up(void **state)
{
	*state = run_workers(measure_often);
	return 0;
}

static int tear_down(void **state)
{
	api_bed_destroy(*state);
	return 0;
}

/* The next sample of a worker, which says that it has come to this step of 1000. */
static void tell_step(struct api_bed *bed, int worker, int step)
{
	static int samples;
	char *path cleanup_free = mem_printf("/v1/tasks/worker:%d/beat", worker);
	char *text cleanup_free = mem_printf(
		"{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":\"running\",\"seen\":1,"
		"\"metrics\":{\"sampled_ms\":%d,\"rss_bytes\":1,\"step\":%d,\"steps\":1000}}",
		++samples, step);
	struct reply reply;

	ask_later(bed, &reply, "POST", path, text);
	reply_finish(&reply);
}

static bool lags(struct api_bed *bed, const char *task)
{
	struct reply reply;

	ask(bed, &reply, "GET", "/v1/work", NULL);
	bool found = json_object_get(json_object_get(reply.json, "stragglers"), task);
	reply_finish(&reply);
	return found;
}

/* All are at step 400, worker:3 at `step`, until that is what is said of it. */
static void work_until(struct api_bed *bed, int step, bool wanted)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		for (int i = 0; i < WORKERS; i++)
			tell_step(bed, i, i == 3 ? step : 400);
		if (lags(bed, "worker:3") == wanted)
			return;
	}
	fail_msg("worker:3 at step %d %s a straggler", step, wanted ? "is not" : "is still");
}

static json_t *straggler_of(const struct reply *reply)
{
	return json_object_get(reply->json, "straggler");
}

/* promise: R23 R25 */
static void test_a_straggler_is_told_until_it_has_caught_up(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	work_until(bed, 120, true);
	ask(bed, &reply, "GET", "/v1/tasks/worker:3", NULL);
	const json_t *found = straggler_of(&reply);
	assert_string_equal(json_string_value(json_object_get(found, "by")), "step");
	assert_int_equal(json_number_value(json_object_get(found, "own")), 120);
	assert_int_equal(json_number_value(json_object_get(found, "others")), 400);
	assert_string_equal(json_string_value(json_object_get(found, "text")),
			    "worker:3 is at step 120, its siblings at 400");
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks/worker:2", NULL);
	assert_null(straggler_of(&reply));
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks", NULL);
	const json_t *rows = json_object_get(reply.json, "tasks");
	assert_non_null(json_object_get(json_array_get(rows, 3), "straggler"));
	assert_null(json_object_get(json_array_get(rows, 4), "straggler"));
	reply_finish(&reply);
	ask_stream(bed, &reply, "/v1/metrics", "text/plain");
	reply_wait(&reply);
	assert_non_null(strstr(reply.text.text, "# TYPE tony_task_straggler gauge\n"));
	assert_non_null(strstr(reply.text.text,
			       "\ntony_task_straggler{job=\"tony-test\",task=\"worker:3\"} 1\n"));
	assert_non_null(strstr(reply.text.text,
			       "\ntony_task_straggler{job=\"tony-test\",task=\"worker:2\"} 0\n"));
	reply_finish(&reply);
	work_until(bed, 390, false);
	ask(bed, &reply, "GET", "/v1/tasks/worker:3", NULL);
	assert_null(straggler_of(&reply));
	reply_finish(&reply);
}

static void test_one_that_has_ended_is_no_straggler(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	work_until(bed, 120, true);
	ask(bed, &reply, "POST", "/v1/tasks/worker:3/exit", exit_text(1, 1, 0, 0));
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
	assert_false(lags(bed, "worker:3"));
}

static void test_how_far_the_programs_are(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	ask(bed, &reply, "GET", "/v1/work", NULL);
	assert_null(json_object_get(reply.json, "done"));
	assert_null(json_object_get(reply.json, "least_step"));
	assert_int_equal(json_object_size(json_object_get(reply.json, "stragglers")), 0);
	reply_finish(&reply);
	for (int i = 0; i < WORKERS; i++)
		tell_step(bed, i, 100 * (i + 1));
	ask(bed, &reply, "GET", "/v1/work", NULL);
	assert_int_equal(1000 * json_number_value(json_object_get(reply.json, "done")), 300);
	assert_int_equal(reply_number(&reply, "least_step"), 100);
	assert_int_equal(reply_number(&reply, "most_step"), 500);
	assert_int_equal(reply_number(&reply, "steps"), 1000);
	reply_finish(&reply);
	assert_true(api_progress(bed->api) > 0.299 && api_progress(bed->api) < 0.301);
	ask_stream(bed, &reply, "/v1/metrics", "text/plain");
	reply_wait(&reply);
	assert_non_null(
		strstr(reply.text.text, "\ntony_job_done_ratio{job=\"tony-test\"} 0.3000\n"));
	reply_finish(&reply);
}

static void beat_with_metrics(struct api_bed *bed, const char *metrics)
{
	char *text cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":"
					     "\"running\",\"seen\":1,\"metrics\":{%s}}",
					     metrics);
	struct reply reply;

	ask_later(bed, &reply, "POST", "/v1/tasks/worker:0/beat", text);
	reply_finish(&reply);
}

static void test_the_use_of_a_process_is_told_while_it_is_the_present_one(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	beat_with_metrics(bed,
			  "\"sampled_ms\":1000,\"rss_bytes\":9,\"pss_bytes\":7,\"cpu_ms\":100");
	beat_with_metrics(bed,
			  "\"sampled_ms\":3000,\"rss_bytes\":9,\"pss_bytes\":8,\"cpu_ms\":3700,"
			  "\"gpus\":[{\"index\":0,\"utilization_percent\":93,"
			  "\"memory_used_mib\":30,\"memory_total_mib\":80}]");
	ask_stream(bed, &reply, "/v1/use", NULL);
	reply_wait(&reply);
	assert_string_equal(reply.text.text,
			    "{\"tasks\":{\"worker:0\":{\"cpu_percent\":180.0,\"memory_bytes\":8,"
			    "\"gpus\":1,\"gpu_percent\":93.0,\"gpu_memory_used_mib\":30,"
			    "\"gpu_memory_total_mib\":80}}}");
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks/worker:0", NULL);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(reply.json, "use"),
							    "memory_bytes")),
			 8);
	reply_finish(&reply);
	ask(bed, &reply, "POST", "/v1/tasks/worker:0/exit", exit_text(1, 1, 0, 0));
	reply_finish(&reply);
	ask_stream(bed, &reply, "/v1/use?number=loss", NULL);
	reply_wait(&reply);
	assert_string_equal(reply.text.text, "{\"tasks\":{}}");
	reply_finish(&reply);
}

static void test_tasks_that_nobody_wants_count_for_nothing(void **state)
{
	struct api_bed *bed = run_workers(may_grow);

	for (int i = 0; i < WORKERS; i++)
		tell_step(bed, i, 100);
	assert_true(api_progress(bed->api) > 0.099 && api_progress(bed->api) < 0.101);
	work_until(bed, 120, true);
	api_bed_destroy(bed);
}

/* What the one before it has told is not this one's. */
static void test_a_process_that_starts_anew_begins_at_nothing(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	for (int i = 0; i < WORKERS; i++)
		tell_step(bed, i, 500);
	ask(bed, &reply, "POST", "/v1/tasks/worker:0/restart", NULL);
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
	ask(bed, &reply, "POST", "/v1/tasks/worker:0/exit", exit_text(1, 1, 0, 1));
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
	assert_true(api_progress(bed->api) > 0.399 && api_progress(bed->api) < 0.401);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_straggler_is_told_until_it_has_caught_up),
		TEST(test_one_that_has_ended_is_no_straggler),
		TEST(test_how_far_the_programs_are),
		TEST(test_the_use_of_a_process_is_told_while_it_is_the_present_one),
		cmocka_unit_test(test_tasks_that_nobody_wants_count_for_nothing),
		TEST(test_a_process_that_starts_anew_begins_at_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
