#include "yarn_bed.h"

#include <stdlib.h>
#include <string.h>

#include "../base/scratch.h"
#include "../base/test.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/container.h"
#include "scheduler/yarn.h"

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

void wait_told(struct bed *bed, const char *part)
{
	while (!strstr(str_text(&bed->told), part))
		event_base_loop(bed->base, EVLOOP_ONCE);
}

bool is_told(const struct bed *bed, const char *part)
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

struct bed *open_with(void **state, enum job_mode mode, int64_t fpgas, const char *placement,
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

struct bed *open_bed(void **state, enum job_mode mode, int64_t fpgas)
{
	return open_with(state, mode, fpgas, NULL, false);
}

void close_bed(struct bed *bed)
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

void ask_for(struct bed *bed, size_t first, size_t count, bool optional)
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

void request(struct bed *bed, size_t first, size_t count)
{
	ask_for(bed, first, count, false);
}

int port_of_node(const struct bed *bed)
{
	return atoi(strchr(bed->node.server.address, ':') + 1);
}

void give(struct bed *bed, int number)
{
	rm_give(&bed->rm, WORKER + 1, WORKER + 1, number, "127.0.0.1", port_of_node(bed));
}

void launch(struct bed *bed, size_t task)
{
	const struct scheduler_launch order = {
		.task = task, .attempt = 1, .task_name = "worker:0", .am_address = "h0:4000"};

	yarn_scheduler.launch(bed->scheduler, &order);
}

void bring_up(struct bed *bed)
{
	request(bed, 0, 1);
	rm_give_node_token(&bed->rm, "127.0.0.1", port_of_node(bed), "nm");
	give(bed, 2);
	wait_told(bed, "allocated worker:0/1\n");
	launch(bed, 0);
	rm_wait(&bed->node, "start 2 ");
}

void assert_cause(struct bed *bed, enum cause_kind kind, const char *part)
{
	if (bed->cause.kind != kind || !strstr(bed->cause.text ? bed->cause.text : "", part))
		fail_msg("%s: %s", cause_kind_name(bed->cause.kind),
			 bed->cause.text ? bed->cause.text : "");
}
