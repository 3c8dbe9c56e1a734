/* What is promised: docs/rest.md, "For people and programs". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api_bed.h"
#include "base/mem.h"
#include "job/record.h"

static int set_up(void **state)
{
	*state = api_bed_create("worker=2 ps=1:untracked", NULL);
	return 0;
}

static int tear_down(void **state)
{
	api_bed_destroy(*state);
	return 0;
}

static void expect_status(struct api_bed *bed, int status, const char *method, const char *path,
			  const char *body)
{
	struct reply reply;

	ask(bed, &reply, method, path, body);
	if (reply.status != status)
		fail_msg("%s %s: %d %s", method, path, reply.status, str_text(&reply.text));
	reply_finish(&reply);
}

static void expect_text(struct api_bed *bed, const char *path, const char *text)
{
	struct reply reply;

	ask_stream(bed, &reply, path, NULL);
	reply_wait(&reply);
	assert_int_equal(reply.status, 200);
	assert_string_equal(str_text(&reply.text), text);
	reply_finish(&reply);
}

static void give_odd_name(struct bed *bed)
{
	mem_replace(&bed->job->name, mem_strdup("<script>alert(\"&\")</script>"));
}

static void take_page(void *data, const struct http_response *response, const struct err *err)
{
	struct reply *reply = data;

	assert_non_null(response);
	reply->status = response->status;
	str_append_bytes(&reply->text, response->body, response->length);
	reply->done = true;
}

static void test_page_is_for_everybody_and_tells_little(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2 ps=1:untracked", give_odd_name);
	struct reply reply = {.bed = bed};

	bring_in(bed, "worker:0", 4001);
	reply.client = http_client_create(bed->base, api_address(bed->api), NULL, NULL);
	http_client_start(reply.client,
			  &(struct http_question){
				  .method = "GET", .path = "/", .done = take_page, .data = &reply});
	reply_wait(&reply);
	assert_int_equal(reply.status, 200);
	const char *page = str_text(&reply.text);
	assert_non_null(strstr(page, "<h1>&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"));
	assert_null(strstr(page, "<script"));
	assert_non_null(strstr(page, "3 tasks"));
	assert_non_null(strstr(page, "<td>worker:0</td><td>registered</td>"));
	assert_null(strstr(page, "4001"));
	assert_null(strstr(page, BED_TOKEN));
	reply_finish(&reply);
	api_bed_destroy(bed);
}

static void test_job_and_tasks(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	ask(bed, &reply, "GET", "/v1/job", NULL);
	assert_string_equal(reply_member(&reply, "id"), "tony-test");
	assert_string_equal(reply_member(&reply, "state"), "forming");
	assert_int_equal(reply_number(&reply, "tasks"), 3);
	reply_finish(&reply);
	bring_in(bed, "worker:0", 4001);
	ask(bed, &reply, "GET", "/v1/tasks/worker:0", NULL);
	assert_string_equal(reply_member(&reply, "state"), "registered");
	assert_string_equal(reply_member(&reply, "host"), "127.0.0.1");
	assert_string_equal(reply_member(&reply, "log_dir"), "/logs");
	assert_int_equal(reply_number(&reply, "port"), 4001);
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks", NULL);
	assert_int_equal(json_array_size(json_object_get(reply.json, "tasks")), 3);
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks?offset=1&limit=1", NULL);
	assert_int_equal(json_array_size(json_object_get(reply.json, "tasks")), 1);
	assert_non_null(strstr(reply.text.text, "worker:1"));
	assert_int_equal(reply_number(&reply, "total"), 3);
	reply_finish(&reply);
	expect_status(bed, 404, "GET", "/v1/tasks/worker:2", NULL);
	expect_status(bed, 400, "GET", "/v1/tasks?offset=-1", NULL);
	expect_status(bed, 400, "GET", "/v1/tasks?limit=10001", NULL);
	expect_status(bed, 404, "GET", "/v2/job", NULL);
}

static void test_kill(void **state)
{
	struct api_bed *bed = *state;

	expect_status(bed, 400, "POST", "/v1/job/kill", "{\"reason\":5}");
	expect_status(bed, 400, "POST", "/v1/job/kill", "kill it");
	assert_int_equal(bed_status(bed->bed).state, JOB_FORMING);
	bring_in(bed, "worker:0", 4001);
	expect_status(bed, 200, "POST", "/v1/job/kill", "{\"reason\":\"enough\\u0007\"}");
	assert_int_equal(bed_status(bed->bed).outcome, JOB_KILLED);
	assert_string_equal(bed_status(bed->bed).cause->text, "killed by the user: enough?");
	expect_status(bed, 409, "POST", "/v1/job/kill", NULL);
}

static void test_restart(void **state)
{
	struct api_bed *bed = *state;
	struct reply held, task;

	expect_status(bed, 409, "POST", "/v1/tasks/worker:0/restart", NULL);
	bring_in(bed, "worker:0", 4001);
	bring_in(bed, "worker:1", 4002);
	bring_in(bed, "ps:0", 4003);
	ask_later(bed, &held, "POST", "/v1/tasks/worker:0/beat", beat_text(1, 1, 0, "running"));
	assert_false(held.done);
	ask(bed, &task, "GET", "/v1/tasks/worker:0", NULL);
	assert_int_equal(json_array_size(json_object_get(task.json, "pids")), 1);
	reply_finish(&task);
	expect_status(bed, 200, "POST", "/v1/tasks/worker:0/restart", NULL);
	reply_wait(&held);
	assert_string_equal(reply_member(&held, "order"), "run");
	assert_int_equal(reply_number(&held, "restart"), 1);
	reply_finish(&held);
}

static void note(struct api_bed *bed, const char *text)
{
	json_t *line = record_note(bed->bed->job, NULL, text);

	assert_int_equal(journal_append(bed->journal, line, 2000, false, NULL), 0);
	api_journal_appended(bed->api);
}

static void test_events(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;
	int64_t last = journal_sequence(bed->journal);

	ask_stream(bed, &reply, "/v1/events", NULL);
	reply_wait(&reply);
	size_t lines = 0;
	for (const char *c = reply.text.text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, last);
	assert_memory_equal(reply.text.text, "{\"seq\":1,", 9);
	reply_finish(&reply);
	char *path cleanup_free = mem_printf("/v1/events?since=%d", (int)last);
	ask_stream(bed, &reply, path, NULL);
	reply_wait(&reply);
	assert_int_equal(strchr(reply.text.text, '\n') - reply.text.text + 1, reply.text.length);
	reply_finish(&reply);
	expect_text(bed, "/v1/events?since=1000", "");
	expect_status(bed, 400, "GET", "/v1/events?since=x", NULL);
	expect_status(bed, 400, "GET", "/v1/events?follow=2", NULL);
}

static void on_drained(void *data)
{
}

static void test_events_are_followed(void **state)
{
	struct api_bed *bed = *state;
	struct reply lines, events;

	ask_stream(bed, &lines, "/v1/events?since=1&follow=1", NULL);
	ask_stream(bed, &events, "/v1/events", "text/event-stream");
	reply_wait_text(&lines, "\"seq\":1,");
	reply_wait_text(&events, "id: 1\ndata: {\"seq\":1,");
	api_bed_run_idle(bed);
	note(bed, "something happened");
	/* Nothing but the append wakes them: no timer runs here. */
	reply_wait_text(&lines, "something happened");
	reply_wait_text(&events, "something happened");
	assert_true(strstr(events.text.text, "\n\n") != NULL);
	note(bed, "the last line");
	api_drain(bed->api, 60 * 1000, on_drained, NULL);
	reply_wait(&lines);
	reply_wait(&events);
	assert_non_null(strstr(lines.text.text, "the last line"));
	assert_non_null(strstr(events.text.text, "the last line"));
	reply_finish(&lines);
	reply_finish(&events);
}

