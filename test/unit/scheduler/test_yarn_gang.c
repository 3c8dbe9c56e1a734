/* Gangs on YARN, for what they wait, and the machines that they avoid. */
#include "../base/scratch.h"
#include "../base/test.h"

#include "base/mem.h"
#include "scheduler/yarn.h"
#include "yarn_bed.h"

/* ---- gangs -------------------------------------------------------------------------------- */

static void a_gang_is_told_when_it_is_complete(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	request(bed, 0, 4);
	rm_wait(&bed->rm, "ask p1 n3 128m 1c; ask p2 n1 64m 1c; ");
	wait_told(bed, "waits for 4 of 4 containers (worker x 3, ps x 1) of queue ml\n");
	give(bed, 2);
	give(bed, 3);
	give(bed, 4);
	rm_beat(&bed->rm);
	assert_false(is_told(bed, "allocated"));
	rm_give(&bed->rm, PS + 1, PS + 1, 5, "127.0.0.1", port_of_node(bed));
	wait_told(bed, "nothing waits\n");
	assert_true(is_told(bed, "allocated worker:2/1\nallocated ps:0/1\n"));
	close_bed(bed);
}

static void what_a_job_can_do_without_is_told_alone_and_comes_last(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	ask_for(bed, 2, 1, true);
	request(bed, 0, 2);
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml\n");
	give(bed, 2);
	give(bed, 3);
	wait_told(bed,
		  "can run with fewer; waits for 1 more containers (worker x 1) of queue ml\n");
	assert_true(is_told(bed, "allocated worker:0/1\nallocated worker:1/1\n"));
	assert_false(is_told(bed, "allocated worker:2/1"));
	give(bed, 4);
	wait_told(bed, "allocated worker:2/1\n");
	wait_told(bed, "nothing waits\n");
	close_bed(bed);
}

static Hadoop__ContainerProto *give_opportunistic(struct bed *bed)
{
	int kind = TYPES + WORKER + 1;
	Hadoop__ContainerProto *container =
		rm_give(&bed->rm, kind, kind, 4, "127.0.0.1", port_of_node(bed));

	container->has_execution_type = true;
	return container;
}

static void guaranteed_containers_in_place_of_opportunistic_ones_are_noted(void **state)
{
	struct bed *bed = open_with(state, JOB_MODE_GANG, 0, NULL, true);

	ask_for(bed, 2, 1, true);
	rm_wait(&bed->rm, "ask p3 n1 128m 1c opportunistic; ");
	give_opportunistic(bed);
	wait_told(bed, "noted: tony.worker.execution-type: the ResourceManager gives guaranteed "
		       "containers in place of opportunistic ones");
	wait_told(bed, "allocated worker:2/1\n");
	close_bed(bed);
}

static void only_what_a_job_can_do_without_is_opportunistic(void **state)
{
	struct bed *bed = open_with(state, JOB_MODE_GANG, 0, NULL, true);

	ask_for(bed, 2, 1, true);
	request(bed, 0, 2);
	rm_wait(&bed->rm, "ask p1 n2 128m 1c; ask p3 n1 128m 1c opportunistic; ");
	/* Of those that are needed, no reason of the others. */
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml\n");
	give(bed, 2);
	give(bed, 3);
	wait_told(bed, "can run with fewer; waits for 1 more containers (worker x 1) of queue ml: "
		       "worker: opportunistic, from a node that has room in its queue\n");
	rm_give_node_token(&bed->rm, "127.0.0.1", port_of_node(bed), "nm");
	give_opportunistic(bed)->execution_type = HADOOP__EXECUTION_TYPE_PROTO__OPPORTUNISTIC;
	wait_told(bed, "allocated worker:2/1\n");
	wait_told(bed, "nothing waits\n");
	assert_false(is_told(bed, "noted"));
	launch(bed, 2);
	rm_end(&bed->rm, 4, -108, "Container Killed to make room for Guaranteed Container.");
	wait_told(bed, "ended worker:2/1\n");
	assert_cause(bed, CAUSE_PREEMPTED, "its node made room for other containers");
	close_bed(bed);
}

