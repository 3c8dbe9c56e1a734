/* What is promised: docs/rest.md, "For executors". Orders are levels: repeated until the report
 * agrees, given at once when they change; what is stale is refused and changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "am/api_internal.h"
#include "api_bed.h"
#include "base/clock.h"
#include "base/mem.h"

#define BEAT_0	   "/v1/tasks/worker:0/beat"
#define BEAT_1	   "/v1/tasks/worker:1/beat"
#define EXIT_0	   "/v1/tasks/worker:0/exit"
#define REGISTER_0 "/v1/tasks/worker:0/register"

static void expect_order(const struct reply *reply, const char *order, int epoch, int restart)
{
	assert_int_equal(reply->status, 200);
	assert_string_equal(reply_member(reply, "order"), order);
	assert_int_equal(reply_number(reply, "epoch"), epoch);
	assert_int_equal(reply_number(reply, "restart"), restart);
	assert_int_equal(reply_number(reply, "am_attempt"), 3);
}

static void expect_refusal(const struct reply *reply, int status, const char *code,
			   const char *text)
{
	const json_t *error = json_object_get(reply->json, "error");

	assert_int_equal(reply->status, status);
	assert_string_equal(json_string_value(json_object_get(error, "code")), code);
	if (!strstr(json_string_value(json_object_get(error, "message")), text))
		fail_msg("\"%s\" is not in %s", text, reply->text.text);
}

static void test_from_registration_to_success(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", NULL);
	struct reply first, second, answer;

	api_bed_allocate(bed, "worker:0");
	ask(bed, &answer, "POST", REGISTER_0, register_text(1, 0, 4001));
	assert_int_equal(answer.status, 200);
	assert_int_equal(reply_number(&answer, "am_attempt"), 3);
	assert_int_equal(reply_number(&answer, "beat_interval_ms"), 3600 * 1000);
	assert_int_equal(reply_number(&answer, "give_up_ms"), 25000);
	reply_finish(&answer);

	/* At the barrier nothing is ordered; once all are there, all are told at once. */
	ask_later(bed, &first, "POST", BEAT_0, beat_text(1, 0, 0, "waiting"));
	assert_false(first.done);
	bring_in(bed, "worker:1", 4002);
	reply_wait(&first);
	expect_order(&first, "run", 1, 0);
	assert_non_null(strstr(first.text.text, "\"cluster\":{\"epoch\":1,\"types\":{\"worker\":"
						"[\"127.0.0.1:4001\",\"127.0.0.1:4002\"]}}"));
	reply_finish(&first);
	ask(bed, &second, "POST", BEAT_1, beat_text(1, 0, 0, "waiting"));
	expect_order(&second, "run", 1, 0);
	reply_finish(&second);

	ask_later(bed, &first, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	assert_false(first.done);
	assert_true(bed_look(bed->bed, "worker:0")->process_up);
	ask(bed, &answer, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.text.text, "{}");
	reply_finish(&answer);
	reply_wait(&first);
	expect_order(&first, "quit", 1, 0);
	reply_finish(&first);
	/* The report once more, because its answer was lost. */
	ask(bed, &answer, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	assert_int_equal(answer.status, 200);
	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_SUCCEEDED);
	reply_finish(&answer);
	api_bed_destroy(bed);
}

static void test_order_is_repeated_until_the_report_agrees(void **state)
{
	static const struct {
		int epoch, restart;
		const char *state;
		bool agrees;
	} rows[] = {
		{0, 0, "waiting", false}, {1, 0, "waiting", false}, {0, 0, "running", false},
		{1, 1, "running", false}, {1, 0, "running", true},  {1, 0, "exited", true},
	};
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	for (size_t i = 0; i < array_length(rows); i++) {
		ask_later(bed, &reply, "POST", BEAT_0,
			  beat_text(1, rows[i].epoch, rows[i].restart, rows[i].state));
		if (rows[i].agrees) {
			assert_false(reply.done);
		} else {
			reply_wait(&reply);
			expect_order(&reply, "run", 1, 0);
			assert_true(json_is_object(json_object_get(reply.json, "cluster")));
		}
		reply_finish(&reply);
	}
	api_bed_destroy(bed);
}

