#include "fake_rm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "fake_token.h"
#include "hadoop/message.h"

enum { ERROR = HADOOP__RPC_STATUS_PROTO__RPC_ERROR };

/* A list in a message that is built as if it had been unpacked. */
#define append(list, count, item)                                                                  \
	do {                                                                                       \
		(list) = mem_realloc_array((list), (count) + 1, sizeof(*(list)));                  \
		(list)[(count)++] = (item);                                                        \
	} while (0)

/* ---- who is it ---------------------------------------------------------------------------- */

static void on_sasl(struct fake_connection *connection, const Hadoop__RpcSaslProto *message)
{
	const struct fake_rm *rm = (const struct fake_rm *)connection->server;

	if (message->state == HADOOP__SASL_STATE__SASL_NEGOTIATE) {
		fake_offer_token(connection);
	} else {
		char *word cleanup_free = base64_encode(rm->token, strlen(rm->token));
		fake_accept_token(connection, message, word, word);
	}
}

/* ---- answers ------------------------------------------------------------------------------ */

static void *read_request(const struct fake_call *call, const ProtobufCMessageDescriptor *type)
{
	void *message = protobuf_c_message_unpack(type, NULL, call->length, call->request);

	assert_non_null(message);
	return message;
}

static Hadoop__AllocateResponseProto *next_of(struct fake_rm *rm)
{
	if (!rm->next) {
		rm->next = mem_alloc(sizeof(*rm->next));
		hadoop__allocate_response_proto__init(rm->next);
	}
	return rm->next;
}

static Hadoop__ResourceProto *resource_of(int64_t memory)
{
	Hadoop__ResourceProto *resource = mem_alloc(sizeof(*resource));

	hadoop__resource_proto__init(resource);
	resource->has_memory = true;
	resource->memory = memory;
	return resource;
}

/* ---- the ResourceManager's calls ---------------------------------------------------------- */

static void log_ask(struct str *log, const Hadoop__ResourceRequestProto *ask)
{
	const Hadoop__ResourceProto *size = ask->capability;

	assert_int_equal(ask->allocation_request_id, ask->priority->priority);
	assert_true(ask->relax_locality);
	str_append_format(log, "ask p%d n%d %dm %dc", ask->priority->priority, ask->num_containers,
			  (int)size->memory, size->virtual_cores);
	if (!str_equal(ask->resource_name, "*"))
		str_append_format(log, " at %s", ask->resource_name);
	for (size_t i = 0; i < size->n_resource_value_map; i++)
		str_append_format(log, " %s=%d", size->resource_value_map[i]->key,
				  (int)size->resource_value_map[i]->value);
	assert_true(ask->execution_type_request->has_execution_type);
	if (ask->execution_type_request->execution_type ==
	    HADOOP__EXECUTION_TYPE_PROTO__OPPORTUNISTIC)
		str_append(log, " opportunistic");
	if (ask->node_label_expression)
		str_append_format(log, " label=%s", ask->node_label_expression);
	str_append(log, "; ");
}

/* SchedulingRequestPBImpl.equals() dereferences these, when one request cancels another. */
static void check_single(const Hadoop__SchedulingRequestProto *ask)
{
	assert_non_null(ask->priority);
	assert_non_null(ask->executiontype);
	assert_int_equal(ask->executiontype->execution_type,
			 HADOOP__EXECUTION_TYPE_PROTO__GUARANTEED);
	assert_non_null(ask->resourcesizing->resources);
	assert_non_null(ask->placementconstraint);
	assert_true(ask->placementconstraint->simpleconstraint ||
		    ask->placementconstraint->compositeconstraint);
}

static void log_single(struct str *log, const Hadoop__SchedulingRequestProto *ask)
{
	check_single(ask);
	str_append_format(log, "single p%d #%d n%d ", ask->priority->priority,
			  (int)ask->allocationrequestid, ask->resourcesizing->numallocations);
	for (size_t i = 0; i < ask->n_allocationtags; i++)
		str_append_format(log, "%s%s", i ? "," : "", ask->allocationtags[i]);
	if (ask->placementconstraint->simpleconstraint)
		str_append_format(log, " max=%d",
				  ask->placementconstraint->simpleconstraint->maxcardinality);
	str_append(log, "; ");
}

