/*
 * Nodes that are being decommissioned. The ResourceManager says so, and since Hadoop 3 when it will
 * take the node at the latest; until then the node waits for its containers. So a task is left
 * alone as long as that is safe: a program that ends before need not be disturbed. It is moved as
 * one that is preempted so long before the deadline that its program has all of its grace, and what
 * it saved then can be stored. Without a deadline the node waits for as long as the task runs.
 *
 * The ResourceManager tells an AM once. An AM that follows asks which nodes are leaving, and is not
 * told since when: what is there moves at once, unless there is no deadline.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_internal.h"

enum {
	/* For the program's last checkpoint to be stored (executor/supervisor.c gives 30 s), and
	 * for orders and reports to get through. */
	MARGIN_MS = 40000,
};

struct leaving {
	struct yarn *yarn;
	char *name; /* "host:port" */
	char *host;
	int64_t timeout_ms;  /* as told; -1: there is none */
	int64_t deadline;    /* by clock_monotonic_ms(); INT64_MAX: none */
	struct event *timer; /* moves what is there */
	bool is_noted;	     /* the job's owner was told */
	bool is_old;	     /* since when is not known, and so not how long is left */
};

void yarn_leaving_free(void *value)
{
	struct leaving *leaving = value;

	event_free(leaving->timer);
	free(leaving->name);
	free(leaving->host);
	free(leaving);
}

/* ---- what is there ------------------------------------------------------------------------ */

static bool is_there(const struct leaving *leaving, const struct yarn_container *container)
{
	if (!container->told || container->released || container->state == YARN_ENDED)
		return false;
	const Hadoop__NodeIdProto *node = container->proto->nodeid;
	char *name cleanup_free = mem_printf("%s:%d", node->host, node->port);
	return str_equal(name, leaving->name);
}

/* Of a task only the newest container can run. */
static void for_each_there(const struct leaving *leaving,
			   void (*act)(struct yarn_container *container, void *data), void *data)
{
	const struct yarn *yarn = leaving->yarn;

	for (size_t i = 0; i < yarn->task_count; i++)
		if (yarn->tasks[i] && is_there(leaving, yarn->tasks[i]))
			act(yarn->tasks[i], data);
}

static void take_name(struct yarn_container *container, void *data)
{
	str_list_add_format(data, "%s:%d", yarn_type_of(container)->name, container->request.index);
}

static void take_grace(struct yarn_container *container, void *data)
{
	int64_t grace = yarn_type_of(container)->stop_grace_ms, *longest = data;

	*longest = grace > *longest ? grace : *longest;
}

static void move(struct yarn_container *container, void *data)
{
	yarn_container_preempted(container, data);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	const struct leaving *leaving = data;
	int64_t left = leaving->deadline - clock_monotonic_ms();
	char *in cleanup_free = str_format_duration(left > 0 ? left : 0);
	char *text cleanup_free =
		mem_printf("is moved: its machine, %s, is decommissioned%s%s", leaving->host,
			   leaving->is_old ? "" : " in ", leaving->is_old ? "" : in);

	for_each_there(leaving, move, text);
}

/* ---- what is told ------------------------------------------------------------------------- */

static void note(struct leaving *leaving, char *text)
{
	const struct scheduler_listener *listener = &leaving->yarn->listener;

	leaving->is_noted = true;
	listener->noted(listener->data, text);
	free(text);
}

/* Is it the AM's own? */
static bool is_here(const struct leaving *leaving)
{
	const char *host = getenv("NM_HOST"), *port = getenv("NM_PORT");
	char *name cleanup_free = mem_printf("%s:%s", host ? host : "", port ? port : "");

	return str_equal(name, leaving->name);
}

static void note_am(struct leaving *leaving, const char *in)
{
	if (leaving->timeout_ms < 0)
		note(leaving, mem_printf("%s is decommissioned once its containers have ended: the "
					 "application master goes on there",
					 leaving->host));
	else
		note(leaving, mem_printf("%s is decommissioned%s%s, and the application master is "
					 "there: another one follows it",
					 leaving->host, leaving->is_old ? "" : " in ",
					 leaving->is_old ? "" : in));
}