/* Compressed or not, what they are told is the same. */
static void test_all_get_the_same_long_spec(void **state)
{
	enum { TASKS = 300, LOOKS = 3 };
	struct api_bed *bed = api_bed_create("worker=300", NULL);
	json_t *specs[LOOKS];

	for (int i = 0; i < TASKS; i++) {
		char *task cleanup_free = mem_printf("worker:%d", i);
		bring_in(bed, task, 4000 + i);
	}
	for (int i = 0; i < LOOKS; i++) {
		char *path cleanup_free = mem_printf("/v1/tasks/worker:%d/beat", i);
		struct reply reply;
		ask(bed, &reply, "POST", path, beat_text(1, 0, 0, "waiting"));
		expect_order(&reply, "run", 1, 0);
		specs[i] = json_incref(json_object_get(reply.json, "cluster"));
		reply_finish(&reply);
		assert_true(json_equal(specs[i], specs[0]));
	}
	json_t *workers = json_object_get(json_object_get(specs[0], "types"), "worker");
	assert_int_equal(json_array_size(workers), TASKS);
	assert_string_equal(json_string_value(json_array_get(workers, TASKS - 1)),
			    "127.0.0.1:4299");
	for (int i = 0; i < LOOKS; i++)
		json_decref(specs[i]);
	api_bed_destroy(bed);
}

static void beat_fast(struct bed *bed)
{
	bed->job->heartbeat_interval_ms = 20;
}

static void test_agreeing_beat_is_answered_after_the_interval(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", beat_fast);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	ask(bed, &reply, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	expect_order(&reply, "run", 1, 0);
	/* It has the spec: no need to send it every second. */
	assert_null(json_object_get(reply.json, "cluster"));
	reply_finish(&reply);
	api_bed_destroy(bed);
}

/* Told together, and answered evenly over the interval soon: no hold is so short that executors
 * would take it for a disagreement. */
