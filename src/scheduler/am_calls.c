#include "scheduler/am_calls.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "net/http_client.h"
#include "net/interrupt.h"
#include "scheduler/scheduler.h"

struct am_call {
	struct am_calls *calls;
	struct am_call *next; /* of those that wait for a connection */
	struct http_client *client;
	char *method, *path, *body;
	int64_t timeout_ms;
	bool is_sent, has_ended;
	int status;
	struct str response;
	struct err failure;
};

struct am_calls {
	struct event_base *base;
	struct am_call *waiting, **last;
	size_t sent;			   /* and not answered */
	bool ends_with_one, ends_with_all; /* the loop does */
};

/* ---- one of them -------------------------------------------------------------------------- */

static void on_done(void *data, const struct http_response *response, const struct err *err);

static void send_call(struct am_call *call)
{
	const struct http_question question = {
		.method = call->method,
		.path = call->path,
		.body = call->body,
		.body_length = call->body ? strlen(call->body) : 0,
		.timeout_ms = call->timeout_ms,
		.done = on_done,
		.data = call,
	};

	call->is_sent = true;
	call->calls->sent++;
	http_client_start(call->client, &question);
}

static void send_waiting(struct am_calls *calls)
{
	while (calls->waiting && calls->sent < AM_CALLS_AT_A_TIME) {
		struct am_call *call = calls->waiting;
		calls->waiting = call->next;
		if (!calls->waiting)
			calls->last = &calls->waiting;
		send_call(call);
	}
}

/* The connection goes with the answer: the next question may be one to another AM. */
static void end_call(struct am_call *call)
{
	call->has_ended = true;
	http_client_destroy(mem_steal(&call->client));
	if (!call->is_sent)
		return;
	call->calls->sent--;
	send_waiting(call->calls);
	if (call->calls->ends_with_one || (call->calls->ends_with_all && call->calls->sent == 0))
		event_base_loopbreak(call->calls->base);
}

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct am_call *call = data;

	if (response) {
		call->status = response->status;
		str_append_bytes(&call->response, response->body, response->length);
	} else {
		err_copy(&call->failure, err);
	}
	end_call(call);
}

struct am_call *am_call_start(struct am_calls *calls, const struct job_door *door,
			      const char *method, const char *path, const char *body,
			      int64_t timeout_ms)
{
	const struct http_target am = job_door_target(door);
	struct am_call *call = mem_alloc(sizeof(*call));

	*call = (struct am_call){.calls = calls,
				 .method = mem_strdup(method),
				 .path = mem_strdup(path),
				 .body = mem_strdup(body),
				 .timeout_ms = timeout_ms};
	call->client = http_client_create_for(calls->base, &am, &call->failure);
	if (!call->client) {
		end_call(call);
		return call;
	}
	*calls->last = call;
	calls->last = &call->next;
	send_waiting(calls);
	return call;
}

bool am_call_has_ended(const struct am_call *call)
{
	return call->has_ended;
}

static void stop_waiting(const struct am_call *call)
{
	struct am_call **place = &call->calls->waiting;

	while (*place && *place != call)
		place = &(*place)->next;
	if (!*place)
		return;
	*place = call->next;
	if (!*place)
		call->calls->last = place;
}

void am_call_drop(struct am_call *call)
{
	if (!call)
		return;
	if (!call->is_sent)
		stop_waiting(call);
	if (!call->has_ended)
		end_call(call);
	free(call->method);
	free(call->path);
	free(call->body);
	str_finish(&call->response);
	err_finish(&call->failure);
	free(call);
}

int am_call_take(struct am_call *call, int *status, struct str *response, struct err *err)
{
	int result = call->failure.kind == ERR_NONE ? 0 : err_copy(err, &call->failure);

	*status = call->status;
	str_append_bytes(response, str_text(&call->response), call->response.length);
	am_call_drop(call);
	return result;
}

/* ---- all of them -------------------------------------------------------------------------- */

struct am_calls *am_calls_create(void)
{
	struct am_calls *calls = mem_alloc(sizeof(*calls));

	*calls = (struct am_calls){.base = event_base_new()};
	if (!calls->base)
		BUG("no event loop");
	calls->last = &calls->waiting;
	return calls;
}

void am_calls_destroy(struct am_calls *calls)
{
	if (!calls)
		return;
	/* Cancelled calls end here. */
	event_base_loop(calls->base, EVLOOP_NONBLOCK);
	event_base_free(calls->base);
	free(calls);
}

static void on_time(evutil_socket_t fd, short what, void *data)
{
	(void)fd, (void)what;
	event_base_loopbreak(data);
}

void am_calls_run(struct am_calls *calls, int64_t ms)
{
	struct event timer;

	event_assign(&timer, calls->base, -1, 0, on_time, calls->base);
	timer_start(&timer, ms);
	interrupt_dispatch(calls->base);
	event_del(&timer);
}

void am_calls_wait(struct am_calls *calls, int64_t ms)
{
	calls->ends_with_one = true;
	am_calls_run(calls, ms);
	calls->ends_with_one = false;
}

void am_calls_finish(struct am_calls *calls, int64_t ms)
{
	calls->ends_with_all = true;
	if (calls->sent > 0)
		am_calls_run(calls, ms);
	calls->ends_with_all = false;
}
