/*
 * NodeManagers that run nothing, so that thousands of containers cost one process: each registers
 * with a real ResourceManager and beats (ResourceTracker), takes containers from a real AM
 * (ContainerManagementProtocol, with the NMToken's proof), and has a fake executor in each. An AM
 * cannot run here.
 *
 *   yarn-fake-nodes TRACKER-HOST:PORT NODES MEMORY-MIB VCORES
 *
 * Node I has an address of its own on loopback, and all share one listener. "ready" on standard
 * output: all are registered. Then each line on standard input is answered by one JSON object:
 *
 *   times          what has come so far, and when: seconds since 1970
 *   beats SECONDS  how late beats of executors were answered meanwhile
 *
 * The end of the input is the end.
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "fake_executor.h"
#include "fake_rpc.h"
#include "fake_token.h"
#include "hadoop/container.h"
#include "hadoop/credentials.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "hadoop/rpc.h"
#include "lateness.h"
#include "net/http_server.h"
#include "protocol/am_call.h"
#include "sasl_server.h"
#include "tracker.pb-c.h"

enum {
	NODES_MAX = 10000,
	IN_A_ROW = 200, /* addresses of nodes: 127.64.ROW.1 to 200 */
	FIRST_BEATS_MS = 1000,
	WEB_PORT = 8042, /* nobody listens */
	EXECUTORS_PORT = 4000,
	KILLED_BY_AM = -105, /* exit statuses: ContainerExitStatus */
	KILLED_BY_RM = -106,
};

struct node;

struct container {
	struct container *next;
	struct node *node;
	Hadoop__ContainerIdProto *id;
	bool has_ended;
	int exit_status;
	struct fake_executor executor;
	struct fake_am am;
	struct http_server *door;
	/* Borrowed by executor and am. */
	char *am_host, *token, *task, *job;
};

struct node {
	struct nodes *all;
	char *host;
	Hadoop__NodeIdProto id;
	struct container *containers;
	int32_t response_id;
	struct event beat;
	bool is_beating; /* the ResourceManager has not answered yet */
	bool has_news;	 /* something has ended meanwhile */
};

/* How often something came, and when. */
struct count {
	int times;
	int64_t first_ms, last_ms;
};

struct nodes {
	struct fake_server server; /* first: what a connection tells */
	struct rpc_client *tracker;
	struct node *nodes;
	int count, registered;
	int64_t memory_mib;
	int vcores;
	unsigned char *key; /* of NMTokens */
	size_t key_length;
	struct count starts, started, heard, run, stopped, ended;
	int retries;
	struct event over; /* of the beats that are watched */
	bool is_watching;
	int64_t watched_since_us;
	struct lateness lateness;
};

_Noreturn static void give_up(const char *what)
{
	fprintf(stderr, "yarn-fake-nodes: %s\n", what);
	exit(1);
}

static void count(struct count *count)
{
	count->last_ms = clock_wall_ms();
	if (count->times++ == 0)
		count->first_ms = count->last_ms;
}

/* ---- the ResourceManager ------------------------------------------------------------------ */

static const struct rpc_service TRACKER = {"ResourceManager",
					   "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"};
static const struct rpc_method REGISTER_NODE = {
	"registerNodeManager", &hadoop__register_node_manager_request_proto__descriptor,
	&hadoop__register_node_manager_response_proto__descriptor, true};
static const struct rpc_method NODE_HEARTBEAT = {
	"nodeHeartbeat", &hadoop__node_heartbeat_request_proto__descriptor,
	&hadoop__node_heartbeat_response_proto__descriptor, true};

static void beat_after(struct node *node, int64_t ms)
{
	const struct timeval time = clock_timeval(ms);

	event_add(&node->beat, &time);
}

/* A NodeManager beats when a container has ended, too. */
static void beat_soon(struct node *node)
{
	node->has_news = node->is_beating;
	if (!node->is_beating)
		beat_after(node, 0);
}

