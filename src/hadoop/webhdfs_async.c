#include "hadoop/webhdfs_async.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/webhdfs_call.h"
#include "net/address.h"
#include "net/http_client.h"
#include "net/tls.h"

enum { PROGRESS_MS = 1000 };

struct webhdfs_async *webhdfs_async_create(struct event_base *base,
					   const struct webhdfs_options *options, struct err *err)
{
	struct webhdfs_async *client = mem_alloc(sizeof(*client));

	client->base = base;
	TAILQ_INIT(&client->calls);
	webhdfs_options_copy(&client->options, options);
	if (webhdfs_options_check(&client->options, err) == 0)
		return client;
	webhdfs_async_destroy(client);
	return NULL;
}

const char *webhdfs_async_address(const struct webhdfs_async *client)
{
	return client->options.addresses.items[client->active];
}

void webhdfs_async_destroy(struct webhdfs_async *client)
{
	if (!client)
		return;
	while (!TAILQ_EMPTY(&client->calls))
		webhdfs_call_cancel(TAILQ_FIRST(&client->calls));
	http_client_destroy(client->kept);
	webhdfs_options_finish(&client->options);
	tls_context_destroy(client->tls);
	free(client);
}

void webhdfs_call_cancel(struct webhdfs_call *call)
{
	TAILQ_REMOVE(&call->client->calls, call, link);
	event_del(&call->timer);
	http_client_destroy(call->http);
	webhdfs_tries_finish(&call->tries);
	net_url_finish(&call->place);
	err_finish(&call->flaw);
	err_finish(&call->lost);
	str_list_finish(&call->excluded);
	free(call->last);
	str_finish(&call->parameters);
	str_finish(&call->body);
	free(call->path);
	free(call->to);
	free(call);
}

/* ---- a wait ------------------------------------------------------------------------------- */

/* The one, or the pair, of which either may answer next. */
static char *name_servers(const struct webhdfs_call *call)
{
	const struct str_list *addresses = &call->client->options.addresses;
	char *list cleanup_free = str_list_join(addresses, ", ");

	return addresses->count > 1 ? mem_printf("HDFS at %s", list) : mem_steal(&list);
}

/* `text`: of an error, which may begin with the address. `what`: is done for `limit_ms` at most. */
static void tell_wait(struct webhdfs_call *call, const char *text, const char *what,
		      int64_t limit_ms)
{
	char *subject cleanup_free = name_servers(call);
	size_t length = strlen(subject);
	char *limit cleanup_free = str_format_duration(limit_ms);
	char *told cleanup_free = mem_printf("%s; %s for up to %s", text, what, limit);
	bool repeats = strncmp(told, subject, length) == 0 && told[length] == ':';

	log_trouble(subject, repeats ? told + length + 2 : told);
	call->has_told = true;
}

/* A fail-over that takes a moment is nobody's concern. */
static bool is_long_wait(const struct webhdfs_call *call, int64_t pause)
{
	return call->client->options.tells_waits && clock_monotonic_ms() + pause >= call->told_ms;
}

/* Nothing has come of the exchange yet. The server is given up when it is silent for longer, and so
 * is each of its pair. */
static void tell_silence(struct webhdfs_call *call)
{
	const struct webhdfs_options *options = &call->client->options;
	bool is_data_node = call->stage == STAGE_CONTENT;
	char *text cleanup_free =
		mem_printf("%s %s: no answer yet from %s%s", webhdfs_op_name(call->question.op),
			   call->path, is_data_node ? "DataNode " : "",
			   is_data_node ? call->place.address : call->question.server);
	int64_t limit_ms = http_client_is_connected(call->http) ? options->silence_timeout_ms
								: options->connect_timeout_ms;
	int64_t pair_ms = limit_ms * (int64_t)(is_data_node ? 1 : options->addresses.count);

	if (call->sent == 0)
		tell_wait(call, text, "waiting",
			  pair_ms > options->max_wait_ms ? pair_ms : options->max_wait_ms);
}

/* ---- the end of a call -------------------------------------------------------------------- */

