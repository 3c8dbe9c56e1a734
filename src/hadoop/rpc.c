#include "hadoop/rpc.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <limits.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/rpc_connection.h"
#include "hadoop/rpc_frame.h"
#include "hadoop/token.h"
#include "net/address.h"

enum rpc_call_state {
	CALL_WAITING, /* for a connection that is ready */
	CALL_SENT,
	CALL_PAUSED, /* the server wants to be asked again later */
	CALL_ENDED,  /* to be told from the loop */
};

struct rpc_call {
	TAILQ_ENTRY(rpc_call) link;
	struct rpc_client *client;
	const struct rpc_method *method;
	struct str request; /* rpc_frame_add_request() */
	int32_t id;	    /* the same however often it is sent */
	int sends;
	enum rpc_call_state state;
	struct event timer; /* CALL_SENT: the answer is late; CALL_PAUSED: it goes on */

	int failures;
	int64_t sent_ms;	 /* clock_monotonic_ms(); not sent yet: when it was made */
	int64_t failed_since_ms; /* likewise, when the first try that failed began */

	void (*done)(void *data, const ProtobufCMessage *response, const struct rpc_error *error);
	void *data;
	/* CALL_ENDED: with the one or the other. */
	ProtobufCMessage *response;
	enum rpc_error_kind error;
	char *error_class, *error_text;
};
TAILQ_HEAD(rpc_call_list, rpc_call);

struct rpc_client {
	struct event_base *base;
	struct rpc_options options; /* `token` is NULL or points to `token` */
	struct hadoop_token token;
	char *user, *user_principal, *user_keytab, *effective_user, *principal, *principal_pattern;
	char *all_addresses; /* for messages */
	unsigned char id[RPC_CLIENT_ID_LENGTH];
	int32_t last_call_id;

	struct rpc_call_list calls, ended;
	struct event step; /* brings things on, and tells of one call that ended */

	struct rpc_connection *connection;
	bool is_ready;
	bool has_served; /* this connection */
	bool is_leaving; /* a standby: the next one, as soon as it has answered what it got */
	size_t address;	 /* of options.addresses */
	int tries;	 /* in vain, since a server last served */
	bool has_warned;
	int64_t opened_ms; /* the connection; clock_monotonic_ms() */
	struct event pause;
	struct event patience; /* of somebody who waits: they are told then */
};

static const char *address_of(const struct rpc_client *client)
{
	return client->options.addresses.items[client->address];
}

static void wake(struct rpc_client *client)
{
	event_active(&client->step, EV_TIMEOUT, 0);
}

/* ---- one call ----------------------------------------------------------------------------- */

/* The server is silent, or does not serve: its connection is given up. */
static void leave(struct rpc_client *client, const char *class, const char *why);

static void free_call(struct rpc_call *call)
{
	event_del(&call->timer);
	str_finish(&call->request);
	if (call->response)
		protobuf_c_message_free_unpacked(call->response, NULL);
	free(call->error_class);
	free(call->error_text);
	free(call);
}

static void end_call(struct rpc_call *call)
{
	event_del(&call->timer);
	call->state = CALL_ENDED;
	TAILQ_REMOVE(&call->client->calls, call, link);
	TAILQ_INSERT_TAIL(&call->client->ended, call, link);
	wake(call->client);
}

static void fail_call(struct rpc_call *call, enum rpc_error_kind kind, const char *where,
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
	end_call(call);
}

static void tell_call(struct rpc_call *call)
{
	const struct rpc_call told = *call;
	const struct rpc_error error = {told.error, told.error_class, told.error_text};

	call->response = NULL;
	call->error_class = NULL;
	call->error_text = NULL;
	free_call(call);
	told.done(told.data, told.response, told.response ? NULL : &error);
	if (told.response)
		protobuf_c_message_free_unpacked(told.response, NULL);
	free(told.error_class);
	free(told.error_text);
}

static void fail_call_here(struct rpc_call *call, enum rpc_error_kind kind, const char *class,
			   const char *why)
{
	fail_call(call, kind, address_of(call->client), class, why);
}

static bool call_is_tired(const struct rpc_call *call, int64_t now_ms)
{
	const struct rpc_options *options = &call->client->options;

	return options->max_wait_ms >= 0 && call->failures > 0 &&
	       call->failures >= (int)options->addresses.count &&
	       now_ms + options->retry_interval_ms - call->failed_since_ms >= options->max_wait_ms;
}

static void note_failure(struct rpc_call *call)
{
	if (call->failures == 0)
		call->failed_since_ms = call->sent_ms > call->client->opened_ms
						? call->sent_ms
						: call->client->opened_ms;
	if (call->failures < INT_MAX)
		call->failures++;
}