static void fill_status(const struct container *container, Hadoop__ContainerStatusProto *status)
{
	hadoop__container_status_proto__init(status);
	status->container_id = container->id;
	status->has_state = status->has_exit_status = true;
	status->state = container->has_ended ? HADOOP__CONTAINER_STATE_PROTO__C_COMPLETE
					     : HADOOP__CONTAINER_STATE_PROTO__C_RUNNING;
	status->exit_status = container->has_ended ? container->exit_status : -1000;
	status->diagnostics = "";
}

static size_t container_count(const struct node *node)
{
	size_t total = 0;

	for (const struct container *container = node->containers; container;
	     container = container->next)
		total++;
	return total;
}

static struct container *find_container(const struct node *node, const Hadoop__ContainerIdProto *id)
{
	for (struct container *container = node->containers; container; container = container->next)
		if (container->id->id == id->id &&
		    container->id->app_attempt_id->attemptid == id->app_attempt_id->attemptid &&
		    container->id->app_attempt_id->application_id->id ==
			    id->app_attempt_id->application_id->id)
			return container;
	return NULL;
}

static void end_container(struct container *container, int exit_status)
{
	if (container->has_ended)
		return;
	container->has_ended = true;
	container->exit_status = exit_status;
	fake_executor_finish(&container->executor);
	http_server_destroy(container->door);
	count(&container->node->all->ended);
	beat_soon(container->node);
}

static void forget_container(struct node *node, struct container *container)
{
	struct container **place = &node->containers;

	while (*place != container)
		place = &(*place)->next;
	*place = container->next;
	message_free(container->id);
	free(container->am_host);
	free(container->token);
	free(container->task);
	free(container->job);
	free(container);
}

static void beat_done(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	struct node *node = data;
	const Hadoop__NodeHeartbeatResponseProto *response = (const void *)message;
	struct container *container;

	if (error)
		give_up(error->text);
	if (response->nodeaction != HADOOP__NODE_ACTION_PROTO__NODE_NORMAL)
		give_up(response->diagnostics_message);
	node->response_id = response->response_id;
	node->is_beating = false;
	for (size_t i = 0; i < response->n_containers_to_cleanup; i++)
		if ((container = find_container(node, response->containers_to_cleanup[i])))
			end_container(container, KILLED_BY_RM);
	for (size_t i = 0; i < response->n_containers_to_be_removed_from_nm; i++)
		if ((container =
			     find_container(node, response->containers_to_be_removed_from_nm[i])) &&
		    container->has_ended)
			forget_container(node, container);
	beat_after(node, node->has_news ? 0 : response->nextheartbeatinterval);
	node->has_news = false;
}

static void on_beat(evutil_socket_t fd, short what, void *data)
{
	struct node *node = data;
	const size_t total = container_count(node);
	Hadoop__ContainerStatusProto *statuses cleanup_free =
		mem_alloc_array(total + 1, sizeof(*statuses));
	Hadoop__ContainerStatusProto **list cleanup_free =
		mem_alloc_array(total + 1, sizeof(*list));
	Hadoop__NodeHealthStatusProto health = HADOOP__NODE_HEALTH_STATUS_PROTO__INIT;
	Hadoop__NodeStatusProto status = HADOOP__NODE_STATUS_PROTO__INIT;
	Hadoop__NodeHeartbeatRequestProto request = HADOOP__NODE_HEARTBEAT_REQUEST_PROTO__INIT;

	for (const struct container *container = node->containers; container;
	     container = container->next) {
		fill_status(container, &statuses[status.n_containersstatuses]);
		list[status.n_containersstatuses] = &statuses[status.n_containersstatuses];
		status.n_containersstatuses++;
	}
	health.has_is_node_healthy = health.is_node_healthy = true;
	health.has_last_health_report_time = true;
	health.last_health_report_time = clock_wall_ms();
	status.node_id = &node->id;
	status.has_response_id = true;
	status.response_id = node->response_id;
	status.containersstatuses = list;
	status.nodehealthstatus = &health;
	request.node_status = &status;
	node->is_beating = true;
	rpc_call_start(node->all->tracker, &NODE_HEARTBEAT, &request.base, beat_done, node);
}