static void test_logs(void **state)
{
	struct api_bed *bed = *state;

	expect_status(bed, 404, "GET", "/v1/tasks/worker:0/logs/stdout", NULL);
	api_bed_log(bed, "stdout", "0123456789");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout", "0123456789");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?offset=4", "456789");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?offset=4&limit=2", "45");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?offset=-3", "789");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?offset=-300", "0123456789");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?offset=300", "");
	expect_status(bed, 404, "GET", "/v1/tasks/worker:0/logs/journal.jsonl", NULL);
	expect_status(bed, 404, "GET", "/v1/tasks/worker:0/logs/..%2Fstdout", NULL);
	expect_status(bed, 404, "GET", "/v1/tasks/worker:1/logs/stdout", NULL);
	expect_status(bed, 400, "GET", "/v1/tasks/worker:0/logs/stdout?limit=-1", NULL);
}

static void test_what_is_no_log_is_not_read(void **state)
{
	struct api_bed *bed = *state;

	assert_int_equal(mkfifo(api_bed_path(bed, "stdout"), 0600), 0);
	assert_int_equal(mkdir(api_bed_path(bed, "stderr"), 0700), 0);
	expect_status(bed, 404, "GET", "/v1/tasks/worker:0/logs/stdout", NULL);
	expect_status(bed, 404, "GET", "/v1/tasks/worker:0/logs/stderr", NULL);
}

static void test_logs_are_followed(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	/* From before the file is there, over its rotation, to the job's end. */
	ask_stream(bed, &reply, "/v1/tasks/worker:0/logs/stdout?follow=1", NULL);
	api_bed_run_idle(bed);
	api_bed_log(bed, "stdout", "one ");
	reply_wait_text(&reply, "one ");
	api_bed_log(bed, "stdout", "two ");
	reply_wait_text(&reply, "two ");
	char *old cleanup_free = mem_strdup(api_bed_path(bed, "stdout"));
	api_bed_log(bed, "stdout", "three ");
	assert_int_equal(rename(old, api_bed_path(bed, "stdout.1")), 0);
	api_bed_log(bed, "stdout", "four ");
	reply_wait_text(&reply, "four ");
	api_bed_log(bed, "stdout", "five");
	api_drain(bed->api, 60 * 1000, on_drained, NULL);
	reply_wait(&reply);
	assert_string_equal(reply.text.text, "one two three four five");
	reply_finish(&reply);
}