static void on_call_timer(evutil_socket_t fd, short what, void *data)
{
	struct rpc_call *call = data;

	if (call->state == CALL_PAUSED) {
		call->state = CALL_WAITING;
		wake(call->client);
		return;
	}
	char *waited cleanup_free = str_format_duration(call->client->options.call_timeout_ms);
	char *why cleanup_free = mem_printf("no answer within %s", waited);
	leave(call->client, NULL, why);
}

static void send_call(struct rpc_call *call)
{
	struct rpc_client *client = call->client;
	struct str frame cleanup_str = {0};

	rpc_frame_add_call(&frame, client->id, call->id, call->sends, &call->request);
	if (call->sends < INT_MAX)
		call->sends++;
	call->state = CALL_SENT;
	call->sent_ms = clock_monotonic_ms();
	timer_start(&call->timer, client->options.call_timeout_ms);
	rpc_connection_send(client->connection, &frame);
}

static void lose_call(struct rpc_call *call, const char *class, const char *why)
{
	if (call->state == CALL_PAUSED)
		return;
	if (call->state == CALL_SENT && !call->method->idempotent) {
		char *text cleanup_free =
			mem_printf("%s: it is not known whether the call was carried out", why);
		fail_call_here(call, RPC_UNREACHABLE, class, text);
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
	if (call_is_tired(call, clock_monotonic_ms())) {
		fail_call_here(call, RPC_REMOTE, answer->class, answer->text);
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
		fail_call_here(call, is_refused ? RPC_DENIED : RPC_REMOTE, answer->class,
			       answer->text);
	}
}

static void take_call(struct rpc_call *call, const struct rpc_answer *answer)
{
	event_del(&call->timer);
	if (answer->status != HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS) {
		take_exception(call, answer);
		return;
	}
	call->response =
		rpc_message_unpack(call->method->response, answer->message, answer->length);
	if (call->response)
		end_call(call);
	else
		fail_call_here(call, RPC_PROTOCOL, NULL, "the answer cannot be read");
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
	call->sent_ms = clock_monotonic_ms();
	client->last_call_id = client->last_call_id < INT32_MAX ? client->last_call_id + 1 : 0;
	call->id = client->last_call_id;
	event_assign(&call->timer, client->base, -1, 0, on_call_timer, call);
	rpc_frame_add_request(&call->request, client->options.service, method, request);
	TAILQ_INSERT_TAIL(&client->calls, call, link);
	if (client->options.tells_waits)
		timer_start(&client->patience, RPC_TOLD_MS);
	if (call->request.length > RPC_FRAME_CAP) {
		char *why cleanup_free = mem_printf("the request has %zu bytes, a server takes %u",
						    call->request.length, RPC_FRAME_CAP);
		fail_call(call, RPC_PROTOCOL, client->all_addresses, NULL, why);
	}
	wake(client);
	return call;
}

void rpc_call_cancel(struct rpc_call *call)
{
	struct rpc_client *client = call->client;

	TAILQ_REMOVE(call->state == CALL_ENDED ? &client->ended : &client->calls, call, link);
	free_call(call);
	wake(client);
}

/* ---- the client and its connection ---------------------------------------------------------- */

static void forget_connection(struct rpc_client *client)
{
	client->connection = NULL;
	client->is_ready = false;
	client->is_leaving = false;
}

static bool has_calls(const struct rpc_client *client, enum rpc_call_state state)
{
	const struct rpc_call *call;

	TAILQ_FOREACH(call, &client->calls, link)
	{
		if (call->state == state)
			return true;
	}
	return false;
}

/* "ResourceManager at rm1:8032, rm2:8032": for messages. The caller frees. */
static char *server_of(const struct rpc_client *client)
{
	return mem_printf("%s at %s", client->options.service->what, client->all_addresses);
}

/* For how long a service is waited for of which every address is silent for `silence_ms`. */
static int64_t longest_wait(const struct rpc_options *options, int64_t silence_ms)
{
	const int64_t round_ms = silence_ms * (int64_t)options->addresses.count;
	int64_t wait_ms = round_ms;

	while (wait_ms + options->retry_interval_ms < options->max_wait_ms)
		wait_ms += options->retry_interval_ms + round_ms;
	return wait_ms;
}

static void on_patience(evutil_socket_t fd, short what, void *data)
{
	const struct rpc_client *client = data;
	const struct rpc_call *call = TAILQ_FIRST(&client->calls);
	const struct rpc_options *options = &client->options;

	/* A pause was told of. */
	if (!call || !client->connection)
		return;
	char *server cleanup_free = server_of(client);
	char *limit cleanup_free = str_format_duration(
		longest_wait(options, client->is_ready ? options->call_timeout_ms
						       : options->connect_timeout_ms));
	char *text cleanup_free =
		mem_printf("%s: no %s yet%s%s; waiting for up to %s", call->method->name,
			   client->is_ready ? "answer" : "connection",
			   options->addresses.count > 1 ? " from " : "",
			   options->addresses.count > 1 ? address_of(client) : "", limit);
	log_trouble(server, text);
}

/* All addresses were tried in vain. */
static void pause_or_end(struct rpc_client *client, const char *class, const char *why)
{
	const int64_t interval_ms = client->options.retry_interval_ms;
	const int64_t now_ms = clock_monotonic_ms();
	struct rpc_call *call, *next;

	for (call = TAILQ_FIRST(&client->calls); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call->state == CALL_WAITING && call_is_tired(call, now_ms))
			fail_call(call, RPC_UNREACHABLE, client->all_addresses, class, why);
	}
	if (!has_calls(client, CALL_WAITING)) {
		client->tries = 0;
		return;
	}
	if (!client->has_warned) {
		char *pause cleanup_free = str_format_duration(interval_ms);
		char *server cleanup_free = server_of(client);
		char *text cleanup_free =
			mem_printf("%s%s%s; trying again every %s", class ? class : "",
				   class ? ": " : "", why, pause);
		log_trouble(server, text);
		client->has_warned = true;
	}
	timer_start(&client->pause, interval_ms);
}

