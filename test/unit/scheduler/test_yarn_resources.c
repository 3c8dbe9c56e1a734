/* Nodes and queues, as a ResourceManager tells of them: by RPC, where it is a child process, and in
 * the answers of its web service, which are real ones of Hadoop 3.4 with a few values changed. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "../hadoop/fake_rpc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "proto/yarn.pb-c.h"
#include "scheduler/yarn_resources.h"
#include "scheduler/yarn_tree.h"

#define STATE(name) HADOOP__NODE_STATE_PROTO__NS_##name

/* ---- the ResourceManager ------------------------------------------------------------------ */

struct node_told {
	const char *host;
	int port;
	Hadoop__NodeStateProto state;
	int64_t memory, used, gpus, gpus_used;
	int vcores_used;
	const char *label, *health;
	unsigned seconds;
};

static const struct node_told nodes_told[] = {
	{"n2", 45454, STATE(RUNNING), 8192, 3072, 2, 1, 3, "fast", "", 0},
	{"n1", 45454, STATE(RUNNING), 8192, 0, 0, 0, 0, "", "", 0},
	{"n1", 40001, STATE(LOST), 8192, 0, 0, 0, 0, "", "", 0},
	{"n3", 45454, STATE(UNHEALTHY), 8192, 0, 0, 0, 0, "", "1/1 local-dirs are bad", 0},
	{"n4", 45454, STATE(DECOMMISSIONING), 8192, 1024, 0, 0, 1, "", "", 40},
	{"n5", 45454, STATE(DECOMMISSIONED), 0, 0, 0, 0, 0, "", "", 300},
};
static bool ignores_vcores; /* of the next test */

struct resource_told {
	Hadoop__ResourceProto resource;
	Hadoop__ResourceInformationProto gpus, *more[1];
};

static Hadoop__ResourceProto *tell_resource(struct resource_told *told, int64_t memory, int vcores,
					    int64_t gpus)
{
	hadoop__resource_proto__init(&told->resource);
	hadoop__resource_information_proto__init(&told->gpus);
	told->gpus.key = (char *)"yarn.io/gpu";
	told->gpus.has_value = true;
	told->gpus.value = gpus;
	told->more[0] = &told->gpus;
	told->resource.has_memory = told->resource.has_virtual_cores = true;
	told->resource.memory = memory;
	told->resource.virtual_cores = vcores;
	told->resource.n_resource_value_map = 1;
	told->resource.resource_value_map = told->more;
	return &told->resource;
}

struct node_made {
	Hadoop__NodeReportProto report;
	Hadoop__NodeIdProto id;
	struct resource_told capability, used;
	char *label;
};

static void make_node(const struct node_told *told, struct node_made *made)
{
	Hadoop__NodeReportProto *report = &made->report;

	hadoop__node_report_proto__init(report);
	hadoop__node_id_proto__init(&made->id);
	made->id.host = (char *)told->host;
	made->id.has_port = true;
	made->id.port = told->port;
	report->nodeid = &made->id;
	report->has_node_state = report->has_numcontainers = true;
	report->node_state = told->state;
	report->numcontainers = told->vcores_used;
	report->capability = tell_resource(&made->capability, told->memory, 8, told->gpus);
	report->used =
		tell_resource(&made->used, told->used,
			      told->vcores_used * (ignores_vcores ? 10 : 1), told->gpus_used);
	report->health_report = (char *)told->health;
	made->label = (char *)told->label;
	report->n_node_labels = *told->label ? 1 : 0;
	report->node_labels = &made->label;
	report->has_decommissioning_timeout = told->seconds > 0;
	report->decommissioning_timeout = told->seconds;
}

static void answer_nodes(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetClusterNodesResponseProto response =
		HADOOP__GET_CLUSTER_NODES_RESPONSE_PROTO__INIT;
	struct node_made made[array_length(nodes_told)];
	Hadoop__NodeReportProto *reports[array_length(nodes_told)];

	for (size_t i = 0; i < array_length(nodes_told); i++) {
		make_node(&nodes_told[i], &made[i]);
		reports[i] = &made[i].report;
	}
	response.n_nodereports = array_length(reports);
	response.nodereports = reports;
	fake_answer_message(connection, call, &response.base);
}

