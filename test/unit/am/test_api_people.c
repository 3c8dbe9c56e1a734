/* What is promised: docs/rest.md, "For people and programs". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api_bed.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/record.h"
#include "logs/count.h"
#include "logs/frame.h"

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

/* promise: S150 */
static void test_every_route_of_a_task_that_is_not_there(void **state)
{
	static const struct {
		const char *method, *path;
	} routes[] = {
		{"POST", "/v1/tasks/none:0/beat"},
		{"POST", "/v1/tasks/none:0/register"},
		{"POST", "/v1/tasks/none:0/exit"},
		{"GET", "/v1/tasks/none:0"},
		{"GET", "/v1/tasks/none:0/attempts"},
		{"GET", "/v1/tasks/none:0/logs"},
		{"GET", "/v1/tasks/none:0/logs/stdout"},
		{"POST", "/v1/tasks/none:0/logs/stdout"},
		{"POST", "/v1/tasks/none:0/restart"},
		{"POST", "/v1/tasks/none:0/exec"},
		{"POST", "/v1/tasks/none:0/port-forward?port=80"},
		{"POST", "/v1/tasks/none:0/exec/abcd"},
	};

	for (size_t i = 0; i < array_length(routes); i++)
		expect_status(*state, 404, routes[i].method, routes[i].path, NULL);
}