/* The last thing of every event: the client may be gone afterwards. `err` may be the call's. */
static void tell(struct webhdfs_call *call, const struct webhdfs_result *result,
		 const struct err *err)
{
	struct err flaw cleanup_err = call->flaw;
	webhdfs_done *done = call->done;
	void *data = call->data;

	if (err == &call->flaw)
		err = &flaw;
	call->flaw = (struct err){0};
	webhdfs_call_cancel(call);
	done(data, result, err);
}

static void start_exchange(struct webhdfs_call *call);

static void exchange(struct webhdfs_call *call, enum stage stage)
{
	call->stage = stage;
	start_exchange(call);
}

static void begin_try(struct webhdfs_call *call)
{
	exchange(call, call->to && call->client->options.http_fs ? STAGE_SOURCE : STAGE_ASK);
}

static void try_again(struct webhdfs_call *call, enum webhdfs_verdict verdict, struct err *failure)
{
	char *why cleanup_free = mem_strdup(err_message(failure));
	int64_t pause = webhdfs_tries_next(&call->tries, verdict, clock_monotonic_ms(),
					   random_u64(), failure);

	if (pause > 0 && is_long_wait(call, pause))
		tell_wait(call, why, "trying again", call->client->options.max_wait_ms);
	if (pause >= 0)
		timer_start(&call->timer, pause);
	else
		tell(call, NULL, call->flaw.message ? &call->flaw : failure);
}

/* A NameNode names a DataNode that is gone for minutes on end, the one of this machine first. */
static bool may_be_elsewhere(const struct webhdfs_call *call, enum webhdfs_verdict verdict)
{
	return call->stage == STAGE_CONTENT && verdict == WEBHDFS_NOT_NOW &&
	       call->question.op == WEBHDFS_OPEN;
}

static bool is_unknown_list(const struct webhdfs_call *call, const struct err *err)
{
	return call->question.op == WEBHDFS_LISTSTATUS_BATCH &&
	       strstr(err_message(err), ": UnsupportedOperationException");
}

/* `err` is set, and freed here. */
static void fail(struct webhdfs_call *call, enum webhdfs_verdict verdict, struct err *err)
{
	struct err failure cleanup_err = *err;

	*err = (struct err){0};
	if (call->has_progressed)
		webhdfs_tries_progress(&call->tries, clock_monotonic_ms());
	call->has_progressed = false;
	if (is_unknown_list(call, &failure)) {
		call->client->lists_whole = true;
		call->question.op = WEBHDFS_LISTSTATUS;
		begin_try(call);
		return;
	}
	if (may_be_elsewhere(call, verdict)) {
		call->lost = failure;
		failure = (struct err){0};
		exchange(call, STAGE_REPLICAS);
		return;
	}
	if (verdict == WEBHDFS_REFUSED && failure.kind == ERR_FAILED && call->excluded.count > 0) {
		str_list_finish(&call->excluded); /* there is no other any more */
		verdict = WEBHDFS_NOT_NOW;
	}
	/* The source is gone: by a try of ours that seemed to fail? */
	if (call->to && call->tries.is_unsure && failure.kind == ERR_NOT_FOUND &&
	    (call->stage == STAGE_ASK || call->stage == STAGE_SOURCE)) {
		err_copy(&call->flaw, &failure);
		exchange(call, STAGE_LOOK);
		return;
	}
	if (!call->client->options.http_fs && webhdfs_needs_room(&failure)) {
		call->flaw = failure;
		failure = (struct err){0};
		exchange(call, STAGE_ROOM);
		return;
	}
	try_again(call, verdict, &failure);
}

/* The server takes the token no longer, and did nothing. False: it may have done something, or
 * `err` says now why there is no other token. */
static bool renews_token(struct webhdfs_call *call, struct err *err)
{
	struct hdfs_token *token = call->client->options.token;
	struct err why cleanup_err = {0};

	if (err->kind != ERR_EXPIRED || !token || call->has_renewed || call->stage == STAGE_CONTENT)
		return false;
	call->has_renewed = true;
	if (hdfs_token_replace(token, call->token_generation, &why) == 0)
		return true;
	char *said cleanup_free = mem_strdup(err_message(err));
	err_set(err, ERR_EXPIRED, "%s; %s", said, err_message(&why));
	return false;
}