/* root: users (eng, bob), ml (eng). */
static void answer_queues(struct fake_connection *connection, const struct fake_call *call)
{
	static const char *const names[] = {"root", "users", "ml", "eng", "bob", "eng"};
	Hadoop__GetQueueInfoResponseProto response = HADOOP__GET_QUEUE_INFO_RESPONSE_PROTO__INIT;
	Hadoop__QueueConfigurationsProto limits = HADOOP__QUEUE_CONFIGURATIONS_PROTO__INIT;
	Hadoop__QueueConfigurationsMapProto entry = HADOOP__QUEUE_CONFIGURATIONS_MAP_PROTO__INIT,
					    *entries[] = {&entry};
	Hadoop__QueueStatisticsProto statistics = HADOOP__QUEUE_STATISTICS_PROTO__INIT;
	struct resource_told least, most;
	Hadoop__QueueInfoProto q[6];
	Hadoop__QueueInfoProto *of_root[] = {&q[1], &q[2]}, *of_users[] = {&q[3], &q[4]},
			       *of_ml[] = {&q[5]};

	for (size_t i = 0; i < array_length(q); i++) {
		hadoop__queue_info_proto__init(&q[i]);
		q[i].queuename = (char *)names[i];
		q[i].has_state = true;
		q[i].state = HADOOP__QUEUE_STATE_PROTO__Q_RUNNING;
	}
	q[0].n_childqueues = array_length(of_root);
	q[0].childqueues = of_root;
	q[1].n_childqueues = array_length(of_users);
	q[1].childqueues = of_users;
	q[2].n_childqueues = array_length(of_ml);
	q[2].childqueues = of_ml;
	q[5].state = HADOOP__QUEUE_STATE_PROTO__Q_STOPPED;
	limits.effectivemincapacity = tell_resource(&least, 4096, 4, 1);
	limits.effectivemaxcapacity = tell_resource(&most, 8192, 8, 2);
	entry.partitionname = (char *)"";
	entry.queueconfigurations = &limits;
	statistics.has_numappsrunning = statistics.has_numappspending = true;
	statistics.has_allocatedmemorymb = statistics.has_allocatedvcores = true;
	statistics.numappsrunning = 2;
	statistics.numappspending = 1;
	statistics.allocatedmemorymb = 3072;
	statistics.allocatedvcores = 3;
	q[4].n_queueconfigurationsmap = 1;
	q[4].queueconfigurationsmap = entries;
	q[4].queuestatistics = &statistics;
	response.queueinfo = &q[0];
	fake_answer_message(connection, call, &response.base);
}

/* bob's queue is this user's; in users.eng he may do nothing, and ml.eng is not told of. */
static void answer_access(struct fake_connection *connection, const struct fake_call *call)
{
	Hadoop__GetQueueUserAclsInfoResponseProto response =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_RESPONSE_PROTO__INIT;
	Hadoop__QueueUserACLInfoProto bob = HADOOP__QUEUE_USER_ACLINFO_PROTO__INIT, eng = bob,
				      *all[] = {&bob, &eng};
	Hadoop__QueueACLProto submit[] = {HADOOP__QUEUE_ACLPROTO__QACL_ADMINISTER_QUEUE,
					  HADOOP__QUEUE_ACLPROTO__QACL_SUBMIT_APPLICATIONS};

	bob.queuename = (char *)"bob";
	bob.n_useracls = 2;
	bob.useracls = submit;
	eng.queuename = (char *)"root.users.eng";
	response.n_queueuseracls = array_length(all);
	response.queueuseracls = all;
	fake_answer_message(connection, call, &response.base);
}

static void on_call(struct fake_connection *connection, const struct fake_call *call)
{
	if (str_equal(call->method, "getClusterNodes"))
		answer_nodes(connection, call);
	else if (str_equal(call->method, "getQueueInfo"))
		answer_queues(connection, call);
	else if (str_equal(call->method, "getQueueUserAcls"))
		answer_access(connection, call);
	else
		fake_hang_up(connection);
}

/* ---- the bed ------------------------------------------------------------------------------ */

static pid_t manager;