static void test_a_job_that_a_task_has_submitted_is_started(void **state)
{
	struct reply reply;

	ask(*state, &reply, "POST", "/v1/children",
	    "{\"job\":\"tony-new\",\"agent\":\"/bin/agent\",\"umask\":18}");
	assert_int_equal(reply.status, 200);
	assert_int_equal(reply_number(&reply, "pid"), 4711);
	reply_finish(&reply);
	expect_status(*state, 409, "POST", "/v1/children",
		      "{\"job\":\"tony-begun\",\"agent\":\"/bin/agent\",\"umask\":18}");
	expect_status(*state, 400, "POST", "/v1/children", "{\"job\":\"tony-new\"}");
	expect_status(*state, 400, "POST", "/v1/children", NULL);
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

static void test_job_and_tasks(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	ask(bed, &reply, "GET", "/v1/job", NULL);
	assert_string_equal(reply_member(&reply, "id"), "tony-test");
	assert_string_equal(reply_member(&reply, "state"), "forming");
	assert_int_equal(reply_number(&reply, "task_count"), 3);
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

static void make_elastic(struct bed *bed)
{
	struct job_type *worker = bed_type(bed, "worker");

	worker->min_instances = 2;
	worker->max_instances = 5;
	bed->job->elastic_settle_ms = 1000;
}

static int set_up_elastic(void **state)
{
	*state = api_bed_create("worker=3 ps=1:untracked", make_elastic);
	return 0;
}

static int64_t wanted_workers(struct api_bed *bed)
{
	struct reply reply;

	ask(bed, &reply, "GET", "/v1/job", NULL);
	const json_t *type = json_array_get(json_object_get(reply.json, "types"), 0);
	int64_t wanted = json_integer_value(json_object_get(type, "wanted"));
	reply_finish(&reply);
	return wanted;
}

static void test_scale(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	expect_status(bed, 400, "POST", "/v1/job/scale", "{\"worker\":6}");
	expect_status(bed, 400, "POST", "/v1/job/scale", "{\"worker\":1}");
	expect_status(bed, 400, "POST", "/v1/job/scale", "{\"worker\":4,\"ps\":1}");
	assert_int_equal(wanted_workers(bed), 3);
	ask(bed, &reply, "POST", "/v1/job/scale", "{\"worker\":5}");
	assert_int_equal(reply.status, 200);
	assert_string_equal(str_text(&reply.text), "{\"wanted\":{\"worker\":5}}");
	reply_finish(&reply);
	assert_int_equal(wanted_workers(bed), 5);
	assert_int_equal(bed_look(bed->bed, "worker:4")->state, TASK_REQUESTED);
	/* Not before an AM that follows would know of it. */
	api_journal_kept(bed->api, 0);
	ask_later(bed, &reply, "POST", "/v1/job/scale", "{\"worker\":4}");
	api_bed_run_idle(bed);
	assert_false(reply.done);
	api_journal_kept(bed->api, INT64_MAX);
	reply_wait(&reply);
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
	expect_status(bed, 200, "POST", "/v1/job/kill", NULL);
	expect_status(bed, 409, "POST", "/v1/job/scale", "{\"worker\":4}");
}

static void test_cluster_of_some(void **state)
{
	struct api_bed *bed = *state;

	bring_in(bed, "worker:0", 4001);
	bring_in(bed, "worker:2", 4003);
	bring_in(bed, "ps:0", 4004);
	while (bed_status(bed->bed).state == JOB_FORMING) {
		bed_pass(bed->bed, machine_deadline(bed->bed->machine) - bed->bed->now);
		api_bed_apply(bed);
	}
	expect_text(bed, "/v1/cluster",
		    "{\"epoch\":1,\"types\":{\"worker\":[\"127.0.0.1:4001\",\"127.0.0.1:4003\"],"
		    "\"ps\":[\"127.0.0.1:4004\"]},\"slots\":{\"worker\":[0,2]}}");
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
	api_journal_appended(bed->api, journal_sequence(bed->journal));
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
	api_conclude(bed->api);
	api_drain(bed->api, 60 * 1000, on_drained, NULL);
	reply_wait(&lines);
	reply_wait(&events);
	assert_non_null(strstr(lines.text.text, "the last line"));
	assert_non_null(strstr(events.text.text, "the last line"));
	reply_finish(&lines);
	reply_finish(&events);
}

static void test_events_are_waited_for(void **state)
{
	struct api_bed *bed = *state;
	struct reply first, second;
	char *path cleanup_free = mem_printf("/v1/events?wait=60000&since=%d",
					     (int)journal_sequence(bed->journal) + 1);

	ask_stream(bed, &first, path, NULL);
	api_bed_run_idle(bed);
	assert_false(first.done);
	note(bed, "something happened");
	reply_wait(&first);
	assert_non_null(strstr(first.text.text, "something happened"));
	expect_text(bed, "/v1/events?wait=1&since=1000", "");
	ask_stream(bed, &second, "/v1/events?wait=60000&since=1000", NULL);
	api_bed_run_idle(bed);
	assert_false(second.done);
	api_conclude(bed->api);
	reply_wait(&second);
	assert_int_equal(second.text.length, 0);
	reply_finish(&first);
	reply_finish(&second);
	expect_status(bed, 400, "GET", "/v1/events?wait=60001", NULL);
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

static void test_lines_of_a_log_that_have_a_text(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	api_bed_log(bed, "stdout", "loss 1\nstep\nLoss 2\nerror\nloss");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss", "loss 1\nloss");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss&ignore_case=1",
		    "loss 1\nLoss 2\nloss");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=error%0Astep", "step\nerror\n");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss&limit=4", "loss");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss&offset=-9", "loss");
	expect_status(bed, 400, "GET", "/v1/tasks/worker:0/logs/stdout?match=", NULL);
	expect_status(bed, 400, "GET", "/v1/tasks/worker:0/logs/stdout?match=a%0A%0Ab", NULL);
	expect_status(bed, 400, "GET", "/v1/tasks/worker:0/logs/stdout?match=%C3", NULL);
	expect_status(bed, 400, "GET", "/v1/tasks/worker:0/logs/stdout?match=a&ignore_case=2",
		      NULL);
	/* A line is looked at once it is whole, and the last one when the job has ended. */
	ask_stream(bed, &reply, "/v1/tasks/worker:0/logs/stdout?match=loss&follow=1", NULL);
	reply_wait_text(&reply, "loss 1\n");
	api_bed_log(bed, "stdout", " 3\nloss 4");
	reply_wait_text(&reply, "loss 1\nloss 3\n");
	api_conclude(bed->api);
	api_drain(bed->api, 60 * 1000, on_drained, NULL);
	reply_wait(&reply);
	assert_string_equal(reply.text.text, "loss 1\nloss 3\nloss 4");
	reply_finish(&reply);
}

static void expect_last_frame(struct reply *reply, struct log_span *last)
{
	const char *rest = str_text(&reply->text);
	size_t length = reply->text.length;
	struct log_span span;

	*last = (struct log_span){.offset = -1};
	while (log_frame_next(&rest, &length, &span) > 0)
		*last = span;
	assert_int_equal(length, 0);
}

/* The line that has no newline yet is searched again, once it has more. */
static void test_a_search_says_where_the_next_one_goes_on(void **state)
{
	static const struct {
		const char *text;
		int64_t place; /* -1: it met its limit before the end */
	} rows[] = {{"none&", 12}, {"loss&", 12}, {"lo&", 12}, {"lo&limit=3&", 0}};
	struct api_bed *bed = *state;
	struct log_span last;
	struct reply reply;

	api_bed_log(bed, "stdout", "loss 1\nstep\nlo");
	for (size_t i = 0; i < array_length(rows); i++) {
		char *path cleanup_free = mem_printf(
			"/v1/tasks/worker:0/logs/stdout?frames=1&match=%s", rows[i].text);
		ask_stream(bed, &reply, path, NULL);
		reply_wait(&reply);
		expect_last_frame(&reply, &last);
		assert_int_equal(last.offset, rows[i].place);
		assert_int_equal(last.length, rows[i].place > 0 ? 0 : 3);
		reply_finish(&reply);
	}
	char *next cleanup_free =
		mem_printf("/v1/tasks/worker:0/logs/stdout?match=loss&from=at:%llx:12",
			   (unsigned long long)last.part);
	api_bed_log(bed, "stdout", "ss 2\n");
	expect_text(bed, next, "loss 2\n");
}

static void test_lines_of_a_log_are_counted(void **state)
{
	struct api_bed *bed = *state;
	struct str text cleanup_str = {0};
	struct log_span last;
	struct reply reply;

	for (int i = 0; i < LOG_COUNT_STEP / 4 + 1; i++)
		str_append_format(&text, "abc\n");
	api_bed_log(bed, "stdout", text.text);
	ask_stream(bed, &reply, "/v1/tasks/worker:0/logs/stdout?from=oldest&frames=1&count_lines=1",
		   NULL);
	reply_wait(&reply);
	expect_last_frame(&reply, &last);
	assert_int_equal(last.time_ms, LOG_COUNT_STEP / 4);
	assert_int_equal(last.offset, LOG_COUNT_STEP);
	reply_finish(&reply);
	expect_status(bed, 400, "GET", "/v1/tasks/worker:0/logs/stdout?count_lines=1", NULL);
	expect_status(bed, 400, "GET", "/v1/tasks/worker:0/logs/stdout?count_lines=2&frames=1",
		      NULL);
	expect_status(bed, 400, "GET",
		      "/v1/tasks/worker:0/logs/stdout?count_lines=1&frames=1&match=a", NULL);
	expect_status(bed, 400, "GET",
		      "/v1/tasks/worker:0/logs/stdout?count_lines=1&frames=1&follow=1", NULL);
}

/* Positions are those of the whole log; a limit counts what is sent. */
static void test_a_search_from_a_position(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;
	struct log_span span;

	api_bed_log(bed, "stdout", "loss 1\nstep\nloss 2\nerror\nno loss\n");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss&from=tail:2", "no loss\n");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss&from=tail:3&limit=8",
		    "loss 2\nn");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss&offset=1", "loss 2\nno loss\n");
	expect_text(bed, "/v1/tasks/worker:0/logs/stdout?match=loss&limit=0", "");
	/* Where a limit has cut a line, the rest of it comes. */
	ask_stream(bed, &reply, "/v1/tasks/worker:0/logs/stdout?match=loss&frames=1&limit=9", NULL);
	reply_wait(&reply);
	const char *rest = reply.text.text;
	size_t length = reply.text.length;
	assert_int_equal(log_frame_next(&rest, &length, &span), 1);
	assert_int_equal(log_frame_next(&rest, &length, &span), 1);
	assert_int_equal(span.offset, 12);
	assert_int_equal(span.length, 2);
	char *path cleanup_free =
		mem_printf("/v1/tasks/worker:0/logs/stdout?match=loss&from=at:%llx:14",
			   (unsigned long long)span.part);
	expect_text(bed, path, "ss 2\nno loss\n");
	reply_finish(&reply);
}