/* After forget_connection(): on to the next address. */
static void try_elsewhere(struct rpc_client *client, const char *class, const char *why)
{
	const int count = (int)client->options.addresses.count;
	char *last cleanup_free =
		count > 1 ? mem_printf("%s%s%s (the last of them, %s)", class ? class : "",
				       class ? ": " : "", why, address_of(client))
			  : NULL;
	struct rpc_call *call, *next;

	for (call = TAILQ_FIRST(&client->calls); call; call = next) {
		next = TAILQ_NEXT(call, link);
		lose_call(call, class, why);
	}
	client->address = (client->address + 1) % (size_t)count;
	/* One that served until now deserves another look at once: a server closes what is idle. */
	client->tries = client->has_served ? 0 : client->tries + 1;
	client->has_served = false;
	if (client->tries > 0 && client->tries % count == 0)
		pause_or_end(client, last ? NULL : class, last ? last : why);
	wake(client);
}

static void leave(struct rpc_client *client, const char *class, const char *why)
{
	struct rpc_connection *connection = client->connection;

	forget_connection(client);
	rpc_connection_close(connection);
	try_elsewhere(client, class, why);
}

static void end_calls(struct rpc_client *client, enum rpc_error_kind kind, const char *class,
		      const char *why)
{
	struct rpc_call *call, *next;

	for (call = TAILQ_FIRST(&client->calls); call; call = next) {
		next = TAILQ_NEXT(call, link);
		fail_call(call, kind, address_of(client), class, why);
	}
	client->tries = 0;
	client->has_served = false;
}

/* ---- what the connection tells ------------------------------------------------------------ */

static void send_waiting(struct rpc_client *client)
{
	struct rpc_call *call;

	TAILQ_FOREACH(call, &client->calls, link)
	{
		if (call->state == CALL_WAITING)
			send_call(call);
	}
}

static void on_ready(void *data)
{
	struct rpc_client *client = data;

	client->is_ready = true;
	send_waiting(client);
}

static void on_end(void *data, enum rpc_error_kind kind, const char *class, const char *text)
{
	struct rpc_client *client = data;
	const bool is_transient = kind == RPC_UNREACHABLE || str_equal(class, "StandbyException") ||
				  str_equal(class, "RetriableException");

	forget_connection(client);
	if (is_transient)
		try_elsewhere(client, class, text);
	else
		end_calls(client, kind, class, text);
}

static struct rpc_call *find_sent(const struct rpc_client *client, int32_t id)
{
	struct rpc_call *call;

	TAILQ_FOREACH(call, &client->calls, link)
	{
		if (call->id == id && call->state == CALL_SENT)
			return call;
	}
	return NULL;
}

static void on_answer(void *data, const struct rpc_answer *answer)
{
	struct rpc_client *client = data;
	struct rpc_call *call = find_sent(client, answer->id);

	if (!call && answer->id > client->last_call_id) {
		char *why cleanup_free = mem_printf(
			"it answers a call with the number %d, which was never made", answer->id);
		struct rpc_connection *connection = client->connection;
		forget_connection(client);
		rpc_connection_close(connection);
		end_calls(client, RPC_PROTOCOL, NULL, why);
		return;
	}
	/* To one that was cancelled, else. */
	if (call)
		take_call(call, answer);
	if (client->is_leaving) {
		wake(client);
		return;
	}
	client->has_served = true;
	char *server cleanup_free = server_of(client);
	log_trouble_over(server);
	client->has_warned = false;
	client->tries = 0;
}