static void refuse(struct webhdfs_call *call, struct err *err)
{
	fail(call, WEBHDFS_REFUSED, err);
}

static void succeed(struct webhdfs_call *call, const struct webhdfs_result *result)
{
	call->client->active = call->tries.address;
	if (call->has_told) {
		char *subject cleanup_free = name_servers(call);
		log_trouble_over(subject);
	}
	tell(call, result, NULL);
}

/* ---- answers ------------------------------------------------------------------------------ */

static void take_file(struct webhdfs_call *call, const char *body, size_t length)
{
	struct webhdfs_file file cleanup_webhdfs_file = {0};
	struct err err cleanup_err = {0};

	if (webhdfs_answer_file(&call->question, body, length, &file, &err) < 0)
		refuse(call, &err);
	else
		succeed(call, &(struct webhdfs_result){.file = &file});
}

static void take_boolean(struct webhdfs_call *call, const char *body, size_t length)
{
	struct err err cleanup_err = {0};
	bool value = false;

	if (webhdfs_answer_boolean(&call->question, body, length, &value, &err) < 0) {
		refuse(call, &err);
	} else if (!value && call->question.op != WEBHDFS_DELETE) {
		err_set(&err, ERR_FAILED, "%s: %s %s: was not done%s%s", call->question.server,
			webhdfs_op_name(call->question.op), call->path,
			call->to ? "; is it there, and the directory of " : "",
			call->to ? call->to : "");
		refuse(call, &err);
	} else {
		succeed(call, &(struct webhdfs_result){0});
	}
}

static void take_list(struct webhdfs_call *call, const char *body, size_t length)
{
	struct err err cleanup_err = {0};

	if (webhdfs_answer_list(&call->question, body, length, call->visit, call->data, &err) < 0)
		refuse(call, &err);
	else
		succeed(call, &(struct webhdfs_result){0});
}

static void visit_of_batch(void *data, const struct webhdfs_file *file)
{
	struct webhdfs_call *call = data;

	mem_replace(&call->last, mem_strdup(file->name));
	call->visit(call->data, file);
}

static void take_batch(struct webhdfs_call *call, const char *body, size_t length)
{
	struct err err cleanup_err = {0};
	char *before cleanup_free = mem_strdup(call->last);
	int64_t left = 0;

	if (webhdfs_answer_batch(&call->question, body, length, visit_of_batch, call, &left, &err) <
	    0) {
		refuse(call, &err);
	} else if (left == 0) {
		succeed(call, &(struct webhdfs_result){0});
	} else if (str_equal(before, call->last)) {
		err_set(&err, ERR_INPUT, "%s: %s %s: the list does not go on",
			call->question.server, webhdfs_op_name(call->question.op), call->path);
		refuse(call, &err);
	} else {
		webhdfs_tries_progress(&call->tries, clock_monotonic_ms());
		call->is_waiting = call->is_paused;
		if (!call->is_waiting)
			begin_try(call);
	}
}

static void take_blocks(struct webhdfs_call *call, const char *body, size_t length)
{
	struct err err cleanup_err = {0};

	if (webhdfs_answer_blocks(&call->question, body, length, call->visit_block, call->data,
				  &err) < 0)
		refuse(call, &err);
	else
		succeed(call, &(struct webhdfs_result){0});
}

static void take_attributes(struct webhdfs_call *call, const char *body, size_t length)
{
	struct err err cleanup_err = {0};

	if (webhdfs_answer_attributes(&call->question, body, length, call->visit_attribute,
				      call->data, &err) < 0)
		refuse(call, &err);
	else
		succeed(call, &(struct webhdfs_result){0});
}

static void go_to(struct webhdfs_call *call, const char *location)
{
	struct err err cleanup_err = {0};

	net_url_finish(&call->place);
	if (webhdfs_location_parse(&call->question, location, &call->place, &err) < 0)
		refuse(call, &err);
	else
		exchange(call, STAGE_CONTENT);
}

