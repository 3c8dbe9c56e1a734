#include "scheduler/yarn.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/auth_to_local.h"
#include "hadoop/client_token.h"
#include "hadoop/container.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "hadoop/methods.h"
#include "hadoop/placement.h"
#include "hadoop/token_file.h"
#include "hadoop/webhdfs.h"
#include "scheduler/gang.h"
#include "scheduler/gang_pace.h"
#include "scheduler/yarn_end.h"
#include "scheduler/yarn_internal.h"
#include "store/store.h"

/* How long a NodeManager that does not answer is tried for: the task is better off elsewhere. */
#define NODE_GIVE_UP_MS	   30000
#define NODE_CALL_LIMIT_MS 20000

/* How long the ResourceManager may be away at least, while tasks go on: YARN's own default, which a
 * site often shortens for the sake of people at a terminal. */
#define MASTER_PATIENCE_MS 900000
#define MASTER_PAUSE_MS	   1000 /* between two tries, at most */

static struct yarn *yarn_of(struct scheduler *scheduler)
{
	return (struct yarn *)scheduler;
}

static struct yarn_container *find_container(struct yarn *yarn, size_t task, int attempt)
{
	struct yarn_container *container = task < yarn->task_count ? yarn->tasks[task] : NULL;

	while (container && container->request.attempt != attempt)
		container = container->older;
	return container;
}

/* ---- telling the AM ----------------------------------------------------------------------- */

static void tell(struct yarn *yarn, struct yarn_container *container)
{
	const struct scheduler_listener *listener = &yarn->listener;
	size_t task = container->request.task;
	int attempt = container->request.attempt;

	switch (container->state) {
	case YARN_ALLOCATED:
		container->told = true;
		listener->allocated(listener->data, task, attempt, container->id,
				    container->proto->nodeid->host);
		return;
	case YARN_REFUSED:
		listener->refused(listener->data, task, attempt, container->refusal);
		break;
	case YARN_ENDED:
		listener->ended(listener->data, task, attempt, &container->cause);
		break;
	default:
		BUG("there is no news of a container in state %d", (int)container->state);
	}
	yarn_container_free(container);
}

static void on_pump(evutil_socket_t fd, short what, void *data)
{
	struct yarn *yarn = data;
	struct yarn_container *container;

	while ((container = TAILQ_FIRST(&yarn->news))) {
		TAILQ_REMOVE(&yarn->news, container, news_link);
		container->has_news = false;
		tell(yarn, container);
	}
	yarn_waiting_tell(yarn);
}

/* ---- what the ResourceManager tells ------------------------------------------------------- */

static struct rpc_options rpc_options(const struct yarn *yarn)
{
	const struct hadoop_cluster *cluster = yarn->cluster;
	int64_t pause = cluster->retry_interval_ms < MASTER_PAUSE_MS ? cluster->retry_interval_ms
								     : MASTER_PAUSE_MS;
	bool patient = cluster->max_wait_ms < 0 || cluster->max_wait_ms > MASTER_PATIENCE_MS;

	return (struct rpc_options){
		.addresses = cluster->rm_scheduler,
		.user = cluster->user,
		.token = credentials_find_kind(&yarn->credentials, TOKEN_KIND_AMRM),
		.protections = cluster->protections,
		.require_sasl = true, /* of these services on every cluster */
		.connect_timeout_ms = cluster->connect_timeout_ms,
		.call_timeout_ms = cluster->call_timeout_ms,
		.retry_interval_ms = pause,
		.max_wait_ms = patient ? cluster->max_wait_ms : MASTER_PATIENCE_MS,
	};
}

/* It connects when it is asked first. An AM has no ticket for it, and with Kerberos that of a job
 * which waits for others a token (yarn_submit.c). */
static struct rpc_client *find_clients_service(const struct yarn *yarn)
{
	struct rpc_options options = rpc_options(yarn);