static void test_trouble_with_checkpoints_is_told_when_it_begins_and_ends(void **state)
{
	static const char *const told[] = {"no room", "less room", NULL, NULL, "no room"};
	static const size_t times[] = {1, 1, 2, 2, 3};
	struct api_bed *bed = api_bed_create("worker=1", beat_fast);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	for (size_t i = 0; i < array_length(told); i++) {
		char *body cleanup_free = mem_printf(
			"{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":\"running\"%s%s%s}",
			told[i] ? ",\"checkpoint_trouble\":\"" : "", told[i] ? told[i] : "",
			told[i] ? "\"" : "");
		ask(bed, &reply, "POST", BEAT_0, body);
		assert_int_equal(bed->troubles, times[i]);
		if (told[i])
			assert_string_equal(bed->trouble, "no room");
		else
			assert_null(bed->trouble);
		reply_finish(&reply);
	}
	ask(bed, &reply, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	assert_int_equal(bed->troubles, 4);
	assert_null(bed->trouble);
	reply_finish(&reply);
	api_bed_destroy(bed);
}

#define STORING                                                                                    \
	"{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":\"running\","                          \
	"\"checkpoint_trouble\":\"no room\",\"storing\":{\"files\":2,\"bytes\":4096,"              \
	"\"wait_ms\":7000,\"trouble_ms\":6000}}"

static void expect_metric(struct api_bed *bed, const char *line)
{
	struct reply reply;

	ask_stream(bed, &reply, "/v1/metrics", "text/plain");
	reply_wait(&reply);
	if (!strstr(reply.text.text, line))
		fail_msg("%s is not in %s", line, reply.text.text);
	reply_finish(&reply);
}

static void test_what_waits_to_be_stored_is_measured(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", beat_fast);
	int64_t before_ms = clock_wall_ms();
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	ask(bed, &reply, "POST", BEAT_0, STORING);
	reply_finish(&reply);
	assert_in_range(bed->trouble_since_ms, before_ms - 6000, clock_wall_ms() - 6000);
	expect_metric(
		bed, "\ntony_task_store_waiting_bytes{job=\"tony-test\",task=\"worker:0\"} 4096\n");
	expect_metric(
		bed,
		"\ntony_task_store_wait_milliseconds{job=\"tony-test\",task=\"worker:0\"} 7000\n");
	expect_metric(bed, "\ntony_job_store_trouble_milliseconds{job=\"tony-test\"} 0\n");
	api_bed_destroy(bed);
}

/* The AM before this one told it; nobody knows yet that it is over. */
static void test_trouble_that_is_over_when_another_am_comes_is_taken_back(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", beat_fast);
	struct reply reply;

	api_set_checkpoint_trouble(bed->api, 0, 1000);
	bring_in(bed, "worker:0", 4001);
	ask(bed, &reply, "POST", BEAT_0, STORING);
	reply_finish(&reply);
	assert_int_equal(bed->troubles, 0);
	ask(bed, &reply, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	reply_finish(&reply);
	assert_int_equal(bed->troubles, 1);
	assert_null(bed->trouble);
	assert_int_equal(bed->trouble_since_ms, 1000);
	api_bed_destroy(bed);
}

static void test_what_a_stopped_program_used_is_told_once(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", beat_fast);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	ask(bed, &reply, "POST", "/v1/job/kill", NULL);
	reply_finish(&reply);
	for (int restart = 1; restart >= -1; restart--) {
		/* Of another process; its own; that again. */
		char *body cleanup_free =
			mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":%d,\"state\":\"exited\","
				   "\"used\":{\"ms\":2000,\"cpu_ms\":1500,\"max_rss_bytes\":4096}}",
				   restart > 0);
		ask(bed, &reply, "POST", BEAT_0, body);
		expect_order(&reply, "quit", 1, 0);
		reply_finish(&reply);
		assert_int_equal(bed->uses, restart <= 0);
	}
	assert_int_equal(bed->use.ms, 2000);
	assert_int_equal(bed->use.cpu_ms, 1500);
	assert_int_equal(bed->use.max_rss_bytes, 4096);
	api_bed_destroy(bed);
}

/* A crash loop is told, and does not fill the journal. */
static void test_restarts_inside_are_told_each_time_that_they_have_doubled(void **state)
{
	static const struct {
		int restart;
		int64_t count;
		size_t told;
	} beats[] = {{0, 1, 1}, {0, 1, 1}, {0, 2, 2}, {0, 3, 2}, {0, 9, 3}, {1, 1, 4}};
	struct api_bed *bed = api_bed_create("worker=1", beat_fast);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	for (size_t i = 0; i < array_length(beats); i++) {
		char *body cleanup_free = mem_printf(
			"{\"attempt\":1,\"epoch\":1,\"restart\":%d,\"state\":\"running\","
			"\"restarts_inside\":{\"count\":%lld,\"text\":\"torchrun: rank 1\"}}",
			beats[i].restart, (long long)beats[i].count);
		ask(bed, &reply, "POST", BEAT_0, body);
		reply_finish(&reply);
		assert_int_equal(bed->restarts_told, beats[i].told);
	}
	assert_int_equal(bed->restarts, 1);
	api_bed_destroy(bed);
}

static void test_beats_spread_over_the_interval(void **state)
{
	enum { TASKS = 100, INTERVAL_MS = 1000, HOLDS = 4 };
	static const int64_t starts[] = {0, 999, 123456789};

	for (size_t i = 0; i < array_length(starts) * TASKS; i++) {
		size_t task = i % TASKS;
		int64_t now = starts[i / TASKS];
		for (int k = 0; k < HOLDS; k++) {
			int64_t hold = api_hold_time(now, INTERVAL_MS, task, TASKS);
			assert_in_range(hold, INTERVAL_MS / 2 + 1, INTERVAL_MS + INTERVAL_MS / 16);
			now += hold;
		}
		assert_int_equal(now % INTERVAL_MS, task * INTERVAL_MS / TASKS);
	}
}

static void test_beats_of_a_crowd_are_rarer(void **state)
{
	const struct job job = {.heartbeat_interval_ms = 1000, .max_missed_heartbeats = 25};
	const struct job hasty = {.heartbeat_interval_ms = 1000, .max_missed_heartbeats = 10};

	assert_int_equal(api_beat_interval(&job, 1), 1000);
	assert_int_equal(api_beat_interval(&job, 499), 1000);
	assert_int_equal(api_beat_interval(&job, 500), 2000);
	assert_int_equal(api_beat_interval(&job, 10000), 4000);
	assert_int_equal(api_beat_interval(&hasty, 10000), 2000);
}

/* Answers that are late, or early by a clock's tick, move nobody. */
static void test_beat_keeps_its_place_in_the_interval(void **state)
{
	assert_int_equal(api_hold_time(7000 + 250, 1000, 25, 100), 1000);
	assert_int_equal(api_hold_time(7000 + 254, 1000, 25, 100), 996);
	assert_int_equal(api_hold_time(7000 + 246, 1000, 25, 100), 1004);
	assert_int_equal(api_hold_time(7000 - 4, 1000, 0, 100), 1004);
}

static void retry(struct bed *bed)
{
	bed->job->retry_count = 1;
	bed->job->retry_delay_ms = 0;
	bed->job->fail_fast = true;
}

static void test_survivor_is_stopped_and_started_anew(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", retry);
	struct reply survivor, answer;

	bring_in(bed, "worker:0", 4001);
	bring_in(bed, "worker:1", 4002);
	ask_later(bed, &survivor, "POST", BEAT_1, beat_text(1, 1, 0, "running"));
	assert_false(survivor.done);
	ask(bed, &answer, "POST", EXIT_0, exit_text(1, 1, 0, 1));
	assert_int_equal(answer.status, 200);
	reply_finish(&answer);
	reply_wait(&survivor);
	expect_order(&survivor, "stop", 2, 0);
	reply_finish(&survivor);
	ask(bed, &answer, "POST", "/v1/tasks/worker:1/register", register_text(1, 2, 4003));
	assert_int_equal(answer.status, 200);
	assert_int_equal(bed_look(bed->bed, "worker:1")->port, 4003);
	reply_finish(&answer);
	/* The exit of the old epoch once more changes nothing. */
	ask(bed, &answer, "POST", EXIT_0, exit_text(1, 1, 0, 1));
	assert_int_equal(answer.status, 200);
	assert_int_equal(bed_status(bed->bed).retries_used, 1);
	reply_finish(&answer);
	api_bed_destroy(bed);
}

static void test_a_task_registers_before_its_container_is_known(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply answer;

	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_REQUESTED);
	ask(bed, &answer, "POST", REGISTER_0, register_text(1, 0, 4001));
	assert_int_equal(answer.status, 200);
	reply_finish(&answer);
	api_bed_allocate(bed, "worker:0");
	ask(bed, &answer, "POST", BEAT_0, beat_text(1, 0, 0, "waiting"));
	expect_order(&answer, "run", 1, 0);
	reply_finish(&answer);
	assert_string_equal(bed_look(bed->bed, "worker:0")->container, "container");
	api_bed_destroy(bed);
}