static void log_allocate(struct fake_rm *rm, const Hadoop__AllocateRequestProto *request)
{
	const Hadoop__ResourceBlacklistRequestProto *hosts = request->blacklist_request;
	struct str said cleanup_str = {0};

	for (size_t i = 0; i < request->n_ask; i++)
		log_ask(&said, request->ask[i]);
	for (size_t i = 0; i < request->n_scheduling_requests; i++)
		log_single(&said, request->scheduling_requests[i]);
	for (size_t i = 0; i < request->n_release; i++)
		str_append_format(&said, "release %d; ", (int)request->release[i]->id);
	for (size_t i = 0; hosts && i < hosts->n_blacklist_additions; i++)
		str_append_format(&said, "avoid %s; ", hosts->blacklist_additions[i]);
	for (size_t i = 0; hosts && i < hosts->n_blacklist_removals; i++)
		str_append_format(&said, "forgive %s; ", hosts->blacklist_removals[i]);
	if (said.length > 0)
		str_append_format(&rm->log, "allocate %d %s\n", request->response_id, said.text);
}

static void on_register(struct fake_connection *connection, const struct fake_call *call)
{
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	Hadoop__RegisterApplicationMasterRequestProto *request =
		read_request(call, &hadoop__register_application_master_request_proto__descriptor);

	str_append_format(&rm->log, "register %s:%d %s\n", request->host, request->rpc_port,
			  request->tracking_url);
	message_free(request);
	rm->response_id = 0;
	fake_answer_message(connection, call, &rm->limits.base);
}

static void on_allocate(struct fake_connection *connection, const struct fake_call *call)
{
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	if (rm->is_silent)
		return;
	Hadoop__AllocateRequestProto *request =
		read_request(call, &hadoop__allocate_request_proto__descriptor);
	Hadoop__AllocateResponseProto *response = next_of(rm);

	assert_int_equal(request->response_id, rm->response_id);
	log_allocate(rm, request);
	message_free(request);
	rm->next = NULL;
	rm->allocates++;
	response->has_response_id = true;
	response->response_id = ++rm->response_id;
	if (rm->headroom)
		response->limit = resource_of(rm->headroom);
	fake_answer_message(connection, call, &response->base);
	message_free(response);
}

/* It is written down at the second time of asking only. */
static void on_finish(struct fake_connection *connection, const struct fake_call *call)
{
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	Hadoop__FinishApplicationMasterRequestProto *request =
		read_request(call, &hadoop__finish_application_master_request_proto__descriptor);
	Hadoop__FinishApplicationMasterResponseProto response =
		HADOOP__FINISH_APPLICATION_MASTER_RESPONSE_PROTO__INIT;

	str_append_format(&rm->log, "finish %d %s %s\n", (int)request->final_application_status,
			  request->diagnostics, request->tracking_url);
	message_free(request);
	response.has_isunregistered = true;
	response.isunregistered = ++rm->finishes > 1;
	fake_answer_message(connection, call, &response.base);
}

/* ---- the NodeManager's calls -------------------------------------------------------------- */

static Hadoop__ContainerExceptionMapProto *refusal_of(const struct fake_rm *rm, int64_t number)
{
	Hadoop__ContainerExceptionMapProto *failed = mem_alloc(sizeof(*failed));

	hadoop__container_exception_map_proto__init(failed);
	failed->container_id = rm_container_id((int)number);
	failed->exception = mem_alloc(sizeof(*failed->exception));
	hadoop__serialized_exception_proto__init(failed->exception);
	failed->exception->message = mem_strdup(rm->refusal);
	failed->exception->class_name = mem_strdup(rm->refusal_class);
	return failed;
}

/* The container's number is the identifier of its token. */
static int64_t number_of(const Hadoop__StartContainerRequestProto *start)
{
	return start->container_token->identifier.data[0];
}

