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
#include "scheduler/yarn.h"
#include "scheduler/yarn_internal.h"

enum { AN_HOUR_MS = 3600 * 1000, WORKER = 0, PS = 1, TYPES = 2, WORKERS = 3 };

struct bed {
	struct event_base *base;
	struct fake_rm rm, node;
	struct job job;
	struct job_type types[TYPES];
	struct hadoop_amount fpga;
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
	struct credentials credentials cleanup_credentials = {0};
	struct hadoop_token token cleanup_token = {0};
	struct str bytes cleanup_str = {0};
	struct err err cleanup_err = {0};
	const char *path = scratch_path(state, "tokens");
	char secret[65];

	memset(secret, 'a', sizeof(secret));
	token_set(&token, "amrm", 4, "amrm", 4, TOKEN_KIND_AMRM, "");
	credentials_add_token(&credentials, "", &token);
	credentials_add_secret(&credentials, HADOOP_SECRET_TOKEN, secret, 64);
	credentials_write(&credentials, &bytes);
	assert_success(fs_write_file(path, bytes.text, bytes.length, 0600, &err), &err);
	setenv("HADOOP_TOKEN_FILE_LOCATION", path, 1);
	setenv("TONY_JOB_JSON", "12:34", 1);
	setenv("NM_HOST", "h0", 1);
}

static json_t *describe_cluster(struct bed *bed)
{
	struct hadoop_file agent = {.url = (char *)"hdfs://nn:8020/agent", .length = 1};
	struct hadoop_cluster_type types[TYPES] = {0};
	struct hadoop_cluster cluster = {
		.user = (char *)"alice",
		.queue = (char *)"ml",
		.protections = 1,
		.connect_timeout_ms = AN_HOUR_MS,
		.call_timeout_ms = AN_HOUR_MS,
		.retry_interval_ms = 1,
		.max_wait_ms = -1,
		.fs = (char *)"hdfs://nn:8020",
		.home = (char *)"/user/alice",
		.job_dir = (char *)"/user/alice/.tony/j",
		.history_dir = (char *)"/user/alice/.tony/history/j",
		.files = &agent,
		.file_count = 1,
		.types = types,
		.type_count = TYPES,
	};

	types[PS].amounts = &bed->fpga;
	types[PS].amount_count = bed->fpga.value > 0;
	str_list_add(&cluster.rm, bed->rm.server.address);
	str_list_add(&cluster.rm_scheduler, bed->rm.server.address);
	str_list_add(&cluster.webhdfs, "http://127.0.0.1:1");
	str_list_add(&cluster.name_nodes, "127.0.0.1:1");
	json_t *object = hadoop_cluster_to_json(&cluster);
	str_list_finish(&cluster.rm);
	str_list_finish(&cluster.rm_scheduler);
	str_list_finish(&cluster.webhdfs);
	str_list_finish(&cluster.name_nodes);
	return object;
}

static struct bed *open_bed(void **state, enum job_mode mode, int64_t fpgas)
{
	struct bed *bed = mem_alloc(sizeof(*bed));
	struct err err cleanup_err = {0};

	log_open("test", LOG_LEVEL_ERROR);
	set_credentials(state);
	bed->base = event_base_new();
	bed->fpga = (struct hadoop_amount){(char *)"yarn.io/fpga", fpgas};
	rm_open(&bed->rm, bed->base);
	rm_open(&bed->node, bed->base);
	bed->rm.token = "amrm";
	bed->node.token = "nm";
	bed->types[WORKER] = (struct job_type){
		.name = (char *)"worker", .instances = WORKERS, .memory = 128, .vcores = 1};
	bed->types[PS] =
		(struct job_type){.name = (char *)"ps", .instances = 1, .memory = 64, .vcores = 1};
	bed->job = (struct job){.id = (char *)"application_1_0001",
				.mode = mode,
				.types = bed->types,
				.type_count = TYPES};
	bed->job.cluster = describe_cluster(bed);
	const struct scheduler_setup setup = {
		.job = &bed->job,
		.job_dir = "/nowhere",
		.am_address = "h0:4000",
		.base = bed->base,
		.listener = {bed, on_allocated, on_refused, on_ended, on_waiting, on_preempted,
			     on_dismissed, on_progress},
	};
	bed->scheduler = yarn_scheduler.open(&setup, &err);
	if (!bed->scheduler)
		fail_msg("%s", err_message(&err));
	return bed;
}