/* promise: S17 */
static void test_stale_attempts_are_refused(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply held, answer;

	bed->bed->job->infrastructure_retry_count = 1;
	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &held, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	/* Its node is lost, another container takes over; the old executor lives on unseen. */
	bed_lose(bed->bed, "worker:0", CAUSE_NODE_LOST);
	api_bed_apply(bed);
	bed_pass(bed->bed, 60000);
	api_bed_apply(bed);
	api_bed_allocate(bed, "worker:0");
	assert_int_equal(bed_look(bed->bed, "worker:0")->attempt, 2);
	ask(bed, &answer, "POST", REGISTER_0, register_text(1, 1, 4001));
	expect_refusal(&answer, 409, "stale", "another attempt");
	reply_finish(&answer);
	ask(bed, &answer, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	expect_refusal(&answer, 409, "stale", "another attempt");
	reply_finish(&answer);
	ask(bed, &answer, "POST", REGISTER_0, register_text(3, 1, 4001));
	expect_refusal(&answer, 409, "stale", "another attempt");
	reply_finish(&answer);
	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_LAUNCHING);
	/* The held beat of the old one is refused as soon as there is an order. */
	api_order_changed(bed->api, 0);
	reply_wait(&held);
	expect_refusal(&held, 409, "stale", "another attempt");
	reply_finish(&held);
	ask(bed, &answer, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	expect_refusal(&answer, 409, "stale", "another attempt");
	reply_finish(&answer);
	api_bed_destroy(bed);
}

static void test_bad_messages(void **state)
{
	static const struct {
		const char *path, *body, *text;
	} rows[] = {
		{BEAT_0, "", "line 1"},
		{BEAT_0, "not json", "line 1"},
		{BEAT_0, "[]", "not an object"},
		{BEAT_0, "{}", "epoch: is missing"},
		{BEAT_0, "{\"attempt\":0,\"epoch\":1,\"restart\":0,\"state\":\"running\"}",
		 "attempt: 0 is not between"},
		{BEAT_0, "{\"attempt\":1,\"epoch\":-1,\"restart\":0,\"state\":\"running\"}",
		 "epoch: -1"},
		{BEAT_0, "{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":\"dancing\"}",
		 "state: \"dancing\" is none of"},
		{REGISTER_0, "{\"attempt\":1,\"epoch\":0,\"host\":\"h\"}", "port: is missing"},
		{EXIT_0, "{\"attempt\":1,\"epoch\":1,\"restart\":0,\"cause\":\"boredom\"}",
		 "cause"},
	};
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	for (size_t i = 0; i < array_length(rows); i++) {
		ask(bed, &reply, "POST", rows[i].path, rows[i].body);
		expect_refusal(&reply, 400, "bad-request", rows[i].text);
		reply_finish(&reply);
	}
	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_RUNNING);
	api_bed_destroy(bed);
}