/* Its web service is where nobody listens. */
static void write_site(void **state, const char *address)
{
	char *web cleanup_free = fake_free_address();
	char *yarn cleanup_free = mem_printf(
		"<configuration>"
		"<property><name>yarn.resourcemanager.address</name><value>%s</value></property>"
		"<property><name>yarn.resourcemanager.webapp.address</name><value>%s</value>"
		"</property></configuration>",
		address, web);

	scratch_write(state, "conf/yarn-site.xml", yarn, 0600);
	scratch_write(state, "conf/core-site.xml",
		      "<configuration><property><name>fs.defaultFS</name>"
		      "<value>hdfs://127.0.0.1:1</value></property></configuration>",
		      0600);
	setenv("HADOOP_CONF_DIR", scratch_path(state, "conf"), 1);
	setenv("TONY_CONF_DIR", scratch_path(state, "conf"), 1);
	unsetenv("YARN_CONF_DIR");
}

static int start(void **state)
{
	struct fake_server server = {0};
	struct event_base *base = event_base_new();

	if (scratch_create(state) < 0)
		return -1;
	fake_server_open(&server, base);
	server.on_call = on_call;
	write_site(state, server.address);
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

static int start_without_vcores(void **state)
{
	ignores_vcores = true;
	return start(state);
}

static int stop(void **state)
{
	kill(manager, SIGKILL);
	waitpid(manager, NULL, 0);
	ignores_vcores = false;
	return scratch_remove(state);
}

static void append_share(struct str *text, const char *name, const struct share *share)
{
	str_append_format(text, " %s=%d/%d/%d", name, (int)share->memory, (int)share->vcores,
			  (int)share->gpus);
}

/* ---- nodes -------------------------------------------------------------------------------- */

static char *node_line(const struct scheduler_node *node)
{
	const struct share left = scheduler_node_free(node);
	struct str text = {0};

	str_append_format(&text, "%s %s", node->name, node_state_name(node->state));
	append_share(&text, "free", &left);
	for (size_t i = 0; i < node->labels.count; i++)
		str_append_format(&text, " label=%s", node->labels.items[i]);
	if (node->note)
		str_append_format(&text, " (%s)", node->note);
	return str_steal(&text);
}

static void assert_nodes(const char *const *lines, size_t count)
{
	struct scheduler_nodes nodes cleanup_scheduler_nodes = {0};
	struct err err cleanup_err = {0};

	assert_success(yarn_nodes(&nodes, &err), &err);
	assert_int_equal(nodes.count, count);
	for (size_t i = 0; i < count; i++)
		assert_text_freed(node_line(&nodes.items[i]), lines[i]);
}

static void each_node_says_what_is_free_or_why_nothing_is(void **state)
{
	static const char *const lines[] = {
		"n1:40001 down free=0/0/0 (LOST)",
		"n1:45454 ready free=8192/8/0",
		"n2 ready free=5120/5/1 label=fast",
		"n3 unhealthy free=0/0/0 (UNHEALTHY: 1/1 local-dirs are bad)",
		"n4 draining free=0/0/0 (DECOMMISSIONING, 40.0 s after that began at the latest)",
		"n5 drained free=0/0/0 (DECOMMISSIONED)",
	};

	assert_nodes(lines, array_length(lines));
}

/* Three containers have 30 of 8 vcores: the scheduler looks at memory alone. */
static void vcores_that_are_not_counted_are_all_free(void **state)
{
	static const char *const lines[] = {
		"n1:40001 down free=0/0/0 (LOST)",
		"n1:45454 ready free=8192/8/0",
		"n2 ready free=5120/8/1 label=fast",
		"n3 unhealthy free=0/0/0 (UNHEALTHY: 1/1 local-dirs are bad)",
		"n4 draining free=0/0/0 (DECOMMISSIONING, 40.0 s after that began at the latest)",
		"n5 drained free=0/0/0 (DECOMMISSIONED)",
	};

	assert_nodes(lines, array_length(lines));
}

/* ---- queues ------------------------------------------------------------------------------- */

static void append_part(struct str *text, const struct scheduler_queue_part *part)
{
	const struct share left = scheduler_queue_left(part);

	str_append_format(text, "; %s:", part->label ? part->label : "");
	append_share(text, "least", &part->guaranteed);
	append_share(text, "most", &part->maximum);
	append_share(text, "used", &part->used);
	append_share(text, "limit", &part->user_limit);
	append_share(text, "own", &part->user_used);
	append_share(text, "left", &left);
	append_share(text, "am", &part->am_used);
	append_share(text, "ams", &part->am_limit);
}

static char *queue_line(const struct scheduler_queue *queue)
{
	struct str text = {0};

	str_append_format(&text, "%s %s %d %s run=%d/%d wait=%d jobs=%d own=%d/%d ms=%d",
			  queue->name, queue_state_name(queue->state), queue->access,
			  queue->makes_queues ? "makes" : "-", (int)queue->running,
			  (int)queue->max_running, (int)queue->waiting, (int)queue->max_jobs,
			  (int)queue->user_running, (int)queue->user_waiting,
			  (int)queue->max_job_ms);
	append_share(&text, "container", &queue->largest);
	for (size_t i = 0; i < queue->part_count; i++)
		append_part(&text, &queue->parts[i]);
	return str_steal(&text);
}

static void assert_queues(const struct scheduler_queues *queues, const char *const *lines,
			  size_t count)
{
	assert_int_equal(queues->count, count);
	for (size_t i = 0; i < count; i++)
		assert_text_freed(queue_line(&queues->items[i]), lines[i]);
}

/* A name that two have is told by its path, as a job has to name it. */
static void without_the_web_service_queues_are_as_rpc_tells_them(void **state)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};
	struct err err cleanup_err = {0};
