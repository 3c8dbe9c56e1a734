/* A program that says its peer is gone, and the peer that may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "scene.h"

#define BEAT_MS 1000 /* tony.task.heartbeat-interval-ms of a bed */

/* Three workers that run, with one retry of each kind. */
static struct bed *begin(const char *types)
{
	struct bed *bed = bed_create(types);

	bed->job->retry_count = 1;
	bed->job->infrastructure_retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	return bed;
}

static void assert_waits(const struct bed *bed, const char *name)
{
	assert_int_equal(bed_look(bed, name)->state, TASK_RUNNING);
	assert_true(bed_look(bed, name)->blames_peer);
	assert_false(bed_look(bed, name)->process_up);
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
}

static void assert_charged(const struct bed *bed, int user, int infrastructure, const char *task)
{
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(bed).retries_used, user);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, infrastructure);
	assert_int_equal(bed_status(bed).cause_task, bed_task(bed, task));
}

/* Its machine died: the others tell of it first, and do not pay for it. */
/* promise: R9 R10 */
static void who_loses_a_peer_waits_until_that_is_known(void **state)
{
	struct bed *bed = begin("worker=3");

	bed_exit_blaming(bed, "worker:0");
	assert_waits(bed, "worker:0");
	for (int i = 0; i < 20; i++) {
		bed_pass(bed, BEAT_MS);
		bed_beat(bed, "worker:0");
		bed_beat(bed, "worker:1");
	}
	bed_exit_blaming(bed, "worker:1");
	assert_waits(bed, "worker:0");
	assert_waits(bed, "worker:1");
	bed_lose(bed, "worker:2", CAUSE_NODE_LOST);
	assert_charged(bed, 0, 1, "worker:2");
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_STOPPING);
	assert_false(bed_look(bed, "worker:0")->blames_peer);
	bed_destroy(bed);
}

/* Without a scheduler that knows, its silence tells. */
/* promise: R8 R10 */
static void a_peer_that_is_silent_is_lost_and_pays(void **state)
{
	struct bed *bed = begin("worker=2");

	bed_exit_blaming(bed, "worker:0");
	for (int i = 0; i < 26 && bed_status(bed).state == JOB_RUNNING; i++) {
		assert_waits(bed, "worker:0");
		bed_beat(bed, "worker:0");
		bed_pass(bed, BEAT_MS);
	}
	assert_charged(bed, 0, 1, "worker:1");
	bed_destroy(bed);
}

/* All others are there: it fails for itself. What they said just before is no proof. */
/* promise: R9 */
static void who_blames_peers_that_are_there_pays(void **state)
{
	struct bed *bed = begin("worker=3");

	bed_exit_blaming(bed, "worker:1");
	bed_beat(bed, "worker:0");
	bed_beat(bed, "worker:2");
	bed_pass(bed, BEAT_MS - 1);
	assert_waits(bed, "worker:1");
	bed_pass(bed, BEAT_MS);
	bed_beat(bed, "worker:0");
	bed_pass(bed, BEAT_MS);
	assert_waits(bed, "worker:1");
	bed_beat(bed, "worker:2");
	bed_pass(bed, BEAT_MS);
	assert_charged(bed, 1, 0, "worker:1");
	bed_destroy(bed);
}

/* A peer's own failure comes later by a hair, and explains both. */
/* promise: R10 */
static void a_peer_that_fails_of_itself_is_the_cause(void **state)
{
	struct bed *bed = begin("worker=3");

	bed_exit_blaming(bed, "worker:0");
	bed_exit(bed, "worker:2", 7);
	assert_charged(bed, 1, 0, "worker:2");
	assert_int_equal(bed_status(bed).cause->exit_code, 7);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_STOPPING);
	bed_register(bed, "worker:0");
	bed_register(bed, "worker:1");
	bed_register(bed, "worker:2");
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	assert_false(bed_look(bed, "worker:0")->blames_peer);
	assert_true(bed_start(bed, "worker:0"));
	assert_true(bed_look(bed, "worker:0")->process_up);
	bed_destroy(bed);
}

/* All blame each other: the first that did is told. */
static void all_that_blame_each_other_do_not_wait_for_each_other(void **state)
{
	struct bed *bed = begin("worker=2");

	bed_exit_blaming(bed, "worker:1");
	bed_pass(bed, 10);
	bed_exit_blaming(bed, "worker:0");
	bed_pass(bed, 2 * BEAT_MS);
	assert_charged(bed, 1, 0, "worker:1");
	bed_destroy(bed);
}

