/* What the client asks of a ResourceManager, and makes of its answers. The ResourceManager is a
 * child process that knows two nodes, four queues and a label. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "../hadoop/fake_rpc.h"
#include "../hadoop/web_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/container.h"
#include "hadoop/credentials.h"
#include "hadoop/sasl.h"
#include "scheduler/share.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_logs.h"
#include "scheduler/yarn_rules.h"

#define NODE_MEMORY 8192
#define RUNNING	    HADOOP__QUEUE_STATE_PROTO__Q_RUNNING

/* ---- the ResourceManager ------------------------------------------------------------------ */

static const char *submission_path;

static void answer_new_application(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetNewApplicationResponseProto response =
		HADOOP__GET_NEW_APPLICATION_RESPONSE_PROTO__INIT;
	Hadoop__ApplicationIdProto id = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__ResourceProto most = HADOOP__RESOURCE_PROTO__INIT;
	Hadoop__ResourceInformationProto gpus = HADOOP__RESOURCE_INFORMATION_PROTO__INIT;
	Hadoop__ResourceInformationProto *more[] = {&gpus};

	id.has_id = id.has_cluster_timestamp = true;
	id.id = 7;
	id.cluster_timestamp = 1700000000000;
	gpus.key = (char *)"yarn.io/gpu";
	gpus.has_value = true;
	gpus.value = 2;
	most.has_memory = most.has_virtual_cores = true;
	most.memory = 4096;
	most.virtual_cores = 4;
	most.n_resource_value_map = 1;
	most.resource_value_map = more;
	response.application_id = &id;
	response.maximumcapability = &most;
	fake_answer_message(connection, call, &response.base);
}

static void make_queue(Hadoop__QueueInfoProto *queue, const char *name, float maximum,
		       Hadoop__QueueStateProto state)
{
	hadoop__queue_info_proto__init(queue);
	queue->queuename = (char *)name;
	queue->has_maximumcapacity = queue->has_state = true;
	queue->maximumcapacity = maximum;
	queue->state = state;
}

static const char *scheduler_type; /* of the next test */

static void answer_queue(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetQueueInfoRequestProto *request =
		hadoop__get_queue_info_request_proto__unpack(NULL, call->length, call->request);
	Hadoop__GetQueueInfoResponseProto response = HADOOP__GET_QUEUE_INFO_RESPONSE_PROTO__INIT;
	Hadoop__QueueInfoProto root, queues[4],
		*children[] = {&queues[0], &queues[1], &queues[2], &queues[3]};
	char *labels[] = {(char *)"fast"};
	Hadoop__ResourceProto maximum = HADOOP__RESOURCE_PROTO__INIT;
	Hadoop__QueueConfigurationsProto limits = HADOOP__QUEUE_CONFIGURATIONS_PROTO__INIT;
	Hadoop__QueueConfigurationsMapProto entry = HADOOP__QUEUE_CONFIGURATIONS_MAP_PROTO__INIT,
					    *entries[] = {&entry};

	/* Of the labelled node half. */
	maximum.has_memory = maximum.has_virtual_cores = true;
	maximum.memory = NODE_MEMORY / 2;
	maximum.virtual_cores = 4;
	limits.effectivemaxcapacity = &maximum;
	entry.partitionname = (char *)"fast";
	entry.queueconfigurations = &limits;
	make_queue(&root, "root", 1, RUNNING);
	root.schedulertype = (char *)scheduler_type;
	make_queue(&queues[0], "default", 1, RUNNING);
	make_queue(&queues[1], "small", 0.25f, RUNNING);
	queues[1].queuepath = (char *)"root.small"; /* as Hadoop 3.4 tells it */
	make_queue(&queues[2], "closed", 1, HADOOP__QUEUE_STATE_PROTO__Q_STOPPED);
	make_queue(&queues[3], "staff", 1, RUNNING);
	queues[0].n_accessiblenodelabels = 1;
	queues[0].accessiblenodelabels = labels;
	queues[0].n_queueconfigurationsmap = 1;
	queues[0].queueconfigurationsmap = entries;
	queues[1].n_accessiblenodelabels = 1;
	queues[1].accessiblenodelabels = (char *[]){(char *)"slow"};
	root.n_childqueues = array_length(children);
	root.childqueues = children;
	if (str_equal(request->queuename, "root"))
		response.queueinfo = &root;
	fake_answer_message(connection, call, &response.base);
	hadoop__get_queue_info_request_proto__free_unpacked(request, NULL);
}

static void answer_nodes(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetClusterNodesResponseProto response =
		HADOOP__GET_CLUSTER_NODES_RESPONSE_PROTO__INIT;
	Hadoop__ResourceProto capability = HADOOP__RESOURCE_PROTO__INIT;
	Hadoop__ResourceInformationProto gpus = HADOOP__RESOURCE_INFORMATION_PROTO__INIT,
					 *more[] = {&gpus};
	Hadoop__NodeReportProto node = HADOOP__NODE_REPORT_PROTO__INIT, fast = node, gone = node,
				*nodes[] = {&node, &node, &fast, &gone};
	char *labels[] = {(char *)"fast"};

	gpus.key = (char *)"yarn.io/gpu";
	gpus.has_value = true;
	gpus.value = 2;
	capability.has_memory = capability.has_virtual_cores = true;
	capability.memory = NODE_MEMORY;
	capability.virtual_cores = 8;
	capability.n_resource_value_map = 1;
	capability.resource_value_map = more;
	node.capability = fast.capability = &capability;
	gone.has_node_state = true;
	gone.node_state = HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONED;
	fast.n_node_labels = 1;
	fast.node_labels = labels;
	response.n_nodereports = array_length(nodes);
	response.nodereports = nodes;
	fake_answer_message(connection, call, &response.base);
}