#define UNKNOWN                                                                                    \
	"; : least=-1/-1/-1 most=-1/-1/-1 used=-1/-1/-1 limit=-1/-1/-1 own=-1/-1/-1 "              \
	"left=-1/-1/-1 am=-1/-1/-1 ams=-1/-1/-1"
	static const char *const lines[] = {
		"root.ml.eng stopped 0 - run=-1/-1 wait=-1 jobs=-1 own=-1/-1 ms=-1 "
		"container=-1/-1/-1" UNKNOWN,
		"bob open 1 - run=2/-1 wait=1 jobs=-1 own=-1/-1 ms=-1 container=-1/-1/-1; : "
		"least=4096/4/1 most=8192/8/2 used=3072/3/-1 limit=-1/-1/-1 own=-1/-1/-1 "
		"left=5120/5/2 am=-1/-1/-1 ams=-1/-1/-1",
		"root.users.eng open 2 - run=-1/-1 wait=-1 jobs=-1 own=-1/-1 ms=-1 "
		"container=-1/-1/-1" UNKNOWN,
	};

	assert_success(yarn_queues(&queues, &err), &err);
	assert_queues(&queues, lines, array_length(lines));
	assert_true(scheduler_queue_is_called(&queues.items[1], "bob") &&
		    scheduler_queue_is_called(&queues.items[1], "users.bob") &&
		    scheduler_queue_is_called(&queues.items[1], "root.users.bob"));
	assert_false(scheduler_queue_is_called(&queues.items[1], "ob"));
}

#define QUEUE_CAP 16

/* As RPC tells of the queues of these paths, the parents first. */
struct told {
	Hadoop__QueueInfoProto queues[QUEUE_CAP], *children[QUEUE_CAP][QUEUE_CAP];
	Hadoop__QueueUserACLInfoProto access[QUEUE_CAP], *accesses[QUEUE_CAP];
	Hadoop__QueueACLProto submit;
	size_t count;
};

static void tell(struct told *told, const char *path)
{
	Hadoop__QueueInfoProto *queue = &told->queues[told->count];
	Hadoop__QueueUserACLInfoProto *access = &told->access[told->count];
	const char *dot = strrchr(path, '.');

	hadoop__queue_info_proto__init(queue);
	queue->queuename = queue->queuepath = (char *)path;
	hadoop__queue_user_aclinfo_proto__init(access);
	access->queuename = (char *)path;
	access->n_useracls = 1;
	access->useracls = &told->submit;
	told->accesses[told->count] = access;
	for (size_t i = 0; dot && i < told->count; i++) {
		Hadoop__QueueInfoProto *parent = &told->queues[i];
		size_t length = (size_t)(dot - path);
		if (strlen(parent->queuepath) != length ||
		    strncmp(parent->queuepath, path, length) != 0)
			continue;
		parent->childqueues = told->children[i];
		parent->childqueues[parent->n_childqueues++] = queue;
	}
	told->count++;
}

static json_t *answer_of(const char *path)
{
	struct err err cleanup_err = {0};
	size_t length;
	char *body cleanup_free = fs_read_file(path, 1 << 20, &length, &err);

	assert_non_null(body);
	json_t *answer = json_parse(body, length, &err);
	assert_non_null(answer);
	return answer;
}