static void on_start(struct fake_connection *connection, const struct fake_call *call)
{
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	Hadoop__StartContainersRequestProto *request =
		read_request(call, &hadoop__start_containers_request_proto__descriptor);
	Hadoop__StartContainersResponseProto *response = mem_alloc(sizeof(*response));

	hadoop__start_containers_response_proto__init(response);
	str_append(&rm->log, "start");
	for (size_t i = 0; i < request->n_start_container_request; i++) {
		const Hadoop__StartContainerRequestProto *start =
			request->start_container_request[i];
		const Hadoop__ContainerLaunchContextProto *context =
			start->container_launch_context;
		str_append_format(&rm->log, " %d", (int)number_of(start));
		for (size_t k = 0; k < context->n_environment; k++)
			str_append_format(&rm->log, " %s=%s", context->environment[k]->key,
					  context->environment[k]->value);
		if (rm->refusal)
			append(response->failed_requests, response->n_failed_requests,
			       refusal_of(rm, number_of(start)));
		else
			append(response->succeeded_requests, response->n_succeeded_requests,
			       rm_container_id((int)number_of(start)));
	}
	str_append(&rm->log, "\n");
	message_free(request);
	if (!rm->is_silent)
		fake_answer_message(connection, call, &response->base);
	message_free(response);
}

static void on_stop(struct fake_connection *connection, const struct fake_call *call)
{
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	Hadoop__StopContainersRequestProto *request =
		read_request(call, &hadoop__stop_containers_request_proto__descriptor);
	Hadoop__StopContainersResponseProto *response = mem_alloc(sizeof(*response));

	hadoop__stop_containers_response_proto__init(response);
	str_append(&rm->log, "stop");
	for (size_t i = 0; i < request->n_container_id; i++) {
		int number = (int)request->container_id[i]->id;
		str_append_format(&rm->log, " %d", number);
		if (rm->refusal)
			append(response->failed_requests, response->n_failed_requests,
			       refusal_of(rm, number));
		else
			append(response->succeeded_requests, response->n_succeeded_requests,
			       rm_container_id(number));
	}
	str_append(&rm->log, "\n");
	message_free(request);
	fake_answer_message(connection, call, &response->base);
	message_free(response);
}

static Hadoop__ContainerStatusProto *status_of(const struct fake_rm *rm, int number)
{
	Hadoop__ContainerStatusProto *status = mem_alloc(sizeof(*status));

	hadoop__container_status_proto__init(status);
	status->container_id = rm_container_id(number);
	status->has_state = true;
	status->state = number == rm->ended ? HADOOP__CONTAINER_STATE_PROTO__C_COMPLETE
					    : HADOOP__CONTAINER_STATE_PROTO__C_RUNNING;
	return status;
}

static void on_look(struct fake_connection *connection, const struct fake_call *call)
{
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	Hadoop__GetContainerStatusesRequestProto *request =
		read_request(call, &hadoop__get_container_statuses_request_proto__descriptor);
	Hadoop__GetContainerStatusesResponseProto *response = mem_alloc(sizeof(*response));

	hadoop__get_container_statuses_response_proto__init(response);
	str_append(&rm->log, "look");
	for (size_t i = 0; i < request->n_container_id; i++) {
		int number = (int)request->container_id[i]->id;
		str_append_format(&rm->log, " %d", number);
		if (rm->refusal)
			append(response->failed_requests, response->n_failed_requests,
			       refusal_of(rm, number));
		else
			append(response->status, response->n_status, status_of(rm, number));
	}
	str_append(&rm->log, "\n");
	message_free(request);
	fake_answer_message(connection, call, &response->base);
	message_free(response);
}

static void on_nodes(struct fake_connection *connection, const struct fake_call *call)
{
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	Hadoop__GetClusterNodesResponseProto response =
		HADOOP__GET_CLUSTER_NODES_RESPONSE_PROTO__INIT;

	str_append(&rm->log, "nodes\n");
	response.n_nodereports = rm->node_count;
	response.nodereports = rm->nodes;
	fake_answer_message(connection, call, &response.base);
}

static void on_call(struct fake_connection *connection, const struct fake_call *call)
{
	static const struct {
		const char *method;
		void (*handle)(struct fake_connection *connection, const struct fake_call *call);
	} methods[] = {
		{"registerApplicationMaster", on_register},
		{"allocate", on_allocate},
		{"finishApplicationMaster", on_finish},
		{"startContainers", on_start},
		{"stopContainers", on_stop},
		{"getContainerStatuses", on_look},
		{"getClusterNodes", on_nodes},
	};
	struct fake_rm *rm = (struct fake_rm *)connection->server;
	const char *class = rm->error;

	if (class) {
		rm->error = NULL;
		fake_fail(connection, call->id, ERROR, 1, class,
			  rm->error_text ? rm->error_text : "no");
		return;
	}
	for (size_t i = 0; i < array_length(methods); i++) {
		if (strcmp(methods[i].method, call->method) == 0) {
			methods[i].handle(connection, call);
			return;
		}
	}
	fail_msg("%s was called", call->method);
}

