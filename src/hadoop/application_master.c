#include "hadoop/application_master.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/asks.h"
#include "hadoop/methods.h"
#include "hadoop/token.h"

enum {
	FAST_MS = 50,	/* between beats, while something is expected */
	BRISK_MS = 200, /* ... that has been expected for longer than BRISK_AFTER_MS */
	BRISK_AFTER_MS = 10000,
	SLOW_MS = 1000,		/* when nothing is expected */
	SLOW_AFTER_MS = 120000, /* a job in a long queue must not burden the ResourceManager */
	NAMED_MS = 2000,	/* how long what is wanted may come from named nodes alone */
	FINISH_MS = 100,	/* between questions whether the end is written down */
	CURRENT_MS = 3000,	/* less than any ResourceManager waits for a beat */
};

enum stage { STAGE_REGISTERING, STAGE_WORKING, STAGE_FINISHING, STAGE_OVER };

struct application_master {
	struct event_base *base;
	struct rpc_client *rpc;
	struct rpc_call *call; /* the one in progress; NULL: none */
	struct event *beat;
	struct asks *asks;
	struct application_master_events events;
	char *host, *tracking_url;
	int port;
	enum stage stage;
	bool was_registered, hurry;
	int32_t response_id;
	int64_t news_at; /* when something last came or was asked for, ms */
	int64_t asked_at;
	int64_t sent_at;	      /* of `call` */
	int64_t heard_at;	      /* when what was answered last was sent; 0: nothing yet */
	struct str_list nodes, racks; /* borrowed */
	/* The end, once application_master_finish() was called: */
	Hadoop__FinalApplicationStatusProto status;
	char *diagnostics, *last_url;
	void (*finished)(void *data, const char *failure);
	void *finished_data;
};

static void send_register(struct application_master *am);
static void send_finish(struct application_master *am);

/* ---- time --------------------------------------------------------------------------------- */

static void beat_in(struct application_master *am, int64_t ms)
{
	if (!am->call)
		timer_start(am->beat, ms);
}

static void beat_soon(struct application_master *am)
{
	am->news_at = clock_monotonic_ms();
	if (am->stage == STAGE_WORKING)
		beat_in(am, 0);
}