static bool is_without_location(const struct http_response *response)
{
	json_t *answer cleanup_json = json_parse(response->body, response->length, NULL);

	return json_is_null(json_object_get(answer, "Location"));
}

static void take_location(struct webhdfs_call *call, const struct http_response *response)
{
	struct webhdfs_async *client = call->client;

	if (response->status != 307 && !client->takes_redirects && is_without_location(response)) {
		client->takes_redirects = true;
		exchange(call, STAGE_ASK);
		return;
	}
	struct err err cleanup_err = {0};
	char *location cleanup_free =
		response->status == 307 ? mem_strdup(response->location)
					: webhdfs_answer_location(&call->question, response->body,
								  response->length, &err);

	if (location) {
		go_to(call, location);
		return;
	}
	if (response->status == 307)
		err_set(&err, ERR_INPUT, "%s: %s %s: a redirect to nowhere", call->question.server,
			webhdfs_op_name(call->question.op), call->path);
	refuse(call, &err);
}

static bool is_content(const struct webhdfs_call *call)
{
	return call->question.op == WEBHDFS_OPEN || webhdfs_op_sends(call->question.op);
}

static bool asks_for_place(const struct webhdfs_call *call)
{
	return is_content(call) && call->stage == STAGE_ASK && !call->client->options.http_fs;
}

/* A good answer to the call's own question. */
static void take_answer(struct webhdfs_call *call, const struct http_response *response)
{
	bool http_fs = call->client->options.http_fs;

	if (call->flaw.message) /* of on_bytes() */
		tell(call, NULL, &call->flaw);
	else if (asks_for_place(call))
		take_location(call, response);
	else if (call->question.op == WEBHDFS_GETFILESTATUS)
		take_file(call, response->body, response->length);
	else if (call->question.op == WEBHDFS_LISTSTATUS)
		take_list(call, response->body, response->length);
	else if (call->question.op == WEBHDFS_LISTSTATUS_BATCH)
		take_batch(call, response->body, response->length);
	else if (call->visit_block)
		take_blocks(call, response->body, response->length);
	else if (call->question.op == WEBHDFS_GETXATTRS)
		take_attributes(call, response->body, response->length);
	else if (call->question.op == WEBHDFS_OPEN)
		succeed(call, &(struct webhdfs_result){.bytes = response->body,
						       .length = response->length});
	else if (is_content(call) || call->question.op == WEBHDFS_SETTIMES ||
		 call->question.op == WEBHDFS_SETXATTR || (call->to && !http_fs))
		succeed(call, &(struct webhdfs_result){0});
	else
		take_boolean(call, response->body, response->length);
}

/* A DataNode that fails says nothing about the NameNode, which may name another one next time. */
static enum webhdfs_verdict adjust(const struct webhdfs_call *call, enum webhdfs_verdict verdict)
{
	bool is_passing = verdict == WEBHDFS_NOT_HERE || verdict == WEBHDFS_BROKEN;

	/* To be told where content goes does nothing yet. */
	if (asks_for_place(call) && verdict == WEBHDFS_BROKEN)
		return WEBHDFS_NOT_HERE;
	if (call->stage == STAGE_CONTENT && is_passing)
		return call->tries.is_harmless ? WEBHDFS_NOT_NOW : WEBHDFS_REFUSED;
	return verdict;
}

/* `why` begins with the address, of which these errors tell otherwise. */
static const char *reason(const struct err *why)
{
	const char *behind = strstr(err_message(why), ": ");

	return behind ? behind + 2 : err_message(why);
}

static void err_interrupted(const struct webhdfs_call *call, struct err *err)
{
	err_set(err, ERR_FAILED, "%s: %s %s: interrupted", call->question.server,
		webhdfs_op_name(call->question.op), call->path);
}

