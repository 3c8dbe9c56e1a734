#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "scheduler/yarn_internal.h"

/* How long a NodeManager that was told to stop a container may take until the ResourceManager is
 * told to take it back. */
#define STOP_MS 5000

struct yarn_container *yarn_find_by_id(struct yarn *yarn, const Hadoop__ContainerIdProto *id)
{
	char *name cleanup_free = hadoop_container_id_text(id);

	return map_get(yarn->containers, name);
}

const struct job_type *yarn_type_of(const struct yarn_container *container)
{
	return &container->yarn->job->types[container->request.type];
}

void yarn_pump_soon(struct yarn *yarn)
{
	event_active(yarn->pump, EV_TIMEOUT, 0);
}

void yarn_add_news(struct yarn_container *container)
{
	struct yarn *yarn = container->yarn;

	if (!container->has_news)
		TAILQ_INSERT_TAIL(&yarn->news, container, news_link);
	container->has_news = true;
	yarn_pump_soon(yarn);
}

struct yarn_container *yarn_container_create(struct yarn *yarn,
					     const struct scheduler_request *request)
{
	struct yarn_container *container = mem_alloc(sizeof(*container));

	*container = (struct yarn_container){.yarn = yarn, .request = *request};
	container->older = yarn->tasks[request->task];
	yarn->tasks[request->task] = container;
	return container;
}

static void set_releasing(struct yarn_container *container, bool releasing)
{
	struct yarn *yarn = container->yarn;

	if (container->released == releasing)
		return;
	container->released = releasing;
	yarn->releasing = releasing ? yarn->releasing + 1 : yarn->releasing - 1;
	application_master_hurry(yarn->master, yarn->releasing > 0);
}

void yarn_container_free(struct yarn_container *container)
{
	struct yarn *yarn = container->yarn;
	struct yarn_container **slot = &yarn->tasks[container->request.task];

	while (*slot != container)
		slot = &(*slot)->older;
	*slot = container->older;
	if (container->has_news)
		TAILQ_REMOVE(&yarn->news, container, news_link);
	set_releasing(container, false);
	if (container->id)
		map_remove(yarn->containers, container->id);
	if (container->timer)
		event_free(container->timer);
	message_free(container->proto);
	cause_finish(&container->cause);
	free(container->refusal);
	free(container->id);
	free(container);
}

void yarn_container_fill(struct yarn_container *container, const Hadoop__ContainerProto *proto)
{
	container->proto = message_copy(&proto->base);
	container->id = hadoop_container_id_text(proto->id);
	map_set(container->yarn->containers, container->id, container);
}

void yarn_container_empty(struct yarn_container *container)
{
	if (!container->proto)
		return;
	map_remove(container->yarn->containers, container->id);
	mem_replace(&container->id, NULL);
	message_free(container->proto);
	container->proto = NULL;
}

void yarn_container_give_back(struct yarn_container *container)
{
	if (container->proto)
		application_master_release(container->yarn->master, container->proto->id);
	yarn_container_empty(container);
}

/* ---- the end ------------------------------------------------------------------------------ */

void yarn_container_end(struct yarn_container *container)
{
	if (container->timer)
		event_free(container->timer);
	container->timer = NULL;
	set_releasing(container, false);
	container->state = YARN_ENDED;
	yarn_add_news(container);
}

static const char *state_of_node(const struct yarn_container *container)
{
	if (!container->proto)
		return NULL;
	const Hadoop__NodeIdProto *node = container->proto->nodeid;
	char *name cleanup_free = mem_printf("%s:%d", node->host, node->port);

	return map_get(container->yarn->bad_nodes, name);
}

bool yarn_container_ended_unused(struct yarn_container *container)
{
	if (container->state != YARN_HELD &&
	    (container->state != YARN_ALLOCATED || container->told))
		return false;
	log_info("%s ended before it was used", container->id);
	if (container->has_news)
		TAILQ_REMOVE(&container->yarn->news, container, news_link);
	container->has_news = false;
	return true;
}

void yarn_container_completed(struct yarn_container *container,
			      const Hadoop__ContainerStatusProto *status)
{
	if (container->state != YARN_ALLOCATED && container->state != YARN_LAUNCHED)
		return;
	container->is_awaited = false;
	if (!container->released && !container->is_unwanted)
		yarn_judge(&container->cause, yarn_type_of(container), status,
			   state_of_node(container));
	yarn_container_end(container);
}

void yarn_container_start_failed(struct yarn_container *container, const char *text)
{
	if (container->state != YARN_LAUNCHED)
		return;
	application_master_release(container->yarn->master, container->proto->id);
	if (!container->released)
		cause_set(&container->cause, CAUSE_LAUNCH_FAILED,
			  mem_printf("could not be started: %s", text));
	yarn_container_end(container);
}

/* ---- release ------------------------------------------------------------------------------ */

/* The NodeManager is the faster way, the ResourceManager the sure one. */
static void stop(struct yarn_container *container)
{
	struct yarn *yarn = container->yarn;

	if (!container->stopping) {
		container->stopping = true;
		node_managers_stop(yarn->nodes, container->proto->nodeid, container->proto->id);
		timer_start(container->timer, STOP_MS);
	} else if (!container->given_up) {
		container->given_up = true;
		application_master_release(yarn->master, container->proto->id);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	stop(data);
}

void yarn_container_stop_failed(struct yarn_container *container, const char *text)
{
	log_warning("%s: %s", container->id, text);
	if (container->state == YARN_LAUNCHED && container->stopping)
		stop(container);
}

void yarn_container_release(struct yarn_container *container, int64_t grace_ms)
{
	if (container->released)
		return;
	container->is_unwanted = true;
	container->grace_ms = grace_ms;
	if (container->is_awaited)
		return;
	if (container->state == YARN_ALLOCATED) {
		application_master_release(container->yarn->master, container->proto->id);
		yarn_container_end(container);
	} else if (container->state == YARN_LAUNCHED) {
		set_releasing(container, true);
		container->timer = evtimer_new(container->yarn->base, on_timer, container);
		timer_start(container->timer, grace_ms);
		node_managers_watch(container->yarn->nodes, container->proto->nodeid,
				    container->proto->id);
	}
}

void yarn_container_preempted(struct yarn_container *container, const char *text)
{
	const struct scheduler_listener *listener = &container->yarn->listener;
	struct cause cause = {.kind = CAUSE_PREEMPTED, .text = text};

	if (!container->told || container->released || container->preempted ||
	    container->state == YARN_ENDED)
		return;
	container->preempted = true;
	log_info("%s %s", container->id, text);
	listener->preempted(listener->data, container->request.task, container->request.attempt,
			    &cause);
}

/* ---- launch ------------------------------------------------------------------------------- */

void yarn_container_launch(struct yarn_container *container, const struct scheduler_launch *order)
{
	struct err err cleanup_err = {0};
	Hadoop__ContainerLaunchContextProto *context = yarn_launch_context(container, order, &err);

	container->state = YARN_LAUNCHED;
	if (!context) {
		yarn_container_start_failed(container, err_message(&err));
		return;
	}
	node_managers_start(container->yarn->nodes, container->proto, context);
	message_free(context);
}