static int64_t interval(const struct application_master *am)
{
	int64_t quiet = clock_monotonic_ms() - am->news_at;

	if ((!am->hurry && asks_open(am->asks) == 0) || quiet > SLOW_AFTER_MS)
		return SLOW_MS;
	return quiet > BRISK_AFTER_MS ? BRISK_MS : FAST_MS;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void finished(struct application_master *am, const char *failure)
{
	void (*done)(void *data, const char *failure) = am->finished;

	am->stage = STAGE_OVER;
	evtimer_del(am->beat);
	am->finished = NULL;
	if (done)
		done(am->finished_data, failure);
}

static void be_over(struct application_master *am, const char *text)
{
	if (am->stage == STAGE_OVER)
		return;
	if (am->finished) {
		finished(am, text);
		return;
	}
	am->stage = STAGE_OVER;
	evtimer_del(am->beat);
	am->events.over(am->events.data, text);
}

/* ---- errors ------------------------------------------------------------------------------- */

static bool is(const struct rpc_error *error, const char *class)
{
	return error->kind == RPC_REMOTE && str_equal(error->class, class);
}

/* Without yarn.resourcemanager.placement-constraints.handler it is this, in general. */
static bool takes_no_placements(const struct rpc_error *error)
{
	return is(error, "YarnException") && strstr(error->text, "placement constraints");
}

/* What is asked for is against the cluster's rules: why; NULL: it is not. */
static const char *find_refusal(const struct rpc_error *error)
{
	if (takes_no_placements(error))
		return "the cluster takes no placement constraints, node attributes and "
		       "allocation tags "
		       "(yarn.resourcemanager.placement-constraints.handler); take "
		       "placement-spec, node-attribute and allocation-tags out, or have an "
		       "administrator set the handler to \"scheduler\"";
	return is(error, "InvalidResourceRequestException") ||
			       is(error, "InvalidLabelResourceRequestException") ||
			       /* as Hadoop spells it */
			       is(error, "SchedulerInvalidResoureRequestException")
		       ? error->text
		       : NULL;
}

/* The ResourceManager was started anew, or another one took over. */
static void register_again(struct application_master *am)
{
	log_info("the ResourceManager does not know this application master (any more): "
		 "registering again");
	am->response_id = 0;
	am->stage = STAGE_REGISTERING;
	am->events.forgotten(am->events.data);
	asks_repeat(am->asks);
	send_register(am);
}

static void on_failed_beat(struct application_master *am, const struct rpc_error *error)
{
	const char *refusal = find_refusal(error);

	if (is(error, "ApplicationMasterNotRegisteredException")) {
		register_again(am);
	} else if (refusal) {
		asks_drop(am->asks);
		am->events.refused(am->events.data, refusal);
		beat_in(am, FAST_MS);
	} else if (is(error, "InvalidContainerReleaseException")) {
		log_warning("%s", error->text);
		asks_drop_releases(am->asks);
		beat_in(am, FAST_MS);
	} else {
		be_over(am, error->text);
	}
}

/* ---- answers ------------------------------------------------------------------------------ */

/* Tokens expire; this one is for the connections to come. It is repeated until it is used. */
static void take_token(struct application_master *am, const Hadoop__TokenProto *proto)
{
	struct hadoop_token token cleanup_token = {0};

	token_from_proto(&token, proto);
	rpc_client_set_token(am->rpc, &token);
}

static void take_completed(struct application_master *am,
			   const Hadoop__AllocateResponseProto *response)
{
	for (size_t i = 0; i < response->n_completed_container_statuses; i++) {
		const Hadoop__ContainerStatusProto *status =
			response->completed_container_statuses[i];
		if (!status->container_id)
			continue;
		asks_forget(am->asks, status->container_id);
		am->events.completed(am->events.data, status);
		am->news_at = clock_monotonic_ms();
	}
}

static void take_inherited(struct application_master *am, Hadoop__ContainerProto *const *containers,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (containers[i]->id && containers[i]->nodeid && containers[i]->nodeid->host)
			am->events.inherited(am->events.data, containers[i]);
}

static void take_allocated(struct application_master *am,
			   const Hadoop__AllocateResponseProto *response)
{
	for (size_t i = 0; i < response->n_allocated_containers; i++) {
		const Hadoop__ContainerProto *container = response->allocated_containers[i];
		if (!container->id || !container->nodeid || !container->nodeid->host)
			continue;
		int64_t kind = asks_take(am->asks, container);
		if (kind < 0)
			application_master_release(am, container->id);
		else
			am->events.allocated(am->events.data, (size_t)kind, container);
		am->news_at = clock_monotonic_ms();
	}
}

static void take_preemption(struct application_master *am,
			    const Hadoop__PreemptionMessageProto *message)
{
	const Hadoop__StrictPreemptionContractProto *strict = message->strictcontract;
	const Hadoop__PreemptionContractProto *contract = message->contract;

	for (size_t i = 0; strict && i < strict->n_container; i++) {
		if (strict->container[i]->id)
			am->events.preempting(am->events.data, strict->container[i]->id, true);
	}
	for (size_t i = 0; contract && i < contract->n_container; i++) {
		if (contract->container[i]->id)
			am->events.preempting(am->events.data, contract->container[i]->id, false);
	}
}

static void take_answer(struct application_master *am,
			const Hadoop__AllocateResponseProto *response)
{
	am->heard_at = am->sent_at;
	if (response->has_response_id)
		am->response_id = response->response_id;
	if (response->am_rm_token)
		take_token(am, response->am_rm_token);
	for (size_t i = 0; i < response->n_nm_tokens; i++)
		am->events.node_token(am->events.data, response->nm_tokens[i]);
	for (size_t i = 0; i < response->n_updated_nodes; i++)
		am->events.node_changed(am->events.data, response->updated_nodes[i]);
	for (size_t i = 0; i < response->n_rejected_scheduling_requests; i++)
		asks_rejected(am->asks, response->rejected_scheduling_requests[i]->request);
	take_inherited(am, response->containers_from_previous_attempts,
		       response->n_containers_from_previous_attempts);
	take_completed(am, response);
	take_allocated(am, response);
	if (response->preempt)
		take_preemption(am, response->preempt);
	am->events.answered(am->events.data, response);
}

static void on_beat_answer(void *data, const ProtobufCMessage *message,
			   const struct rpc_error *error)
{
	struct application_master *am = data;
	const Hadoop__AllocateResponseProto *response =
		(const Hadoop__AllocateResponseProto *)message;

	am->call = NULL;
	if (error) {
		on_failed_beat(am, error);
		return;
	}
	if (response->has_a_m_command &&
	    response->a_m_command == HADOOP__AMCOMMAND_PROTO__AM_RESYNC)
		register_again(am);
	else if (response->has_a_m_command)
		be_over(am, "the ResourceManager told this application master to shut down");
	else
		take_answer(am, response);
	if (am->stage == STAGE_WORKING)
		beat_in(am, asks_changed(am->asks) ? 0 : interval(am));
}

static void send_beat(struct application_master *am)
{
	Hadoop__AllocateRequestProto request = HADOOP__ALLOCATE_REQUEST_PROTO__INIT;

	request.has_response_id = request.has_progress = true;
	request.response_id = am->response_id;
	request.progress = (float)am->events.progress(am->events.data);
	if (clock_monotonic_ms() - am->asked_at > NAMED_MS)
		asks_forget_nodes(am->asks);
	asks_fill(am->asks, &request);
	am->sent_at = clock_monotonic_ms();
	am->call = rpc_call_start(am->rpc, &RM_ALLOCATE, &request.base, on_beat_answer, am);
	asks_sent(&request);
}

static void on_beat(evutil_socket_t fd, short what, void *data)
{
	struct application_master *am = data;

	if (am->call)
		return;
	if (am->stage == STAGE_WORKING)
		send_beat(am);
	else if (am->stage == STAGE_FINISHING)
		send_finish(am);
	else if (am->stage == STAGE_OVER)
		finished(am, "the ResourceManager wants nothing of this attempt any more");
}

/* ---- registration ------------------------------------------------------------------------- */

/* Tokens for the nodes of inherited containers are told here, and not again. */
static void take_registration(struct application_master *am,
			      const Hadoop__RegisterApplicationMasterResponseProto *response)
{
	am->events.registered(am->events.data, response);
	for (size_t i = 0; response && i < response->n_nm_tokens_from_previous_attempts; i++)
		am->events.node_token(am->events.data,
				      response->nm_tokens_from_previous_attempts[i]);
	if (response)
		take_inherited(am, response->containers_from_previous_attempts,
			       response->n_containers_from_previous_attempts);
}

static void on_registered(void *data, const ProtobufCMessage *message,
			  const struct rpc_error *error)
{
	struct application_master *am = data;

	am->call = NULL;
	/* "already registered": the answer to the first time was lost. */
	if (error && !is(error, "InvalidApplicationMasterRequestException")) {
		be_over(am, error->text);
		return;
	}
	am->heard_at = am->sent_at;
	if (!am->was_registered)
		take_registration(am,
				  (const Hadoop__RegisterApplicationMasterResponseProto *)message);
	am->was_registered = true;
	if (am->stage != STAGE_REGISTERING)
		return;
	am->stage = am->finished ? STAGE_FINISHING : STAGE_WORKING;
	am->news_at = clock_monotonic_ms();
	beat_in(am, 0);
}

static void send_register(struct application_master *am)
{
	Hadoop__RegisterApplicationMasterRequestProto request =
		HADOOP__REGISTER_APPLICATION_MASTER_REQUEST_PROTO__INIT;

	request.host = am->host;
	request.has_rpc_port = true;
	request.rpc_port = am->port;
	request.tracking_url = am->tracking_url;
	am->sent_at = clock_monotonic_ms();
	am->call = rpc_call_start(am->rpc, &RM_REGISTER, &request.base, on_registered, am);
}

/* ---- leave -------------------------------------------------------------------------------- */

static void on_finish_answer(void *data, const ProtobufCMessage *message,
			     const struct rpc_error *error)
{
	struct application_master *am = data;
	const Hadoop__FinishApplicationMasterResponseProto *response =
		(const Hadoop__FinishApplicationMasterResponseProto *)message;

	am->call = NULL;
	if (error && is(error, "ApplicationMasterNotRegisteredException"))
		register_again(am);
	else if (error)
		finished(am, error->text);
	else if (response->isunregistered)
		finished(am, NULL);
	else
		beat_in(am, FINISH_MS);
}

static void send_finish(struct application_master *am)
{
	Hadoop__FinishApplicationMasterRequestProto request =
		HADOOP__FINISH_APPLICATION_MASTER_REQUEST_PROTO__INIT;

	request.diagnostics = am->diagnostics;
	request.tracking_url = am->last_url;
	request.has_final_application_status = true;
	request.final_application_status = am->status;
	am->call = rpc_call_start(am->rpc, &RM_FINISH, &request.base, on_finish_answer, am);
}

void application_master_finish(struct application_master *am,
			       Hadoop__FinalApplicationStatusProto status, const char *diagnostics,
			       const char *tracking_url,
			       void (*done)(void *data, const char *failure), void *data)
{
	am->finished = done;
	am->finished_data = data;
	am->status = status;
	am->diagnostics = mem_strdup(diagnostics);
	am->last_url = mem_strdup(tracking_url);
	if (am->stage == STAGE_WORKING) {
		am->stage = STAGE_FINISHING;
		/* A beat that is under way would be of no more use. */
		if (am->call)
			rpc_call_cancel(am->call);
		am->call = NULL;
	}
	if (am->stage == STAGE_FINISHING || am->stage == STAGE_OVER)
		beat_in(am, 0);
}

bool application_master_is_current(const struct application_master *am)
{
	return am->heard_at > 0 && clock_monotonic_ms() - am->heard_at < CURRENT_MS;
}

/* ---- what is said ------------------------------------------------------------------------- */

void application_master_want(struct application_master *am, size_t kind, int32_t count)
{
	asks_want(am->asks, kind, count);
	beat_soon(am);
	am->asked_at = am->news_at;
}

int32_t application_master_wanted(const struct application_master *am, size_t kind)
{
	return asks_wanted(am->asks, kind);
}

void application_master_release(struct application_master *am,
				const Hadoop__ContainerIdProto *container)
{
	asks_release(am->asks, container);
	beat_soon(am);
}

void application_master_avoid(struct application_master *am, const char *host, bool avoid)
{
	asks_avoid(am->asks, host, avoid);
	beat_soon(am);
}

void application_master_hurry(struct application_master *am, bool hurry)
{
	if (hurry && !am->hurry)
		beat_soon(am);
	am->hurry = hurry;
}

/* ---- life --------------------------------------------------------------------------------- */

struct application_master *
application_master_create(struct event_base *base, const struct application_master_options *options,
			  struct err *err)
{
	struct application_master *am = mem_alloc(sizeof(*am));
	struct rpc_options rpc = options->rpc;

	rpc.service = &RM_SCHEDULER;
	am->base = base;
	am->events = options->events;
	am->host = mem_strdup(options->host);
	am->port = options->port;
	am->tracking_url = mem_strdup(options->tracking_url);
	am->nodes = options->nodes;
	am->racks = options->racks;
	am->asks = asks_create(options->kinds, options->kind_count, &am->nodes, &am->racks);
	am->beat = evtimer_new(base, on_beat, am);
	am->rpc = rpc_client_create(base, &rpc, err);
	if (!am->rpc) {
		application_master_destroy(am);
		return NULL;
	}
	send_register(am);
	return am;
}

void application_master_destroy(struct application_master *am)
{
	if (!am)
		return;
	rpc_client_destroy(am->rpc);
	event_free(am->beat);
	asks_destroy(am->asks);
	free(am->host);
	free(am->tracking_url);
	free(am->diagnostics);
	free(am->last_url);
	free(am);
}