static void on_no_answer(struct webhdfs_call *call, enum http_reach reach, const struct err *why)
{
	const struct webhdfs_question *question = &call->question;
	enum webhdfs_verdict verdict = WEBHDFS_REFUSED;
	bool is_data_node = call->stage == STAGE_CONTENT;
	bool is_lost = why->kind == ERR_UNREACHABLE;
	struct err err cleanup_err = {0};

	if (call->is_stopped) {
		err_interrupted(call, &err);
	} else if (is_data_node && is_lost && reach != HTTP_REACH_SENT) {
		webhdfs_err_data_node(question, &call->place, reason(why), &err);
		verdict = reach == HTTP_REACH_NAME ? WEBHDFS_REFUSED : WEBHDFS_NOT_NOW;
	} else {
		err_set(&err, why->kind, "%s: %s %s: %s%s", question->server,
			webhdfs_op_name(question->op), call->path, is_data_node ? "DataNode " : "",
			is_data_node ? err_message(why) : reason(why));
		if (is_lost)
			verdict = reach == HTTP_REACH_SENT ? adjust(call, WEBHDFS_BROKEN)
							   : WEBHDFS_NOT_HERE;
	}
	fail(call, verdict, &err);
}

static void take_room(struct webhdfs_call *call, const struct http_response *response)
{
	if (response && response->status == 200)
		webhdfs_add_room(response->body, response->length, &call->flaw);
	tell(call, NULL, &call->flaw);
}

/* ---- other DataNodes ---------------------------------------------------------------------- */

struct replicas {
	const struct webhdfs_call *call;
	char *host; /* of the DataNode that failed */
	int port;
	char *lost; /* "10.0.0.1:9866", as NameNodes take it; NULL: it has no replica */
	size_t left;
};

static bool is_same(const struct replicas *replicas, const struct webhdfs_place *place)
{
	return (str_equal_nocase(place->host, replicas->host) ||
		str_equal(place->ip, replicas->host)) &&
	       (place->http_port == replicas->port || place->https_port == replicas->port);
}

static void on_replicas(void *data, const struct webhdfs_block *block)
{
	struct replicas *replicas = data;

	for (size_t i = 0; i < block->place_count; i++) {
		const struct webhdfs_place *place = &block->places[i];
		char *name cleanup_free = mem_printf("%s:%lld", place->ip ? place->ip : place->host,
						     (long long)place->xfer_port);
		if (str_list_has(&replicas->call->excluded, name))
			continue;
		if (is_same(replicas, place))
			mem_replace(&replicas->lost, mem_steal(&name));
		else
			replicas->left++;
	}
}

/* Another DataNode has what this one failed to send: the NameNode is not to name it again. */
static bool exclude(struct webhdfs_call *call, const struct http_response *response)
{
	const struct webhdfs_question question = {.op = WEBHDFS_GET_BLOCK_LOCATIONS,
						  .server = call->question.server,
						  .path = call->path};
	struct replicas replicas = {.call = call};

	bool is_told =
		response && response->status == 200 &&
		net_address_split(call->place.address, &replicas.host, &replicas.port, NULL) == 0 &&
		webhdfs_answer_blocks(&question, response->body, response->length, on_replicas,
				      &replicas, NULL) == 0;
	free(replicas.host);
	if (is_told && replicas.lost && replicas.left > 0) {
		str_list_take(&call->excluded, replicas.lost);
		return true;
	}
	free(replicas.lost);
	str_list_finish(&call->excluded);
	return false;
}

static void take_replicas(struct webhdfs_call *call, const struct http_response *response)
{
	struct err failure cleanup_err = call->lost;

	call->lost = (struct err){0};
	if (exclude(call, response))
		begin_try(call);
	else
		try_again(call, WEBHDFS_NOT_NOW, &failure);
}

/* Whether this is an answer to what is asked before a gateway's rename. */
static bool is_prepared(const struct webhdfs_call *call, enum webhdfs_verdict verdict,
			enum err_kind kind)
{
	return (verdict == WEBHDFS_DONE && call->stage == STAGE_SOURCE) ||
	       ((verdict == WEBHDFS_DONE || kind == ERR_NOT_FOUND) &&
		(call->stage == STAGE_TARGET || call->stage == STAGE_CLEAR));
}