/* ---- what is put in its mouth ------------------------------------------------------------- */

Hadoop__ContainerIdProto *rm_container_id(int number)
{
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__ApplicationAttemptIdProto attempt = HADOOP__APPLICATION_ATTEMPT_ID_PROTO__INIT;
	Hadoop__ContainerIdProto id = HADOOP__CONTAINER_ID_PROTO__INIT;

	application.has_id = application.has_cluster_timestamp = true;
	application.id = 1;
	application.cluster_timestamp = 1700000000000;
	attempt.application_id = &application;
	attempt.has_attemptid = true;
	attempt.attemptid = 1;
	id.app_attempt_id = &attempt;
	id.has_id = true;
	id.id = number;
	return message_copy(&id.base);
}

static Hadoop__NodeIdProto *node_id(const char *host, int port)
{
	Hadoop__NodeIdProto id = HADOOP__NODE_ID_PROTO__INIT;

	id.host = (char *)host;
	id.has_port = true;
	id.port = port;
	return message_copy(&id.base);
}

static Hadoop__TokenProto *token_of(const void *identifier, size_t length, const char *kind)
{
	Hadoop__TokenProto token = HADOOP__TOKEN_PROTO__INIT;

	token.identifier = token.password = (ProtobufCBinaryData){length, (uint8_t *)identifier};
	token.kind = (char *)kind;
	token.service = "";
	return message_copy(&token.base);
}

Hadoop__ContainerProto *rm_give(struct fake_rm *rm, int kind, int64_t request, int number,
				const char *host, int port)
{
	Hadoop__AllocateResponseProto *next = next_of(rm);
	Hadoop__ContainerProto *container = mem_alloc(sizeof(*container));
	uint8_t byte = (uint8_t)number;

	hadoop__container_proto__init(container);
	container->id = rm_container_id(number);
	container->nodeid = node_id(host, port);
	container->priority = mem_alloc(sizeof(*container->priority));
	hadoop__priority_proto__init(container->priority);
	container->priority->has_priority = true;
	container->priority->priority = kind;
	container->has_allocation_request_id = true;
	container->allocation_request_id = request;
	container->container_token = token_of(&byte, 1, "ContainerToken");
	append(next->allocated_containers, next->n_allocated_containers, container);
	return container;
}

void rm_size(Hadoop__ContainerProto *container, int64_t memory)
{
	container->resource = resource_of(memory);
}

void rm_end(struct fake_rm *rm, int number, int status, const char *diagnostics)
{
	Hadoop__AllocateResponseProto *next = next_of(rm);
	Hadoop__ContainerStatusProto *end = mem_alloc(sizeof(*end));

	hadoop__container_status_proto__init(end);
	end->container_id = rm_container_id(number);
	end->has_exit_status = true;
	end->exit_status = status;
	end->diagnostics = mem_strdup(diagnostics);
	append(next->completed_container_statuses, next->n_completed_container_statuses, end);
}

void rm_give_node_token(struct fake_rm *rm, const char *host, int port, const char *token)
{
	Hadoop__AllocateResponseProto *next = next_of(rm);
	Hadoop__NMTokenProto *node = mem_alloc(sizeof(*node));

	hadoop__nmtoken_proto__init(node);
	node->nodeid = node_id(host, port);
	node->token = token_of(token, strlen(token), "NMToken");
	append(next->nm_tokens, next->n_nm_tokens, node);
}

void rm_roll_token(struct fake_rm *rm, const char *token)
{
	next_of(rm)->am_rm_token = token_of(token, strlen(token), "YARN_AM_RM_TOKEN");
}

void rm_preempt(struct fake_rm *rm, int number, bool strict)
{
	Hadoop__PreemptionMessageProto message = HADOOP__PREEMPTION_MESSAGE_PROTO__INIT;
	Hadoop__StrictPreemptionContractProto sure = HADOOP__STRICT_PREEMPTION_CONTRACT_PROTO__INIT;
	Hadoop__PreemptionContractProto open = HADOOP__PREEMPTION_CONTRACT_PROTO__INIT;
	Hadoop__PreemptionContainerProto container = HADOOP__PREEMPTION_CONTAINER_PROTO__INIT;
	Hadoop__PreemptionContainerProto *containers[] = {&container};

	container.id = rm_container_id(number);
	sure.n_container = open.n_container = 1;
	sure.container = open.container = containers;
	if (strict)
		message.strictcontract = &sure;
	else
		message.contract = &open;
	next_of(rm)->preempt = message_copy(&message.base);
	message_free(container.id);
}