static void a_restart_in_place_comes_after_the_wait(void **state)
{
	struct bed *bed = bed_create("worker=2");

	bed_type(bed, "worker")->max_restarts = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit_blaming(bed, "worker:0");
	assert_waits(bed, "worker:0");
	bed_pass(bed, BEAT_MS);
	bed_beat(bed, "worker:1");
	bed_pass(bed, BEAT_MS);
	assert_int_equal(bed_look(bed, "worker:0")->restart, 1);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	assert_false(bed_look(bed, "worker:0")->blames_peer);
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	bed_destroy(bed);
}

/* The report and what was said before it, late and once more. */
static void old_news_do_not_bring_it_back(void **state)
{
	struct bed *bed = begin("worker=2");
	int64_t since;

	bed_exit_blaming(bed, "worker:0");
	since = bed_look(bed, "worker:0")->blames_since;
	bed_pass(bed, 500);
	assert_true(bed_exit_blaming(bed, "worker:0"));
	assert_true(bed_start(bed, "worker:0"));
	assert_waits(bed, "worker:0");
	assert_int_equal(bed_look(bed, "worker:0")->blames_since, since);
	bed_destroy(bed);
}

/* Nobody else runs, or they run each for itself, or its user has said what follows. */
static void who_has_no_peer_is_judged_at_once(void **state)
{
	struct bed *bed = begin("worker=1");

	bed_exit_blaming(bed, "worker:0");
	assert_charged(bed, 1, 0, "worker:0");
	bed_destroy(bed);

	bed = bed_create("worker=2");
	bed->job->mode = JOB_MODE_FCFS;
	bed->job->retry_count = 1;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit_blaming(bed, "worker:0");
	assert_charged(bed, 1, 0, "worker:0");
	bed_destroy(bed);

	bed = bed_create("worker=2");
	str_list_add(&bed_type(bed, "worker")->on_exit, "1->fail");
	bed->job->fail_fast = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit_blaming(bed, "worker:0");
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	bed_destroy(bed);
}

/* The AM stood still itself: what its peers said meanwhile has yet to be read. */
static void an_am_that_stood_still_waits_anew(void **state)
{
	struct bed *bed = begin("worker=2");

	bed_exit_blaming(bed, "worker:0");
	bed_stand_still(bed, 60000);
	bed_pass(bed, BEAT_MS / 2);
	assert_waits(bed, "worker:0");
	bed_pass(bed, BEAT_MS);
	bed_beat(bed, "worker:1");
	bed_pass(bed, BEAT_MS);
	assert_charged(bed, 1, 0, "worker:0");
	bed_destroy(bed);
}

/* The next AM has yet to hear of its peers. */
static void the_next_am_goes_on_waiting(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.bed->job->retry_count = 1;
	scene_submit(&scene);
	scene_play(&scene, "a0 r0 a1 r1 s0 s1 b0");
	assert_true(bed_look(scene.bed, "worker:0")->blames_peer);
	scene_restart_after(&scene, 5000, 5000);
	assert_true(bed_look(scene.bed, "worker:0")->blames_peer);
	assert_string_equal(bed_look(scene.bed, "worker:0")->cause.headline,
			    "RuntimeError: Connection reset by peer");
	bed_pass(scene.bed, 500);
	bed_beat(scene.bed, "worker:1");
	bed_pass(scene.bed, 1000);
	assert_int_equal(bed_status(scene.bed).state, JOB_RUNNING);
	bed_beat(scene.bed, "worker:1");
	bed_pass(scene.bed, 1000);
	assert_int_equal(bed_status(scene.bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(scene.bed).retries_used, 1);
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_loses_a_peer_waits_until_that_is_known),
		cmocka_unit_test(a_peer_that_is_silent_is_lost_and_pays),
		cmocka_unit_test(who_blames_peers_that_are_there_pays),
		cmocka_unit_test(a_peer_that_fails_of_itself_is_the_cause),
		cmocka_unit_test(all_that_blame_each_other_do_not_wait_for_each_other),
		cmocka_unit_test(a_restart_in_place_comes_after_the_wait),
		cmocka_unit_test(old_news_do_not_bring_it_back),
		cmocka_unit_test(who_has_no_peer_is_judged_at_once),
		cmocka_unit_test(an_am_that_stood_still_waits_anew),
		cmocka_unit_test(the_next_am_goes_on_waiting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