/* `paths`: with blanks between them. */
static void read_tree(const char *file, const char *paths, const char *user,
		      struct scheduler_queues *queues)
{
	struct told told = {.submit = HADOOP__QUEUE_ACLPROTO__QACL_SUBMIT_APPLICATIONS};
	Hadoop__GetQueueUserAclsInfoResponseProto access =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_RESPONSE_PROTO__INIT;
	struct str_list list cleanup_str_list = {0};

	str_split(&list, paths, ' ');
	for (size_t i = 0; i < list.count; i++)
		tell(&told, list.items[i]);
	access.n_queueuseracls = told.count;
	access.queueuseracls = told.accesses;
	struct yarn_tree *tree =
		yarn_tree_read(told.queues, &access, user, yarn_rules_of(answer_of(file), NULL));
	yarn_queues_take(tree, queues);
	yarn_tree_destroy(tree);
}

#define CAPACITY "root root.default root.ml root.users"

static void the_capacity_schedulers_answer_has_the_limits_of_each_label(void **state)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};
	/* A user may have half of what is guaranteed, and has more than that already. */
	static const char *const lines[] = {
		"default open 1 - run=0/-1 wait=0 jobs=5000 own=0/0 ms=-1 container=4096/8/2; : "
		"least=6144/12/3 most=12288/24/6 used=0/0/0 limit=12288/24/6 own=0/0/0 "
		"left=12288/24/6 am=0/0/0 ams=6144/12/3; fast: least=2048/4/1 most=4096/8/2 "
		"used=0/0/0 limit=4096/8/2 own=0/0/0 left=4096/8/2 am=0/0/0 ams=1024/2/1",
		"ml open 1 - run=2/10 wait=0 jobs=5000 own=2/0 ms=3600000 container=4096/8/2; : "
		"least=6144/12/3 most=12288/24/6 used=1664/4/2 limit=3072/6/1 own=1664/4/2 "
		"left=1408/2/0 am=1024/2/0 ams=6144/12/3; fast: least=2048/4/1 most=4096/8/2 "
		"used=320/1/0 limit=1024/2/0 own=320/1/0 left=704/1/0 am=0/0/0 ams=1024/2/1",
		"root.users open 1 makes run=-1/-1 wait=-1 jobs=-1 own=0/0 ms=-1 "
		"container=-1/-1/-1; : least=-1/-1/-1 most=-1/-1/-1 used=-1/-1/-1 limit=-1/-1/-1 "
		"own=0/0/0 left=-1/-1/-1 am=-1/-1/-1 ams=-1/-1/-1",
	};

	read_tree(SAMPLES "/capacity", CAPACITY, "root", &queues);
	assert_queues(&queues, lines, array_length(lines));
}

/* In its users' list there is none of this name. */
static void a_user_without_a_job_has_the_same_limits(void **state)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};

	read_tree(SAMPLES "/capacity", CAPACITY, "bob", &queues);
	assert_int_equal(queues.items[1].running, 2);
	assert_int_equal(queues.items[1].user_running, 0);
	assert_int_equal(queues.items[1].parts[0].user_limit.memory, 3072);
	assert_int_equal(scheduler_queue_left(&queues.items[1].parts[0]).memory, 3072);
}

static void the_fair_schedulers_answer_has_shares_and_parents(void **state)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};
	static const char *const lines[] = {
		"root open 1 makes run=-1/-1 wait=-1 jobs=-1 own=-1/-1 ms=-1 container=4096/8/2; : "
		"least=16384/32/8 most=16384/32/8 used=0/0/0 limit=-1/-1/-1 own=-1/-1/-1 "
		"left=16384/32/8 am=0/0/0 ams=-1/-1/-1",
		"root.default open 1 - run=0/-1 wait=0 jobs=-1 own=-1/-1 ms=-1 container=4096/8/2; "
		": "
		"least=7168/-1/-1 most=16384/32/8 used=0/0/0 limit=-1/-1/-1 own=-1/-1/-1 "
		"left=16384/32/8 am=0/0/0 ams=-1/-1/-1",
		"root.ml open 1 - run=1/1 wait=2 jobs=-1 own=-1/-1 ms=-1 container=4096/8/2; : "
		"least=2048/-1/-1 most=2048/4/0 used=1024/2/0 limit=-1/-1/-1 own=-1/-1/-1 "
		"left=1024/2/0 am=512/1/0 ams=1024/-1/-1",
		"root.users open 1 makes run=-1/-1 wait=-1 jobs=-1 own=-1/-1 ms=-1 "
		"container=4096/8/2; "
		": least=7168/-1/-1 most=16384/32/8 used=0/0/0 limit=-1/-1/-1 own=-1/-1/-1 "
		"left=16384/32/8 am=0/0/0 ams=-1/-1/-1",
	};

	read_tree(SAMPLES "/fair", "root root.ml root.default root.users", "root", &queues);
	assert_queues(&queues, lines, array_length(lines));
}