static void prepare_on(struct webhdfs_call *call, bool is_missing)
{
	struct err err cleanup_err = {0};

	if (call->stage == STAGE_SOURCE) {
		exchange(call, STAGE_TARGET);
	} else if (call->stage == STAGE_CLEAR || is_missing) {
		exchange(call, STAGE_ASK);
	} else if (call->overwrite) {
		exchange(call, STAGE_CLEAR);
	} else {
		err_set(&err, ERR_FAILED, "%s: RENAME %s: %s exists", call->question.server,
			call->path, call->to);
		refuse(call, &err);
	}
}

/* The exchange moves content, to or from a DataNode or a gateway. */
static bool is_move(const struct webhdfs_call *call)
{
	return call->stage == STAGE_CONTENT ||
	       (call->stage == STAGE_ASK && is_content(call) && call->client->options.http_fs);
}

/* DataNodes end connections anyway, and what is renamed twice is lost. */
static bool may_keep(const struct webhdfs_call *call)
{
	return !is_move(call) && !call->to;
}

static void on_answer(void *data, const struct http_response *response, const struct err *why)
{
	struct webhdfs_call *call = data;
	struct err err cleanup_err = {0};
	struct http_client *http = mem_steal(&call->http);
	enum webhdfs_verdict verdict = WEBHDFS_DONE;

	event_del(&call->timer);
	if (response && may_keep(call) && http_client_is_connected(http)) {
		http_client_destroy(call->client->kept);
		call->client->kept = mem_steal(&http);
		call->client->kept_server = call->question.server;
	} else if (!response && call->is_kept && why->kind == ERR_UNREACHABLE) {
		http_client_destroy(http);
		start_exchange(call);
		return;
	}
	if (call->stage == STAGE_ROOM) {
		take_room(call, response);
		http_client_destroy(http);
		return;
	}
	if (call->stage == STAGE_REPLICAS) {
		take_replicas(call, response);
		http_client_destroy(http);
		return;
	}
	if (!response) {
		on_no_answer(call, http_client_reach(http), why);
		http_client_destroy(http);
		return;
	}
	if (response->status != 307 || !asks_for_place(call))
		verdict = webhdfs_judge(&call->question, response->status, response->body,
					response->length, &err);
	if (call->question.op == WEBHDFS_DELETE && err.kind == ERR_NOT_FOUND)
		succeed(call, &(struct webhdfs_result){0});
	else if (is_prepared(call, verdict, err.kind))
		prepare_on(call, err.kind == ERR_NOT_FOUND);
	else if (renews_token(call, &err))
		begin_try(call);
	else if (verdict != WEBHDFS_DONE)
		fail(call, adjust(call, verdict), &err);
	else if (call->stage == STAGE_LOOK)
		succeed(call, &(struct webhdfs_result){0});
	else
		take_answer(call, response);
	http_client_destroy(http);
}

/* ---- questions ---------------------------------------------------------------------------- */

/* Questions about a rename are others than the call's. */
static void append_target(const struct webhdfs_call *call, struct str *target)
{
	bool is_about_replicas = call->stage == STAGE_REPLICAS;
	const struct webhdfs_question other = {
		.op = is_about_replicas		   ? WEBHDFS_GET_BLOCK_LOCATIONS
		      : call->stage == STAGE_CLEAR ? WEBHDFS_DELETE
						   : WEBHDFS_GETFILESTATUS,
		.server = call->question.server,
		.path = is_about_replicas || call->stage == STAGE_SOURCE ? call->path : call->to,
	};

	if (call->stage == STAGE_CONTENT) {
		str_append(target, call->place.target);
		return;
	}
	if (call->stage == STAGE_ROOM) {
		str_append(target, WEBHDFS_ROOM_TARGET);
		return;
	}
	if (call->stage != STAGE_ASK) {
		webhdfs_target(target, &call->client->options, &other);
		if (is_about_replicas)
			str_append_format(target, "&offset=%lld&length=1", (long long)call->offset);
		return;
	}
	webhdfs_target(target, &call->client->options, &call->question);
	str_append(target, str_text(&call->parameters));
	if (call->on_bytes)
		str_append_format(target, "&offset=%lld&length=%lld", (long long)call->offset,
				  (long long)call->left);
	if (call->last)
		webhdfs_target_add(target, "startAfter", call->last);
	for (size_t i = 0; i < call->excluded.count; i++)
		str_append_format(target, "%s%s", i == 0 ? "&excludedatanodes=" : ",",
				  call->excluded.items[i]);
	if (call->client->options.http_fs && webhdfs_op_sends(call->question.op))
		str_append(target, "&data=true");
	else if (asks_for_place(call) && !call->client->takes_redirects)
		str_append(target, "&noredirect=true");
}