static void register_done(void *data, const ProtobufCMessage *message,
			  const struct rpc_error *error)
{
	struct node *node = data;
	struct nodes *all = node->all;
	const Hadoop__RegisterNodeManagerResponseProto *response = (const void *)message;

	if (error)
		give_up(error->text);
	if (response->nodeaction != HADOOP__NODE_ACTION_PROTO__NODE_NORMAL)
		give_up(response->diagnostics_message);
	if (!all->key) {
		all->key_length = response->nm_token_master_key->bytes.len;
		all->key = mem_alloc(all->key_length);
		memcpy(all->key, response->nm_token_master_key->bytes.data, all->key_length);
	}
	beat_after(node, (node - all->nodes) * FIRST_BEATS_MS / all->count);
	if (++all->registered == all->count) {
		puts("ready");
		fflush(stdout);
	}
}

static void register_node(struct node *node)
{
	Hadoop__ResourceProto resource = HADOOP__RESOURCE_PROTO__INIT;
	Hadoop__NodeHealthStatusProto health = HADOOP__NODE_HEALTH_STATUS_PROTO__INIT;
	Hadoop__NodeStatusProto status = HADOOP__NODE_STATUS_PROTO__INIT;
	Hadoop__RegisterNodeManagerRequestProto request =
		HADOOP__REGISTER_NODE_MANAGER_REQUEST_PROTO__INIT;

	resource.has_memory = resource.has_virtual_cores = true;
	resource.memory = node->all->memory_mib;
	resource.virtual_cores = node->all->vcores;
	health.has_is_node_healthy = health.is_node_healthy = true;
	status.node_id = &node->id;
	status.nodehealthstatus = &health;
	request.node_id = &node->id;
	request.has_http_port = true;
	request.http_port = WEB_PORT;
	request.resource = &resource;
	request.nm_version = "fake";
	request.nodestatus = &status;
	rpc_call_start(node->all->tracker, &REGISTER_NODE, &request.base, register_done, node);
}

/* ---- executors ---------------------------------------------------------------------------- */

static struct container *container_of(struct fake_executor *executor)
{
	return executor->data;
}

static struct nodes *nodes_of(struct fake_executor *executor)
{
	return container_of(executor)->node->all;
}

static void on_registered(struct fake_executor *executor)
{
	count(&nodes_of(executor)->heard);
}

static void on_run(struct fake_executor *executor)
{
	count(&nodes_of(executor)->run);
}

static void on_stopped(struct fake_executor *executor)
{
	count(&nodes_of(executor)->stopped);
	fake_executor_register(executor);
}

static void on_quit(struct fake_executor *executor)
{
	end_container(container_of(executor), 0);
}

static void on_beaten(struct fake_executor *executor, int64_t late_us)
{
	struct nodes *all = nodes_of(executor);

	if (all->is_watching)
		lateness_add(&all->lateness, late_us);
}

static void on_spec(struct fake_executor *executor, uint64_t bytes)
{
}

static void on_retry(struct fake_executor *executor, int status, const char *answer)
{
	nodes_of(executor)->retries++;
}

static const struct fake_executor_events executor_events = {
	.registered = on_registered,
	.run = on_run,
	.stopped = on_stopped,
	.quit = on_quit,
	.beaten = on_beaten,
	.spec = on_spec,
	.retries = on_retry,
};

static void set_am(struct container *container, const char *address)
{
	struct err err cleanup_err = {0};

	if (net_address_parse(address, &container->am.address, &err) < 0)
		give_up(err_message(&err));
	free(container->am_host);
	container->am_host = mem_strdup(address);
	container->am.host = container->am_host;
}

/* Another AM calls. */
static void on_am_call(void *data, struct http_request *request)
{
	struct container *container = data;
	const struct am_call_to self = {container->token, container->job, container->task,
					container->executor.attempt};
	struct am_call call cleanup_am_call = {0};
	struct err err cleanup_err = {0};
	size_t length;
	const char *body = http_request_body(request, &length);

	if (am_call_parse(&self, body, length, &call, &err) < 0)
		give_up(err_message(&err));
	set_am(container, call.address);
	http_answer_json(request, 200, json_object());
	fake_executor_register(&container->executor);
}

