#include "hadoop/webhdfs_async.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "hadoop/webhdfs_call.h"
#include "net/http_client.h"
#include "net/tls.h"

enum { SLOWEST_BYTES_PER_MS = 256 };

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
	str_finish(&call->parameters);
	str_finish(&call->body);
	free(call->path);
	free(call->to);
	free(call);
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

/* `err` is set, and freed here. */
static void fail(struct webhdfs_call *call, enum webhdfs_verdict verdict, struct err *err)
{
	struct err failure cleanup_err = *err;

	*err = (struct err){0};
	/* The source is gone: by a try of ours that seemed to fail? */
	if (call->to && call->tries.is_unsure && call->stage == STAGE_ASK &&
	    failure.kind == ERR_NOT_FOUND) {
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
	int64_t pause = webhdfs_tries_next(&call->tries, verdict, clock_monotonic_ms(),
					   random_u64(), &failure);
	if (pause >= 0)
		timer_start(&call->timer, pause);
	else
		tell(call, NULL, call->flaw.message ? &call->flaw : &failure);
}

static void refuse(struct webhdfs_call *call, struct err *err)
{
	fail(call, WEBHDFS_REFUSED, err);
}

static void succeed(struct webhdfs_call *call, const struct webhdfs_result *result)
{
	call->client->active = call->tries.address;
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

static void take_location(struct webhdfs_call *call, const struct http_response *response)
{
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

static void on_no_answer(struct webhdfs_call *call, const struct err *why)
{
	struct err err cleanup_err = {0};

	if (call->stage == STAGE_CONTENT && why->kind == ERR_UNREACHABLE)
		webhdfs_err_data_node(&call->question, &call->place, err_message(why), &err);
	else
		err_set(&err, why->kind, "%s %s: %s", webhdfs_op_name(call->question.op),
			call->path, err_message(why));
	fail(call, adjust(call, why->kind == ERR_UNREACHABLE ? WEBHDFS_BROKEN : WEBHDFS_REFUSED),
	     &err);
}

static void take_room(struct webhdfs_call *call, const struct http_response *response)
{
	if (response && response->status == 200)
		webhdfs_add_room(response->body, response->length, &call->flaw);
	tell(call, NULL, &call->flaw);
}

static void on_answer(void *data, const struct http_response *response, const struct err *why)
{
	struct webhdfs_call *call = data;
	struct err err cleanup_err = {0};
	struct http_client *http = mem_steal(&call->http);
	enum webhdfs_verdict verdict = WEBHDFS_DONE;

	if (call->stage == STAGE_ROOM) {
		take_room(call, response);
		http_client_destroy(http);
		return;
	}
	if (!response) {
		on_no_answer(call, why);
		http_client_destroy(http);
		return;
	}
	if (response->status != 307 || !asks_for_place(call))
		verdict = webhdfs_judge(&call->question, response->status, response->body,
					response->length, &err);
	if (call->question.op == WEBHDFS_DELETE && err.kind == ERR_NOT_FOUND)
		succeed(call, &(struct webhdfs_result){0});
	else if (call->stage == STAGE_CLEAR &&
		 (verdict == WEBHDFS_DONE || err.kind == ERR_NOT_FOUND))
		exchange(call, STAGE_ASK);
	else if (verdict != WEBHDFS_DONE)
		fail(call, adjust(call, verdict), &err);
	else if (call->stage == STAGE_LOOK)
		succeed(call, &(struct webhdfs_result){0});
	else
		take_answer(call, response);
	http_client_destroy(http);
}

/* ---- questions ---------------------------------------------------------------------------- */

/* STAGE_CLEAR and STAGE_LOOK ask something else than the call itself, about `to`. */
static void append_target(const struct webhdfs_call *call, struct str *target)
{
	struct webhdfs_question other = {.server = call->question.server, .path = call->to};

	other.op = call->stage == STAGE_CLEAR ? WEBHDFS_DELETE : WEBHDFS_GETFILESTATUS;
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
		return;
	}
	webhdfs_target(target, &call->client->options, &call->question);
	str_append(target, str_text(&call->parameters));
	if (is_content(call) && !call->client->options.http_fs)
		str_append(target, "&noredirect=true");
	else if (webhdfs_op_sends(call->question.op))
		str_append(target, "&data=true");
}

static const char *method(const struct webhdfs_call *call)
{
	if (call->stage == STAGE_CLEAR)
		return "DELETE";
	return call->stage == STAGE_LOOK || call->stage == STAGE_ROOM
		       ? "GET"
		       : webhdfs_op_method(call->question.op);
}

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct webhdfs_call *call = data;
	size_t wanted = length < call->left ? length : call->left;

	call->left -= wanted;
	return fs_write_all(call->fd, bytes, wanted, &call->flaw) == 0 && wanted == length;
}

static int rewind_file(struct webhdfs_call *call, bool empty, struct err *err)
{
	call->left = call->length;
	if (lseek(call->fd, call->offset, SEEK_SET) < 0 ||
	    (empty && ftruncate(call->fd, call->offset) < 0))
		return err_set_errno(err, "%s", call->path);
	return 0;
}

/* The client for one exchange; NULL: `err`. */
static struct http_client *connect_to(struct webhdfs_async *client, const char *address,
				      bool is_tls, struct err *err)
{
	if (is_tls && !client->tls)
		client->tls = tls_context_create_client(client->options.authorities,
							WEBHDFS_TRUST_REMEDY, err);
	if (is_tls && !client->tls)
		return NULL;
	struct http_client *http = http_client_create(client->base, address, NULL, err);
	if (http && is_tls)
		http_client_use_tls(http, client->tls);
	return http;
}

static void ask(struct webhdfs_call *call, const struct net_url *url)
{
	bool moves =
		is_content(call) && (call->stage == STAGE_CONTENT || call->client->options.http_fs);
	bool sends = moves && webhdfs_op_sends(call->question.op);
	bool by_file = moves && call->fd >= 0;
	struct str target cleanup_str = {0};
	struct err err cleanup_err = {0};

	if (by_file && rewind_file(call, !sends, &err) < 0) {
		refuse(call, &err);
		return;
	}
	call->http = connect_to(call->client, url->address, url->is_tls, &err);
	if (!call->http) {
		refuse(call, &err);
		return;
	}
	append_target(call, &target);
	http_client_start(
		call->http,
		&(struct http_question){
			.method = method(call),
			.path = target.text,
			.content_type = sends ? "application/octet-stream" : NULL,
			.body = sends ? call->body.text : NULL,
			.body_fd = call->fd,
			.body_length = sends ? call->length : 0,
			.timeout_ms = call->client->options.silence_timeout_ms +
				      (int64_t)((moves ? call->length : 0) / SLOWEST_BYTES_PER_MS),
			.on_bytes = by_file && !sends ? on_bytes : NULL,
			.done = on_answer,
			.data = call,
		});
}

static void start_exchange(struct webhdfs_call *call)
{
	struct net_url server cleanup_net_url = {0};

	if (call->stage == STAGE_CONTENT) {
		ask(call, &call->place);
		return;
	}
	webhdfs_url_parse(call->question.server, &server, NULL);
	ask(call, &server);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct webhdfs_call *call = data;

	if (call->flaw.message) {
		tell(call, NULL, &call->flaw);
		return;
	}
	call->question.server = webhdfs_tries_server(&call->tries);
	/* What stands there after a try that seemed to fail may be what was renamed. */
	bool clears = call->to && call->overwrite && call->client->options.http_fs &&
		      !call->tries.is_unsure;
	exchange(call, clears ? STAGE_CLEAR : STAGE_ASK);
}

struct webhdfs_call *webhdfs_call_start(struct webhdfs_async *client, enum webhdfs_op op,
					const char *path, webhdfs_done *done, void *data)
{
	struct webhdfs_call *call = mem_alloc(sizeof(*call));

	call->client = client;
	call->path = mem_strdup(path);
	call->question = (struct webhdfs_question){.op = op, .path = call->path};
	call->fd = -1;
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