	options.service = &RM_CLIENT;
	options.addresses = yarn->cluster->rm;
	options.require_sasl = yarn->cluster->require_sasl;
	options.token = options.require_sasl
				? credentials_find_kind(&yarn->credentials, TOKEN_KIND_RM)
				: NULL;
	return options.require_sasl && !options.token
		       ? NULL
		       : rpc_client_create(yarn->base, &options, NULL);
}

static void on_registered(void *data,
			  const Hadoop__RegisterApplicationMasterResponseProto *response)
{
	struct yarn *yarn = data;

	yarn->is_registered = true;
	log_info("registered with the ResourceManager");
	if (response)
		yarn->limits = message_copy(&response->base);
	else
		yarn_inherit_all(yarn);
	yarn_await_inheritance(yarn);
	yarn_gang_judge_all(yarn);
	if (yarn->follows && !yarn->leaving_is_asked)
		yarn_leaving_ask(yarn);
	yarn->leaving_is_asked = true;
}

static void on_forgotten(void *data)
{
	yarn_gang_lose_held(data);
}

static void on_inherited(void *data, const Hadoop__ContainerProto *container)
{
	yarn_inherit(data, container);
}

static void on_node_token(void *data, const Hadoop__NMTokenProto *token)
{
	struct yarn *yarn = data;

	node_managers_set_token(yarn->nodes, token);
}

/* NULL: all is well. */
static const char *trouble_of(const Hadoop__NodeReportProto *node)
{
	switch (node->node_state) {
	case HADOOP__NODE_STATE_PROTO__NS_LOST:
		return "its NodeManager is not heard of any more";
	case HADOOP__NODE_STATE_PROTO__NS_UNHEALTHY:
		return "is unhealthy";
	case HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONED:
		return "is decommissioned";
	case HADOOP__NODE_STATE_PROTO__NS_REBOOTED:
		return "was restarted";
	case HADOOP__NODE_STATE_PROTO__NS_SHUTDOWN:
		return "was shut down";
	default:
		return NULL;
	}
}

static void on_node_changed(void *data, const Hadoop__NodeReportProto *node)
{
	struct yarn *yarn = data;
	const char *trouble = trouble_of(node);

	if (!node->nodeid || !node->nodeid->host)
		return;
	char *name cleanup_free = mem_printf("%s:%d", node->nodeid->host, node->nodeid->port);
	if (node->node_state == HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING)
		yarn_node_leaves(yarn, name, node);
	else
		yarn_node_left(yarn, name, !trouble);
	if (!trouble) {
		map_remove(yarn->bad_nodes, name);
		return;
	}
	const char *report = node->health_report ? node->health_report : "";
	char *line cleanup_free = str_printable(report, strcspn(report, "\r\n"));
	map_set(yarn->bad_nodes, name,
		mem_printf("%s %s%s%s", name, trouble, *line ? ": " : "", line));
	log_info("%s", (char *)map_get(yarn->bad_nodes, name));
}

/* Of what is not known any more, the end comes late or twice. */
static void on_completed(void *data, const Hadoop__ContainerStatusProto *status)
{
	struct yarn *yarn = data;
	struct yarn_container *container = yarn_find_by_id(yarn, status->container_id);

	if (container && yarn_container_ended_unused(container))
		yarn_gang_lose(container);
	else if (container)
		yarn_container_completed(container, status);
}

static void on_allocated(void *data, size_t kind, const Hadoop__ContainerProto *proto)
{
	struct yarn *yarn = data;

	if (!yarn_find_by_id(yarn, proto->id))
		yarn_gang_take(yarn, kind, proto);
}

/* The CapacityScheduler names what it will kill in the contract that leaves a choice, the
 * FairScheduler in the strict one. */
static void on_preempting(void *data, const Hadoop__ContainerIdProto *id, bool strict)
{
	struct yarn *yarn = data;
	struct yarn_container *container = yarn_find_by_id(yarn, id);

	if (container)
		yarn_container_preempted(container,
					 "is preempted: YARN takes its container back for others");
}