static const char *method(const struct webhdfs_call *call)
{
	if (call->stage == STAGE_CLEAR)
		return "DELETE";
	return call->stage == STAGE_ASK || call->stage == STAGE_CONTENT
		       ? webhdfs_op_method(call->question.op)
		       : "GET";
}

/* Of what was sent, or has come. */
static bool on_sent(void *data, int64_t bytes)
{
	struct webhdfs_call *call = data;

	call->sent = bytes;
	call->is_stopped = !call->progress->tell(call->progress->data, bytes);
	return !call->is_stopped;
}

static bool goes_on(struct webhdfs_call *call)
{
	if (!call->progress || on_sent(call, (int64_t)call->length - call->left))
		return true;
	err_interrupted(call, &call->flaw);
	return false;
}

/* No more than was asked for, whatever comes. */
static bool take_piece(void *data, const char *bytes, size_t length)
{
	struct webhdfs_call *call = data;

	if ((int64_t)length > call->left)
		length = (size_t)call->left;
	call->left -= (int64_t)length;
	if (!call->on_bytes)
		return fs_write_all(call->fd, bytes, length, &call->flaw) == 0 && goes_on(call) &&
		       call->left > 0;
	call->has_progressed = true;
	call->offset += (int64_t)length;
	return call->on_bytes(call->data, bytes, length) && call->left > 0;
}

static int rewind_file(struct webhdfs_call *call, bool empty, struct err *err)
{
	call->left = (int64_t)call->length;
	if (lseek(call->fd, call->offset, SEEK_SET) < 0 ||
	    (empty && ftruncate(call->fd, call->offset) < 0))
		return err_set_errno(err, "%s", call->path);
	return 0;
}

/* For one exchange; NULL: `err`. */
static struct http_client *connect_to(struct webhdfs_call *call, const struct net_url *url,
				      struct err *err)
{
	struct webhdfs_async *client = call->client;
	bool is_tls = url->is_tls;

	call->is_kept = client->kept && may_keep(call) &&
			client->kept_server == call->question.server &&
			http_client_is_connected(client->kept);
	if (call->is_kept)
		return mem_steal(&client->kept);
	if (is_tls && !client->tls)
		client->tls = tls_context_create_client(client->options.authorities,
							WEBHDFS_TRUST_REMEDY, err);
	if (is_tls && !client->tls)
		return NULL;
	struct http_client *http = http_client_create(client->base, url->address, NULL, err);
	if (http && is_tls)
		http_client_use_tls(http, client->tls);
	return http;
}

static void ask(struct webhdfs_call *call, const struct net_url *url)
{
	bool moves = is_move(call);
	bool sends = moves && webhdfs_op_sends(call->question.op);
	bool by_file = moves && call->fd >= 0;
	struct str target cleanup_str_secret = {0}; /* it may have a token in it */
	struct err err cleanup_err = {0};

	if (by_file && rewind_file(call, !sends, &err) < 0) {
		refuse(call, &err);
		return;
	}
	call->http = connect_to(call, url, &err);
	if (!call->http) {
		refuse(call, &err);
		return;
	}
	append_target(call, &target);
	call->sent = 0;
	if (moves && call->progress)
		timer_start(&call->timer, PROGRESS_MS);
	else if (call->client->options.tells_waits)
		timer_start(&call->timer, WEBHDFS_TOLD_MS);
	http_client_start(call->http,
			  &(struct http_question){
				  .method = method(call),
				  .path = target.text,
				  .content_type = sends ? "application/octet-stream" : NULL,
				  .body = sends ? call->body.text : NULL,
				  .body_fd = call->fd,
				  .body_length = sends ? call->length : 0,
				  .silence_ms = call->client->options.silence_timeout_ms,
				  .connect_ms = call->client->options.connect_timeout_ms,
				  .on_bytes = moves && !sends && (by_file || call->on_bytes)
						      ? take_piece
						      : NULL,
				  .on_sent = sends && call->progress ? on_sent : NULL,
				  .done = on_answer,
				  .data = call,
			  });
}