static void test_follower_goes_away(void **state)
{
	struct api_bed *bed = *state;
	struct reply events, logs;

	api_bed_log(bed, "stdout", "one ");
	ask_stream(bed, &events, "/v1/events?follow=1", NULL);
	ask_stream(bed, &logs, "/v1/tasks/worker:0/logs/stdout?follow=1", NULL);
	reply_wait_text(&events, "\"seq\":1,");
	reply_wait_text(&logs, "one ");
	reply_finish(&events);
	reply_finish(&logs);
	api_bed_run_idle(bed);
	note(bed, "to nobody");
	api_bed_run_idle(bed);
}

static void test_metrics(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &reply, "POST", "/v1/tasks/worker:0/beat", beat_text(1, 0, 2, "waiting"));
	reply_finish(&reply);
	ask_later(bed, &reply, "POST", "/v1/tasks/worker:0/beat", beat_text(1, 0, 0, "waiting"));
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/metrics", NULL);
	const json_t *tasks = json_object_get(reply.json, "tasks");
	const json_t *row = json_object_get(tasks, "worker:0");
	assert_int_equal(json_object_size(tasks), 1);
	assert_int_equal(json_integer_value(json_object_get(row, "rss_bytes")), 1000);
	assert_int_equal(json_integer_value(json_object_get(row, "max_rss_bytes")), 3000);
	assert_int_equal(json_integer_value(json_object_get(row, "average_rss_bytes")), 2000);
	assert_int_equal(json_integer_value(json_object_get(row, "threads")), 2);
	reply_finish(&reply);
	ask_stream(bed, &reply, "/v1/metrics", "text/plain");
	reply_wait(&reply);
	assert_non_null(
		strstr(reply.text.text,
		       "\ntony_task_rss_bytes{job=\"tony-test\",task=\"worker:0\"} 1000\n"));
	assert_non_null(strstr(reply.text.text, "# TYPE tony_task_rss_bytes gauge\n"));
	assert_non_null(strstr(reply.text.text,
			       "\ntony_job_tasks{job=\"tony-test\",state=\"registered\"} 1\n"));
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks/worker:0", NULL);
	assert_true(json_is_object(json_object_get(reply.json, "metrics")));
	/* What it reports is of no process that was ordered. */
	assert_null(json_object_get(reply.json, "pids"));
	assert_int_equal(reply_number(&reply, "executor_pid"), 4711);
	reply_finish(&reply);
}

static void test_store(void **state)
{
	struct api_bed *bed = *state;
	char *long_path cleanup_free = mem_printf("/v1/kv/%0513d", 0);
	struct reply reply;

	expect_status(bed, 404, "GET", "/v1/kv/scope/key", NULL);
	expect_status(bed, 200, "PUT", "/v1/kv/scope/key", "value");
	ask(bed, &reply, "GET", "/v1/kv/scope%2Fkey", NULL);
	assert_string_equal(reply.text.text, "value");
	reply_finish(&reply);
	expect_status(bed, 200, "PUT", "/v1/kv/scope/key", NULL);
	ask(bed, &reply, "GET", "/v1/kv/scope/key", NULL);
	assert_int_equal(reply.status, 200);
	assert_int_equal(reply.text.length, 0);
	reply_finish(&reply);
	expect_status(bed, 200, "DELETE", "/v1/kv/scope/key", NULL);
	expect_status(bed, 404, "DELETE", "/v1/kv/scope/key", NULL);
	expect_status(bed, 400, "PUT", long_path, "x");
	expect_status(bed, 404, "GET", "/v1/kv/", NULL);
	expect_status(bed, 405, "POST", "/v1/kv/key", "x");
}

static void test_journal_that_cannot_be_read(void **state)
{
	struct api_bed *bed = *state;

	assert_int_equal(remove(api_bed_path(bed, "journal.jsonl")), 0);
	expect_status(bed, 500, "GET", "/v1/job", NULL);
	expect_status(bed, 500, "GET", "/v1/events", NULL);
}

#define on_bed(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_is_for_everybody_and_tells_little),
		on_bed(test_job_and_tasks),
		on_bed(test_kill),
		on_bed(test_restart),
		on_bed(test_events),
		on_bed(test_events_are_followed),
		on_bed(test_logs),
		on_bed(test_what_is_no_log_is_not_read),
		on_bed(test_logs_are_followed),
		on_bed(test_follower_goes_away),
		on_bed(test_metrics),
		on_bed(test_store),
		on_bed(test_journal_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