/* ---- what real ResourceManagers tell ------------------------------------------------------ */

/* One line for all: "ml", "users+" where queues are made, "teams*" where only a mapping leads. */
static char *names_of(const char *file, const char *paths, const char *user)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};
	struct str_list names cleanup_str_list = {0};

	read_tree(file, paths, user, &queues);
	for (size_t i = 0; i < queues.count; i++) {
		const struct scheduler_queue *queue = &queues.items[i];
		str_list_add_format(&names, "%s%s%s%s", queue->name, queue->makes_queues ? "+" : "",
				    queue->is_mapped ? "*" : "",
				    queue->access == QUEUE_ACCESS_GRANTED ? "" : "?");
	}
	return str_list_join(&names, " ");
}

static void queues_are_named_as_jobs_have_to_name_them(void **state)
{
	static const struct {
		const char *file, *paths, *names;
	} cases[] = {
		/* Queues that are made: teams the first way, users the second. */
		{GOLDEN "/capacity-3.4.json",
		 "root root.default root.ml root.tiny root.mine root.staff root.teams "
		 "root.teams.carol root.teams.carol root.users root.users.bob",
		 "default mine ml staff root.teams+*? root.teams.carol*? tiny root.users+ "
		 "root.users.bob"},
		/* There is only the first way, and the second one's parent is a leaf. */
		{GOLDEN "/capacity-3.3.json",
		 "root root.default root.ml root.tiny root.mine root.staff root.teams "
		 "root.teams.carol root.users",
		 "default mine ml staff root.teams+*? root.teams.carol*? tiny users"},
		{GOLDEN "/fair-2.10.json",
		 "root root.ml root.default root.users root.users.bob root.teams "
		 "root.teams.carol",
		 "root+ root.default root.ml root.teams+ root.teams.carol root.users+ "
		 "root.users.bob"},
		{GOLDEN "/fair-3.4.json",
		 "root root.ml root.carol root.users root.users.bob root.alice root.teams "
		 "root.teams.carol",
		 "root+ root.alice root.carol root.ml root.teams+ root.teams.carol root.users+ "
		 "root.users.bob"},
		{GOLDEN "/fair-empty-3.4.json", "root", "root+"},
		{GOLDEN "/fifo-3.4.json", "default", "default"},
	};

	(void)state;
	for (size_t i = 0; i < array_length(cases); i++)
		assert_text_freed(names_of(cases[i].file, cases[i].paths, "root"), cases[i].names);
}

/* A parent without queues is no leaf, though RPC tells the same of both. */
static void parents_are_known_by_what_the_web_service_says(void **state)
{
	assert_text_freed(
		names_of(GOLDEN "/capacity-3.4.json", "root root.ml root.teams root.users", "root"),
		"ml root.teams+*? root.users+");
}

static void opportunistic_containers_are_the_web_services(void **state)
{
	Hadoop__GetClusterNodesResponseProto told = HADOOP__GET_CLUSTER_NODES_RESPONSE_PROTO__INIT;
	Hadoop__NodeReportProto known = HADOOP__NODE_REPORT_PROTO__INIT, other = known,
				*reports[] = {&known, &other};
	Hadoop__NodeIdProto id = HADOOP__NODE_ID_PROTO__INIT, other_id = id;
	struct scheduler_nodes nodes cleanup_scheduler_nodes = {0};
	json_t *answer cleanup_json = answer_of(GOLDEN "/nodes-3.4.json");

	id.host = (char *)"127.0.0.2";
	id.port = 25345;
	other_id.host = (char *)"127.0.0.9";
	known.nodeid = &id;
	other.nodeid = &other_id;
	told.n_nodereports = 2;
	told.nodereports = reports;
	yarn_nodes_read(&told, answer, &nodes);
	assert_int_equal(nodes.items[0].opportunistic, 2);
	assert_int_equal(nodes.items[0].opportunistic_waiting, 1);
	assert_int_equal(nodes.items[1].opportunistic, -1);
}