/* False: there is none, and the try has failed. */
static bool has_token(struct webhdfs_call *call)
{
	struct hdfs_token *token = call->client->options.token;
	struct err err cleanup_err = {0};

	if (!token)
		return true;
	int64_t patience_ms = call->client->options.connect_timeout_ms;
	if (patience_ms > HDFS_TOKEN_PATIENCE_MS)
		patience_ms = HDFS_TOKEN_PATIENCE_MS;
	if (hdfs_token_get(token, patience_ms, &err) < 0) {
		fail(call, err.kind == ERR_UNREACHABLE ? WEBHDFS_NOT_NOW : WEBHDFS_REFUSED, &err);
		return false;
	}
	call->token_generation = hdfs_token_generation(token);
	return true;
}

static void start_exchange(struct webhdfs_call *call)
{
	struct net_url server cleanup_net_url = {0};

	if (call->stage == STAGE_CONTENT) {
		ask(call, &call->place);
		return;
	}
	if (!has_token(call))
		return;
	webhdfs_url_parse(call->question.server, &server, NULL);
	ask(call, &server);
}

/* Nothing may move for long. */
static void ask_progress(struct webhdfs_call *call)
{
	const struct err none = {.kind = ERR_FAILED};

	if (on_sent(call, call->sent)) {
		if (is_long_wait(call, 0))
			tell_silence(call);
		timer_start(&call->timer, PROGRESS_MS);
		return;
	}
	http_client_destroy(mem_steal(&call->http));
	on_no_answer(call, HTTP_REACH_SENT, &none);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct webhdfs_call *call = data;

	if (call->flaw.message) {
		tell(call, NULL, &call->flaw);
		return;
	}
	if (call->http && is_move(call) && call->progress) {
		ask_progress(call);
		return;
	}
	if (call->http) {
		tell_silence(call);
		return;
	}
	if (call->on_bytes && call->left == 0) {
		succeed(call, &(struct webhdfs_result){0});
		return;
	}
	call->question.server = webhdfs_tries_server(&call->tries);
	begin_try(call);
}

void webhdfs_call_pause(struct webhdfs_call *call)
{
	call->is_paused = true;
	if (call->http)
		http_client_pause(call->http);
}

void webhdfs_call_resume(struct webhdfs_call *call)
{
	call->is_paused = false;
	if (call->http)
		http_client_resume(call->http);
	if (call->is_waiting)
		timer_start(&call->timer, 0);
	call->is_waiting = false;
}

struct webhdfs_call *webhdfs_call_start(struct webhdfs_async *client, enum webhdfs_op op,
					const char *path, webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = mem_alloc(sizeof(*call));

	call->client = client;
	call->path = mem_strdup(path);
	call->question = (struct webhdfs_question){.op = op, .path = call->path};
	call->fd = -1;
	call->told_ms = clock_monotonic_ms() + WEBHDFS_TOLD_MS;
	call->done = done;
	call->data = data;
	webhdfs_path_check(path, &call->flaw);
	webhdfs_tries_begin(&call->tries, &client->options, client->active, true,
			    clock_monotonic_ms());
	event_assign(&call->timer, client->base, -1, 0, on_timer, call);
	TAILQ_INSERT_TAIL(&client->calls, call, link);
	timer_start(&call->timer, 0);
	return call;
}
