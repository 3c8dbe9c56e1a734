/*
 * What a job costs at least on YARN: the smallest application master that registers, asks for COUNT
 * containers, runs COMMAND in each, waits for their ends and says that it succeeded. It stages
 * nothing, watches nothing, repairs nothing. `./dev bench yarn` puts tony's figures beside its.
 *
 *   yarn-floor-am SCHEDULER-HOST:PORT COUNT MEMORY-MIB COMMAND
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/credentials.h"
#include "hadoop/methods.h"
#include "proto/yarn.pb-c.h"

#define POLL_MS 100

struct node {
	char *address;
	struct rpc_client *client;
};

struct floor {
	struct event_base *base;
	struct rpc_client *rm;
	struct event *poll;
	int wanted, started, ended, response_id, memory_mib;
	char *command;
	struct node *nodes;
	size_t node_count;
};

_Noreturn static void give_up(const char *what)
{
	fprintf(stderr, "yarn-floor-am: %s\n", what);
	exit(1);
}

static struct rpc_client *client_to(struct event_base *base, const struct rpc_service *service,
				    const char *address, const struct hadoop_token *token)
{
	struct rpc_options options = {.service = service,
				      .user = "floor",
				      .token = token,
				      .connect_timeout_ms = 20000,
				      .call_timeout_ms = 60000,
				      .retry_interval_ms = 500,
				      .max_wait_ms = 30000};
	str_list_add(&options.addresses, address);
	struct err err cleanup_err = {0};
	struct rpc_client *client = rpc_client_create(base, &options, &err);
	if (!client)
		give_up(err_message(&err));
	str_list_finish(&options.addresses);
	return client;
}

static char *address_of(const Hadoop__NodeIdProto *id)
{
	return mem_printf("%s:%d", id->host, id->port);
}

static struct node *find_node(struct floor *floor, const Hadoop__NodeIdProto *id)
{
	char *address cleanup_free = address_of(id);
	for (size_t i = 0; i < floor->node_count; i++)
		if (strcmp(floor->nodes[i].address, address) == 0)
			return &floor->nodes[i];
	return NULL;
}

static void learn_node(struct floor *floor, const Hadoop__NMTokenProto *given)
{
	if (find_node(floor, given->nodeid))
		return;
	struct hadoop_token token cleanup_token = {0};
	token_from_proto(&token, given->token);
	char *address = address_of(given->nodeid);
	floor->nodes =
		mem_realloc_array(floor->nodes, floor->node_count + 1, sizeof(*floor->nodes));
	floor->nodes[floor->node_count++] =
		(struct node){address, client_to(floor->base, &NODE_MANAGER, address, &token)};
}

static void start_done(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	if (error)
		give_up(error->text);
	const Hadoop__StartContainersResponseProto *response = (const void *)message;
	if (response->n_failed_requests > 0)
		give_up(response->failed_requests[0]->exception->message);
}

static void start_container(struct floor *floor, Hadoop__ContainerProto *container)
{
	struct node *node = find_node(floor, container->nodeid);
	if (!node)
		give_up("a container without a token for its node");
	Hadoop__ContainerLaunchContextProto launch = HADOOP__CONTAINER_LAUNCH_CONTEXT_PROTO__INIT;
	launch.n_command = 1;
	launch.command = &floor->command;
	Hadoop__StartContainerRequestProto one = HADOOP__START_CONTAINER_REQUEST_PROTO__INIT;
	one.container_launch_context = &launch;
	one.container_token = container->container_token;
	Hadoop__StartContainerRequestProto *all[] = {&one};
	Hadoop__StartContainersRequestProto request = HADOOP__START_CONTAINERS_REQUEST_PROTO__INIT;
	request.n_start_container_request = 1;
	request.start_container_request = all;
	rpc_call_start(node->client, &NM_START_CONTAINERS, &request.base, start_done, floor);
}

static void finish(struct floor *floor);

static void finish_done(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	struct floor *floor = data;
	if (error)
		give_up(error->text);
	const Hadoop__FinishApplicationMasterResponseProto *response = (const void *)message;
	if (response->isunregistered)
		event_base_loopbreak(floor->base);
	else
		finish(floor);
}

static void finish(struct floor *floor)
{
	Hadoop__FinishApplicationMasterRequestProto request =
		HADOOP__FINISH_APPLICATION_MASTER_REQUEST_PROTO__INIT;
	request.has_final_application_status = 1;
	request.final_application_status = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_SUCCEEDED;
	rpc_call_start(floor->rm, &RM_FINISH, &request.base, finish_done, floor);
}

static void allocate_done(void *data, const ProtobufCMessage *message,
			  const struct rpc_error *error)
{
	struct floor *floor = data;
	if (error)
		give_up(error->text);
	const Hadoop__AllocateResponseProto *response = (const void *)message;
	floor->response_id = response->response_id;
	for (size_t i = 0; i < response->n_nm_tokens; i++)
		learn_node(floor, response->nm_tokens[i]);
	for (size_t i = 0; i < response->n_allocated_containers; i++)
		if (floor->started < floor->wanted) {
			start_container(floor, response->allocated_containers[i]);
			floor->started++;
		}
	for (size_t i = 0; i < response->n_completed_container_statuses; i++)
		floor->ended++;
	if (floor->ended >= floor->wanted)
		finish(floor);
	else
		evtimer_add(floor->poll, &(struct timeval){.tv_usec = POLL_MS * 1000});
}

/* The ask is said once: it stands until it is met. */
static void allocate(evutil_socket_t fd, short what, void *data)
{
	struct floor *floor = data;
	Hadoop__PriorityProto priority = HADOOP__PRIORITY_PROTO__INIT;
	priority.has_priority = 1;
	priority.priority = 1;
	Hadoop__ResourceProto size = HADOOP__RESOURCE_PROTO__INIT;
	size.has_memory = size.has_virtual_cores = 1;
	size.memory = floor->memory_mib;
	size.virtual_cores = 1;
	Hadoop__ExecutionTypeRequestProto type = HADOOP__EXECUTION_TYPE_REQUEST_PROTO__INIT;
	Hadoop__ResourceRequestProto ask = HADOOP__RESOURCE_REQUEST_PROTO__INIT;
	/* A ResourceManager with opportunistic containers does not go without. */
	type.has_execution_type = true;
	type.execution_type = HADOOP__EXECUTION_TYPE_PROTO__GUARANTEED;
	ask.priority = &priority;
	ask.resource_name = "*";
	ask.capability = &size;
	ask.has_num_containers = ask.has_allocation_request_id = 1;
	ask.num_containers = floor->wanted;
	ask.allocation_request_id = 1;
	ask.execution_type_request = &type;
	Hadoop__ResourceRequestProto *asks[] = {&ask};
	Hadoop__AllocateRequestProto request = HADOOP__ALLOCATE_REQUEST_PROTO__INIT;
	request.n_ask = floor->response_id == 0 ? 1 : 0;
	request.ask = asks;
	request.has_response_id = request.has_progress = 1;
	request.response_id = floor->response_id;
	rpc_call_start(floor->rm, &RM_ALLOCATE, &request.base, allocate_done, floor);
}