static const struct http_route door_routes[] = {
	{"POST", AM_CALL_PATH, on_am_call, .needs = HTTP_ACCESS_NONE, .stranger_body = AM_CALL_CAP},
};

static int open_door(struct container *container)
{
	char *address cleanup_free = mem_printf("%s:0", container->node->host);
	struct err err cleanup_err = {0};
	const struct http_server_config config = {.address = address,
						  .token = container->token,
						  .routes = door_routes,
						  .route_count = array_length(door_routes),
						  .data = container,
						  .any_host = true};

	container->door = http_server_create(container->node->all->server.base, &config, &err);
	if (!container->door)
		give_up(err_message(&err));
	return atoi(strrchr(http_server_address(container->door), ':') + 1);
}

/* ---- the AM ------------------------------------------------------------------------------- */

/* The one that the AM has called, by its address. */
static struct node *called_node(struct fake_connection *connection)
{
	struct nodes *all = (struct nodes *)connection->server;
	struct net_address own = {.length = sizeof(own.storage)};

	if (getsockname(connection->fd, (struct sockaddr *)&own.storage, &own.length) < 0)
		give_up("getsockname");
	char *host cleanup_free = net_address_host(&own);
	for (int i = 0; i < all->count; i++)
		if (strcmp(all->nodes[i].host, host) == 0)
			return &all->nodes[i];
	give_up("a call to a node that is none");
}

/* The password of an NMToken is made of its identifier, with the key of all NodeManagers. */
static void on_sasl(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	const struct nodes *all = (const struct nodes *)connection->server;
	unsigned char password[EVP_MAX_MD_SIZE];
	unsigned int password_length;
	size_t length;

	if (message->state == HADOOP__SASL_STATE__SASL_NEGOTIATE) {
		fake_offer_token(connection);
		return;
	}
	char *response cleanup_free =
		mem_strndup((const char *)message->token.data, message->token.len);
	char *user cleanup_free = sasl_server_user(response);
	unsigned char *identifier cleanup_free = base64_decode(user, strlen(user), &length);
	if (!identifier || !HMAC(EVP_sha1(), all->key, (int)all->key_length, identifier, length,
				 password, &password_length))
		give_up("an NMToken that is none");
	char *word cleanup_free = base64_encode(password, password_length);
	fake_accept_token(connection, message, user, word);
}

static const char *environment_of(const Hadoop__ContainerLaunchContextProto *context,
				  const char *name)
{
	for (size_t i = 0; i < context->n_environment; i++)
		if (strcmp(context->environment[i]->key, name) == 0)
			return context->environment[i]->value;
	give_up("a container without what tony tells its executors");
}

static char *token_of(const Hadoop__ContainerLaunchContextProto *context)
{
	struct credentials credentials cleanup_credentials = {0};
	struct err err cleanup_err = {0};
	size_t length;

	if (credentials_parse(context->tokens.data, context->tokens.len, &credentials, &err) < 0)
		give_up(err_message(&err));
	const unsigned char *token =
		credentials_find_secret(&credentials, HADOOP_SECRET_TOKEN, &length);
	if (!token)
		give_up("a container without its job's token");
	return mem_strndup((const char *)token, length);
}

static Hadoop__ContainerIdProto *id_of_started(const Hadoop__StartContainerRequestProto *start)
{
	Hadoop__ContainerTokenIdentifierProto *identifier =
		hadoop__container_token_identifier_proto__unpack(
			NULL, start->container_token->identifier.len,
			start->container_token->identifier.data);

	if (!identifier)
		give_up("a container token that is none");
	Hadoop__ContainerIdProto *id = message_copy(&identifier->containerid->base);
	message_free(identifier);
	return id;
}