static void test_unknown_tasks(void **state)
{
	static const char *const names[] = {"worker:1", "worker:-1", "worker:00",
					    "worker",	"ps:0",	     "worker%3A0x"};
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply reply;

	for (size_t i = 0; i < array_length(names); i++) {
		char *path cleanup_free = mem_printf("/v1/tasks/%s/beat", names[i]);
		ask(bed, &reply, "POST", path, beat_text(1, 1, 0, "running"));
		if (strcmp(names[i], "worker:00") != 0)
			expect_refusal(&reply, 404, "not-found", "no task of that name");
		reply_finish(&reply);
	}
	ask(bed, &reply, "GET", BEAT_0, NULL);
	expect_refusal(&reply, 405, "method-not-allowed", "method");
	reply_finish(&reply);
	api_bed_destroy(bed);
}

static void test_messages_before_their_time(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", NULL);
	struct reply reply;

	ask(bed, &reply, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	expect_refusal(&reply, 409, "stale", "");
	reply_finish(&reply);
	/* A start of a process that was never ordered is no start. */
	ask(bed, &reply, "POST", REGISTER_0, register_text(1, 0, 4001));
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
	ask_later(bed, &reply, "POST", BEAT_0, beat_text(1, 7, 0, "running"));
	assert_false(bed_look(bed->bed, "worker:0")->process_up);
	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_REGISTERED);
	reply_finish(&reply);
	api_bed_destroy(bed);
}

/* Missed beats decide, not a connection. */
static void test_closed_beat_is_no_loss(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &reply, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	reply_finish(&reply);
	api_bed_run_idle(bed);
	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_RUNNING);
	ask_later(bed, &reply, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	assert_false(reply.done);
	reply_finish(&reply);
	api_bed_destroy(bed);
}

