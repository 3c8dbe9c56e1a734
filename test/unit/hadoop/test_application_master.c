/* What an application master says to the ResourceManager, when, and what it makes of the answers.
 */
#include "../base/patience.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fake_rm.h"
#include "hadoop/application_master.h"
#include "hadoop/message.h"
#include "hadoop/placement.h"
#include "hadoop/token.h"

enum { AN_HOUR_MS = 3600 * 1000, WORKER = 0, PS = 1, SPREAD = 2, TAGGED = 3, KINDS = 4 };

struct bed {
	struct event_base *base;
	struct fake_rm rm;
	struct hadoop_token token;
	struct container_kind kinds[KINDS];
	struct str_list tags, nodes, racks;
	Hadoop__PlacementConstraintProto *placement;
	struct application_master *am;
	struct str told; /* what the master told, a line each */
	bool is_finished;
};

#define TELL(...) str_append_format(&((struct bed *)data)->told, __VA_ARGS__)

static void on_registered(void *data, const Hadoop__RegisterApplicationMasterResponseProto *limits)
{
	TELL("registered\n");
}

static void on_inherited(void *data, const Hadoop__ContainerProto *container)
{
	TELL("inherited %d on %s\n", (int)container->id->id, container->nodeid->host);
}

static void on_forgotten(void *data)
{
	TELL("forgotten\n");
}

static void on_node_token(void *data, const Hadoop__NMTokenProto *token)
{
	TELL("token for %s\n", token->nodeid->host);
}

static void on_node_changed(void *data, const Hadoop__NodeReportProto *node)
{
	TELL("node %s %d\n", node->nodeid->host, (int)node->node_state);
}

static void on_completed(void *data, const Hadoop__ContainerStatusProto *status)
{
	TELL("ended %d: %d\n", (int)status->container_id->id, status->exit_status);
}

static void on_allocated(void *data, size_t kind, const Hadoop__ContainerProto *container)
{
	TELL("allocated %zu: %d\n", kind, (int)container->id->id);
}

static void on_preempting(void *data, const Hadoop__ContainerIdProto *id, bool strict)
{
	TELL("preempting %d %s\n", (int)id->id, strict ? "for certain" : "maybe");
}

static void on_refused(void *data, const char *text)
{
	TELL("refused: %s\n", text);
}

static void on_answered(void *data, const Hadoop__AllocateResponseProto *response)
{
}

static void on_over(void *data, const char *text)
{
	TELL("over: %s\n", text);
}

static double on_progress(void *data)
{
	return 0.5;
}

static void on_finished(void *data, const char *failure)
{
	TELL("finished: %s\n", failure ? failure : "well");
	((struct bed *)data)->is_finished = true;
}