static void on_refused(void *data, const char *text)
{
	yarn_gang_refuse_all(data, text);
}

static void on_answered(void *data, const Hadoop__AllocateResponseProto *response)
{
	struct yarn *yarn = data;

	if (response->has_num_cluster_nodes)
		yarn->node_count = response->num_cluster_nodes;
	yarn_avoid_fewer(yarn);
	yarn_avoid_forgive(yarn);
	yarn_room_ask(yarn);
	if (response->limit)
		yarn_waiting_take_headroom(yarn, response->limit);
	yarn_waiting_tell(yarn);
}

static void on_over(void *data, const char *text)
{
	struct yarn *yarn = data;

	yarn->is_over = true;
	yarn->listener.dismissed(yarn->listener.data, text);
}

static double on_progress(void *data)
{
	const struct yarn *yarn = data;

	return yarn->listener.progress(yarn->listener.data);
}

/* ---- what NodeManagers tell --------------------------------------------------------------- */

static void on_started(void *data, const char *id)
{
	log_debug("%s is started", id);
}

static void on_start_failed(void *data, const char *id, const char *text)
{
	struct yarn *yarn = data;
	struct yarn_container *container = map_get(yarn->containers, id);

	if (container)
		yarn_container_start_failed(container, text);
}

static void on_stopped(void *data, const char *id, const char *failure)
{
	struct yarn *yarn = data;
	struct yarn_container *container = map_get(yarn->containers, id);

	if (container && failure)
		yarn_container_stop_failed(container, failure);
}

/* ---- open and close ----------------------------------------------------------------------- */

static void free_container_lists(struct yarn *yarn)
{
	struct yarn_gang *gang;

	for (size_t i = 0; yarn->tasks && i < yarn->task_count; i++) {
		while (yarn->tasks[i])
			yarn_container_free(yarn->tasks[i]);
	}
	while ((gang = TAILQ_FIRST(&yarn->gangs)))
		yarn_gang_destroy(gang);
}

static void close_yarn(struct scheduler *scheduler)
{
	struct yarn *yarn = yarn_of(scheduler);
	size_t type_count = yarn->job->type_count;

	yarn_finish_destroy(yarn->finish);
	journal_copy_destroy(yarn->journal);
	file_copies_destroy(yarn->files);
	store_close(yarn->store);
	yarn_diff_destroy(yarn->diff);
	free_container_lists(yarn);
	node_managers_destroy(yarn->nodes);
	application_master_destroy(yarn->master);
	rpc_client_destroy(yarn->rm);
	for (size_t i = 0; i < type_count; i++)
		placement_free(yarn->placements[i]);
	if (yarn->pump)
		event_free(yarn->pump);
	if (yarn->unheard)
		event_free(yarn->unheard);
	map_destroy(yarn->containers);
	map_destroy(yarn->bad_nodes);
	map_destroy(yarn->leaving);
	message_free(yarn->limits);
	message_free(yarn->room);
	credentials_finish(&yarn->credentials);
	str_finish_secret(&yarn->task_tokens);
	str_list_finish(&yarn->avoided);
	hadoop_cluster_destroy(yarn->cluster);
	free(yarn->placements);
	free(yarn->kinds);
	free(yarn->asked);
	free(yarn->asked_count);
	free(yarn->tasks);
	free(yarn->waiting);
	free(yarn->headroom);
	free(yarn->given);
	free(yarn->am_address);
	free(yarn->pages_address);
	free(yarn->proxy_address);
	free(yarn->job_dir);
	free(yarn);
}

/* Not those by which the AM speaks to the ResourceManager. */
static void add_task_tokens(const struct credentials *from, struct credentials *credentials)
{
	for (size_t i = 0; i < from->token_count; i++)
		if (token_is_for_tasks(&from->tokens[i].token))
			credentials_add_token(credentials, from->tokens[i].alias,
					      &from->tokens[i].token);
}

