/* The AM's side of YARN against a ResourceManager and a NodeManager with words put in their mouths:
 * gangs, launches, ends and their causes. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "../hadoop/fake_rm.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/container.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "scheduler/yarn.h"
#include "scheduler/yarn_internal.h"

enum { AN_HOUR_MS = 3600 * 1000, WORKER = 0, PS = 1, TYPES = 2, WORKERS = 3 };

struct bed {
	struct event_base *base;
	struct fake_rm rm, clients, node; /* both services of the ResourceManager */
	struct job job;
	struct job_type types[TYPES];
	struct hadoop_amount fpga;
	/* Of workers: */
	const char *placement; /* NULL: none */
	bool is_opportunistic;
	struct scheduler *scheduler;
	struct str told;
	struct cause cause; /* of the last end or preemption */
};

/* ---- what the scheduler tells ------------------------------------------------------------- */

static void note(void *data, const char *what, size_t task, int attempt)
{
	struct bed *bed = data;
	size_t index = task < WORKERS ? task : task - WORKERS;

	str_append_format(&bed->told, "%s %s:%zu/%d\n", what, task < WORKERS ? "worker" : "ps",
			  index, attempt);
}

static void on_allocated(void *data, size_t task, int attempt, const char *container,
			 const char *host)
{
	assert_string_equal(host, "127.0.0.1");
	note(data, "allocated", task, attempt);
}

static void on_refused(void *data, size_t task, int attempt, const char *text)
{
	note(data, text, task, attempt);
}

static void on_ended(void *data, size_t task, int attempt, const struct cause *cause)
{
	cause_copy(&((struct bed *)data)->cause, cause);
	note(data, "ended", task, attempt);
}

static void on_preempted(void *data, size_t task, int attempt, const struct cause *cause)
{
	cause_copy(&((struct bed *)data)->cause, cause);
	note(data, "preempted", task, attempt);
}

static void on_waiting(void *data, const char *text)
{
	str_append_format(&((struct bed *)data)->told, "%s\n", text ? text : "nothing waits");
}

static void on_dismissed(void *data, const char *text)
{
	str_append_format(&((struct bed *)data)->told, "dismissed: %s\n", text);
}

static double on_progress(void *data)
{
	return 0;
}

static void on_journal_kept(void *data, int64_t sequence)
{
}

static void on_noted(void *data, const char *text)
{
	str_append_format(&((struct bed *)data)->told, "noted: %s\n", text);
}