static const Hadoop__ContainerIdProto *
start_container(struct node *node, const Hadoop__StartContainerRequestProto *start)
{
	const Hadoop__ContainerLaunchContextProto *context = start->container_launch_context;
	struct container *container = mem_alloc(sizeof(*container));

	container->node = node;
	container->id = id_of_started(start);
	container->next = node->containers;
	node->containers = container;
	container->token = token_of(context);
	container->am.token = container->token;
	container->task = mem_strdup(environment_of(context, "TONY_TASK"));
	container->job = mem_strdup(environment_of(context, "TONY_JOB_ID"));
	set_am(container, environment_of(context, "TONY_AM_ADDRESS"));
	container->executor = (struct fake_executor){
		.base = node->all->server.base,
		.events = &executor_events,
		.data = container,
		.am = &container->am,
		.task = container->task,
		.attempt = atoi(environment_of(context, "TONY_TASK_ATTEMPT")),
		.host = node->host,
		.log_dir = "/nowhere",
		.port = EXECUTORS_PORT + (int)(container->id->id & 0xfff),
		.door = open_door(container),
	};
	fake_executor_init(&container->executor);
	fake_executor_register(&container->executor);
	count(&node->all->started);
	return container->id;
}

static void on_start(struct fake_connection *connection, const struct fake_call *call)
{
	struct node *node = called_node(connection);
	Hadoop__StartContainersRequestProto *request =
		hadoop__start_containers_request_proto__unpack(NULL, call->length, call->request);
	Hadoop__StartContainersResponseProto response =
		HADOOP__START_CONTAINERS_RESPONSE_PROTO__INIT;
	Hadoop__ContainerIdProto **started cleanup_free =
		mem_alloc_array(request->n_start_container_request + 1, sizeof(*started));

	for (size_t i = 0; i < request->n_start_container_request; i++)
		started[response.n_succeeded_requests++] =
			(void *)start_container(node, request->start_container_request[i]);
	response.succeeded_requests = started;
	count(&node->all->starts);
	fake_answer_message(connection, call, &response.base);
	message_free(request);
}

static void on_stop(struct fake_connection *connection, const struct fake_call *call)
{
	struct node *node = called_node(connection);
	Hadoop__StopContainersRequestProto *request =
		hadoop__stop_containers_request_proto__unpack(NULL, call->length, call->request);
	Hadoop__StopContainersResponseProto response = HADOOP__STOP_CONTAINERS_RESPONSE_PROTO__INIT;

	for (size_t i = 0; i < request->n_container_id; i++) {
		struct container *container = find_container(node, request->container_id[i]);
		if (container)
			end_container(container, KILLED_BY_AM);
	}
	response.n_succeeded_requests = request->n_container_id;
	response.succeeded_requests = request->container_id;
	fake_answer_message(connection, call, &response.base);
	message_free(request);
}

static void on_look(struct fake_connection *connection, const struct fake_call *call)
{
	struct node *node = called_node(connection);
	Hadoop__GetContainerStatusesRequestProto *request =
		hadoop__get_container_statuses_request_proto__unpack(NULL, call->length,
								     call->request);
	Hadoop__GetContainerStatusesResponseProto response =
		HADOOP__GET_CONTAINER_STATUSES_RESPONSE_PROTO__INIT;
	Hadoop__ContainerStatusProto *statuses cleanup_free =
		mem_alloc_array(request->n_container_id + 1, sizeof(*statuses));
	Hadoop__ContainerStatusProto **list cleanup_free =
		mem_alloc_array(request->n_container_id + 1, sizeof(*list));

	for (size_t i = 0; i < request->n_container_id; i++) {
		struct container *container = find_container(node, request->container_id[i]);
		if (!container)
			continue;
		list[response.n_status] = &statuses[response.n_status];
		fill_status(container, list[response.n_status++]);
	}
	response.status = list;
	fake_answer_message(connection, call, &response.base);
	message_free(request);
}

static void on_call(struct fake_connection *connection, const struct fake_call *call)
{
	if (strcmp(call->method, "startContainers") == 0)
		on_start(connection, call);
	else if (strcmp(call->method, "stopContainers") == 0)
		on_stop(connection, call);
	else if (strcmp(call->method, "getContainerStatuses") == 0)
		on_look(connection, call);
	else
		give_up(call->method);
}

/* ---- commands ----------------------------------------------------------------------------- */