static void test_second_beat_takes_over(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply old, new;

	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &old, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	ask_later(bed, &new, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	reply_wait(&old);
	assert_int_equal(old.status, 200);
	assert_false(new.done);
	reply_finish(&old);
	api_bed_run_idle(bed);
	assert_false(new.done);
	reply_finish(&new);
	api_bed_destroy(bed);
}

/* The machine knows at once; the executor may leave when an AM that follows would know, too. */
static void test_exit_is_answered_once_it_is_kept(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply reply;

	api_journal_kept(bed->api, 0);
	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &reply, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	reply_finish(&reply);
	ask_later(bed, &reply, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_SUCCEEDED);
	int64_t last = journal_sequence(bed->journal);
	api_journal_kept(bed->api, last - 1);
	api_bed_run_idle(bed);
	assert_false(reply.done);
	api_journal_kept(bed->api, last);
	reply_wait(&reply);
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
	/* It was lost on its way; or its sender is gone before it is kept. */
	ask(bed, &reply, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
	api_journal_kept(bed->api, 0);
	ask_later(bed, &reply, "POST", EXIT_0, exit_text(1, 1, 0, 0));
	reply_finish(&reply);
	api_bed_run_idle(bed);
	api_journal_kept(bed->api, INT64_MAX);
	api_bed_destroy(bed);
}

/* An AM that follows must know whom this program has been told of. */
/* promise: R52 */
static void test_a_program_starts_once_its_order_is_kept(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", NULL);
	struct reply first, second;

	api_journal_kept(bed->api, 0);
	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &first, "POST", BEAT_0, beat_text(1, 0, 0, "waiting"));
	bring_in(bed, "worker:1", 4002);
	int64_t last = journal_sequence(bed->journal);
	assert_int_equal(bed_look(bed->bed, "worker:0")->state, TASK_RUNNING);
	ask_later(bed, &second, "POST", BEAT_1, beat_text(1, 0, 0, "waiting"));
	api_bed_run_idle(bed);
	assert_false(first.done);
	assert_false(second.done);
	/* Who asks meanwhile is told to wait. */
	api_tasks_answer_all(bed->api);
	reply_wait(&second);
	expect_order(&second, "wait", 1, 0);
	reply_finish(&second);
	reply_wait(&first);
	reply_finish(&first);
	ask_later(bed, &first, "POST", BEAT_0, beat_text(1, 0, 0, "waiting"));
	api_bed_run_idle(bed);
	assert_false(first.done);
	api_journal_kept(bed->api, last);
	reply_wait(&first);
	expect_order(&first, "run", 1, 0);
	reply_finish(&first);
	api_journal_kept(bed->api, INT64_MAX);
	api_bed_destroy(bed);
}

/* An AM that stood still may have a successor, which will not hear of it. */
static void test_who_gives_orders_is_answered_once_they_are_kept(void **state)
{
	static const char *const paths[] = {"/v1/tasks/worker:0/restart", "/v1/job/kill"};
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &reply, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	reply_finish(&reply);
	for (size_t i = 0; i < array_length(paths); i++) {
		api_journal_kept(bed->api, 0);
		ask_later(bed, &reply, "POST", paths[i], NULL);
		api_bed_run_idle(bed);
		assert_false(reply.done);
		api_journal_kept(bed->api, journal_sequence(bed->journal));
		reply_wait(&reply);
		assert_int_equal(reply.status, 200);
		reply_finish(&reply);
	}
	api_bed_destroy(bed);
}

static void on_drained(void *data)
{
	*(bool *)data = true;
}

static void test_drain_answers_what_is_held(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply held;
	bool drained = false;

	bring_in(bed, "worker:0", 4001);
	ask_later(bed, &held, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	assert_false(held.done);
	api_conclude(bed->api);
	api_drain(bed->api, 60 * 1000, on_drained, &drained);
	reply_wait(&held);
	assert_int_equal(held.status, 200);
	reply_finish(&held);
	while (!drained)
		event_base_loop(bed->base, EVLOOP_ONCE);
	api_bed_destroy(bed);
}

/* The barrier is open before the program is there: an executor forgets commands until then. */
static void test_a_command_is_ordered_once_the_program_runs(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	struct reply command, beat;

	bring_in(bed, "worker:0", 4001);
	ask(bed, &beat, "POST", BEAT_0, beat_text(1, 0, 0, "waiting"));
	expect_order(&beat, "run", 1, 0);
	reply_finish(&beat);
	ask_and_go_on(bed, &command, "POST", "/v1/tasks/worker:0/exec", NULL);
	api_bed_run_idle(bed);
	assert_false(command.done);
	ask(bed, &beat, "POST", BEAT_0, beat_text(1, 0, 0, "waiting"));
	assert_null(json_object_get(beat.json, "sessions"));
	reply_finish(&beat);
	ask(bed, &beat, "POST", BEAT_0, beat_text(1, 1, 0, "running"));
	assert_int_equal(json_array_size(json_object_get(beat.json, "sessions")), 1);
	reply_finish(&beat);
	reply_finish(&command);
	api_bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_registration_to_success),
		cmocka_unit_test(test_order_is_repeated_until_the_report_agrees),
		cmocka_unit_test(test_all_get_the_same_long_spec),
		cmocka_unit_test(test_agreeing_beat_is_answered_after_the_interval),
		cmocka_unit_test(test_trouble_with_checkpoints_is_told_when_it_begins_and_ends),
		cmocka_unit_test(test_what_waits_to_be_stored_is_measured),
		cmocka_unit_test(test_trouble_that_is_over_when_another_am_comes_is_taken_back),
		cmocka_unit_test(test_what_a_stopped_program_used_is_told_once),
		cmocka_unit_test(test_beats_spread_over_the_interval),
		cmocka_unit_test(test_beats_of_a_crowd_are_rarer),
		cmocka_unit_test(test_beat_keeps_its_place_in_the_interval),
		cmocka_unit_test(test_survivor_is_stopped_and_started_anew),
		cmocka_unit_test(test_a_task_registers_before_its_container_is_known),
		cmocka_unit_test(test_stale_attempts_are_refused),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_unknown_tasks),
		cmocka_unit_test(test_messages_before_their_time),
		cmocka_unit_test(test_closed_beat_is_no_loss),
		cmocka_unit_test(test_second_beat_takes_over),
		cmocka_unit_test(test_restarts_inside_are_told_each_time_that_they_have_doubled),
		cmocka_unit_test(test_exit_is_answered_once_it_is_kept),
		cmocka_unit_test(test_a_program_starts_once_its_order_is_kept),
		cmocka_unit_test(test_who_gives_orders_is_answered_once_they_are_kept),
		cmocka_unit_test(test_a_command_is_ordered_once_the_program_runs),
		cmocka_unit_test(test_drain_answers_what_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