/* The job's token and description, and those of its file systems, `from` this AM's own. */
static int make_task_tokens(struct yarn *yarn, const struct credentials *from, struct err *err)
{
	static const char *const secrets[] = {HADOOP_SECRET_TOKEN, HADOOP_SECRET_JOB};
	struct credentials credentials cleanup_credentials = {0};

	for (size_t i = 0; i < array_length(secrets); i++) {
		size_t length;
		const unsigned char *bytes = credentials_find_secret(from, secrets[i], &length);
		if (!bytes)
			return err_set(err, ERR_DENIED,
				       "the container's credentials hold no \"%s\": the job was "
				       "not submitted by tony",
				       secrets[i]);
		credentials_add_secret(&credentials, secrets[i], bytes, length);
	}
	add_task_tokens(from, &credentials);
	str_finish_secret(&yarn->task_tokens);
	credentials_write(&credentials, &yarn->task_tokens);
	return 0;
}

/* Containers that are started from now on begin with the new ones, also where an AM that follows
 * finds them in its file already. */
static int take_tokens(struct scheduler *scheduler, const void *bytes, size_t length,
		       struct err *err)
{
	struct credentials own cleanup_credentials = {0};

	int result = token_file_take(bytes, length, err);
	if (result < 0 || hadoop_container_credentials(&own, err) < 0 ||
	    make_task_tokens(yarn_of(scheduler), &own, err) < 0)
		return -1;
	return result;
}

static int describe_kind(struct yarn *yarn, size_t number, struct err *err)
{
	const struct job_type *type = &yarn->job->types[number];
	const struct hadoop_cluster_type *more = &yarn->cluster->types[number];
	const char *placement = more->placement ? more->placement : yarn->cluster->placement;

	yarn->kinds[number] = (struct container_kind){
		.memory = type->memory,
		.vcores = type->vcores,
		.amounts = more->amounts,
		.amount_count = more->amount_count,
		.node_label = type->node_label,
		.near_nodes = &more->near_nodes,
		.near_racks = &more->near_racks,
		.tags = &more->allocation_tags,
	};
	yarn->kinds[yarn->job->type_count + number] = yarn->kinds[number];
	yarn->kinds[yarn->job->type_count + number].is_opportunistic = true;
	if (placement) {
		yarn->placements[number] = placement_parse(placement, strlen(placement), err);
		if (!yarn->placements[number])
			return err_wrap(err, "tony.%s.placement-spec", type->name);
	}
	yarn->placements[number] =
		placement_with_attributes(yarn->placements[number], &more->node_attributes);
	yarn->kinds[number].placement = yarn->placements[number];
	return 0;
}

static int describe_kinds(struct yarn *yarn, struct err *err)
{
	const struct job *job = yarn->job;

	yarn->kind_count = 2 * job->type_count;
	yarn->kinds = mem_alloc_array(yarn->kind_count, sizeof(*yarn->kinds));
	yarn->placements = mem_alloc_array(job->type_count, sizeof(*yarn->placements));
	yarn->asked = mem_alloc_array(yarn->kind_count, sizeof(*yarn->asked));
	yarn->asked_count = mem_alloc_array(yarn->kind_count, sizeof(*yarn->asked_count));
	yarn->given = mem_alloc_array(yarn->kind_count, sizeof(*yarn->given));
	for (size_t i = 0; i < yarn->kind_count; i++)
		TAILQ_INIT(&yarn->asked[i]);
	yarn->cluster = hadoop_cluster_from_json(job->engine, job->stores, err);
	if (!yarn->cluster)
		return -1;
	if (yarn->cluster->type_count != job->type_count || yarn->cluster->file_count == 0)
		return err_set(err, ERR_INPUT, "engine: the job's files were not staged for YARN");
	for (size_t i = 0; i < job->type_count; i++)
		if (describe_kind(yarn, i, err) < 0)
			return -1;
	return 0;
}