static void wait_told(struct bed *bed, const char *line)
{
	while (!strstr(str_text(&bed->told), line))
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void assert_told(const struct bed *bed, const char *line)
{
	if (!strstr(str_text(&bed->told), line))
		fail_msg("not told \"%s\" but: %s", line, str_text(&bed->told));
}

static void open_master(struct bed *bed)
{
	struct err err cleanup_err = {0};
	struct application_master_options options = {
		.rpc = {.user = "alice",
			.token = &bed->token,
			.connect_timeout_ms = AN_HOUR_MS,
			.call_timeout_ms = AN_HOUR_MS,
			.retry_interval_ms = 1,
			.max_wait_ms = -1,
			.require_sasl = true},
		.host = "h0",
		.port = 4000,
		.tracking_url = "http://h0:4000/",
		.kinds = bed->kinds,
		.kind_count = KINDS,
		.nodes = bed->nodes,
		.racks = bed->racks,
		.events = {bed, on_registered, on_inherited, on_forgotten, on_node_token,
			   on_node_changed, on_completed, on_allocated, on_preempting, on_refused,
			   on_answered, on_over, on_progress},
	};

	str_list_add(&options.rpc.addresses, bed->rm.server.address);
	bed->am = application_master_create(bed->base, &options, &err);
	str_list_finish(&options.rpc.addresses);
	if (!bed->am)
		fail_msg("%s", err_message(&err));
}

static int open_bed(void **state)
{
	static struct hadoop_amount gpu = {"yarn.io/gpu", 2};
	struct bed *bed = mem_alloc(sizeof(*bed));
	struct err err cleanup_err = {0};
	const char *spread = "notin,node,db";

	log_open("test", LOG_LEVEL_ERROR);
	bed->base = event_base_new();
	rm_open(&bed->rm, bed->base);
	bed->rm.token = "first";
	token_set(&bed->token, "first", 5, "first", 5, TOKEN_KIND_AMRM, "");
	str_list_add(&bed->tags, "db");
	bed->placement = placement_parse(spread, strlen(spread), &err);
	bed->kinds[WORKER] = (struct container_kind){.memory = 1024,
						     .vcores = 1,
						     .amounts = &gpu,
						     .amount_count = 1,
						     .node_label = "fast"};
	bed->kinds[PS] = (struct container_kind){.memory = 512, .vcores = 2};
	bed->kinds[SPREAD] = (struct container_kind){
		.memory = 256, .vcores = 1, .placement = bed->placement, .tags = &bed->tags};
	bed->kinds[TAGGED] =
		(struct container_kind){.memory = 256, .vcores = 1, .tags = &bed->tags};
	open_master(bed);
	application_master_hurry(bed->am, true);
	*state = bed;
	return 0;
}

static int close_bed(void **state)
{
	struct bed *bed = *state;

	application_master_destroy(bed->am);
	rm_close(&bed->rm);
	placement_free(bed->placement);
	str_list_finish(&bed->tags);
	str_list_finish(&bed->nodes);
	str_list_finish(&bed->racks);
	str_finish(&bed->told);
	token_finish(&bed->token);
	event_base_free(bed->base);
	free(bed);
	return 0;
}

static void release(struct bed *bed, int number)
{
	Hadoop__ContainerIdProto *id = rm_container_id(number);

	application_master_release(bed->am, id);
	message_free(id);
}

/* Tokens for their nodes come with the registration, and not again. */
static void containers_of_an_earlier_attempt_are_told(void **state)
{
	struct bed *bed = *state;
	Hadoop__RegisterApplicationMasterResponseProto *limits = &bed->rm.limits;

	rm_give(&bed->rm, 1, 1, 7, "h1", 1);
	rm_give_node_token(&bed->rm, "h1", 1, "secret");
	Hadoop__ContainerProto *container = bed->rm.next->allocated_containers[0];
	Hadoop__NMTokenProto *token = bed->rm.next->nm_tokens[0];
	limits->containers_from_previous_attempts = &container;
	limits->nm_tokens_from_previous_attempts = &token;
	limits->n_containers_from_previous_attempts = 1;
	limits->n_nm_tokens_from_previous_attempts = 1;
	bed->rm.next->n_allocated_containers = bed->rm.next->n_nm_tokens = 0;
	wait_told(bed, "registered");
	assert_told(bed, "token for h1\ninherited 7 on h1\n");
	limits->n_containers_from_previous_attempts = 0;
	limits->n_nm_tokens_from_previous_attempts = 0;
	message_free(container);
	message_free(token);
}

static bool is_current_in_a_moment(struct bed *bed)
{
	const struct timeval moment = {.tv_usec = 20000};

	event_base_loopexit(bed->base, &moment); /* patience: between two looks */
	event_base_dispatch(bed->base);
	return application_master_is_current(bed->am);
}

/* An AM that was not answered for a while may have been replaced, and must not act. */
static void who_is_not_answered_is_not_current(void **state)
{
	struct bed *bed = *state;

	assert_false(application_master_is_current(bed->am));
	wait_told(bed, "registered");
	assert_true(application_master_is_current(bed->am));
	bed->rm.is_silent = true;
	wait_until(!is_current_in_a_moment(bed));
	bed->rm.is_silent = false;
	fake_hang_up(bed->rm.server.connections);
	wait_until((rm_beat(&bed->rm), application_master_is_current(bed->am)));
}

/* ---- asking ------------------------------------------------------------------------------- */

static void asks_of_one_turn_go_out_together(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	assert_true(rm_said(&bed->rm, "register h0:4000 http://h0:4000/\n"));
	application_master_want(bed->am, WORKER, 2);
	application_master_want(bed->am, WORKER, 3);
	application_master_want(bed->am, PS, 1);
	rm_wait(&bed->rm, "ask p1 n3 1024m 1c yarn.io/gpu=2 label=fast; ask p2 n1 512m 2c; \n");
}

/* The number is the whole of what is to come: what came lowers it on both sides. */
static void what_came_is_not_said_again(void **state)
{
	struct bed *bed = *state;

	application_master_want(bed->am, PS, 3);
	rm_wait(&bed->rm, "ask p2 n3");
	rm_give(&bed->rm, 2, 2, 7, "h1", 1);
	rm_beat(&bed->rm);
	assert_told(bed, "allocated 1: 7\n");
	assert_int_equal(application_master_wanted(bed->am, PS), 2);
	assert_null(strstr(bed->rm.log.text + bed->rm.seen, "ask"));
	application_master_want(bed->am, PS, 3);
	rm_wait(&bed->rm, "ask p2 n3");
}

/* An ask for any node gets one container for each heartbeat of a node. */
static void more_containers_than_nodes_are_asked_of_each_by_name(void **state)
{
	struct bed *bed = *state;

	application_master_destroy(bed->am);
	str_list_add(&bed->nodes, "h1");
	str_list_add(&bed->nodes, "h2");
	str_list_add(&bed->nodes, "h3");
	str_list_add(&bed->racks, "/r");
	open_master(bed);
	application_master_avoid(bed->am, "h3", true);
	application_master_want(bed->am, WORKER, 1);
	application_master_want(bed->am, PS, 5);
	rm_wait(&bed->rm, "ask p1 n1 1024m 1c yarn.io/gpu=2 label=fast; "
			  "ask p2 n3 512m 2c at h1; ask p2 n3 512m 2c at h2; "
			  "ask p2 n0 512m 2c at h3; ask p2 n5 512m 2c at /r; ask p2 n5 512m 2c; ");
	rm_give(&bed->rm, 2, 2, 7, "h1", 1);
	/* These nodes do not have them: it does not matter any more where they come from. */
	rm_wait(&bed->rm, "ask p2 n0 512m 2c at h1; ask p2 n0 512m 2c at h2; "
			  "ask p2 n0 512m 2c at h3; ask p2 n0 512m 2c at /r; ask p2 n4 512m 2c; ");
	application_master_want(bed->am, WORKER, 0);
	application_master_want(bed->am, PS, 3);
	rm_wait(&bed->rm, "ask p1 n0 1024m 1c yarn.io/gpu=2 label=fast; ask p2 n3 512m 2c; \n");
}

/* Others do as well, which is the scheduler's to say, and when. */
static void nodes_near_the_data_are_asked_for_first(void **state)
{
	static char *hosts[] = {"h1", "h2", NULL}, *racks[] = {"/r", NULL};
	static const struct str_list near_nodes = {hosts, 2}, near_racks = {racks, 1};
	struct bed *bed = *state;

	application_master_destroy(bed->am);
	bed->kinds[PS].near_nodes = &near_nodes;
	bed->kinds[PS].near_racks = &near_racks;
	open_master(bed);
	application_master_want(bed->am, PS, 3);
	rm_wait(&bed->rm, "ask p2 n2 512m 2c at h1; ask p2 n2 512m 2c at h2; "
			  "ask p2 n3 512m 2c at /r; ask p2 n3 512m 2c; ");
	rm_give(&bed->rm, 2, 2, 7, "h4", 1);
	rm_beat(&bed->rm);
	application_master_avoid(bed->am, "h1", true);
	application_master_want(bed->am, PS, 1);
	rm_wait(&bed->rm, "ask p2 n0 512m 2c at h1; ask p2 n1 512m 2c at h2; "
			  "ask p2 n1 512m 2c at /r; ask p2 n1 512m 2c; ");
	application_master_want(bed->am, PS, 0);
	rm_wait(&bed->rm, "ask p2 n0 512m 2c at h1; ask p2 n0 512m 2c at h2; "
			  "ask p2 n0 512m 2c at /r; ask p2 n0 512m 2c; ");
}

static void surplus_is_given_back(void **state)
{
	struct bed *bed = *state;

	application_master_want(bed->am, PS, 1);
	rm_wait(&bed->rm, "ask p2 n1");
	rm_give(&bed->rm, 2, 2, 7, "h1", 1);
	rm_give(&bed->rm, 2, 2, 8, "h1", 1);
	rm_give(&bed->rm, 9, 9, 9, "h1", 1);
	rm_wait(&bed->rm, "release 8; release 9; ");
	assert_told(bed, "allocated 1: 7\n");
	assert_null(strstr(bed->told.text, ": 8\n"));
}

static void placed_containers_are_asked_for_one_by_one(void **state)
{
	struct bed *bed = *state;

	application_master_want(bed->am, SPREAD, 2);
	rm_wait(&bed->rm, "single p3 #1000001 n1 db max=0; single p3 #1000000 n1 db max=0; ");
	rm_give(&bed->rm, 3, 1000000, 7, "h1", 1);
	rm_beat(&bed->rm);
	assert_told(bed, "allocated 2: 7\n");
	application_master_want(bed->am, SPREAD, 0);
	rm_wait(&bed->rm, "single p3 #1000001 n0 ");
	rm_give(&bed->rm, 3, 1000001, 8, "h1", 1);
	rm_wait(&bed->rm, "release 8; ");
}

/* The ResourceManager compares what cancels with what it has, each field of it: see fake_rm.c. */
static void tags_without_a_constraint_may_be_cancelled(void **state)
{
	struct bed *bed = *state;

	application_master_want(bed->am, TAGGED, 1);
	rm_wait(&bed->rm, "single p4 #1000000 n1 db; ");
	application_master_want(bed->am, TAGGED, 0);
	rm_wait(&bed->rm, "single p4 #1000000 n0 db; ");
}

static void what_is_against_the_rules_is_refused(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	bed->rm.error = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException";
	bed->rm.error_text = "Invalid resource request! Requested memory < 0";
	application_master_want(bed->am, PS, 1);
	wait_told(bed, "Invalid resource request! Requested memory < 0");
	assert_int_equal(application_master_wanted(bed->am, PS), 0);
	application_master_want(bed->am, WORKER, 1);
	rm_wait(&bed->rm, "ask p1 n1");
}

/* The cluster's administrator did not enable placement constraints. */
static void constraints_that_nobody_heeds_are_refused(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	bed->rm.error = "org.apache.hadoop.yarn.exceptions.YarnException";
	bed->rm.error_text = "Found non empty SchedulingRequest of AllocateRequest, but the "
			     "configured yarn.resourcemanager.placement-constraints.handler cannot "
			     "handle placement constraints.";
	application_master_want(bed->am, SPREAD, 1);
	wait_told(bed, "refused: the cluster takes no placement constraints");
	assert_null(strstr(bed->told.text, "over: "));
}

/* ---- what happens ------------------------------------------------------------------------- */

static void an_answer_is_told_in_order(void **state)
{
	struct bed *bed = *state;

	application_master_want(bed->am, PS, 1);
	rm_wait(&bed->rm, "ask p2 n1");
	rm_give(&bed->rm, 2, 2, 7, "h1", 1);
	rm_end(&bed->rm, 5, -100, "lost");
	rm_node(&bed->rm, "h2", 1, HADOOP__NODE_STATE_PROTO__NS_LOST, "");
	rm_give_node_token(&bed->rm, "h1", 1, "nm");
	rm_preempt(&bed->rm, 6, true);
	rm_beat(&bed->rm);
	assert_told(bed, "token for h1\nnode h2 5\nended 5: -100\nallocated 1: 7\n"
			 "preempting 6 for certain\n");
	rm_preempt(&bed->rm, 6, false);
	rm_beat(&bed->rm);
	assert_told(bed, "preempting 6 maybe\n");
}

/* ---- a ResourceManager that forgets ------------------------------------------------------- */

static void say_all(struct bed *bed)
{
	application_master_want(bed->am, PS, 2);
	application_master_want(bed->am, SPREAD, 1);
	application_master_avoid(bed->am, "h1", true);
	release(bed, 4);
	rm_wait(&bed->rm, "ask p2 n2 512m 2c; single p3 #1000000 n1 db max=0; release 4; "
			  "avoid h1; \n");
	rm_give(&bed->rm, 2, 2, 7, "h2", 1);
	rm_beat(&bed->rm);
}

static void everything_is_said_again_after_a_restart(void **state)
{
	struct bed *bed = *state;

	say_all(bed);
	bed->rm.error = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException";
	rm_wait(&bed->rm, "register");
	rm_wait(&bed->rm, "allocate 0 ask p2 n1 512m 2c; single p3 #1000000 n1 db max=0; "
			  "release 4; avoid h1; \n");
	assert_told(bed, "forgotten\n");
	/* Said once to whoever wants the containers. */
	assert_null(strstr(strstr(bed->told.text, "registered") + 1, "registered"));
}

static void a_resync_is_a_restart(void **state)
{
	struct bed *bed = *state;

	say_all(bed);
	rm_command(&bed->rm, HADOOP__AMCOMMAND_PROTO__AM_RESYNC);
	rm_wait(&bed->rm, "register");
	rm_wait(&bed->rm, "allocate 0 ask p2 n1");
}

static void a_release_that_was_obeyed_is_not_repeated(void **state)
{
	struct bed *bed = *state;

	say_all(bed);
	rm_end(&bed->rm, 4, -100, "released");
	rm_beat(&bed->rm);
	rm_command(&bed->rm, HADOOP__AMCOMMAND_PROTO__AM_RESYNC);
	rm_wait(&bed->rm, "register");
	rm_wait(&bed->rm, "allocate 0 ask p2 n1 512m 2c; single p3 #1000000 n1 db max=0; avoid");
}

static void an_avoided_host_is_forgiven(void **state)
{
	struct bed *bed = *state;

	application_master_avoid(bed->am, "h1", true);
	rm_wait(&bed->rm, "avoid h1");
	application_master_avoid(bed->am, "h1", false);
	rm_wait(&bed->rm, "forgive h1");
}

/* The file in the container keeps the first token; only this process knows of the next. */
static void the_newest_token_is_used_for_the_next_connection(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	rm_roll_token(&bed->rm, "second");
	rm_beat(&bed->rm);
	bed->rm.token = "second";
	fake_hang_up(bed->rm.server.connections);
	rm_beat(&bed->rm);
	assert_int_equal(bed->rm.server.accepted, 2);
}

static void an_attempt_that_is_not_wanted_leaves(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	bed->rm.error = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException";
	bed->rm.error_text = "Application attempt appattempt_1_0001_000001 doesn't exist";
	wait_told(bed, "over: ");
	assert_told(bed, "doesn't exist");
}

static void a_shutdown_is_obeyed(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	rm_command(&bed->rm, HADOOP__AMCOMMAND_PROTO__AM_SHUTDOWN);
	wait_told(bed, "over: the ResourceManager told this application master to shut down\n");
}

static void a_lost_answer_to_the_registration_is_none(void **state)
{
	struct bed *bed = *state;

	bed->rm.error =
		"org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException";
	bed->rm.error_text = "Application Master is already registered : application_1";
	wait_told(bed, "registered");
	rm_beat(&bed->rm);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void finish(struct bed *bed)
{
	application_master_finish(bed->am, HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_FAILED,
				  "it failed", "http://history/", on_finished, bed);
	while (!bed->is_finished)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

/* promise: R51 */
static void the_end_is_told_until_it_is_written_down(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	finish(bed);
	assert_told(bed, "finished: well\n");
	assert_int_equal(bed->rm.finishes, 2);
	assert_true(rm_said(&bed->rm, "finish 2 it failed http://history/\n"));
}

static void the_end_survives_a_restart(void **state)
{
	struct bed *bed = *state;

	rm_beat(&bed->rm);
	bed->rm.seen = bed->rm.log.length;
	bed->rm.error = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException";
	finish(bed);
	assert_told(bed, "finished: well\n");
	rm_wait(&bed->rm, "register");
	rm_wait(&bed->rm, "finish");
}

static void an_end_that_cannot_be_told_is_an_end(void **state)
{
	struct bed *bed = *state;

	wait_told(bed, "registered");
	bed->rm.error = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException";
	bed->rm.error_text = "gone";
	finish(bed);
	assert_told(bed, "gone");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bed, close_bed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(containers_of_an_earlier_attempt_are_told),
		TEST(who_is_not_answered_is_not_current),
		TEST(asks_of_one_turn_go_out_together),
		TEST(what_came_is_not_said_again),
		TEST(more_containers_than_nodes_are_asked_of_each_by_name),
		TEST(nodes_near_the_data_are_asked_for_first),
		TEST(surplus_is_given_back),
		TEST(placed_containers_are_asked_for_one_by_one),
		TEST(tags_without_a_constraint_may_be_cancelled),
		TEST(what_is_against_the_rules_is_refused),
		TEST(constraints_that_nobody_heeds_are_refused),
		TEST(an_answer_is_told_in_order),
		TEST(everything_is_said_again_after_a_restart),
		TEST(a_resync_is_a_restart),
		TEST(a_release_that_was_obeyed_is_not_repeated),
		TEST(an_avoided_host_is_forgiven),
		TEST(the_newest_token_is_used_for_the_next_connection),
		TEST(an_attempt_that_is_not_wanted_leaves),
		TEST(a_shutdown_is_obeyed),
		TEST(a_lost_answer_to_the_registration_is_none),
		TEST(the_end_is_told_until_it_is_written_down),
		TEST(the_end_survives_a_restart),
		TEST(an_end_that_cannot_be_told_is_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