static Hadoop__NodeReportProto *make_node(const char *host, int port, Hadoop__NodeStateProto state)
{
	Hadoop__NodeReportProto *node = mem_alloc(sizeof(*node));

	hadoop__node_report_proto__init(node);
	node->nodeid = node_id(host, port);
	node->has_node_state = true;
	node->node_state = state;
	return node;
}

static Hadoop__NodeReportProto *add_node(struct fake_rm *rm, const char *host, int port,
					 Hadoop__NodeStateProto state)
{
	Hadoop__AllocateResponseProto *next = next_of(rm);
	Hadoop__NodeReportProto *node = make_node(host, port, state);

	append(next->updated_nodes, next->n_updated_nodes, node);
	return node;
}

void rm_node(struct fake_rm *rm, const char *host, int port, Hadoop__NodeStateProto state,
	     const char *report)
{
	add_node(rm, host, port, state)->health_report = mem_strdup(report);
}

static void leave(Hadoop__NodeReportProto *node, int32_t timeout)
{
	node->has_decommissioning_timeout = true;
	node->decommissioning_timeout = (uint32_t)timeout;
}

void rm_node_leaves(struct fake_rm *rm, const char *host, int port, int32_t timeout)
{
	leave(add_node(rm, host, port, HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING), timeout);
}

void rm_node_is_leaving(struct fake_rm *rm, const char *host, int port, int32_t timeout)
{
	rm->nodes[rm->node_count++] =
		make_node(host, port, HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING);
	leave(rm->nodes[rm->node_count - 1], timeout);
}

static Hadoop__ResourceProto *make_memory(int64_t memory)
{
	Hadoop__ResourceProto *resource = mem_alloc(sizeof(*resource));

	hadoop__resource_proto__init(resource);
	resource->has_memory = resource->has_virtual_cores = true;
	resource->memory = memory;
	return resource;
}

void rm_has_node(struct fake_rm *rm, const char *host, const char *label, int64_t memory,
		 int64_t used)
{
	Hadoop__NodeReportProto *node = make_node(host, 1, HADOOP__NODE_STATE_PROTO__NS_RUNNING);

	node->capability = make_memory(memory);
	node->used = make_memory(used);
	if (label)
		append(node->node_labels, node->n_node_labels, mem_strdup(label));
	rm->nodes[rm->node_count++] = node;
}

void rm_use_node(struct fake_rm *rm, size_t number, int64_t used)
{
	rm->nodes[number]->used->memory = used;
}

void rm_command(struct fake_rm *rm, Hadoop__AMCommandProto command)
{
	next_of(rm)->has_a_m_command = true;
	next_of(rm)->a_m_command = command;
}

/* ---- waiting ------------------------------------------------------------------------------ */

void rm_wait(struct fake_rm *rm, const char *part)
{
	const char *found;

	while (!(found = strstr(str_text(&rm->log) + rm->seen, part)))
		event_base_loop(rm->server.base, EVLOOP_ONCE);
	rm->seen = (size_t)(found - rm->log.text) + strlen(part);
}

bool rm_said(const struct fake_rm *rm, const char *part)
{
	return strstr(str_text(&rm->log), part) != NULL;
}

void rm_beat(struct fake_rm *rm)
{
	/* The second one shows that the first was understood. */
	int goal = rm->allocates + 2;

	while (rm->allocates < goal)
		event_base_loop(rm->server.base, EVLOOP_ONCE);
}

void rm_open(struct fake_rm *rm, struct event_base *base)
{
	*rm = (struct fake_rm){0};
	hadoop__register_application_master_response_proto__init(&rm->limits);
	fake_server_open(&rm->server, base);
	rm->server.on_call = on_call;
	rm->server.on_sasl = on_sasl;
}

void rm_close(struct fake_rm *rm)
{
	fake_server_close(&rm->server);
	message_free(rm->next);
	for (size_t i = 0; i < rm->node_count; i++)
		message_free(rm->nodes[i]);
	str_finish(&rm->log);
}
