#include "hadoop/node_manager.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "hadoop/methods.h"
#include "hadoop/token.h"
#include "net/backoff.h"

enum {
	BATCH_CAP = 100, /* containers in one call */
	IDLE_MS = 10000, /* a connection that is not needed for so long is closed */
	FIRST_PAUSE_MS = 250,
	LONGEST_PAUSE_MS = 5000,
	FIRST_LOOK_MS = 20,
	LONGEST_LOOK_MS = 1000,
	MAY_ACT_MS = 100,  /* until it is asked again */
	MESSAGE_CAP = 500, /* bytes of what a NodeManager says of a failure */
};

enum duty { DUTY_START, DUTY_STOP, DUTY_WATCH, DUTY_COUNT };

/* One container to start, stop or watch. */
struct work {
	TAILQ_ENTRY(work) link;
	char *id;
	Hadoop__ContainerIdProto *container;
	Hadoop__StartContainerRequestProto *start; /* NULL: is not to be started */
	int64_t since;				   /* when it was first tried; 0: not yet */
};
TAILQ_HEAD(work_queue, work);

struct node;

/* Each duty has its own turns: a start that hangs holds up no stop. */
struct lane {
	struct node *node;
	enum duty duty;
	struct work_queue waiting, sent;
	struct rpc_call *call;
	struct event *go;
	struct backoff backoff;
	bool put_off; /* of the last call, something is to be tried again */
};

struct node {
	struct node_managers *managers;
	char *address; /* HOST:PORT */
	struct hadoop_token token;
	struct rpc_client *rpc; /* NULL: not connected */
	struct lane lanes[DUTY_COUNT];
	struct event *idle;
};

struct node_managers {
	struct event_base *base;
	struct node_managers_options options;
	struct map *nodes; /* by address */
};

/* ---- work --------------------------------------------------------------------------------- */

static void free_work(struct work *work)
{
	free(work->id);
	message_free(work->container);
	message_free(work->start);
	free(work);
}

static void free_queue(struct work_queue *queue)
{
	struct work *work;

	while ((work = TAILQ_FIRST(queue))) {
		TAILQ_REMOVE(queue, work, link);
		free_work(work);
	}
}

static void go_soon(struct lane *lane, int64_t ms)
{
	if (!lane->call && !TAILQ_EMPTY(&lane->waiting))
		timer_start(lane->go, ms);
}

/* ---- outcomes ----------------------------------------------------------------------------- */

static void tell(struct lane *lane, const struct work *work, const char *failure)
{
	const struct node_managers_events *events = &lane->node->managers->options.events;

	if (lane->duty == DUTY_WATCH)
		return;
	if (lane->duty == DUTY_STOP)
		events->stopped(events->data, work->id, failure);
	else if (failure)
		events->failed(events->data, work->id, failure);
	else
		events->started(events->data, work->id);
}

/* Takes the work out of the lane. */
static void conclude(struct lane *lane, struct work *work, const char *failure)
{
	TAILQ_REMOVE(&lane->sent, work, link);
	tell(lane, work, failure);
	free_work(work);
}

/* Again later, or no more. */
static void put_off(struct lane *lane, struct work *work, const char *text)
{
	int64_t limit = lane->node->managers->options.give_up_ms;

	if (clock_monotonic_ms() - work->since >= limit) {
		conclude(lane, work, text);
		return;
	}
	lane->put_off = true;
	TAILQ_REMOVE(&lane->sent, work, link);
	TAILQ_INSERT_TAIL(&lane->waiting, work, link);
}

static struct work *find_sent(const struct lane *lane, const Hadoop__ContainerIdProto *container)
{
	char *id cleanup_free = container ? hadoop_container_id_text(container) : NULL;
	struct work *work;

	TAILQ_FOREACH(work, &lane->sent, link)
	{
		if (str_equal(work->id, id))
			return work;
	}
	return NULL;
}

static bool says(const Hadoop__SerializedExceptionProto *exception, const char *text)
{
	return exception && ((exception->message && strstr(exception->message, text)) ||
			     (exception->class_name && strstr(exception->class_name, text)));
}

/* A start that had come through the first time; a stop of what is gone. */
static bool is_done_already(const struct lane *lane,
			    const Hadoop__SerializedExceptionProto *exception)
{
	if (lane->duty == DUTY_START)
		return says(exception, "Attempt to relaunch the same container");
	return says(exception, "is not handled by this NodeManager");
}

