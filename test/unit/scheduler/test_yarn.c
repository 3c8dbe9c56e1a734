/* Containers on YARN: launches, ends and their causes, and what an AM finds that follows another.
 */
#include "../base/scratch.h"
#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/container.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "scheduler/yarn.h"
#include "yarn_bed.h"

/* ---- an AM that follows ------------------------------------------------------------------- */

/* worker:0 to worker:2 in containers 2 to 4 of the AM before; the last of them never registered. */
static void adopt(struct bed *bed)
{
	for (int i = 0; i < WORKERS; i++) {
		Hadoop__ContainerIdProto *id = rm_container_id(2 + i);
		char *name = hadoop_container_id_text(id);
		const struct scheduler_adoption item = {
			.request = {.task = (size_t)i, .attempt = 1, .type = WORKER, .index = i},
			.container = name,
			.is_reachable = i < 2};
		yarn_scheduler.adopt(bed->scheduler, &item, 1);
		message_free(id);
		free(name);
	}
}

/* What the next beat would give was there before this AM. */
static void inherit(struct bed *bed)
{
	Hadoop__AllocateResponseProto *next = bed->rm.next;

	next->containers_from_previous_attempts = next->allocated_containers;
	next->n_containers_from_previous_attempts = next->n_allocated_containers;
	next->allocated_containers = NULL;
	next->n_allocated_containers = 0;
}

static void containers_of_the_am_before_are_taken_over(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	adopt(bed);
	/* Before YARN has said anything of it. */
	yarn_scheduler.release(bed->scheduler, 1, 1, 0);
	rm_give_node_token(&bed->rm, "127.0.0.1", port_of_node(bed), "nm");
	for (int i = 2; i <= 5; i++)
		give(bed, i);
	inherit(bed);
	rm_wait(&bed->node, "stop 3\n");
	assert_true(rm_said(&bed->rm, "release 4; release 5; "));
	wait_told(bed, "ended worker:2/1\n");
	assert_cause(bed, CAUSE_EXECUTOR_LOST, "had not registered");
	rm_end(&bed->rm, 3, 143, "killed");
	wait_told(bed, "ended worker:1/1\n");
	rm_end(&bed->rm, 2, -100, "Container released on a *lost* node");
	wait_told(bed, "ended worker:0/1\n");
	assert_cause(bed, CAUSE_NODE_LOST, "");
	assert_false(is_told(bed, "allocated"));
	close_bed(bed);
}

/* What the ResourceManager has told is lost, and it does not say it again. */
static void without_an_answer_to_its_registration_the_journal_is_believed(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	struct yarn *yarn = (struct yarn *)bed->scheduler;

	bed->rm.error =
		"org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException";
	adopt(bed);
	yarn_scheduler.release(bed->scheduler, 1, 1, 0);
	wait_told(bed, "ended worker:2/1\n");
	rm_wait(&bed->rm, "release 4; ");
	rm_wait(&bed->rm, "release 3; "); /* there is no token for its node */
	event_active(yarn->unheard, EV_TIMEOUT, 0);
	rm_beat(&bed->rm);
	assert_false(is_told(bed, "ended worker:0/1\n"));
	rm_end(&bed->rm, 2, -100, "Container released on a *lost* node");
	wait_told(bed, "ended worker:0/1\n");
	assert_cause(bed, CAUSE_NODE_LOST, "");
	close_bed(bed);
}

static void what_ended_between_two_ams_is_told(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	adopt(bed);
	rm_end(&bed->rm, 2, 137, "killed");
	wait_told(bed, "ended worker:0/1\n");
	close_bed(bed);
}

/* ---- containers --------------------------------------------------------------------------- */

static void a_task_finds_itself_in_its_environment(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	rm_wait(&bed->node, "TONY_JOB_ID=application_1_0001 TONY_AM_ADDRESS=h0:4000 "
			    "TONY_TASK=worker:0 TONY_TASK_ATTEMPT=1 "
			    "TONY_CONTAINER=application_1_0001/container_1700000000000_0001_01_"
			    "000002 TONY_HOST=127.0.0.1");
	close_bed(bed);
}

/* promise: S69 */
static void a_task_gets_the_tokens_of_its_files_alone(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	const struct str *tokens = &((const struct yarn *)bed->scheduler)->task_tokens;
	struct credentials credentials cleanup_credentials = {0};

	assert_int_equal(credentials_parse(tokens->text, tokens->length, &credentials, NULL), 0);
	assert_int_equal(credentials.token_count, 2);
	assert_non_null(credentials_find_kind(&credentials, TOKEN_KIND_HDFS));
	assert_non_null(credentials_find_kind(&credentials, TOKEN_KIND_KMS));
	close_bed(bed);
}