static const struct rpc_connection_events events = {on_ready, on_answer, on_end};

/* ---- the loop ----------------------------------------------------------------------------- */

static void bring_on(struct rpc_client *client)
{
	if (client->connection && client->is_leaving) {
		if (!has_calls(client, CALL_SENT))
			leave(client, "StandbyException", "it does not serve");
	} else if (client->is_ready) {
		send_waiting(client);
	} else if (!client->connection && !event_pending(&client->pause, EV_TIMEOUT, NULL) &&
		   has_calls(client, CALL_WAITING)) {
		client->opened_ms = clock_monotonic_ms();
		client->connection =
			rpc_connection_open(client->base, address_of(client), &client->options,
					    client->id, &events, client);
	}
}

/* The client may be gone afterwards. */
static void on_step(evutil_socket_t fd, short what, void *data)
{
	struct rpc_client *client = data;

	bring_on(client);
	struct rpc_call *call = TAILQ_FIRST(&client->ended);
	if (!call)
		return;
	TAILQ_REMOVE(&client->ended, call, link);
	if (!TAILQ_EMPTY(&client->ended))
		wake(client);
	tell_call(call);
}

static void on_pause(evutil_socket_t fd, short what, void *data)
{
	wake(data);
}

static int check_addresses(const struct rpc_options *options, struct err *err)
{
	for (size_t i = 0; i < options->addresses.count; i++) {
		char *host cleanup_free = NULL;
		int port = 0;

		if (net_address_split(options->addresses.items[i], &host, &port, err) < 0)
			return err_wrap(err, "%s", options->service->what);
	}
	if (options->addresses.count == 0)
		return err_set(err, ERR_INPUT, "%s: there is no address", options->service->what);
	return 0;
}

struct rpc_client *rpc_client_create(struct event_base *base, const struct rpc_options *options,
				     struct err *err)
{
	if (check_addresses(options, err) < 0)
		return NULL;
	struct rpc_client *client = mem_alloc(sizeof(*client));
	if (RAND_bytes(client->id, sizeof(client->id)) != 1) {
		free(client);
		err_set(err, ERR_IO, "there are no random numbers for a client of %s",
			options->service->what);
		return NULL;
	}
	client->base = base;
	client->options = *options;
	client->options.addresses = (struct str_list){0};
	str_list_copy(&client->options.addresses, &options->addresses);
	client->all_addresses = str_list_join(&client->options.addresses, ", ");
	client->options.user = client->user = mem_strdup(options->user);
	client->options.user_principal = client->user_principal =
		mem_strdup(options->user_principal);
	client->options.user_keytab = client->user_keytab = mem_strdup(options->user_keytab);
	client->options.effective_user = client->effective_user =
		mem_strdup(options->effective_user);
	client->options.principal = client->principal = mem_strdup(options->principal);
	client->options.principal_pattern = client->principal_pattern =
		mem_strdup(options->principal_pattern);
	client->options.token = NULL;
	client->last_call_id = -1;
	TAILQ_INIT(&client->calls);
	TAILQ_INIT(&client->ended);
	event_assign(&client->step, base, -1, 0, on_step, client);
	event_assign(&client->pause, base, -1, 0, on_pause, client);
	event_assign(&client->patience, base, -1, 0, on_patience, client);
	if (options->token)
		rpc_client_set_token(client, options->token);
	return client;
}

void rpc_client_set_token(struct rpc_client *client, const struct hadoop_token *token)
{
	token_finish(&client->token);
	token_copy(&client->token, token);
	client->options.token = &client->token;
}

static void free_calls(struct rpc_call_list *calls)
{
	struct rpc_call *call;

	while ((call = TAILQ_FIRST(calls))) {
		TAILQ_REMOVE(calls, call, link);
		free_call(call);
	}
}

void rpc_client_destroy(struct rpc_client *client)
{
	if (!client)
		return;
	free_calls(&client->calls);
	free_calls(&client->ended);
	if (client->connection)
		rpc_connection_close(client->connection);
	event_del(&client->step);
	event_del(&client->pause);
	event_del(&client->patience);
	token_finish(&client->token);
	str_list_finish(&client->options.addresses);
	free(client->all_addresses);
	free(client->user);
	free(client->user_principal);
	free(client->user_keytab);
	free(client->effective_user);
	free(client->principal);
	free(client->principal_pattern);
	free(client);
}