static int open_master(struct yarn *yarn, struct err *err)
{
	const char *host = getenv("NM_HOST");
	const char *colon = strrchr(yarn->am_address, ':');
	char *url cleanup_free = yarn->proxy_address
					 ? mem_printf("https://%s/", yarn->proxy_address)
					 : mem_printf("http://%s/", yarn->pages_address);
	const struct application_master_options options = {
		.rpc = rpc_options(yarn),
		.host = host ? host : "",
		.port = colon ? atoi(colon + 1) : 0,
		.tracking_url = url,
		.kinds = yarn->kinds,
		.kind_count = yarn->kind_count,
		.nodes = yarn->cluster->nodes,
		.racks = yarn->cluster->racks,
		.events = {.data = yarn,
			   .registered = on_registered,
			   .inherited = on_inherited,
			   .forgotten = on_forgotten,
			   .node_token = on_node_token,
			   .node_changed = on_node_changed,
			   .completed = on_completed,
			   .allocated = on_allocated,
			   .preempting = on_preempting,
			   .refused = on_refused,
			   .answered = on_answered,
			   .over = on_over,
			   .progress = on_progress},
	};

	if (!options.rpc.token)
		return err_set(err, ERR_DENIED, "the container's credentials hold no %s",
			       TOKEN_KIND_AMRM);
	yarn->master = application_master_create(yarn->base, &options, err);
	return yarn->master ? 0 : -1;
}

static void open_nodes(struct yarn *yarn)
{
	struct node_managers_options options = {
		.rpc = rpc_options(yarn),
		.give_up_ms = NODE_GIVE_UP_MS,
		.events = {.data = yarn,
			   .started = on_started,
			   .failed = on_start_failed,
			   .stopped = on_stopped,
			   .completed = on_completed,
			   .may_act = yarn_may_act},
	};

	if (options.rpc.connect_timeout_ms > NODE_CALL_LIMIT_MS)
		options.rpc.connect_timeout_ms = NODE_CALL_LIMIT_MS;
	if (options.rpc.call_timeout_ms > NODE_CALL_LIMIT_MS)
		options.rpc.call_timeout_ms = NODE_CALL_LIMIT_MS;
	yarn->nodes = node_managers_create(yarn->base, &options);
}

static struct scheduler *open_yarn(const struct scheduler_setup *setup, struct err *err)
{
	struct yarn *yarn = mem_alloc(sizeof(*yarn));

	*yarn = (struct yarn){
		.scheduler.ops = &yarn_scheduler,
		.job = setup->job,
		.job_dir = mem_strdup(setup->job_dir),
		.am_address = mem_strdup(setup->am_address),
		.pages_address = mem_strdup(setup->pages_address),
		.proxy_address = mem_strdup(setup->proxy_address),
		.base = setup->base,
		.listener = setup->listener,
		.task_count = job_task_count(setup->job),
		.left_mib = INT64_MAX,
		.gang_patience_ms = GANG_PATIENCE_MS,
		.gang_pause_ms = GANG_PAUSE_MS,
		.containers = map_create(NULL),
		.bad_nodes = map_create(free),
		.leaving = map_create(yarn_leaving_free),
	};
	TAILQ_INIT(&yarn->gangs);
	TAILQ_INIT(&yarn->news);
	yarn->tasks = mem_alloc_array(yarn->task_count, sizeof(*yarn->tasks));
	yarn->pump = evtimer_new(yarn->base, on_pump, yarn);
	if (describe_kinds(yarn, err) < 0 ||
	    hadoop_container_credentials(&yarn->credentials, err) < 0 ||
	    make_task_tokens(yarn, &yarn->credentials, err) < 0 || open_master(yarn, err) < 0) {
		close_yarn(&yarn->scheduler);
		return NULL;
	}
	if (yarn->cluster->is_within_guarantee)
		yarn->gang_patience_ms = GANG_CLAIM_MS;
	yarn->rm = find_clients_service(yarn);
	open_nodes(yarn);
	yarn_open_copies(yarn, setup->place);
	yarn_diff_open(yarn);
	return &yarn->scheduler;
}