static void an_answer_of_something_else_is_none(void **state)
{
	static const char *const bodies[] = {"[]", "{\"scheduler\":[]}", "{\"scheduler\":{}}"};

	for (size_t i = 0; i < array_length(bodies); i++) {
		struct yarn_rules *rules = yarn_rules_of(json_loads(bodies[i], 0, NULL), NULL);
		assert_null(yarn_rules_queues(rules));
		assert_int_equal(yarn_rules_silence(rules)->kind, ERR_INPUT);
		yarn_rules_destroy(rules);
	}
}

/* 60,000 labels and as many queues are read in a moment; by a search for each it would take
 * minutes. */
static void many_labels_and_queues_are_read_once(void **state)
{
	enum { COUNT = 60000 };
	Hadoop__QueueInfoProto root = HADOOP__QUEUE_INFO_PROTO__INIT,
			       *queues = mem_alloc_array(COUNT, sizeof(*queues)),
			       **children = mem_alloc_array(COUNT, sizeof(*children));
	Hadoop__QueueUserACLInfoProto *rights = mem_alloc_array(COUNT, sizeof(*rights)),
				      **all = mem_alloc_array(COUNT, sizeof(*all));
	Hadoop__QueueConfigurationsMapProto *maps = mem_alloc_array(COUNT, sizeof(*maps)),
					    **entries = mem_alloc_array(COUNT, sizeof(*entries));
	Hadoop__GetQueueUserAclsInfoResponseProto access =
		HADOOP__GET_QUEUE_USER_ACLS_INFO_RESPONSE_PROTO__INIT;
	struct scheduler_queues taken cleanup_scheduler_queues = {0};

	root.queuename = (char *)"root";
	for (size_t i = 0; i < COUNT; i++) {
		hadoop__queue_info_proto__init(&queues[i]);
		hadoop__queue_user_aclinfo_proto__init(&rights[i]);
		hadoop__queue_configurations_map_proto__init(&maps[i]);
		queues[i].queuename = mem_printf("queue%zu", i);
		rights[i].queuename = mem_printf("root.queue%zu", i);
		maps[i].partitionname = queues[i].queuename;
		children[i] = &queues[i];
		all[i] = &rights[i];
		entries[i] = &maps[i];
	}
	root.n_childqueues = queues[0].n_queueconfigurationsmap = access.n_queueuseracls = COUNT;
	root.childqueues = children;
	queues[0].queueconfigurationsmap = entries;
	access.queueuseracls = all;
	struct yarn_tree *tree = yarn_tree_read(&root, &access, "root", yarn_rules_of(NULL, NULL));
	assert_int_equal(yarn_tree_find(tree, "queue0")->shown.part_count, COUNT + 1);
	yarn_queues_take(tree, &taken);
	assert_int_equal(taken.count, COUNT);
	assert_int_equal(taken.items[COUNT - 1].access, QUEUE_ACCESS_DENIED);
	yarn_tree_destroy(tree);
	for (size_t i = 0; i < COUNT; i++) {
		free(queues[i].queuename);
		free(rights[i].queuename);
	}
	free(queues);
	free(children);
	free(rights);
	free(all);
	free(maps);
	free(entries);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(each_node_says_what_is_free_or_why_nothing_is),
		cmocka_unit_test_setup_teardown(vcores_that_are_not_counted_are_all_free,
						start_without_vcores, stop),
		TEST(without_the_web_service_queues_are_as_rpc_tells_them),
		cmocka_unit_test(the_capacity_schedulers_answer_has_the_limits_of_each_label),
		cmocka_unit_test(a_user_without_a_job_has_the_same_limits),
		cmocka_unit_test(the_fair_schedulers_answer_has_shares_and_parents),
		cmocka_unit_test(queues_are_named_as_jobs_have_to_name_them),
		cmocka_unit_test(parents_are_known_by_what_the_web_service_says),
		cmocka_unit_test(opportunistic_containers_are_the_web_services),
		cmocka_unit_test(an_answer_of_something_else_is_none),
		cmocka_unit_test(many_labels_and_queues_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