static void without_a_gang_each_is_told(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_FCFS, 0);

	request(bed, 0, 3);
	give(bed, 2);
	wait_told(bed, "allocated worker:0/1\n");
	assert_false(is_told(bed, "worker:1"));
	close_bed(bed);
}

/* Two jobs that each hold half of a cluster would wait for each other for ever. */
static void a_gang_that_stands_still_is_given_back(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	struct yarn *yarn = (struct yarn *)bed->scheduler;

	yarn->gang_patience_ms = yarn->gang_pause_ms = 100;
	request(bed, 0, 3);
	rm_wait(&bed->rm, "ask p1 n3");
	give(bed, 2);
	give(bed, 3);
	rm_wait(&bed->rm, "ask p1 n0 128m 1c; release 2; release 3; ");
	wait_told(bed, "pauses, having given back 2 of 3 containers of queue ml, as worker x 1 did "
		       "not come\n");
	rm_wait(&bed->rm, "ask p1 n3");
	give(bed, 4);
	give(bed, 5);
	give(bed, 6);
	wait_told(bed, "allocated worker:2/1\n");
	close_bed(bed);
}

/* 200 MiB are free, and no container of 128 MiB fits anywhere. The headroom is small for that
 * reason alone. */
static void memory_that_is_free_in_pieces_is_told(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	struct yarn *yarn = (struct yarn *)bed->scheduler;

	rm_has_node(&bed->clients, "h1", NULL, 1024, 924);
	rm_has_node(&bed->clients, "h2", NULL, 1024, 924);
	rm_has_node(&bed->clients, "h3", "fast", 1024, 0); /* others' alone */
	bed->rm.headroom = 100;
	request(bed, 0, 2);
	while (yarn->short_since == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	yarn->short_since = 1;
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml: no node has 128 MiB "
		       "free in one piece\n");
	close_bed(bed);
}

/* It would wait for an hour otherwise. */
static void a_pause_ends_when_there_is_room_for_the_gang(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	struct yarn *yarn = (struct yarn *)bed->scheduler;

	yarn->gang_patience_ms = 100;
	rm_has_node(&bed->clients, "h1", NULL, 1024, 1024 - 2 * 128);
	request(bed, 0, 3);
	TAILQ_FIRST(&yarn->gangs)->pause =
		(struct backoff){.first_ms = AN_HOUR_MS, .cap_ms = AN_HOUR_MS};
	give(bed, 2);
	rm_wait(&bed->rm, "ask p1 n0 128m 1c; release 2; ");
	rm_wait(&bed->clients, "nodes\n");
	rm_beat(&bed->rm);
	assert_false(TAILQ_FIRST(&yarn->gangs)->is_woken); /* for two there is */
	rm_use_node(&bed->clients, 0, 0);
	yarn->room_at = 1; /* long ago */
	rm_wait(&bed->rm, "ask p1 n3");
	close_bed(bed);
}

static void what_a_container_costs_after_rounding_is_told(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	request(bed, 0, 2);
	rm_size(rm_give(&bed->rm, WORKER + 1, WORKER + 1, 2, "127.0.0.1", port_of_node(bed)), 1024);
	wait_told(bed, "waits for 1 of 2 containers (worker x 1) of queue ml: each worker has 1.0 "
		       "GiB instead of 128 MiB\n");
	close_bed(bed);
}

static void what_the_queue_has_left_for_the_user_is_told(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	struct yarn *yarn = (struct yarn *)bed->scheduler;

	bed->rm.headroom = 100;
	request(bed, 0, 2);
	while (yarn->short_since == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	yarn->short_since = 1;
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml: user alice can have "
		       "100 MiB more, and a worker takes 128 MiB\n");
	bed->rm.headroom = 1;
	yarn->headroom_at = 1; /* long ago */
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml: user alice can have "
		       "1 MiB more, and a worker takes 128 MiB\n");
	bed->rm.headroom = 128;
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml\n");
	close_bed(bed);
}