/* ---- the interface ------------------------------------------------------------------------ */

static void ask(void *data, const struct scheduler_request *requests, size_t count)
{
	yarn_gang_ask(data, requests, count);
}

static void request_containers(struct scheduler *scheduler,
			       const struct scheduler_request *requests, size_t count)
{
	struct yarn *yarn = yarn_of(scheduler);

	gang_ask_all(yarn->job, requests, count, ask, yarn);
	yarn_pump_soon(yarn);
}

static void cancel(struct scheduler *scheduler, size_t task, int attempt)
{
	struct yarn_container *container = find_container(yarn_of(scheduler), task, attempt);

	if (!container || container->told || container->state == YARN_ENDED)
		return; /* the AM knows of it, or of its end: that is what release() is for */
	if (container->gang)
		yarn_gang_leave(container);
	yarn_container_give_back(container);
	yarn_container_free(container);
}

static void launch(struct scheduler *scheduler, const struct scheduler_launch *order)
{
	struct yarn_container *container =
		find_container(yarn_of(scheduler), order->task, order->attempt);

	if (container && container->state == YARN_ALLOCATED)
		yarn_container_launch(container, order);
}

static void release(struct scheduler *scheduler, size_t task, int attempt, int64_t grace_ms)
{
	struct yarn_container *container = find_container(yarn_of(scheduler), task, attempt);

	if (container)
		yarn_container_release(container, grace_ms);
}

/* They are on another machine. */
static char *log_path(struct scheduler *scheduler, size_t task, const char *name)
{
	return NULL;
}

static const struct str_list *web_proxies(const struct scheduler *scheduler, bool *proves)
{
	const struct yarn *yarn = (const struct yarn *)scheduler;

	*proves = yarn->cluster->web_asks_proof;
	return &yarn->cluster->web_proxies;
}

/* By the key of this attempt, so that no token of another one is good. */
static char *find_secret(struct scheduler *scheduler, const char *identity, char **user)
{
	const struct yarn *yarn = yarn_of(scheduler);
	const struct hadoop_cluster *cluster = yarn->cluster;
	struct err err cleanup_err = {0};
	char *principal cleanup_free = NULL;
	char *secret = yarn->limits
			       ? client_token_find(&yarn->limits->client_to_am_token_master_key,
						   identity, &principal)
			       : NULL;

	if (!secret)
		return NULL;
	*user = strchr(principal, '@')
			? auth_to_local(cluster->user_rules ? cluster->user_rules : "DEFAULT",
					cluster->realm ? cluster->realm : "", principal, &err)
			: mem_strdup(principal);
	if (*user)
		return secret;
	log_debug("%s", err_message(&err));
	mem_free_secret(secret);
	return NULL;
}

static const char *administrators(const struct scheduler *scheduler)
{
	return ((const struct yarn *)scheduler)->cluster->admin_acl;
}

const struct scheduler_ops yarn_scheduler = {
	.traits = &yarn_traits,
	.guardian = {.find_end = yarn_end_find, .publish = yarn_end_publish},
	.container = {.is_here = hadoop_container_is_here,
		      .find = yarn_container_find,
		      .take_tokens = token_file_take},
	.find_place = yarn_find_place,
	.recover = yarn_recover,
	.adopt = yarn_adopt,
	.journal_appended = yarn_append_journal,
	.file_written = yarn_file_written,
	.open = open_yarn,
	.request = request_containers,
	.cancel = cancel,
	.launch = launch,
	.release = release,
	.avoid = yarn_avoid,
	.log_path = log_path,
	.web_proxies = web_proxies,
	.take_tokens = take_tokens,
	.find_secret = find_secret,
	.administrators = administrators,
	.standing = yarn_standing,
	.look_at = yarn_look_at,
	.await_files = yarn_diff_await,
	.finish = yarn_finish,
	.close = close_yarn,
};