static void answer_labels(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetClusterNodeLabelsResponseProto response =
		HADOOP__GET_CLUSTER_NODE_LABELS_RESPONSE_PROTO__INIT;
	Hadoop__NodeLabelProto label = HADOOP__NODE_LABEL_PROTO__INIT, *labels[] = {&label};

	label.name = (char *)"fast";
	response.n_nodelabels = 1;
	response.nodelabels = labels;
	fake_answer_message(connection, call, &response.base);
}

/* Nobody may submit to staff. */
static void answer_acls(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetQueueUserAclsInfoResponseProto response =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_RESPONSE_PROTO__INIT;
	Hadoop__QueueUserACLInfoProto open = HADOOP__QUEUE_USER_ACLINFO_PROTO__INIT, staff = open,
				      *acls[] = {&open, &staff};
	Hadoop__QueueACLProto submit = HADOOP__QUEUE_ACLPROTO__QACL_SUBMIT_APPLICATIONS;

	open.queuename = (char *)"default";
	open.n_useracls = 1;
	open.useracls = &submit;
	staff.queuename = (char *)"staff";
	response.n_queueuseracls = array_length(acls);
	response.queueuseracls = acls;
	fake_answer_message(connection, call, &response.base);
}

/* It has ended; of application 7 the nodes still bring the logs together. */
static void answer_report(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetApplicationReportResponseProto response =
		HADOOP__GET_APPLICATION_REPORT_RESPONSE_PROTO__INIT;
	Hadoop__ApplicationReportProto report = HADOOP__APPLICATION_REPORT_PROTO__INIT;
	Hadoop__GetApplicationReportRequestProto *request =
		hadoop__get_application_report_request_proto__unpack(NULL, call->length,
								     call->request);

	report.has_yarn_application_state = report.has_final_application_status = true;
	report.yarn_application_state = HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED;
	report.final_application_status = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_SUCCEEDED;
	report.has_log_aggregation_status = true;
	report.log_aggregation_status =
		request->application_id->id == 7
			? HADOOP__LOG_AGGREGATION_STATUS_PROTO__LOG_RUNNING
			: HADOOP__LOG_AGGREGATION_STATUS_PROTO__LOG_SUCCEEDED;
	response.application_report = &report;
	fake_answer_message(connection, call, &response.base);
	hadoop__get_application_report_request_proto__free_unpacked(request, NULL);
}

static void on_call(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__SubmitApplicationResponseProto submitted =
		HADOOP__SUBMIT_APPLICATION_RESPONSE_PROTO__INIT;

	if (str_equal(call->method, "getNewApplication"))
		answer_new_application(connection, call);
	else if (str_equal(call->method, "getQueueInfo"))
		answer_queue(connection, call);
	else if (str_equal(call->method, "getClusterNodes"))
		answer_nodes(connection, call);
	else if (str_equal(call->method, "getClusterNodeLabels"))
		answer_labels(connection, call);
	else if (str_equal(call->method, "getQueueUserAcls"))
		answer_acls(connection, call);
	else if (str_equal(call->method, "getApplicationReport"))
		answer_report(connection, call);
	else if (str_equal(call->method, "submitApplication") &&
		 fs_write_file(submission_path, call->request, call->length, 0600, NULL) == 0)
		fake_answer_message(connection, call, &submitted.base);
	else
		fake_hang_up(connection);
}

/* ---- the bed ------------------------------------------------------------------------------ */

static pid_t manager;
static char *address;

static int start_manager(void **state)
{
	struct fake_server server = {0};
	struct event_base *base = event_base_new();

	if (scratch_create(state) < 0)
		return -1;
	submission_path = scratch_path(state, "submission");
	fake_server_open(&server, base);
	server.on_call = on_call;
	address = mem_strdup(server.address);
	manager = fork();
	if (manager == 0) {
		event_reinit(base);
		event_base_dispatch(base);
		_exit(0);
	}
	fake_server_close(&server);
	event_base_free(base);
	return manager < 0 ? -1 : 0;
}

static int start_fair(void **state)
{
	scheduler_type = "FairScheduler";
	return start_manager(state);
}

static int stop_manager(void **state)
{
	scheduler_type = NULL;
	unsetenv("HADOOP_CONF_DIR");
	kill(manager, SIGKILL);
	waitpid(manager, NULL, 0);
	mem_replace(&address, NULL);
	return scratch_remove(state);
}

static struct hadoop_cluster *make_cluster(void)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));

	cluster->user = mem_strdup("alice");
	str_list_add(&cluster->rm, address ? address : "127.0.0.1:1");
	str_list_add(&cluster->rm_scheduler, "127.0.0.1:1");
	str_list_add(&cluster->hdfs.webhdfs, "http://127.0.0.1:1");
	cluster->protections = SASL_AUTH;
	cluster->connect_timeout_ms = cluster->call_timeout_ms = PATIENCE_MS;
	cluster->retry_interval_ms = 10;
	cluster->hdfs.user = mem_strdup("alice");
	cluster->hdfs.fs = mem_strdup("hdfs://nn:8020");
	cluster->home = mem_strdup("/user/alice");
	return cluster;
}