static void wait_told(struct bed *bed, const char *part)
{
	while (!strstr(str_text(&bed->told), part))
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static bool is_told(const struct bed *bed, const char *part)
{
	return strstr(str_text(&bed->told), part) != NULL;
}

/* ---- open and close ----------------------------------------------------------------------- */

static void set_credentials(void **state)
{
	static const char *const others[] = {TOKEN_KIND_RM, TOKEN_KIND_HDFS, TOKEN_KIND_KMS};
	struct credentials credentials cleanup_credentials = {0};
	struct hadoop_token token cleanup_token = {0};
	struct str bytes cleanup_str = {0};
	struct err err cleanup_err = {0};
	const char *path = scratch_path(state, "tokens");
	char secret[65];

	memset(secret, 'a', sizeof(secret));
	token_set(&token, "amrm", 4, "amrm", 4, TOKEN_KIND_AMRM, "");
	credentials_add_token(&credentials, "", &token);
	for (size_t i = 0; i < array_length(others); i++) {
		struct hadoop_token other cleanup_token = {0};
		token_set(&other, "x", 1, "p", 1, others[i], "s");
		credentials_add_token(&credentials, others[i], &other);
	}
	credentials_add_secret(&credentials, HADOOP_SECRET_TOKEN, secret, 64);
	credentials_add_secret(&credentials, HADOOP_SECRET_JOB, "{}", 2);
	credentials_write(&credentials, &bytes);
	assert_success(fs_write_file(path, bytes.text, bytes.length, 0600, &err), &err);
	setenv("HADOOP_TOKEN_FILE_LOCATION", path, 1);
	setenv("NM_HOST", "h0", 1);
}

static void describe_cluster(struct bed *bed)
{
	struct hadoop_file agent = {.url = (char *)"hdfs://nn:8020/agent", .length = 1};
	struct hadoop_cluster_type types[TYPES] = {0};
	struct hadoop_cluster cluster = {
		.user = (char *)"alice",
		.protections = 1,
		.connect_timeout_ms = AN_HOUR_MS,
		.call_timeout_ms = AN_HOUR_MS,
		.retry_interval_ms = 1,
		.max_wait_ms = -1,
		.hdfs = {.user = (char *)"alice", .fs = (char *)"hdfs://nn:8020"},
		.home = (char *)"/user/alice",
		.job_dir = (char *)"/user/alice/.tony/j",
		.history_dir = (char *)"/user/alice/.tony/history",
		.files = &agent,
		.file_count = 1,
		.types = types,
		.type_count = TYPES,
	};

	types[WORKER].placement = (char *)bed->placement;
	types[WORKER].is_opportunistic = bed->is_opportunistic;
	types[PS].amounts = &bed->fpga;
	types[PS].amount_count = bed->fpga.value > 0;
	str_list_add(&cluster.rm, bed->clients.server.address);
	str_list_add(&cluster.rm_scheduler, bed->rm.server.address);
	str_list_add(&cluster.hdfs.webhdfs, "http://127.0.0.1:1");
	str_list_add(&cluster.hdfs.name_nodes, "127.0.0.1:1");
	bed->job.engine = hadoop_cluster_to_json(&cluster);
	bed->job.stores = json_object();
	hdfs_access_write(&cluster.hdfs, bed->job.stores);
	str_list_finish(&cluster.rm);
	str_list_finish(&cluster.rm_scheduler);
	str_list_finish(&cluster.hdfs.webhdfs);
	str_list_finish(&cluster.hdfs.name_nodes);
}

static struct bed *open_with(void **state, enum job_mode mode, int64_t fpgas, const char *placement,
			     bool is_opportunistic)
{
	struct bed *bed = mem_alloc(sizeof(*bed));
	struct err err cleanup_err = {0};

	log_open("test", LOG_LEVEL_ERROR);
	set_credentials(state);
	bed->base = event_base_new();
	bed->fpga = (struct hadoop_amount){(char *)"yarn.io/fpga", fpgas};
	bed->placement = placement;
	bed->is_opportunistic = is_opportunistic;
	rm_open(&bed->rm, bed->base);
	rm_open(&bed->clients, bed->base);
	rm_open(&bed->node, bed->base);
	bed->rm.token = "amrm";
	bed->node.token = "nm";
	bed->types[WORKER] = (struct job_type){
		.name = (char *)"worker", .instances = WORKERS, .memory = 128, .vcores = 1};
	bed->types[PS] =
		(struct job_type){.name = (char *)"ps", .instances = 1, .memory = 64, .vcores = 1};
	bed->job = (struct job){.id = (char *)"application_1_0001",
				.queue = (char *)"ml",
				.mode = mode,
				.types = bed->types,
				.type_count = TYPES};
	describe_cluster(bed);
	const struct scheduler_place place = {.journal = (char *)"/dev/null", .am_attempt = 1};
	const struct scheduler_setup setup = {
		.job = &bed->job,
		.job_dir = "/nowhere",
		.place = &place,
		.am_address = "h0:4000",
		.base = bed->base,
		.listener = {bed, on_allocated, on_refused, on_ended, on_waiting, on_preempted,
			     on_dismissed, on_progress, on_journal_kept, on_noted},
	};
	bed->scheduler = yarn_scheduler.open(&setup, &err);
	if (!bed->scheduler)
		fail_msg("%s", err_message(&err));
	return bed;
}

static struct bed *open_bed(void **state, enum job_mode mode, int64_t fpgas)
{
	return open_with(state, mode, fpgas, NULL, false);
}

static void close_bed(struct bed *bed)
{
	yarn_scheduler.close(bed->scheduler);
	rm_close(&bed->rm);
	rm_close(&bed->clients);
	rm_close(&bed->node);
	json_decref(bed->job.engine);
	json_decref(bed->job.stores);
	cause_finish(&bed->cause);
	str_finish(&bed->told);
	event_base_free(bed->base);
	free(bed);
}

/* ---- what is done ------------------------------------------------------------------------- */

static void ask_for(struct bed *bed, size_t first, size_t count, bool optional)
{
	struct scheduler_request requests[WORKERS + 1];

	for (size_t i = 0; i < count; i++) {
		size_t task = first + i;
		requests[i] = (struct scheduler_request){
			.task = task,
			.attempt = 1,
			.type = task < WORKERS ? WORKER : PS,
			.index = (int)(task < WORKERS ? task : task - WORKERS),
			.is_optional = optional};
	}
	yarn_scheduler.request(bed->scheduler, requests, count);
}

static void request(struct bed *bed, size_t first, size_t count)
{
	ask_for(bed, first, count, false);
}

static int port_of_node(const struct bed *bed)
{
	return atoi(strchr(bed->node.server.address, ':') + 1);
}

/* A container with this number for a worker. */
static void give(struct bed *bed, int number)
{
	rm_give(&bed->rm, WORKER + 1, WORKER + 1, number, "127.0.0.1", port_of_node(bed));
}

static void launch(struct bed *bed, size_t task)
{
	const struct scheduler_launch order = {
		.task = task, .attempt = 1, .task_name = "worker:0", .am_address = "h0:4000"};

	yarn_scheduler.launch(bed->scheduler, &order);
}

/* worker:0 in container 2, started. */
static void bring_up(struct bed *bed)
{
	request(bed, 0, 1);
	rm_give_node_token(&bed->rm, "127.0.0.1", port_of_node(bed), "nm");
	give(bed, 2);
	wait_told(bed, "allocated worker:0/1\n");
	launch(bed, 0);
	rm_wait(&bed->node, "start 2 ");
}

static void assert_cause(struct bed *bed, enum cause_kind kind, const char *part)
{
	if (bed->cause.kind != kind || !strstr(bed->cause.text ? bed->cause.text : "", part))
		fail_msg("%s: %s", cause_kind_name(bed->cause.kind),
			 bed->cause.text ? bed->cause.text : "");
}

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
		scratch_test(a_suspect_machine_is_avoided_where_there_are_others),
		scratch_test(a_machine_is_avoided_from_the_first_request),
		scratch_test(the_last_node_that_an_ask_can_use_is_forgiven),
		scratch_test(what_waits_in_vain_gets_avoided_machines_back),
		scratch_test(memory_that_is_free_in_pieces_is_told),
		scratch_test(a_pause_ends_when_there_is_room_for_the_gang),
		scratch_test(an_attempt_that_is_not_wanted_is_dismissed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