/* The first lines say next to nothing ("Unauthorized request to start container."). */
static char *one_line(const char *message)
{
	struct str_list lines cleanup_str_list = {0};
	char *text cleanup_free = str_printable(message, strnlen(message, MESSAGE_CAP));

	str_split(&lines, text, '\n');
	return str_list_join(&lines, " ");
}

static void take_failure(struct lane *lane, const Hadoop__ContainerExceptionMapProto *failed)
{
	struct work *work = find_sent(lane, failed->container_id);
	const Hadoop__SerializedExceptionProto *exception = failed->exception;

	if (!work)
		return;
	if (is_done_already(lane, exception)) {
		conclude(lane, work, NULL);
		return;
	}
	const char *message = exception && exception->message ? exception->message : "no reason";
	char *line cleanup_free = one_line(message);
	const char *word = lane->duty == DUTY_START ? "start" : "stop";
	char *text cleanup_free =
		mem_printf("NodeManager %s did not %s it: %s", lane->node->address, word, line);
	if (says(exception, "NMNotYetReadyException"))
		put_off(lane, work, text);
	else
		conclude(lane, work, text);
}

static void take_success(struct lane *lane, const Hadoop__ContainerIdProto *container)
{
	struct work *work = find_sent(lane, container);

	if (work)
		conclude(lane, work, NULL);
}

static void take_response(struct lane *lane, const ProtobufCMessage *message)
{
	const Hadoop__StartContainersResponseProto *start = (const void *)message;
	const Hadoop__StopContainersResponseProto *stop = (const void *)message;
	bool is_start = lane->duty == DUTY_START;
	size_t succeeded = is_start ? start->n_succeeded_requests : stop->n_succeeded_requests;
	size_t failed = is_start ? start->n_failed_requests : stop->n_failed_requests;

	for (size_t i = 0; i < succeeded; i++)
		take_success(lane,
			     is_start ? start->succeeded_requests[i] : stop->succeeded_requests[i]);
	for (size_t i = 0; i < failed; i++)
		take_failure(lane, is_start ? start->failed_requests[i] : stop->failed_requests[i]);
}

/* ---- watching ----------------------------------------------------------------------------- */

static void take_status(struct lane *lane, const Hadoop__ContainerStatusProto *status)
{
	const struct node_managers_events *events = &lane->node->managers->options.events;
	struct work *work = find_sent(lane, status->container_id);

	if (!work)
		return;
	TAILQ_REMOVE(&lane->sent, work, link);
	if (status->state == HADOOP__CONTAINER_STATE_PROTO__C_COMPLETE) {
		events->completed(events->data, status);
		free_work(work);
	} else {
		TAILQ_INSERT_TAIL(&lane->waiting, work, link);
	}
}

/* What was watched last decides how soon it is looked again. */
static int64_t look_again_in(const struct lane *lane)
{
	const struct work *work;
	int64_t newest = 0;

	TAILQ_FOREACH(work, &lane->waiting, link)
	{
		if (work->since == 0)
			return 0;
		newest = work->since > newest ? work->since : newest;
	}
	int64_t pause = (clock_monotonic_ms() - newest) / 4;
	if (pause < FIRST_LOOK_MS)
		return FIRST_LOOK_MS;
	return pause < LONGEST_LOOK_MS ? pause : LONGEST_LOOK_MS;
}

static void on_statuses(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	struct lane *lane = data;
	const Hadoop__GetContainerStatusesResponseProto *response = (const void *)message;

	lane->call = NULL;
	for (size_t i = 0; !error && i < response->n_status; i++)
		take_status(lane, response->status[i]);
	free_queue(&lane->sent);
	go_soon(lane, look_again_in(lane));
	timer_start(lane->node->idle, IDLE_MS);
}

/* ---- answers ------------------------------------------------------------------------------ */

/* All that was sent and has no outcome yet. */
static void take_rest(struct lane *lane, bool again, const char *text)
{
	struct work *work, *next;

	for (work = TAILQ_FIRST(&lane->sent); work; work = next) {
		next = TAILQ_NEXT(work, link);
		if (again)
			put_off(lane, work, text);
		else
			conclude(lane, work, text);
	}
}

static bool may_pass(const struct rpc_error *error)
{
	return error->kind == RPC_UNREACHABLE || str_equal(error->class, "NMNotYetReadyException");
}

