#include "hadoop/rpc.h"

#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hadoop/rpc_internal.h"
#include "net/address.h"

const char *rpc_client_address(const struct rpc_client *client)
{
	return client->options.addresses.items[client->address];
}

void rpc_client_wake(struct rpc_client *client)
{
	event_active(&client->step, EV_TIMEOUT, 0);
}

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

/* All addresses were tried in vain. */
static void pause_or_end(struct rpc_client *client, const char *class, const char *why)
{
	const int64_t interval_ms = client->options.retry_interval_ms;
	const int64_t now_ms = clock_monotonic_ms();
	struct rpc_call *call, *next;

	for (call = TAILQ_FIRST(&client->calls); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call->state == CALL_WAITING && rpc_call_is_tired(call, now_ms))
			rpc_call_fail(call, RPC_UNREACHABLE, client->all_addresses, class, why);
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
				       class ? ": " : "", why, rpc_client_address(client))
			  : NULL;
	struct rpc_call *call, *next;

	for (call = TAILQ_FIRST(&client->calls); call; call = next) {
		next = TAILQ_NEXT(call, link);
		rpc_call_lose(call, class, why);
	}
	client->address = (client->address + 1) % (size_t)count;
	/* One that served until now deserves another look at once: a server closes what is idle. */
	client->tries = client->has_served ? 0 : client->tries + 1;
	client->has_served = false;
	if (client->tries > 0 && client->tries % count == 0)
		pause_or_end(client, last ? NULL : class, last ? last : why);
	rpc_client_wake(client);
}

void rpc_client_leave(struct rpc_client *client, const char *class, const char *why)
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
		rpc_call_fail(call, kind, rpc_client_address(client), class, why);
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
			rpc_call_send(call);
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
		rpc_call_take(call, answer);
	if (client->is_leaving) {
		rpc_client_wake(client);
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
			rpc_client_leave(client, "StandbyException", "it does not serve");
	} else if (client->is_ready) {
		send_waiting(client);
	} else if (!client->connection && !event_pending(&client->pause, EV_TIMEOUT, NULL) &&
		   has_calls(client, CALL_WAITING)) {
		client->connection =
			rpc_connection_open(client->base, rpc_client_address(client),
					    &client->options, client->id, &events, client);
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
		rpc_client_wake(client);
	rpc_call_tell(call);
}

static void on_pause(evutil_socket_t fd, short what, void *data)
{
	rpc_client_wake(data);
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
	for (size_t i = 0; i < options->addresses.count; i++)
		str_list_add(&client->options.addresses, options->addresses.items[i]);
	client->all_addresses = str_list_join(&client->options.addresses, ", ");
	client->options.user = client->user = mem_strdup(options->user);
	client->options.principal = client->principal = mem_strdup(options->principal);
	client->options.token = NULL;
	client->last_call_id = -1;
	TAILQ_INIT(&client->calls);
	TAILQ_INIT(&client->ended);
	event_assign(&client->step, base, -1, 0, on_step, client);
	event_assign(&client->pause, base, -1, 0, on_pause, client);
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
		rpc_call_free(call);
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
	token_finish(&client->token);
	str_list_finish(&client->options.addresses);
	free(client->all_addresses);
	free(client->user);
	free(client->principal);
	free(client);
}