static void a_placement_that_is_waited_for_is_told(void **state)
{
	struct bed *bed = open_with(state, JOB_MODE_GANG, 0, "notin,node,worker", false);

	((struct yarn *)bed->scheduler)->node_count = 3;
	request(bed, 0, 2);
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml: worker: "
		       "notin,node,worker on 3 nodes\n");
	close_bed(bed);
}

static void what_is_lost_while_held_is_asked_for_again(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	request(bed, 0, 2);
	give(bed, 2);
	rm_beat(&bed->rm);
	rm_end(&bed->rm, 2, -100, "Container released on a *lost* node");
	rm_wait(&bed->rm, "ask p1 n2");
	give(bed, 3);
	give(bed, 4);
	wait_told(bed, "allocated worker:1/1\n");
	assert_false(is_told(bed, "ended"));
	close_bed(bed);
}

static void what_is_held_over_a_restart_is_asked_for_again(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	request(bed, 0, 2);
	give(bed, 2);
	rm_beat(&bed->rm);
	bed->rm.error = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException";
	rm_wait(&bed->rm, "register");
	rm_wait(&bed->rm, "ask p1 n2");
	give(bed, 3);
	give(bed, 4);
	wait_told(bed, "allocated worker:1/1\n");
	close_bed(bed);
}

static void a_gang_goes_on_without_who_is_cancelled(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	request(bed, 0, 2);
	give(bed, 2);
	rm_beat(&bed->rm);
	yarn_scheduler.cancel(bed->scheduler, 1, 1);
	wait_told(bed, "allocated worker:0/1\n");
	rm_wait(&bed->rm, "ask p1 n0");
	close_bed(bed);
}

/* YARN leaves out what it does not know, without a word. */
static void an_unknown_resource_is_refused(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 2);
	Hadoop__ResourceTypeInfoProto memory = HADOOP__RESOURCE_TYPE_INFO_PROTO__INIT;
	Hadoop__ResourceTypeInfoProto *known[] = {&memory};

	memory.name = (char *)"memory-mb";
	bed->rm.limits.n_resource_types = 1;
	bed->rm.limits.resource_types = known;
	request(bed, 3, 1);
	wait_told(bed, "a ps needs 2 of yarn.io/fpga, a resource that this cluster does not have "
		       "ps:0/1\n");
	close_bed(bed);
}

static void a_container_that_lacks_something_is_refused(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 2);

	request(bed, 3, 1);
	rm_give(&bed->rm, PS + 1, PS + 1, 5, "127.0.0.1", 1);
	wait_told(bed, "YARN gave a container with 0 of yarn.io/fpga in place of 2 ps:0/1\n");
	rm_wait(&bed->rm, "release 5; ");
	close_bed(bed);
}

/* ---- machines that are avoided ------------------------------------------------------------ */

/* promise: R16 */
static void a_suspect_machine_is_avoided_where_there_are_others(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	((struct yarn *)bed->scheduler)->node_count = 2;
	yarn_scheduler.avoid(bed->scheduler, "127.0.0.1");
	rm_beat(&bed->rm);
	assert_false(rm_said(&bed->rm, "avoid"));
	((struct yarn *)bed->scheduler)->node_count = 3;
	yarn_scheduler.avoid(bed->scheduler, "127.0.0.1");
	rm_wait(&bed->rm, "avoid 127.0.0.1; ");
	yarn_scheduler.avoid(bed->scheduler, "h7");
	rm_wait(&bed->rm, "avoid h7; forgive 127.0.0.1; ");
	close_bed(bed);
}