static void on_answer(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	struct lane *lane = data;
	struct node *node = lane->node;

	lane->call = NULL;
	lane->put_off = false;
	if (error) {
		take_rest(lane, may_pass(error), error->text);
	} else {
		char *text cleanup_free = mem_printf(
			"NodeManager %s said nothing of it in its answer", node->address);
		take_response(lane, message);
		take_rest(lane, false, text);
	}
	if (!lane->put_off)
		backoff_reset(&lane->backoff);
	go_soon(lane, lane->put_off ? backoff_next(&lane->backoff, random_u64()) : 0);
	timer_start(node->idle, IDLE_MS);
}

/* ---- calls -------------------------------------------------------------------------------- */

static void send_start(struct lane *lane, size_t count)
{
	Hadoop__StartContainersRequestProto request = HADOOP__START_CONTAINERS_REQUEST_PROTO__INIT;
	Hadoop__StartContainerRequestProto **items cleanup_free =
		mem_alloc_array(count, sizeof(*items));
	struct work *work;

	TAILQ_FOREACH(work, &lane->sent, link)
	items[request.n_start_container_request++] = work->start;
	request.start_container_request = items;
	lane->call = rpc_call_start(lane->node->rpc, &NM_START_CONTAINERS, &request.base, on_answer,
				    lane);
}

static void send_stop(struct lane *lane, size_t count)
{
	Hadoop__StopContainersRequestProto request = HADOOP__STOP_CONTAINERS_REQUEST_PROTO__INIT;
	Hadoop__ContainerIdProto **items cleanup_free = mem_alloc_array(count, sizeof(*items));
	struct work *work;

	TAILQ_FOREACH(work, &lane->sent, link)
	items[request.n_container_id++] = work->container;
	request.container_id = items;
	lane->call = rpc_call_start(lane->node->rpc, &NM_STOP_CONTAINERS, &request.base, on_answer,
				    lane);
}

static void send_watch(struct lane *lane, size_t count)
{
	Hadoop__GetContainerStatusesRequestProto request =
		HADOOP__GET_CONTAINER_STATUSES_REQUEST_PROTO__INIT;
	Hadoop__ContainerIdProto **items cleanup_free = mem_alloc_array(count, sizeof(*items));
	struct work *work;

	TAILQ_FOREACH(work, &lane->sent, link)
	items[request.n_container_id++] = work->container;
	request.container_id = items;
	lane->call = rpc_call_start(lane->node->rpc, &NM_GET_CONTAINER_STATUSES, &request.base,
				    on_statuses, lane);
}

static int connect_to(struct node *node, struct err *err)
{
	struct rpc_options options = node->managers->options.rpc;

	if (node->rpc)
		return 0;
	if (!node->token.kind)
		return err_set(err, ERR_DENIED,
			       "NodeManager %s: the ResourceManager sent no token for it",
			       node->address);
	options.service = &NODE_MANAGER;
	options.addresses = (struct str_list){0};
	options.token = &node->token;
	options.max_wait_ms = 0; /* what is tried again, and when, is decided here */
	str_list_add(&options.addresses, node->address);
	node->rpc = rpc_client_create(node->managers->base, &options, err);
	str_list_finish(&options.addresses);
	return node->rpc ? 0 : -1;
}

static bool may_act(const struct lane *lane)
{
	const struct node_managers_events *events = &lane->node->managers->options.events;

	return lane->duty == DUTY_WATCH || !events->may_act || events->may_act(events->data);
}

static void on_go(evutil_socket_t fd, short what, void *data)
{
	struct lane *lane = data;
	struct err err cleanup_err = {0};
	struct work *work;
	size_t count = 0;

	if (lane->call)
		return;
	if (!may_act(lane)) {
		go_soon(lane, MAY_ACT_MS);
		return;
	}
	while (count < BATCH_CAP && (work = TAILQ_FIRST(&lane->waiting))) {
		TAILQ_REMOVE(&lane->waiting, work, link);
		TAILQ_INSERT_TAIL(&lane->sent, work, link);
		if (work->since == 0)
			work->since = clock_monotonic_ms();
		count++;
	}
	if (count == 0)
		return;
	evtimer_del(lane->node->idle);
	if (connect_to(lane->node, &err) < 0)
		take_rest(lane, false, err_message(&err));
	else if (lane->duty == DUTY_START)
		send_start(lane, count);
	else if (lane->duty == DUTY_STOP)
		send_stop(lane, count);
	else
		send_watch(lane, count);
}