static void containers_that_start_later_begin_with_the_new_tokens(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	const struct str *tokens = &((const struct yarn *)bed->scheduler)->task_tokens;
	struct credentials new cleanup_credentials = {0}, later cleanup_credentials = {0};
	struct hadoop_token token cleanup_token = {0};
	struct str bytes cleanup_str = {0};
	struct err err cleanup_err = {0};
	size_t length;

	token_set(&token, "y", 1, "new", 3, TOKEN_KIND_HDFS, "s");
	credentials_add_token(&new, "s", &token);
	credentials_write(&new, &bytes);
	assert_success(yarn_scheduler.take_tokens(bed->scheduler, bytes.text, bytes.length, &err),
		       &err);
	assert_int_equal(credentials_parse(tokens->text, tokens->length, &later, NULL), 0);
	assert_int_equal(later.token_count, 2);
	assert_memory_equal(credentials_find_kind(&later, TOKEN_KIND_HDFS)->password, "new", 3);
	assert_memory_equal(credentials_find_kind(&later, TOKEN_KIND_KMS)->password, "p", 1);
	assert_non_null(credentials_find_secret(&later, HADOOP_SECRET_TOKEN, &length));
	assert_int_equal(length, 64);
	close_bed(bed);
}

/* The ResourceManager hears of it with the node's next heartbeat only. */
static void the_node_manager_tells_the_end_of_what_is_released(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	bed->node.ended = 2;
	yarn_scheduler.release(bed->scheduler, 0, 1, AN_HOUR_MS);
	wait_told(bed, "ended worker:0/1\n");
	close_bed(bed);
}

/* Else a job whose AM is lost while it publishes would run again. */
static void the_end_is_told_before_anything_is_published(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	const struct scheduler_end end = {.state = JOB_SUCCEEDED,
					  .message = "the job succeeded",
					  .journal = scratch_path(state, "tokens")};

	rm_beat(&bed->rm);
	yarn_scheduler.finish(bed->scheduler, &end, NULL, NULL);
	rm_wait(&bed->rm, "finish 1 the job succeeded");
	close_bed(bed);
}

static void a_lost_node_says_why(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	rm_node(&bed->rm, "127.0.0.1", port_of_node(bed), HADOOP__NODE_STATE_PROTO__NS_UNHEALTHY,
		"1/1 local-dirs are bad\nmore");
	rm_end(&bed->rm, 2, -100, "Container released on a *lost* node");
	wait_told(bed, "ended worker:0/1\n");
	assert_cause(bed, CAUSE_NODE_LOST, "is unhealthy: 1/1 local-dirs are bad");
	close_bed(bed);
}

static void ends_that_come_twice_or_late_are_one(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	rm_end(&bed->rm, 2, 5, "");
	rm_end(&bed->rm, 2, 5, "");
	rm_end(&bed->rm, 77, 5, "");
	wait_told(bed, "ended worker:0/1\n");
	rm_end(&bed->rm, 2, 5, "");
	rm_beat(&bed->rm);
	assert_null(strstr(strstr(bed->told.text, "ended") + 1, "ended"));
	close_bed(bed);
}

static void a_start_that_fails_gives_the_container_back(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bed->node.refusal = "This token is expired.";
	bed->node.refusal_class = "org.apache.hadoop.yarn.exceptions.YarnException";
	bring_up(bed);
	wait_told(bed, "ended worker:0/1\n");
	assert_cause(bed, CAUSE_LAUNCH_FAILED, "did not start it: This token is expired.");
	rm_wait(&bed->rm, "release 2; ");
	close_bed(bed);
}

static void who_does_not_leave_is_stopped(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	yarn_scheduler.release(bed->scheduler, 0, 1, 1);
	rm_wait(&bed->node, "stop 2\n");
	rm_end(&bed->rm, 2, -105, "Container killed by the ApplicationMaster.");
	wait_told(bed, "ended worker:0/1\n");
	assert_int_equal(bed->cause.kind, CAUSE_NONE);
	close_bed(bed);
}

static void who_cannot_be_stopped_is_taken_back(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	bed->node.refusal = "no";
	bed->node.refusal_class = "org.apache.hadoop.yarn.exceptions.YarnException";
	yarn_scheduler.release(bed->scheduler, 0, 1, 1);
	rm_wait(&bed->rm, "release 2; ");
	close_bed(bed);
}

static void what_was_not_launched_is_given_back_at_once(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	request(bed, 0, 1);
	give(bed, 2);
	wait_told(bed, "allocated worker:0/1\n");
	yarn_scheduler.release(bed->scheduler, 0, 1, AN_HOUR_MS);
	wait_told(bed, "ended worker:0/1\n");
	rm_wait(&bed->rm, "release 2; ");
	close_bed(bed);
}