static void configure(struct job *job, const char *key, const char *value)
{
	json_object_set_new(job->config, key,
			    json_pack("{ssss}", "value", value, "origin", "tony.xml:1"));
}

/* Two workers with a GPU each. */
static struct job *make_job(void)
{
	struct job *job = mem_alloc(sizeof(*job));

	*job = (struct job){
		.id = mem_strdup("tony-20261121-061400-1f3a"),
		.name = mem_strdup("digits"),
		.user = mem_strdup("ada"),
		.framework = mem_strdup("pytorch"),
		.queue = mem_strdup("default"),
		.mode = JOB_MODE_GANG,
		.type_count = 1,
		.types = mem_alloc_array(1, sizeof(*job->types)),
		.config = json_object(),
	};
	job->types[0].name = mem_strdup("worker");
	job->types[0].instances = 2;
	job->types[0].memory = 1024;
	job->types[0].vcores = 1;
	job->types[0].gpus = 1;
	configure(job, "tony.worker.instances", "2");
	return job;
}

/* ---- checks ------------------------------------------------------------------------------- */

static void the_history_goes_where_the_am_can_bring_it(void **state)
{
	static const struct {
		const char *location, *path;
	} cases[] = {
		{"/tony-history", "/tony-history"},
		{"hdfs:///tony-history/", "/tony-history"},
		{"file:///tony-history", NULL},
		{"hdfs://elsewhere/tony-history", NULL},
		{"tony-history", NULL},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct hadoop_cluster *cluster = make_cluster();
		struct job *job = make_job();
		struct err err cleanup_err = {0};
		configure(job, "tony.history.location", cases[i].location);
		cluster->history_dir = yarn_history_path(cluster, cases[i].location);
		int result = yarn_preflight(cluster, job, &(struct share){0}, &err);
		if (cases[i].path) {
			assert_success(result, &err);
			assert_string_equal(cluster->history_dir, cases[i].path);
		} else {
			assert_int_equal(err.kind, ERR_CONFIG);
			assert_non_null(strstr(err_message(&err), cases[i].location));
		}
		hadoop_cluster_destroy(cluster);
		job_destroy(job);
	}
}

/* HDFS may be there beside them. */
static void jobs_in_directories_name_places_there(void **state)
{
	static const struct {
		const char *name, *path, *url, *history;
	} cases[] = {
		{"/nfs/a", "/nfs/a", "file:///nfs/a", "/nfs/a"},
		{"file:///nfs/a", "/nfs/a", "file:///nfs/a", "/nfs/a"},
		{"hdfs:///a", NULL, "hdfs://nn:8020/a", NULL},
		{"hdfs://elsewhere/a", NULL, NULL, NULL},
	};
	struct hadoop_cluster *cluster = make_cluster();

	cluster->fs = mem_strdup(HADOOP_FILE_FS);
	for (size_t i = 0; i < array_length(cases); i++) {
		char *path cleanup_free = yarn_path_within(cluster, cases[i].name);
		char *url cleanup_free = yarn_url_within(cluster, cases[i].name);
		char *history cleanup_free = yarn_history_path(cluster, cases[i].name);
		assert_true(path ? str_equal(path, cases[i].path) : !cases[i].path);
		assert_true(url ? str_equal(url, cases[i].url) : !cases[i].url);
		assert_true(history ? str_equal(history, cases[i].history) : !cases[i].history);
	}
	hadoop_cluster_destroy(cluster);
}

static void a_job_gets_the_clusters_identity(void **state)
{
	struct hadoop_cluster *cluster = make_cluster();
	struct job *job = make_job();
	struct err err cleanup_err = {0};

	configure(job, "tony.worker.resource.yarn.io/gpu", "1");
	assert_success(yarn_preflight(cluster, job, &(struct share){0}, &err), &err);
	assert_string_equal(job->id, "application_1700000000000_0007");
	assert_string_equal(job->user, "alice");
	struct hadoop_cluster *read = hadoop_cluster_from_json(job->engine, job->stores, &err);
	assert_non_null(read);
	assert_string_equal(read->job_dir, "/user/alice/.tony/application_1700000000000_0007");
	assert_string_equal(read->history_dir, "/user/alice/.tony/history");
	assert_string_equal(read->types[0].amounts[0].name, "yarn.io/gpu");
	assert_int_equal(read->types[0].amounts[0].value, 1);
	hadoop_cluster_destroy(read);
	hadoop_cluster_destroy(cluster);
	job_destroy(job);
}

static void logs_that_are_not_collected_yet_are_told_so(void **state)
{
	static const enum log_answer answers[] = {LOG_NOT_YET, LOG_NO_SUCH};
	const struct log_place place = {.type = "worker",
					.attempt = 1,
					.container = "container_1700000000000_0007_01_000002",
					.host = "gone"};

	for (size_t i = 0; i < array_length(answers); i++) {
		struct hadoop_cluster *cluster = make_cluster();
		struct job *job = make_job();
		struct job_door door = {.ended = true};
		struct err err cleanup_err = {0};
		cluster->log_dir = mem_printf("file:%s", scratch_path(state, "collected"));
		assert_success(yarn_preflight(cluster, job, &(struct share){0}, &err), &err);
		mem_replace(&job->id, mem_printf("application_1700000000000_%04zu", 7 + i));
		struct job_logs *logs = yarn_logs(&door, job, &err);
		assert_non_null(logs);
		logs->patience_ms = 0;
		assert_null(logs->ops->open(logs, &place, "stdout", &err));
		assert_int_equal(err.kind, ERR_NOT_FOUND);
		assert_int_equal(logs->missing, answers[i]);
		job_logs_destroy(logs);
		hadoop_cluster_destroy(cluster);
		job_destroy(job);
	}
}