/* A search may have to read much: the AM answers others meanwhile. */
static void test_a_search_holds_up_nobody(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply, other;

	api_bed_log(bed, "stdout", "");
	assert_int_equal(truncate(api_bed_path(bed, "stdout"), 32 << 20), 0);
	api_bed_log(bed, "stdout", "\nneedle\n");
	ask_stream(bed, &reply, "/v1/tasks/worker:0/logs/stdout?match=needle", NULL);
	ask_stream(bed, &other, "/v1/server", NULL);
	reply_wait(&other);
	assert_false(reply.done);
	reply_finish(&other);
	reply_wait(&reply);
	assert_string_equal(reply.text.text, "needle\n");
	reply_finish(&reply);
}

/* However many callers look for last lines that lie far back in a long log, the AM answers others
 * meanwhile. */
/* promise: S63 */
static void test_last_lines_hold_up_nobody(void **state)
{
	struct api_bed *bed = *state;
	struct reply replies[8], other;

	api_bed_log(bed, "stdout", "first\n");
	assert_int_equal(truncate(api_bed_path(bed, "stdout"), 32 << 20), 0);
	api_bed_log(bed, "stdout", "\nlast\n");
	for (size_t i = 0; i < array_length(replies); i++)
		ask_stream(bed, &replies[i], "/v1/tasks/worker:0/logs/stdout?from=tail:4&limit=5",
			   NULL);
	ask_stream(bed, &other, "/v1/server", NULL);
	reply_wait(&other);
	for (int round = 0; round < (32 << 20) / LOG_TURN; round++)
		event_base_loop(bed->base, EVLOOP_ONCE);
	for (size_t i = 0; i < array_length(replies); i++)
		assert_false(replies[i].done);
	reply_finish(&other);
	for (size_t i = 0; i < array_length(replies); i++) {
		reply_wait(&replies[i]);
		assert_string_equal(replies[i].text.text, "first");
		reply_finish(&replies[i]);
	}
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
	struct reply reply, late;

	/* From before the file is there, over its rotation, to the job's end. */
	ask_stream(bed, &reply, "/v1/tasks/worker:0/logs/stdout?follow=1", NULL);
	ask_stream(bed, &late, "/v1/tasks/worker:0/logs/stderr?follow=1", NULL);
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
	api_bed_log(bed, "stderr", "at last");
	api_conclude(bed->api);
	api_drain(bed->api, 60 * 1000, on_drained, NULL);
	reply_wait(&reply);
	reply_wait(&late);
	assert_string_equal(reply.text.text, "one two three four five");
	assert_string_equal(late.text.text, "at last");
	reply_finish(&reply);
	reply_finish(&late);
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

/* One of its tasks has used 60 of its 64 MiB. */
static void assert_advised(struct api_bed *bed)
{
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &reply, "POST", "/v1/tasks/worker:0/beat",
		  "{\"attempt\":1,\"epoch\":0,\"restart\":0,\"state\":\"waiting\",\"seen\":1,"
		  "\"metrics\":{\"rss_bytes\":70000000,\"pss_bytes\":62914560}}");
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/advice", NULL);
	const json_t *advice = json_array_get(json_object_get(reply.json, "advice"), 0);
	assert_string_equal(json_string_value(json_object_get(advice, "rule")), "memory-tight");
	reply_finish(&reply);
}