static void print_count(const char *name, const struct count *count, const char *end)
{
	printf("\"%s\":{\"times\":%d,\"first\":%.3f,\"last\":%.3f}%s", name, count->times,
	       (double)count->first_ms / 1000, (double)count->last_ms / 1000, end);
}

static void print_times(const struct nodes *all)
{
	printf("{\"retries\":%d,\"connections\":%d,", all->retries, all->server.accepted);
	print_count("starts", &all->starts, ",");
	print_count("started", &all->started, ",");
	print_count("registered", &all->heard, ",");
	print_count("run", &all->run, ",");
	print_count("stopped", &all->stopped, ",");
	print_count("ended", &all->ended, "}\n");
	fflush(stdout);
}

static void on_over(evutil_socket_t fd, short what, void *data)
{
	struct nodes *all = data;
	double seconds = (double)(fake_executor_now_us() - all->watched_since_us) / 1e6;

	all->is_watching = false;
	printf("{\"seconds\":%.3f,", seconds);
	lateness_print(&all->lateness);
	puts("}");
	fflush(stdout);
}

static void on_command(evutil_socket_t fd, short what, void *data)
{
	struct nodes *all = data;
	char command[64];
	int seconds;

	if (!fgets(command, sizeof(command), stdin)) {
		event_base_loopbreak(all->server.base);
	} else if (strcmp(command, "times\n") == 0) {
		print_times(all);
	} else if (sscanf(command, "beats %d", &seconds) == 1) {
		const struct timeval time = {.tv_sec = seconds};
		all->is_watching = true;
		all->watched_since_us = fake_executor_now_us();
		event_add(&all->over, &time);
	} else {
		give_up("times, or beats SECONDS");
	}
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void open_node(struct nodes *all, int index)
{
	struct node *node = &all->nodes[index];

	node->all = all;
	node->host = mem_printf("127.64.%d.%d", index / IN_A_ROW, index % IN_A_ROW + 1);
	hadoop__node_id_proto__init(&node->id);
	node->id.host = node->host;
	node->id.has_port = true;
	node->id.port = atoi(strrchr(all->server.address, ':') + 1);
	event_assign(&node->beat, all->server.base, -1, 0, on_beat, node);
	register_node(node);
}

static void open_tracker(struct nodes *all, const char *address)
{
	struct rpc_options options = {.service = &TRACKER,
				      .user = "yarn",
				      .connect_timeout_ms = 20000,
				      .call_timeout_ms = 60000,
				      .retry_interval_ms = 500,
				      .max_wait_ms = 30000};
	struct err err cleanup_err = {0};

	str_list_add(&options.addresses, address);
	all->tracker = rpc_client_create(all->server.base, &options, &err);
	if (!all->tracker)
		give_up(err_message(&err));
	str_list_finish(&options.addresses);
}

int main(int argc, char **argv)
{
	static struct nodes all;
	struct event command;

	if (argc != 5 || (all.count = atoi(argv[2])) < 1 || all.count > NODES_MAX)
		give_up("usage: yarn-fake-nodes TRACKER-HOST:PORT NODES MEMORY-MIB VCORES");
	all.memory_mib = atoi(argv[3]);
	all.vcores = atoi(argv[4]);
	log_open("fake", LOG_LEVEL_ERROR);
	fake_executor_allow_files();
	fake_server_open_at(&all.server, event_base_new(), "0.0.0.0:0");
	all.server.on_call = on_call;
	all.server.on_sasl = on_sasl;
	open_tracker(&all, argv[1]);
	all.nodes = mem_alloc_array((size_t)all.count, sizeof(*all.nodes));
	for (int i = 0; i < all.count; i++)
		open_node(&all, i);
	event_assign(&all.over, all.server.base, -1, 0, on_over, &all);
	setvbuf(stdin, NULL, _IONBF, 0);
	event_assign(&command, all.server.base, STDIN_FILENO, EV_READ | EV_PERSIST, on_command,
		     &all);
	event_add(&command, NULL);
	event_base_dispatch(all.server.base);
	return 0;
}