static void set_memory(struct job *job)
{
	job->types[0].memory = 5000;
}
static void set_vcores(struct job *job)
{
	job->types[0].vcores = 5;
}
static void set_gpus(struct job *job)
{
	job->types[0].gpus = 3;
}
static void set_fpgas(struct job *job)
{
	configure(job, "tony.worker.resource.yarn.io/fpga", "1");
}
static void set_instances(struct job *job)
{
	job->types[0].instances = 16;
}
static void set_all_vcores(struct job *job)
{
	job->types[0].instances = 4;
	job->types[0].vcores = 4;
	job->types[0].gpus = 0;
}
static void set_all_gpus(struct job *job)
{
	job->types[0].instances = 5;
}
/* 15 of 16 GiB; of such containers a node has room for two. */
static void set_large_tasks(struct job *job)
{
	job->types[0].instances = 5;
	job->types[0].memory = 3072;
	job->types[0].gpus = 0;
}
static void set_denied_queue(struct job *job)
{
	mem_replace(&job->queue, mem_strdup("staff"));
}
static void set_label(struct job *job)
{
	job->types[0].instances = 5;
	job->types[0].gpus = 0;
	job->types[0].node_label = mem_strdup("fast");
}
static void set_label_of_all(struct job *job)
{
	mem_replace(&job->queue, mem_strdup("default"));
	configure(job, "tony.application.node-label", "fast");
	job->types[0].instances = 4;
	job->types[0].gpus = 0;
}
static void set_small_queue(struct job *job)
{
	mem_replace(&job->queue, mem_strdup("small"));
	job->types[0].instances = 4;
}
static void set_closed_queue(struct job *job)
{
	mem_replace(&job->queue, mem_strdup("closed"));
}
static void set_no_queue(struct job *job)
{
	mem_replace(&job->queue, mem_strdup("ml"));
}
static void set_root_queue(struct job *job)
{
	mem_replace(&job->queue, mem_strdup("root"));
}
static void set_no_label(struct job *job)
{
	job->types[0].node_label = mem_strdup("blue");
}
static void set_forbidden_label(struct job *job)
{
	mem_replace(&job->queue, mem_strdup("small"));
	configure(job, "tony.am.node-label", "fast");
}
static void set_docker(struct job *job)
{
	configure(job, "tony.docker.enabled", "true");
}
static void set_bad_image(struct job *job)
{
	configure(job, "tony.docker.enabled", "true");
	job->types[0].docker_image = mem_strdup("debian:$(date)");
}
static void set_tags(struct job *job)
{
	for (int i = 0; i < 9; i++)
		str_list_add_format(&job->tags, "tag%d", i);
}
static void set_am_memory(struct job *job)
{
	configure(job, "tony.am.memory", "5000m");
}
static void set_placement(struct job *job)
{
	configure(job, "tony.worker.placement-spec", "notin,nod,foo");
}
static void set_strange_tag(struct job *job)
{
	configure(job, "tony.worker.allocation-tags", "w");
	configure(job, "tony.containers.placement-spec", "or(notin,node,w:in,rack,db)");
}
static void set_foreign_checkpoints(struct job *job)
{
	job->checkpoint_dir = mem_strdup("hdfs://elsewhere:8020/ck");
}
static void what_can_never_run_is_refused_with_the_numbers(void **state)
{
	static const struct {
		void (*change)(struct job *job);
		const char *message;
	} cases[] = {
		{set_memory, "worker:0 needs 4.9 GiB; the cluster's largest container has 4.0 GiB "
			     "(yarn.scheduler.maximum-allocation-mb); lower tony.worker.memory"},
		{set_vcores, "worker:0 needs 5 vcores; the cluster's largest container has 4"},
		{set_gpus,
		 "worker:0 needs 3 of yarn.io/gpu; the cluster's largest container has 2 "
		 "(yarn.resource-types.yarn.io/gpu.maximum-allocation); lower tony.worker.gpus"},
		{set_fpgas,
		 "worker:0 needs 1 of yarn.io/fpga, but that resource is not available on the "
		 "cluster (yarn.resource-types); take tony.worker.resource.yarn.io/fpga out"},
		{set_instances, "16 tasks that run together and the application master need 16.5 "
				"GiB; the queue \"default\" can have 16.0 GiB of the cluster's "
				"16.0 GiB (2 nodes; 1 more is decommissioned); ask for fewer or "
				"smaller tasks, or name "
				"another queue with --queue"},
		{set_all_vcores,
		 "4 tasks that run together and the application master need 17 "
		 "vcores; the queue \"default\" can have 16 vcores of the cluster's 16"},
		{set_all_gpus, "need 5 of yarn.io/gpu; the queue \"default\" can have 4 of "
			       "yarn.io/gpu of the cluster's 4"},
		{set_large_tasks,
		 "5 containers that run together need 3.0 GiB, 1 vcore each, or more; the "
		 "cluster's nodes (2 nodes; 1 more is decommissioned) have room for 4 of them; ask "
		 "for fewer or smaller tasks; --wait-for-capacity submits it all the same"},
		{set_denied_queue, "the user alice may not submit to the queue \"staff\""},
		{set_label,
		 "5 tasks that run together need 5.0 GiB; the queue \"default\" can have "
		 "4.0 GiB of the cluster's 8.0 GiB (1 node with the label \"fast\")"},
		{set_label_of_all, "4 tasks that run together and the application master need 4.5 "
				   "GiB; the queue \"default\" can have 4.0 GiB"},
		{set_small_queue, "the queue \"small\" can have 4.0 GiB of the cluster's 16.0 GiB"},
		{set_closed_queue, "the queue \"closed\" is stopped"},
		{set_no_queue,
		 "the cluster has no queue \"ml\"; there is default, small, closed, staff"},
		{set_root_queue, "\"root\" is no leaf"},
		{set_no_label, "tony.worker.node-label: the cluster has no node label \"blue\"; it "
			       "has fast"},
		{set_forbidden_label,
		 "tony.am.node-label: the queue \"small\" may not use the node "
		 "label \"fast\""},
		{set_docker, "tony.docker.enabled is true, but there is no image"},
		{set_bad_image, "has a letter that no image or path has"},
		{set_tags, "YARN takes 10 of them at most"},
		{set_placement, "tony.worker.placement-spec: \"notin,nod,foo\" is no placement "
				"constraint"},
		{set_strange_tag,
		 "tony.containers.placement-spec: \"or(notin,node,w:in,rack,db)\" names "
		 "the tag \"db\", and no container of the job has it"},
		{set_foreign_checkpoints,
		 "tony.application.checkpoint-dir: hdfs://elsewhere:8020/ck is not in the "
		 "cluster's file system; write hdfs://"},
		{set_am_memory,
		 "the application master needs 4.9 GiB; the cluster's largest container has 4.0 "
		 "GiB (yarn.scheduler.maximum-allocation-mb); lower tony.am.memory"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct hadoop_cluster *cluster = make_cluster();
		struct job *job = make_job();
		struct err err cleanup_err = {0};
		cases[i].change(job);
		assert_int_equal(yarn_preflight(cluster, job, &(struct share){0}, &err), -1);
		assert_message_has(&err, cases[i].message);
		hadoop_cluster_destroy(cluster);
		job_destroy(job);
	}
}

static void what_can_never_run_waits_when_that_is_wanted(void **state)
{
	struct hadoop_cluster *cluster = make_cluster();
	struct job *job = make_job();
	struct err err cleanup_err = {0};

	set_large_tasks(job);
	configure(job, "tony.application.wait-for-capacity", "true");
	assert_success(yarn_preflight(cluster, job, &(struct share){0}, &err), &err);
	hadoop_cluster_destroy(cluster);
	job_destroy(job);
}

/* The ResourceManager's web service does not answer: this machine's site files say what they can.
 */
static void requests_are_rounded_as_the_site_files_say(void **state)
{
	static const char site[] =
		"<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name>"
		"<value>1024</value></property></configuration>";
	const char *path = scratch_path(state, "yarn-site.xml");
	struct hadoop_cluster *cluster = make_cluster();
	struct job *job = make_job();
	struct err err cleanup_err = {0};

	assert_success(fs_write_file(path, site, strlen(site), 0600, &err), &err);
	struct share given = {.memory = 200};

	configure(job, "tony.application.yarn-conf-path", path);
	job->types[0].instances = 16;
	job->types[0].memory = 100;
	job->types[0].gpus = job->types[0].vcores = 0;
	assert_int_equal(yarn_preflight(cluster, job, &(struct share){0}, &err), -1);
	assert_message_has(&err,
			   "16 tasks that run together and the application master need 17.0 "
			   "GiB (the application master gets 1.0 GiB instead of 512 MiB, each "
			   "worker gets 1.0 GiB instead of 100 MiB); the queue \"default\" can "
			   "have 16.0 GiB");
	err_finish(&err);
	hadoop_cluster_destroy(cluster);
	cluster = make_cluster();
	job->types[0].instances = 2;
	assert_success(yarn_preflight(cluster, job, &given, &err), &err);
	assert_int_equal(given.memory, 2048);
	hadoop_cluster_destroy(cluster);
	job_destroy(job);
}

#define MAPPINGS "yarn.scheduler.capacity.queue-mappings"

/* ---- which queue -------------------------------------------------------------------------- */

struct queue_case {
	const char *user, *queue, *key, *value; /* of the scheduler's own file */
	const char *sent, *told;		/* `told`: part of the refusal where none is sent */
	bool overrides;
};

/* YARN is told of the first, and the job is said to be in the second. */
static void assert_queue(void **state, const struct queue_case *wanted)
{
	struct hadoop_cluster *cluster = make_cluster();
	struct job *job = make_job();
	struct err err cleanup_err = {0};
	char *text cleanup_free = mem_printf(
		"<configuration><property><name>%s</name><value>%s</value></property><property>"
		"<name>" MAPPINGS "-override.enable</name><value>%s</value></property>"
		"</configuration>",
		wanted->key ? wanted->key : "none", wanted->value ? wanted->value : "",
		wanted->overrides ? "true" : "false");

	scratch_write(state, "conf/yarn-site.xml", text, 0600);
	scratch_write(state, "conf/capacity-scheduler.xml", text, 0600);
	setenv("HADOOP_CONF_DIR", scratch_path(state, "conf"), 1);
	mem_replace(&cluster->user, mem_strdup(wanted->user));
	mem_replace(&job->queue, mem_strdup(wanted->queue));
	job->types[0].instances = 1;
	job->types[0].gpus = 0;
	int result = yarn_preflight(cluster, job, &(struct share){0}, &err);
	if (wanted->sent) {
		assert_success(result, &err);
		assert_string_equal(cluster->queue, wanted->sent);
		assert_string_equal(job->queue, wanted->told);
	} else {
		assert_int_equal(result, -1);
		assert_message_has(&err, wanted->told);
	}
	hadoop_cluster_destroy(cluster);
	job_destroy(job);
}

#define UNDECLARED "yarn.scheduler.fair.allow-undeclared-pools"
#define BY_USER	   "yarn.scheduler.fair.user-as-default-queue"

static void a_fair_scheduler_has_queues_of_users_and_of_any_name(void **state)
{
	static const struct queue_case cases[] = {
		/* A queue of the user's that is there, and one that is not. */
		{"small", "default", NULL, NULL, "default", "root.small"},
		{"bob", "default", NULL, NULL, "default", "default"},
		/* "root" would be all queues' root. */
		{"root", "default", NULL, NULL, "root.root", "root.root"},
		{"bob", "default", BY_USER, "false", "default", "root.default"},
		{"bob", "small", NULL, NULL, "small", "root.small"},
		{"bob", "some.where", NULL, NULL, "root.some.where", "root.some.where"},
		{"bob", "some.where", UNDECLARED, "false", NULL, "has no queue \"some.where\""},
	};

	for (size_t i = 0; i < array_length(cases); i++)
		assert_queue(state, &cases[i]);
}

static void a_mapping_of_users_chooses_the_queue(void **state)
{
	static const struct queue_case cases[] = {
		{"bob", "default", MAPPINGS, "u:eve:closed,u:bob:small", "default", "root.small"},
		{"bob", "default", MAPPINGS, "u:bob:closed", NULL, "\"root.closed\" is stopped"},
		{"bob", "default", MAPPINGS, "u:%user:staff.%user", "default", "root.staff.bob"},
		/* Whose group that is, is not known: it ends what is known. */
		{"bob", "default", MAPPINGS, "g:all:closed,u:bob:closed", "default", "default"},
		{"bob", "small", MAPPINGS, "u:bob:closed", "small", "root.small"},
		{"bob", "closed", MAPPINGS, "u:bob:small", "closed", "root.small", true},
		{"bob", "nosuch", MAPPINGS, "u:bob:small", NULL, "has no queue \"nosuch\""},
	};

	for (size_t i = 0; i < array_length(cases); i++)
		assert_queue(state, &cases[i]);
}

#define CONF_OF_HANDLER "GET /conf?name=yarn.resourcemanager.placement-constraints.handler "
#define HANDLER(value)                                                                             \
	"200 OK\r\n\r\n<configuration><property><name>"                                            \
	"yarn.resourcemanager.placement-constraints.handler</name><value>" value                   \
	"</value></property></configuration>"

#define RULES_PAGE "GET /ws/v1/cluster/scheduler "

static void constraints_need_a_cluster_that_takes_them(void **state)
{
	static const struct {
		const char *key, *answer;
		bool is_refused;
		const char *scheduler; /* NULL: the CapacityScheduler */
	} cases[] = {
		{"tony.worker.placement-spec", HANDLER("disabled"), true},
		{"tony.containers.allocation-tags", HANDLER("disabled"), true},
		{"tony.application.placement-spec", HANDLER("disabled"), true},
		{"tony.worker.placement-spec", HANDLER("scheduler"), false},
		{"tony.worker.placement-spec", HANDLER("scheduler"), true, "FairScheduler"},
		{"tony.worker.placement-spec", HANDLER("placement-processor"), false},
		{"tony.worker.placement-spec", "404 Not Found\r\n\r\nno", false},
		{"tony.worker.placement-spec", "200 OK\r\n\r\n<html>", false},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		const struct web_step steps[] = {
			{RULES_PAGE, "200 OK\r\n\r\n{\"scheduler\": {\"schedulerInfo\": {}}}"},
			{CONF_OF_HANDLER, cases[i].answer}};
		struct hadoop_cluster *cluster = make_cluster();
		struct job *job = make_job();
		struct web_server server;
		struct err err cleanup_err = {0};
		web_server_start(&server, steps, 2);
		str_list_finish(&cluster->rm_web);
		str_list_add(&cluster->rm_web, server.url);
		configure(job, cases[i].key, "a");
		cluster->types = mem_alloc_array(1, sizeof(*cluster->types));
		cluster->type_count = 1;
		if (strstr(cases[i].key, "tags"))
			str_list_add(&cluster->types[0].allocation_tags, "a");
		else if (strstr(cases[i].key, "worker"))
			cluster->types[0].placement = mem_strdup("a");
		else
			cluster->placement = mem_strdup("a");
		struct yarn_rules *rules = yarn_rules_ask(cluster, job,
							  cases[i].scheduler ? cases[i].scheduler
									     : "CapacityScheduler");
		int result = yarn_check_handler(cluster, job, rules, &err);
		yarn_rules_destroy(rules);
		web_server_stop(&server);
		assert_int_equal(result, cases[i].is_refused ? -1 : 0);
		if (cases[i].is_refused) {
			assert_int_equal(err.kind, ERR_CONFIG);
			assert_message_has(&err, cases[i].key);
			assert_message_has(&err,
					   "placement-constraints.handler); take the key out");
		}
		web_server_finish(&server);
		hadoop_cluster_destroy(cluster);
		job_destroy(job);
	}
}

static void count_warning(void *data, const char *text)
{
	*(int *)data += strstr(text, "web service, http://127.0.0.1:") != NULL;
}

/* Where a firewall swallows what is asked, each question takes seconds. */
static void a_web_service_that_cannot_be_asked_is_told_of_once(void **state)
{
	struct hadoop_cluster *cluster = make_cluster();
	struct job *job = make_job();
	struct err err cleanup_err = {0};
	char *nobody cleanup_free = web_nobody();
	int warnings = 0;

	str_list_finish(&cluster->rm_web);
	str_list_add_format(&cluster->rm_web, "http://%s", nobody);
	configure(job, "tony.application.placement-spec", "notin,node,a");
	configure(job, "tony.worker.allocation-tags", "a");
	log_divert(count_warning, &warnings);
	int result = yarn_preflight(cluster, job, &(struct share){0}, &err);
	log_divert(NULL, NULL);
	assert_success(result, &err);
	assert_int_equal(warnings, 1);
	hadoop_cluster_destroy(cluster);
	job_destroy(job);
}

/* ---- the submission ----------------------------------------------------------------------- */

static Hadoop__SubmitApplicationRequestProto *submit(struct job *job)
{
	struct hadoop_cluster *cluster = make_cluster();
	struct err err cleanup_err = {0};
	size_t length;

	assert_success(yarn_preflight(cluster, job, &(struct share){0}, &err), &err);
	cluster->files = mem_alloc_array(1, sizeof(*cluster->files));
	cluster->file_count = 1;
	cluster->files[0] =
		(struct hadoop_file){.url = mem_strdup("hdfs://nn:8020/user/alice/.tony/cache/ab"),
				     .length = 5,
				     .timestamp = 1700000000123};
	assert_success(yarn_submit(cluster, job, "sesame", "{\"format\":1}", &err), &err);
	char *bytes cleanup_free = fs_read_file(submission_path, 1 << 20, &length, &err);
	assert_non_null(bytes);
	hadoop_cluster_destroy(cluster);
	return hadoop__submit_application_request_proto__unpack(NULL, length, (uint8_t *)bytes);
}

static const char *variable(const Hadoop__ContainerLaunchContextProto *launch, const char *name)
{
	for (size_t i = 0; i < launch->n_environment; i++)
		if (str_equal(launch->environment[i]->key, name))
			return launch->environment[i]->value;
	return NULL;
}

static void a_plain_submission_says_what_yarn_needs(void **state)
{
	struct job *job = make_job();
	Hadoop__SubmitApplicationRequestProto *request = submit(job);
	const Hadoop__ApplicationSubmissionContextProto *context =
		request->application_submission_context;
	const Hadoop__ContainerLaunchContextProto *launch = context->am_container_spec;

	assert_string_equal(context->application_name, "digits");
	assert_string_equal(context->queue, "default");
	assert_string_equal(context->applicationtype, "TONY");
	assert_int_equal(context->n_applicationtags, 2);
	assert_string_equal(context->applicationtags[0], "tony");
	assert_string_equal(context->applicationtags[1], "tony-pytorch");
	assert_int_equal(context->resource->memory, 512);
	assert_null(context->priority);
	assert_null(context->log_aggregation_context);
	assert_int_equal(context->n_am_container_resource_request, 0);
	assert_int_equal(launch->n_command, 1);
	assert_string_equal(launch->command[0],
			    "exec ./tony-agent am 1><LOG_DIR>/am.stdout 2><LOG_DIR>/am.stderr");
	assert_int_equal(launch->n_environment, 0);
	assert_int_equal(launch->n_localresources, 1);
	assert_string_equal(launch->localresources[0]->key, "tony-agent");
	const Hadoop__LocalResourceProto *agent = launch->localresources[0]->value;
	assert_int_equal(agent->timestamp, 1700000000123);
	assert_string_equal(agent->resource->scheme, "hdfs");
	assert_string_equal(agent->resource->host, "nn");
	assert_int_equal(agent->resource->port, 8020);
	assert_string_equal(agent->resource->file, "/user/alice/.tony/cache/ab");
	hadoop__submit_application_request_proto__free_unpacked(request, NULL);
	job_destroy(job);
}

/* Environments are seen by all of the cluster, and launch scripts are kept with the logs. */
static void what_is_the_jobs_own_travels_in_the_credentials(void **state)
{
	struct job *job = make_job();
	Hadoop__SubmitApplicationRequestProto *request = submit(job);
	const Hadoop__ContainerLaunchContextProto *launch =
		request->application_submission_context->am_container_spec;
	struct credentials credentials cleanup_credentials = {0};
	struct err err cleanup_err = {0};
	size_t length;

	assert_success(
		credentials_parse(launch->tokens.data, launch->tokens.len, &credentials, &err),
		&err);
	const unsigned char *token =
		credentials_find_secret(&credentials, HADOOP_SECRET_TOKEN, &length);
	assert_int_equal(length, strlen("sesame"));
	assert_memory_equal(token, "sesame", length);
	const unsigned char *description =
		credentials_find_secret(&credentials, HADOOP_SECRET_JOB, &length);
	assert_int_equal(length, strlen("{\"format\":1}"));
	assert_memory_equal(description, "{\"format\":1}", length);
	for (size_t i = 0; i < launch->n_environment; i++)
		assert_null(strstr(launch->environment[i]->value, "sesame"));
	hadoop__submit_application_request_proto__free_unpacked(request, NULL);
	job_destroy(job);
}

static void a_description_that_yarn_cannot_keep_is_refused(void **state)
{
	struct job *job = make_job();
	struct job_door door = {0};
	struct err err cleanup_err = {0};
	char *long_value cleanup_free = mem_printf("%0*d", 600 << 10, 0);

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	configure(job, "tony.worker.command", long_value);
	assert_int_equal(yarn_prepare(job, &door, &err), -1);
	assert_non_null(strstr(err_message(&err), "the job's description takes 602 KiB; the "
						  "ResourceManager keeps it, 512 KiB at most"));
	job_destroy(job);
}

static void what_the_user_asks_for_is_passed_on(void **state)
{
	struct job *job = make_job();

	configure(job, "tony.application.type", "TENSORFLOW");
	configure(job, "tony.application.priority", "5");
	job->priority = 5;
	configure(job, "tony.application.acl.view", "*");
	configure(job, "tony.application.acl.modify", "bob ops");
	configure(job, "tony.yarn.rolled-log-include", ".*");
	configure(job, "tony.am.max-attempts", "3");
	configure(job, "tony.am.memory", "1g");
	configure(job, "tony.am.node-label", "fast");
	configure(job, "tony.docker.enabled", "true");
	configure(job, "tony.docker.containers.image", "debian:12");
	configure(job, "tony.docker.containers.mount", "/d:/d:ro");
	job->types[0].docker_image = mem_strdup("debian:12");
	job->application_timeout_ms = 60000;
	str_list_add(&job->tags, "nightly");
	Hadoop__SubmitApplicationRequestProto *request = submit(job);
	Hadoop__ApplicationSubmissionContextProto *context =
		request->application_submission_context;
	const Hadoop__ContainerLaunchContextProto *launch = context->am_container_spec;
	assert_string_equal(context->applicationtype, "TENSORFLOW");
	assert_int_equal(context->priority->priority, 5);
	assert_int_equal(context->maxappattempts, 3);
	assert_string_equal(context->applicationtags[2], "nightly");
	const char *kept = context->log_aggregation_context->rolled_logs_exclude_pattern;
	assert_true(str_starts_with(kept, "^(journal") && str_ends_with(kept, ")$"));
	assert_int_equal(context->application_timeouts[0]->timeout, 120);
	assert_int_equal(context->am_container_resource_request[0]->capability->memory, 1024);
	assert_string_equal(context->am_container_resource_request[0]->node_label_expression,
			    "fast");
	assert_int_equal(launch->n_application_acls, 2);
	assert_int_equal(launch->application_acls[0]->accesstype,
			 HADOOP__APPLICATION_ACCESS_TYPE_PROTO__APPACCESS_VIEW_APP);
	assert_string_equal(launch->application_acls[0]->acl, "*");
	assert_int_equal(launch->application_acls[1]->accesstype,
			 HADOOP__APPLICATION_ACCESS_TYPE_PROTO__APPACCESS_MODIFY_APP);
	assert_string_equal(launch->application_acls[1]->acl, "bob ops");
	assert_string_equal(variable(launch, "YARN_CONTAINER_RUNTIME_TYPE"), "docker");
	assert_string_equal(variable(launch, "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE"), "debian:12");
	assert_string_equal(variable(launch, "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS"), "/d:/d:ro");
	hadoop__submit_application_request_proto__free_unpacked(request, NULL);
	/* YARN would count from the submission, and end a job that has not begun. */
	job->hold = true;
	request = submit(job);
	assert_int_equal(request->application_submission_context->n_application_timeouts, 0);
	hadoop__submit_application_request_proto__free_unpacked(request, NULL);
	job_destroy(job);
}

int main(void)
{
#define FAIR_TEST(name) cmocka_unit_test_setup_teardown(name, start_fair, stop_manager)
#define TEST(name)	cmocka_unit_test_setup_teardown(name, start_manager, stop_manager)
	const struct CMUnitTest tests[] = {
		TEST(the_history_goes_where_the_am_can_bring_it),
		TEST(a_job_gets_the_clusters_identity),
		TEST(logs_that_are_not_collected_yet_are_told_so),
		TEST(what_can_never_run_is_refused_with_the_numbers),
		TEST(what_can_never_run_waits_when_that_is_wanted),
		TEST(requests_are_rounded_as_the_site_files_say),
		FAIR_TEST(a_fair_scheduler_has_queues_of_users_and_of_any_name),
		TEST(a_mapping_of_users_chooses_the_queue),
		TEST(constraints_need_a_cluster_that_takes_them),
		TEST(a_web_service_that_cannot_be_asked_is_told_of_once),
		TEST(a_plain_submission_says_what_yarn_needs),
		TEST(what_is_the_jobs_own_travels_in_the_credentials),
		cmocka_unit_test(jobs_in_directories_name_places_there),
		scratch_test(a_description_that_yarn_cannot_keep_is_refused),
		TEST(what_the_user_asks_for_is_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