static void close_bed(struct bed *bed)
{
	yarn_scheduler.close(bed->scheduler);
	rm_close(&bed->rm);
	rm_close(&bed->node);
	json_decref(bed->job.cluster);
	cause_finish(&bed->cause);
	str_finish(&bed->told);
	event_base_free(bed->base);
	free(bed);
}

/* ---- what is done ------------------------------------------------------------------------- */

static void request(struct bed *bed, size_t first, size_t count)
{
	struct scheduler_request requests[WORKERS + 1];

	for (size_t i = 0; i < count; i++) {
		size_t task = first + i;
		requests[i] = (struct scheduler_request){
			.task = task,
			.attempt = 1,
			.type = task < WORKERS ? WORKER : PS,
			.index = (int)(task < WORKERS ? task : task - WORKERS)};
	}
	yarn_scheduler.request(bed->scheduler, requests, count);
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
	rm_wait(&bed->rm, "ask p1 n3");
	give(bed, 4);
	give(bed, 5);
	give(bed, 6);
	wait_told(bed, "allocated worker:2/1\n");
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

static void ends_are_told_in_words(void **state)
{
	static const struct {
		int status;
		enum cause_kind kind;
		const char *said, *part;
	} rows[] = {
		{-100, CAUSE_NODE_LOST, "Container released on a *lost* node", "lost its node"},
		{-102, CAUSE_PREEMPTED, "Container preempted by scheduler", "was preempted"},
		{-104, CAUSE_OUT_OF_MEMORY,
		 "[2026-11-21 14:00:00.000]Container [pid=1] is running 1B beyond the limit.\nmore",
		 "of 128 MiB (tony.worker.memory): Container [pid=1] is running 1B beyond"},
		{-1000, CAUSE_LAUNCH_FAILED, "File does not exist: hdfs://nn/x",
		 "could not be started by its node: File does not exist"},
		{137, CAUSE_EXECUTOR_LOST, "", "killed by signal 9 (SIGKILL)"},
		{127, CAUSE_LAUNCH_FAILED, "", "exit code 127"},
		{5, CAUSE_EXECUTOR_LOST, "", "it left with exit code 5"},
		{-31000, CAUSE_EXECUTOR_LOST, "strange", "exit status -31000: strange"},
	};
	struct cause cause = {0};
	const struct job_type type = {.name = (char *)"worker", .memory = 128};

	for (size_t i = 0; i < array_length(rows); i++) {
		Hadoop__ContainerStatusProto status = HADOOP__CONTAINER_STATUS_PROTO__INIT;
		status.has_exit_status = true;
		status.exit_status = rows[i].status;
		status.diagnostics = (char *)rows[i].said;
		yarn_judge(&cause, &type, &status, NULL);
		assert_int_equal(cause.kind, rows[i].kind);
		assert_non_null(strstr(cause.text, rows[i].part));
	}
	cause_finish(&cause);
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

static void a_suspect_machine_is_avoided_where_there_are_others(void **state)
{
	struct bed *bed = open_bed(state, JOB_MODE_GANG, 0);

	bring_up(bed);
	yarn_scheduler.avoid(bed->scheduler, 0, 1);
	rm_beat(&bed->rm);
	assert_false(rm_said(&bed->rm, "avoid"));
	((struct yarn *)bed->scheduler)->node_count = 3;
	yarn_scheduler.avoid(bed->scheduler, 0, 1);
	rm_wait(&bed->rm, "avoid 127.0.0.1; ");
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
		scratch_test(a_gang_is_told_when_it_is_complete),
		scratch_test(without_a_gang_each_is_told),
		scratch_test(a_gang_that_stands_still_is_given_back),
		scratch_test(what_is_lost_while_held_is_asked_for_again),
		scratch_test(what_is_held_over_a_restart_is_asked_for_again),
		scratch_test(a_gang_goes_on_without_who_is_cancelled),
		scratch_test(an_unknown_resource_is_refused),
		scratch_test(a_container_that_lacks_something_is_refused),
		scratch_test(a_task_finds_itself_in_its_environment),
		scratch_test(ends_are_told_in_words),
		scratch_test(a_lost_node_says_why),
		scratch_test(ends_that_come_twice_or_late_are_one),
		scratch_test(a_start_that_fails_gives_the_container_back),
		scratch_test(who_does_not_leave_is_stopped),
		scratch_test(who_cannot_be_stopped_is_taken_back),
		scratch_test(what_was_not_launched_is_given_back_at_once),
		scratch_test(a_preemption_is_announced_once),
		scratch_test(a_suspect_machine_is_avoided_where_there_are_others),
		scratch_test(an_attempt_that_is_not_wanted_is_dismissed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