static void test_advice(void **state)
{
	struct api_bed *large = api_bed_create("worker=600", NULL);

	assert_advised(*state);
	assert_advised(large);
	api_bed_destroy(large);
}

/* Each second, each one heavier. */
static void measure(struct api_bed *bed, int first, int last, const char *more)
{
	struct reply reply;

	for (int i = first; i <= last; i++) {
		char *text cleanup_free = mem_printf(
			"{\"attempt\":1,\"epoch\":0,\"restart\":0,\"state\":\"waiting\",\"seen\":1,"
			"\"metrics\":{\"sampled_ms\":%d000,\"rss_bytes\":%d000,\"cpu_ms\":%d%s}}",
			i, i, i * i * 100, more);
		ask_later(bed, &reply, "POST", "/v1/tasks/worker:0/beat", text);
		reply_finish(&reply);
	}
}

/* The caller frees. */
static char *write_metrics(struct api_bed *bed)
{
	const char *path = api_bed_path(bed, "metrics.jsonl");
	int fd cleanup_close = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t next = 0, length;

	assert_int_equal(api_write_metrics(bed->api, &next, SIZE_MAX, fd, NULL), 1);
	return fs_read_file(path, 1 << 20, &length, NULL);
}

static char *values_of(struct api_bed *bed, const char *name)
{
	char *path cleanup_free = mem_printf("/v1/series?all=1&name=%s", name);
	struct reply reply;

	ask(bed, &reply, "GET", path, NULL);
	const json_t *tasks = json_object_get(reply.json, "tasks");
	char *text = json_text(json_object_get(json_object_get(tasks, "worker:0"), "v"));
	reply_finish(&reply);
	return text;
}