static void on_idle(evutil_socket_t fd, short what, void *data)
{
	struct node *node = data;

	for (size_t i = 0; i < DUTY_COUNT; i++)
		if (node->lanes[i].call)
			return;
	rpc_client_destroy(node->rpc);
	node->rpc = NULL;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static void free_node(void *value)
{
	struct node *node = value;

	rpc_client_destroy(node->rpc);
	for (size_t i = 0; i < DUTY_COUNT; i++) {
		event_free(node->lanes[i].go);
		free_queue(&node->lanes[i].waiting);
		free_queue(&node->lanes[i].sent);
	}
	event_free(node->idle);
	token_finish(&node->token);
	free(node->address);
	free(node);
}

static void open_lane(struct node *node, enum duty duty)
{
	struct lane *lane = &node->lanes[duty];

	lane->node = node;
	lane->duty = duty;
	lane->backoff = (struct backoff){.first_ms = FIRST_PAUSE_MS, .cap_ms = LONGEST_PAUSE_MS};
	TAILQ_INIT(&lane->waiting);
	TAILQ_INIT(&lane->sent);
	lane->go = evtimer_new(node->managers->base, on_go, lane);
}

static struct node *node_of(struct node_managers *managers, const Hadoop__NodeIdProto *id)
{
	const char *host = id->host ? id->host : "";
	char *address cleanup_free =
		mem_printf(strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, id->port);
	struct node *node = map_get(managers->nodes, address);

	if (node)
		return node;
	node = mem_alloc(sizeof(*node));
	node->managers = managers;
	node->address = mem_steal(&address);
	for (size_t i = 0; i < DUTY_COUNT; i++)
		open_lane(node, (enum duty)i);
	node->idle = evtimer_new(managers->base, on_idle, node);
	map_set(managers->nodes, node->address, node);
	return node;
}

static void add_work(struct node *node, enum duty duty, const Hadoop__ContainerIdProto *container,
		     Hadoop__StartContainerRequestProto *start)
{
	struct lane *lane = &node->lanes[duty];
	struct work *work = mem_alloc(sizeof(*work));

	work->id = hadoop_container_id_text(container);
	work->container = message_copy(&container->base);
	work->start = start;
	TAILQ_INSERT_TAIL(&lane->waiting, work, link);
	if (!evtimer_pending(lane->go, NULL))
		go_soon(lane, 0);
}

/* ---- the interface ------------------------------------------------------------------------ */

void node_managers_set_token(struct node_managers *managers, const Hadoop__NMTokenProto *token)
{
	if (!token->nodeid || !token->token)
		return;
	struct node *node = node_of(managers, token->nodeid);
	token_finish(&node->token);
	token_from_proto(&node->token, token->token);
	if (node->rpc)
		rpc_client_set_token(node->rpc, &node->token);
}

void node_managers_start(struct node_managers *managers, const Hadoop__ContainerProto *container,
			 const Hadoop__ContainerLaunchContextProto *context)
{
	Hadoop__StartContainerRequestProto request = HADOOP__START_CONTAINER_REQUEST_PROTO__INIT;

	request.container_launch_context = (Hadoop__ContainerLaunchContextProto *)context;
	request.container_token = container->container_token;
	add_work(node_of(managers, container->nodeid), DUTY_START, container->id,
		 message_copy(&request.base));
}

void node_managers_stop(struct node_managers *managers, const Hadoop__NodeIdProto *node,
			const Hadoop__ContainerIdProto *container)
{
	add_work(node_of(managers, node), DUTY_STOP, container, NULL);
}

void node_managers_watch(struct node_managers *managers, const Hadoop__NodeIdProto *node,
			 const Hadoop__ContainerIdProto *container)
{
	add_work(node_of(managers, node), DUTY_WATCH, container, NULL);
}

struct node_managers *node_managers_create(struct event_base *base,
					   const struct node_managers_options *options)
{
	struct node_managers *managers = mem_alloc(sizeof(*managers));

	managers->base = base;
	managers->options = *options;
	managers->options.rpc.user = mem_strdup(options->rpc.user);
	managers->nodes = map_create(free_node);
	return managers;
}

void node_managers_destroy(struct node_managers *managers)
{
	if (!managers)
		return;
	map_destroy(managers->nodes);
	free((char *)managers->options.rpc.user);
	free(managers);
}
