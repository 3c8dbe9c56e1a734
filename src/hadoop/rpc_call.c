#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/rpc_internal.h"

void rpc_call_free(struct rpc_call *call)
{
	event_del(&call->timer);
	str_finish(&call->request);
	if (call->response)
		protobuf_c_message_free_unpacked(call->response, NULL);
	free(call->error_class);
	free(call->error_text);
	free(call);
}

static void end(struct rpc_call *call)
{
	event_del(&call->timer);
	call->state = CALL_ENDED;
	TAILQ_REMOVE(&call->client->calls, call, link);
	TAILQ_INSERT_TAIL(&call->client->ended, call, link);
	rpc_client_wake(call->client);
}

void rpc_call_fail(struct rpc_call *call, enum rpc_error_kind kind, const char *where,
		   const char *class, const char *why)
{
	struct str text cleanup_str = {0};

	str_append_format(&text, "%s at %s: %s", call->client->options.service->what, where,
			  call->method->name);
	if (class)
		str_append_format(&text, ": %s", class);
	if (*why)
		str_append_format(&text, ": %s", why);
	call->error = kind;
	call->error_class = mem_strdup(class);
	call->error_text = str_steal(&text);
	end(call);
}

void rpc_call_tell(struct rpc_call *call)
{
	const struct rpc_call told = *call;
	const struct rpc_error error = {told.error, told.error_class, told.error_text};

	call->response = NULL;
	call->error_class = NULL;
	call->error_text = NULL;
	rpc_call_free(call);
	told.done(told.data, told.response, told.response ? NULL : &error);
	if (told.response)
		protobuf_c_message_free_unpacked(told.response, NULL);
	free(told.error_class);
	free(told.error_text);
}

static void fail_here(struct rpc_call *call, enum rpc_error_kind kind, const char *class,
		      const char *why)
{
	rpc_call_fail(call, kind, rpc_client_address(call->client), class, why);
}

bool rpc_call_is_tired(const struct rpc_call *call, int64_t now_ms)
{
	const struct rpc_options *options = &call->client->options;

	return options->max_wait_ms >= 0 && call->failures > 0 &&
	       call->failures >= (int)options->addresses.count &&
	       now_ms + options->retry_interval_ms - call->failed_since_ms >= options->max_wait_ms;
}

static void note_failure(struct rpc_call *call)
{
	if (call->failures == 0)
		call->failed_since_ms = clock_monotonic_ms();
	if (call->failures < INT_MAX)
		call->failures++;
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct rpc_call *call = data;

	if (call->state == CALL_PAUSED) {
		call->state = CALL_WAITING;
		rpc_client_wake(call->client);
		return;
	}
	char *waited cleanup_free = str_format_duration(call->client->options.call_timeout_ms);
	char *why cleanup_free = mem_printf("no answer within %s", waited);
	rpc_client_leave(call->client, NULL, why);
}

void rpc_call_send(struct rpc_call *call)
{
	struct rpc_client *client = call->client;
	struct str frame cleanup_str = {0};

	rpc_frame_add_call(&frame, client->id, call->id, call->sends, &call->request);
	if (call->sends < INT_MAX)
		call->sends++;
	call->state = CALL_SENT;
	timer_start(&call->timer, client->options.call_timeout_ms);
	rpc_connection_send(client->connection, &frame);
}

void rpc_call_lose(struct rpc_call *call, const char *class, const char *why)
{
	if (call->state == CALL_PAUSED)
		return;
	if (call->state == CALL_SENT && !call->method->idempotent) {
		char *text cleanup_free =
			mem_printf("%s: it is not known whether the call was carried out", why);
		fail_here(call, RPC_UNREACHABLE, class, text);
		return;
	}
	event_del(&call->timer);
	call->state = CALL_WAITING;
	note_failure(call);
}

/* The exception says that the server did nothing. */
static void take_retriable(struct rpc_call *call, const struct rpc_answer *answer)
{
	note_failure(call);
	if (rpc_call_is_tired(call, clock_monotonic_ms())) {
		fail_here(call, RPC_REMOTE, answer->class, answer->text);
		return;
	}
	call->state = CALL_PAUSED;
	timer_start(&call->timer, call->client->options.retry_interval_ms);
}

static void take_exception(struct rpc_call *call, const struct rpc_answer *answer)
{
	if (str_equal(answer->class, "StandbyException")) {
		call->client->is_leaving = true;
		event_del(&call->timer);
		call->state = CALL_WAITING;
	} else if (str_equal(answer->class, "RetriableException")) {
		take_retriable(call, answer);
	} else {
		const bool is_refused =
			answer->detail == HADOOP__RPC_ERROR_CODE_PROTO__FATAL_UNAUTHORIZED;
		fail_here(call, is_refused ? RPC_DENIED : RPC_REMOTE, answer->class, answer->text);
	}
}

void rpc_call_take(struct rpc_call *call, const struct rpc_answer *answer)
{
	event_del(&call->timer);
	if (answer->status != HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS) {
		take_exception(call, answer);
		return;
	}
	call->response =
		rpc_message_unpack(call->method->response, answer->message, answer->length);
	if (call->response)
		end(call);
	else
		fail_here(call, RPC_PROTOCOL, NULL, "the answer cannot be read");
}

struct rpc_call *rpc_call_start(struct rpc_client *client, const struct rpc_method *method,
				const ProtobufCMessage *request,
				void (*done)(void *data, const ProtobufCMessage *response,
					     const struct rpc_error *error),
				void *data)
{
	struct rpc_call *call = mem_alloc(sizeof(*call));

	call->client = client;
	call->method = method;
	call->done = done;
	call->data = data;
	client->last_call_id = client->last_call_id < INT32_MAX ? client->last_call_id + 1 : 0;
	call->id = client->last_call_id;
	event_assign(&call->timer, client->base, -1, 0, on_timer, call);
	rpc_frame_add_request(&call->request, client->options.service, method, request);
	TAILQ_INSERT_TAIL(&client->calls, call, link);
	if (call->request.length > RPC_FRAME_CAP) {
		char *why cleanup_free = mem_printf("the request has %zu bytes, a server takes %u",
						    call->request.length, RPC_FRAME_CAP);
		rpc_call_fail(call, RPC_PROTOCOL, client->all_addresses, NULL, why);
	}
	rpc_client_wake(client);
	return call;
}

void rpc_call_cancel(struct rpc_call *call)
{
	struct rpc_client *client = call->client;

	TAILQ_REMOVE(call->state == CALL_ENDED ? &client->ended : &client->calls, call, link);
	rpc_call_free(call);
	rpc_client_wake(client);
}