static void test_metrics_go_on_in_another_am(void **state)
{
	struct api_bed *bed = *state, *next = api_bed_create("worker=2", NULL);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	measure(bed, 1, 3,
		",\"gpus\":[{\"index\":1,\"utilization_percent\":30,\"power_watts\":70}]},"
		"\"numbers\":{\"from\":0,\"rows\":[[\"loss\",\"\",1000,5,0.5],"
		"[\"loss\",\"\",2000,6,null],[\"a\",\"r\",2000,null,1]]}"
		",\"unknown\":{");
	char *written cleanup_free = write_metrics(bed);
	assert_int_equal(api_restore_metrics(next->api, api_bed_path(bed, "metrics.jsonl"), NULL),
			 0);
	char *again cleanup_free = write_metrics(next);
	assert_string_equal(again, written);
	/* The process is the same: what it used meanwhile is known. */
	bring_in(next, "worker:0", 4001);
	measure(next, 4, 4, "");
	char *cpu cleanup_free = values_of(next, "cpu_percent");
	assert_string_equal(cpu, "[null,30,50,70]");
	/* A number that was told is not taken again. */
	ask_later(next, &reply, "POST", "/v1/tasks/worker:0/beat",
		  "{\"attempt\":1,\"epoch\":0,\"restart\":0,\"state\":\"waiting\",\"numbers\":"
		  "{\"from\":2,\"rows\":[[\"a\",\"r\",2000,null,1],[\"a\",\"r\",3000,null,2]]}}");
	reply_finish(&reply);
	ask(next, &reply, "GET", "/v1/series?task=worker:0", NULL);
	char *user cleanup_free = json_text(json_object_get(reply.json, "user"));
	assert_string_equal(user, "[{\"name\":\"loss\",\"run\":\"\",\"t\":[1000,2000],"
				  "\"step\":[5,6],\"v\":[0.5,null],\"nan\":[false,true]},{\"name\":"
				  "\"a\",\"run\":\"r\","
				  "\"t\":[2000,3000],\"step\":[],\"v\":[1,2]}]");
	reply_finish(&reply);
	api_bed_destroy(next);
}