static void a_preemption_is_announced_once(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	rm_preempt(&bed->rm, 2, true);
	wait_told(bed, "preempted worker:0/1\n");
	assert_int_equal(bed->cause.kind, CAUSE_PREEMPTED);
	rm_preempt(&bed->rm, 2, true);
	rm_beat(&bed->rm);
	assert_null(strstr(strstr(bed->told.text, "preempted") + 1, "preempted"));
	close_bed(bed);
}

static void node_leaves(struct bed *bed, int32_t timeout)
{
	rm_node_leaves(&bed->rm, "127.0.0.1", port_of_node(bed), timeout);
}

static void a_task_moves_before_its_machine_is_decommissioned(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	node_leaves(bed, 15);
	wait_told(bed, "noted: 127.0.0.1 is decommissioned in 15.0 s: worker:0 moves now\n");
	rm_wait(&bed->rm, "avoid 127.0.0.1; ");
	wait_told(bed, "preempted worker:0/1\n");
	assert_cause(bed, CAUSE_PREEMPTED,
		     "is moved: its machine, 127.0.0.1, is decommissioned in 1");
	close_bed(bed);
}

/* A program that ends before need not be disturbed. */
static void a_task_stays_as_long_as_its_machine_does(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bed->types[WORKER].stop_grace_ms = 20000;
	bring_up(bed);
	node_leaves(bed, 3600);
	wait_told(bed, "noted: 127.0.0.1 is decommissioned in 1 h 00 m: worker:0 moves 1 m 00 s "
		       "before, unless it ends sooner\n");
	rm_node(&bed->rm, "127.0.0.1", port_of_node(bed), HADOOP__NODE_STATE_PROTO__NS_RUNNING, "");
	wait_told(bed, "noted: 127.0.0.1 is not decommissioned after all\n");
	rm_wait(&bed->rm, "forgive 127.0.0.1; ");
	node_leaves(bed, -1);
	wait_told(bed, "noted: 127.0.0.1 is decommissioned once its containers have ended: "
		       "worker:0 goes on there\n");
	rm_beat(&bed->rm);
	assert_false(is_told(bed, "preempted"));
	node_leaves(bed, 60);
	wait_told(bed, "preempted worker:0/1\n");
	close_bed(bed);
}

/* The AM before was told, and nobody tells this one since when. */
static void an_am_that_follows_asks_which_machines_are_decommissioned(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	rm_node_is_leaving(&bed->clients, "127.0.0.1", port_of_node(bed), 3600);
	setenv("NM_HOST", "127.0.0.1", 1);
	setenv("NM_PORT", strchr(bed->node.server.address, ':') + 1, 1);
	adopt(bed);
	give(bed, 2);
	bed->rm.limits.containers_from_previous_attempts = bed->rm.next->allocated_containers;
	bed->rm.limits.n_containers_from_previous_attempts = 1;
	wait_told(bed, "noted: 127.0.0.1 is decommissioned, and the application master is there: "
		       "another one follows it\n");
	wait_told(bed, "noted: 127.0.0.1 is decommissioned, for how long already is not known: "
		       "worker:0 moves now\n");
	rm_wait(&bed->rm, "avoid 127.0.0.1; ");
	wait_told(bed, "preempted worker:0/1\n");
	assert_cause(bed, CAUSE_PREEMPTED, "is moved: its machine, 127.0.0.1, is decommissioned");
	unsetenv("NM_HOST");
	unsetenv("NM_PORT");
	close_bed(bed);
}

static void an_attempt_that_is_not_wanted_is_dismissed(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	rm_command(&bed->rm, HADOOP__AMCOMMAND_PROTO__AM_SHUTDOWN);
	wait_told(bed, "dismissed: the ResourceManager told this application master to shut down");
	close_bed(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(containers_of_the_am_before_are_taken_over),
		scratch_test(without_an_answer_to_its_registration_the_journal_is_believed),
		scratch_test(what_ended_between_two_ams_is_told),
		scratch_test(a_task_finds_itself_in_its_environment),
		scratch_test(a_task_gets_the_tokens_of_its_files_alone),
		scratch_test(containers_that_start_later_begin_with_the_new_tokens),
		scratch_test(the_node_manager_tells_the_end_of_what_is_released),
		scratch_test(the_end_is_told_before_anything_is_published),
		scratch_test(a_lost_node_says_why),
		scratch_test(ends_that_come_twice_or_late_are_one),
		scratch_test(a_start_that_fails_gives_the_container_back),
		scratch_test(who_does_not_leave_is_stopped),
		scratch_test(who_cannot_be_stopped_is_taken_back),
		scratch_test(what_was_not_launched_is_given_back_at_once),
		scratch_test(a_preemption_is_announced_once),
		scratch_test(a_task_moves_before_its_machine_is_decommissioned),
		scratch_test(an_am_that_follows_asks_which_machines_are_decommissioned),
		scratch_test(a_task_stays_as_long_as_its_machine_does),
		scratch_test(an_attempt_that_is_not_wanted_is_dismissed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