static void note_leaving(struct leaving *leaving, int64_t ahead_ms)
{
	struct str_list names cleanup_str_list = {0};

	for_each_there(leaving, take_name, &names);
	char *tasks cleanup_free = str_list_join(&names, ", ");
	char *in cleanup_free = str_format_duration(leaving->timeout_ms);
	char *ahead cleanup_free = str_format_duration(ahead_ms);
	bool one = names.count == 1;

	if (is_here(leaving))
		note_am(leaving, in);
	if (names.count == 0)
		log_info("%s is being decommissioned", leaving->name);
	else if (leaving->timeout_ms < 0)
		note(leaving, mem_printf("%s is decommissioned once its containers have ended: %s "
					 "go%s on there",
					 leaving->host, tasks, one ? "es" : ""));
	else if (leaving->is_old)
		note(leaving, mem_printf("%s is decommissioned, for how long already is not known: "
					 "%s move%s now",
					 leaving->host, tasks, one ? "s" : ""));
	else if (leaving->timeout_ms <= ahead_ms)
		note(leaving, mem_printf("%s is decommissioned in %s: %s move%s now", leaving->host,
					 in, tasks, one ? "s" : ""));
	else
		note(leaving, mem_printf("%s is decommissioned in %s: %s move%s %s before, unless "
					 "%s sooner",
					 leaving->host, in, tasks, one ? "s" : "", ahead,
					 one ? "it ends" : "they end"));
}

/* ---- what the ResourceManager tells -------------------------------------------------------- */

static struct leaving *create(struct yarn *yarn, const char *name, const char *host)
{
	struct leaving *leaving = mem_alloc(sizeof(*leaving));

	leaving->yarn = yarn;
	leaving->name = mem_strdup(name);
	leaving->host = mem_strdup(host);
	leaving->timer = evtimer_new(yarn->base, on_timer, leaving);
	map_set(yarn->leaving, name, leaving);
	application_master_avoid(yarn->master, host, true);
	return leaving;
}

/* Seconds, and -1 as a number without a sign. */
static int64_t timeout_of(const Hadoop__NodeReportProto *node)
{
	bool is_set = node->has_decommissioning_timeout &&
		      node->decommissioning_timeout <= (uint32_t)INT32_MAX;

	return is_set ? INT64_C(1000) * node->decommissioning_timeout : -1;
}

static void plan(struct leaving *leaving)
{
	int64_t grace = 0;

	evtimer_del(leaving->timer);
	leaving->deadline = INT64_MAX;
	for_each_there(leaving, take_grace, &grace);
	note_leaving(leaving, grace + MARGIN_MS);
	if (leaving->timeout_ms < 0)
		return;
	int64_t wait = leaving->is_old ? 0 : leaving->timeout_ms - grace - MARGIN_MS;
	leaving->deadline = clock_monotonic_ms() + leaving->timeout_ms;
	timer_start(leaving->timer, wait > 0 ? wait : 0);
}

static void take(struct yarn *yarn, const char *name, const Hadoop__NodeReportProto *node,
		 bool is_old)
{
	struct leaving *leaving = map_get(yarn->leaving, name);
	int64_t timeout_ms = timeout_of(node);

	if (leaving && leaving->timeout_ms == timeout_ms)
		return;
	if (!leaving)
		leaving = create(yarn, name, node->nodeid->host);
	leaving->timeout_ms = timeout_ms;
	leaving->is_old = is_old;
	plan(leaving);
}

void yarn_node_leaves(struct yarn *yarn, const char *name, const Hadoop__NodeReportProto *node)
{
	take(yarn, name, node, false);
}

void yarn_node_left(struct yarn *yarn, const char *name, bool stays)
{
	struct leaving *leaving = map_get(yarn->leaving, name);

	if (!leaving)
		return;
	if (stays && leaving->is_noted)
		note(leaving, mem_printf("%s is not decommissioned after all", leaving->host));
	if (!str_list_has(&yarn->avoided, leaving->host))
		application_master_avoid(yarn->master, leaving->host, false);
	map_remove(yarn->leaving, name);
}

/* ---- what an AM before was told ------------------------------------------------------------ */

static void on_nodes(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	const Hadoop__GetClusterNodesResponseProto *response =
		(const Hadoop__GetClusterNodesResponseProto *)message;

	if (error)
		log_warning("which nodes are being decommissioned is not known: %s", error->text);
	for (size_t i = 0; response && i < response->n_nodereports; i++) {
		const Hadoop__NodeReportProto *node = response->nodereports[i];
		if (!node->nodeid || !node->nodeid->host ||
		    node->node_state != HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING)
			continue;
		char *name cleanup_free =
			mem_printf("%s:%d", node->nodeid->host, node->nodeid->port);
		take(data, name, node, true);
	}
}

void yarn_leaving_ask(struct yarn *yarn)
{
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;
	Hadoop__NodeStateProto states[] = {HADOOP__NODE_STATE_PROTO__NS_DECOMMISSIONING};

	if (!yarn->rm) {
		log_info("the ResourceManager is not asked which nodes are being decommissioned: "
			 "the cluster uses Kerberos, and an application master has no ticket");
		return;
	}
	request.n_nodestates = array_length(states);
	request.nodestates = states;
	rpc_call_start(yarn->rm, &RM_GET_CLUSTER_NODES, &request.base, on_nodes, yarn);
}