static void test_series(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	measure(bed, 1, 3, "");
	ask(bed, &reply, "GET", "/v1/series?task=worker:0&points=1", NULL);
	assert_string_equal(reply_member(&reply, "task"), "worker:0");
	assert_true(json_is_array(json_object_get(reply.json, "user")));
	const json_t *cpu = json_array_get(json_object_get(reply.json, "series"), 0);
	char *values cleanup_free = json_text(json_object_get(cpu, "v"));
	assert_string_equal(json_string_value(json_object_get(cpu, "name")), "cpu_percent");
	assert_string_equal(values, "[40]");
	assert_int_equal(json_array_size(json_object_get(cpu, "t")), 1);
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/series?all=1&name=cpu_percent", NULL);
	char *text cleanup_free = json_text(reply.json);
	assert_string_equal(text, "{\"name\":\"cpu_percent\",\"tasks\":{\"worker:0\":"
				  "{\"last\":50,\"v\":[null,30,50]}}}");
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/series?all=1&name=cpu_percent&offset=1", NULL);
	assert_int_equal(json_object_size(json_object_get(reply.json, "tasks")), 0);
	reply_finish(&reply);
}

static void test_series_that_are_not_there(void **state)
{
	static const struct {
		const char *query;
		int status;
	} rows[] = {
		{"", 400},
		{"?task=worker:7", 404},
		{"?task=worker:0&points=0", 400},
		{"?task=worker:0&points=x", 400},
		{"?all=1", 400},
		{"?all=1&name=loss", 400},
		{"?all=2&name=rss_bytes", 400},
		{"?all=1&name=rss_bytes&limit=0", 400},
		{"?task=worker:1", 200},
	};
	struct reply reply;

	for (size_t i = 0; i < array_length(rows); i++) {
		char *path cleanup_free = mem_printf("/v1/series%s", rows[i].query);
		ask(*state, &reply, "GET", path, NULL);
		assert_int_equal(reply.status, rows[i].status);
		reply_finish(&reply);
	}
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

static void test_store_tells_of_another_value(void **state)
{
	struct api_bed *bed = *state;
	struct reply first, second, other;

	ask_stream(bed, &first, "/v1/kv/a?wait=60000", NULL);
	ask_stream(bed, &second, "/v1/kv/a?wait=60000", NULL);
	ask_stream(bed, &other, "/v1/kv/b?wait=60000", NULL);
	expect_status(bed, 404, "GET", "/v1/kv/a", NULL);
	expect_status(bed, 404, "GET", "/v1/kv/a?wait=1", NULL);
	expect_status(bed, 400, "GET", "/v1/kv/a?wait=60001", NULL);
	expect_status(bed, 200, "PUT", "/v1/kv/a", "value");
	reply_wait(&first);
	reply_wait(&second);
	assert_string_equal(first.text.text, "value");
	assert_string_equal(second.text.text, "value");
	assert_false(other.done);
	reply_finish(&first);
	reply_finish(&second);
	expect_status(bed, 200, "GET", "/v1/kv/a?wait=60000", NULL);
	/* A caller that leaves is forgotten, and the end of the job keeps nobody waiting. */
	ask_stream(bed, &first, "/v1/kv/b?wait=60000", NULL);
	expect_status(bed, 200, "GET", "/v1/kv/a", NULL);
	reply_finish(&first);
	api_conclude(bed->api);
	reply_wait(&other);
	assert_int_equal(other.status, 404);
	reply_finish(&other);
	expect_status(bed, 404, "GET", "/v1/kv/b?wait=60000", NULL);
}

static void test_journal_that_cannot_be_read(void **state)
{
	struct api_bed *bed = *state;

	assert_int_equal(remove(api_bed_path(bed, "journal.jsonl")), 0);
	expect_status(bed, 500, "GET", "/v1/job", NULL);
	expect_status(bed, 500, "GET", "/v1/events", NULL);
}

/* Nobody has to read a long list to its end. */
static void test_long_list_may_be_left(void **state)
{
	struct api_bed *bed = api_bed_create("worker=20000", NULL);
	struct reply reply;

	ask_stream(bed, &reply, "/v1/tasks?limit=10000", NULL);
	reply_wait_text(&reply, "\"task\":\"worker:0\"");
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks?offset=19998&limit=7", NULL);
	assert_int_equal(reply_number(&reply, "total"), 20000);
	json_t *tasks = json_object_get(reply.json, "tasks");
	assert_int_equal(json_array_size(tasks), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(tasks, 1), "task")),
			    "worker:19999");
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/tasks?offset=20000", NULL);
	assert_int_equal(reply.status, 200);
	assert_int_equal(json_array_size(json_object_get(reply.json, "tasks")), 0);
	reply_finish(&reply);
	/* One that is being written ends with the interface. */
	ask_stream(bed, &reply, "/v1/tasks?limit=10000", NULL);
	reply_wait_text(&reply, "\"task\":\"worker:0\"");
	reply_finish(&reply);
	api_bed_destroy(bed);
}