static void register_done(void *data, const ProtobufCMessage *message,
			  const struct rpc_error *error)
{
	if (error)
		give_up(error->text);
	allocate(-1, 0, data);
}

static const struct hadoop_token *read_token(struct credentials *credentials)
{
	const char *path = getenv("HADOOP_TOKEN_FILE_LOCATION");
	struct err err cleanup_err = {0};
	if (!path || credentials_read_file(path, credentials, &err) < 0)
		give_up(path ? err_message(&err) : "not in a container of YARN");
	return credentials_find_kind(credentials, TOKEN_KIND_AMRM);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		give_up("usage: yarn-floor-am SCHEDULER-HOST:PORT COUNT MEMORY-MIB COMMAND");
	struct floor floor = {.base = event_base_new(),
			      .wanted = atoi(argv[2]),
			      .memory_mib = atoi(argv[3]),
			      .command = argv[4]};
	struct credentials credentials cleanup_credentials = {0};
	const struct hadoop_token *token = read_token(&credentials);
	floor.rm = client_to(floor.base, &RM_SCHEDULER, argv[1], token);
	floor.poll = evtimer_new(floor.base, allocate, &floor);
	Hadoop__RegisterApplicationMasterRequestProto request =
		HADOOP__REGISTER_APPLICATION_MASTER_REQUEST_PROTO__INIT;
	request.host = "";
	request.has_rpc_port = 1;
	request.rpc_port = -1;
	request.tracking_url = "";
	rpc_call_start(floor.rm, &RM_REGISTER, &request.base, register_done, &floor);
	event_base_dispatch(floor.base);
	return 0;
}