/* The AM before avoided it; how many others there are is not known yet. */
static void a_machine_is_avoided_from_the_first_request(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	yarn_scheduler.adopt(bed->scheduler, NULL, 0);
	yarn_scheduler.avoid(bed->scheduler, "h7");
	rm_wait(&bed->rm, "avoid h7; ");
	((struct yarn *)bed->scheduler)->node_count = 2;
	rm_beat(&bed->rm);
	rm_wait(&bed->rm, "forgive h7; ");
	close_bed(bed);
}

/* Of the four nodes one has the label: without it nothing could ever come. */
/* promise: R16 */
static void the_last_node_that_an_ask_can_use_is_forgiven(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);
	struct yarn *yarn = (struct yarn *)bed->scheduler;

	yarn->kinds[WORKER].node_label = "fast";
	for (int i = 1; i <= 3; i++)
		rm_has_node(&bed->clients, "h1", NULL, 4096, 0);
	rm_has_node(&bed->clients, "h4", "fast", 4096, 0);
	yarn->node_count = 4;
	yarn_scheduler.avoid(bed->scheduler, "h4");
	rm_wait(&bed->rm, "avoid h4; ");
	request(bed, 0, 2);
	wait_told(bed, "waits for 2 of 2 containers (worker x 2) of queue ml: h4 is avoided, since "
		       "tasks were lost there\n");
	rm_wait(&bed->clients, "nodes\n");
	rm_wait(&bed->rm, "forgive h4; ");
	assert_true(is_told(bed, "noted: h4 is no longer avoided\n"));
	close_bed(bed);
}

/* Which nodes a constraint leaves the scheduler alone knows. */
/* promise: R16 */
static void what_waits_in_vain_gets_avoided_machines_back(void **state)
{
	struct bed *bed = open_with(state, JOB_MODE_GANG, 0, "notin,node,worker", false);
	struct yarn *yarn = (struct yarn *)bed->scheduler;

	for (int i = 1; i <= 4; i++) {
		char *host cleanup_free = mem_printf("h%d", i);
		rm_has_node(&bed->clients, host, NULL, 4096, 0);
	}
	yarn->node_count = 4;
	yarn_scheduler.avoid(bed->scheduler, "h4");
	request(bed, 0, 3);
	rm_wait(&bed->clients, "nodes\n");
	wait_told(bed, "worker: notin,node,worker on 3 nodes; h4 is avoided");
	rm_beat(&bed->rm);
	assert_false(rm_said(&bed->rm, "forgive"));
	yarn->waits_since = 1;
	rm_wait(&bed->rm, "forgive h4; ");
	close_bed(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_gang_is_told_when_it_is_complete),
		scratch_test(what_a_job_can_do_without_is_told_alone_and_comes_last),
		scratch_test(only_what_a_job_can_do_without_is_opportunistic),
		scratch_test(guaranteed_containers_in_place_of_opportunistic_ones_are_noted),
		scratch_test(without_a_gang_each_is_told),
		scratch_test(a_gang_that_stands_still_is_given_back),
		scratch_test(what_a_container_costs_after_rounding_is_told),
		scratch_test(what_the_queue_has_left_for_the_user_is_told),
		scratch_test(a_placement_that_is_waited_for_is_told),
		scratch_test(what_is_lost_while_held_is_asked_for_again),
		scratch_test(what_is_held_over_a_restart_is_asked_for_again),
		scratch_test(a_gang_goes_on_without_who_is_cancelled),
		scratch_test(an_unknown_resource_is_refused),
		scratch_test(a_container_that_lacks_something_is_refused),
		scratch_test(a_suspect_machine_is_avoided_where_there_are_others),
		scratch_test(a_machine_is_avoided_from_the_first_request),
		scratch_test(the_last_node_that_an_ask_can_use_is_forgiven),
		scratch_test(what_waits_in_vain_gets_avoided_machines_back),
		scratch_test(memory_that_is_free_in_pieces_is_told),
		scratch_test(a_pause_ends_when_there_is_room_for_the_gang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