/* Who looks at a job of which much was just written waits for all of that; others do not wait. */
/* promise: R31 */
static void test_long_journal_keeps_only_lookers_waiting(void **state)
{
	struct api_bed *bed = api_bed_create("worker=20000", NULL);
	struct reply job, left, task, other;

	ask_stream(bed, &job, "/v1/job", NULL);
	ask_stream(bed, &left, "/v1/job", NULL);
	ask_stream(bed, &task, "/v1/tasks/worker:19999", NULL);
	ask_stream(bed, &other, "/v1/kv/none", NULL);
	reply_wait(&other);
	assert_int_equal(other.status, 404);
	assert_false(job.done || task.done || left.done);
	reply_finish(&other);
	reply_finish(&left);
	note(bed, "written while they wait");
	reply_wait(&job);
	reply_wait(&task);
	assert_non_null(strstr(job.text.text, "\"requested\":20000"));
	assert_non_null(strstr(task.text.text, "\"state\":\"requested\""));
	reply_finish(&job);
	reply_finish(&task);
	api_bed_destroy(bed);
}

/* One that still waits ends with the interface. */
static void test_looker_is_left_waiting(void **state)
{
	struct api_bed *bed = api_bed_create("worker=20000", NULL);
	struct reply job, other;

	ask_stream(bed, &job, "/v1/job", NULL);
	ask_stream(bed, &other, "/v1/kv/none", NULL);
	reply_wait(&other);
	assert_false(job.done);
	reply_finish(&other);
	api_destroy(mem_steal(&bed->api));
	reply_finish(&job);
	api_bed_destroy(bed);
}

#define on_bed(test)	     cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define on_elastic_bed(test) cmocka_unit_test_setup_teardown(test, set_up_elastic, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_bed(test_every_route_of_a_task_that_is_not_there),
		on_bed(test_a_job_that_a_task_has_submitted_is_started),
		on_bed(test_job_and_tasks),
		cmocka_unit_test(test_long_list_may_be_left),
		cmocka_unit_test(test_long_journal_keeps_only_lookers_waiting),
		cmocka_unit_test(test_looker_is_left_waiting),
		on_bed(test_kill),
		on_elastic_bed(test_scale),
		on_elastic_bed(test_cluster_of_some),
		on_bed(test_restart),
		on_bed(test_events),
		on_bed(test_events_are_followed),
		on_bed(test_events_are_waited_for),
		on_bed(test_logs),
		on_bed(test_lines_of_a_log_that_have_a_text),
		on_bed(test_a_search_says_where_the_next_one_goes_on),
		on_bed(test_lines_of_a_log_are_counted),
		on_bed(test_a_search_from_a_position),
		on_bed(test_a_search_holds_up_nobody),
		on_bed(test_last_lines_hold_up_nobody),
		on_bed(test_what_is_no_log_is_not_read),
		on_bed(test_logs_are_followed),
		on_bed(test_follower_goes_away),
		on_bed(test_metrics),
		on_bed(test_advice),
		on_bed(test_series),
		on_bed(test_metrics_go_on_in_another_am),
		on_bed(test_series_that_are_not_there),
		on_bed(test_store),
		on_bed(test_store_tells_of_another_value),
		on_bed(test_journal_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
