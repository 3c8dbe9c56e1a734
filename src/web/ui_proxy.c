#include "web/ui_proxy.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/dial.h"
#include "net/http_server.h"
#include "net/tls.h"
#include "net/wire.h"

enum {
	DIAL_MS = 5000,
	ON_THE_WAY = 128 * 1024, /* bytes that wait to be sent, each way */
	HEAD_CAP = 64 * 1024,
};

/* How much of a message's body is still to come. */
struct body {
	enum { BODY_LENGTH, BODY_CHUNKED, BODY_ENDLESS } kind;
	uint64_t left; /* BODY_LENGTH */
	struct http_chunks chunks;
};

struct ui_proxy {
	struct event_base *base;
	struct http_request *request;
	size_t *count;
	char *prefix, *address, *base_path, *token, *orderer, *host, *target, *method;
	struct ui_place place; /* of these texts */
	struct dial *dial;     /* NULL: not connecting */
	bool is_connected;
	struct tls_context *tls; /* of the token; NULL: without TLS */
	struct wire wire;	 /* to the program */
	struct str head;	 /* of the question, until it is sent */
	struct body question, answer;
	bool wants_upgrade;
	bool has_answer; /* its head was passed on */
	bool has_ended;	 /* the program said all it had to */
	size_t looked;
};

static void tell_status(struct ui_proxy *proxy, int status)
{
	void (*answered)(void *data, int status) = proxy->place.answered;

	proxy->place.answered = NULL;
	if (answered)
		answered(proxy->place.answered_data, status);
}

static void free_proxy(struct ui_proxy *proxy)
{
	tell_status(proxy, 0);
	(*proxy->count)--;
	if (proxy->dial)
		dial_cancel(proxy->dial);
	if (proxy->is_connected)
		wire_finish(&proxy->wire);
	tls_context_destroy(proxy->tls);
	str_finish_secret(&proxy->head);
	free(proxy->prefix);
	free(proxy->address);
	free(proxy->base_path);
	mem_free_secret(proxy->token);
	free(proxy->orderer);
	free(proxy->host);
	free(proxy->target);
	free(proxy->method);
	free(proxy);
}

/* ---- bodies ------------------------------------------------------------------------------- */

static struct body body_of(bool chunked, int64_t content_length, bool may_be_endless)
{
	struct body body = {.kind = BODY_LENGTH};

	if (chunked)
		body.kind = BODY_CHUNKED;
	else if (content_length >= 0)
		body.left = (uint64_t)content_length;
	else if (may_be_endless)
		body.kind = BODY_ENDLESS;
	return body;
}

static bool is_whole(const struct body *body)
{
	return body->kind == BODY_CHUNKED  ? body->chunks.state == CHUNKS_DONE
	       : body->kind == BODY_LENGTH ? body->left == 0
					   : false;
}

/* How many of the bytes belong to the body; -1: it is malformed. */
static ssize_t take(struct body *body, const char *bytes, size_t length)
{
	const char *data;
	size_t data_length;

	if (body->kind == BODY_ENDLESS)
		return (ssize_t)length;
	if (body->kind == BODY_CHUNKED)
		return http_chunks_next(&body->chunks, bytes, length, &data, &data_length);
	if (length > body->left)
		length = (size_t)body->left;
	body->left -= length;
	return (ssize_t)length;
}

/* Passes on what is there of a body, as it is framed, as long as there is room. -1: malformed. */
static int move(struct body *body, struct evbuffer *from, struct evbuffer *to)
{
	struct evbuffer_iovec part;

	while (!is_whole(body) && evbuffer_get_length(to) < ON_THE_WAY &&
	       evbuffer_peek(from, -1, NULL, &part, 1) > 0) {
		ssize_t used = take(body, part.iov_base, part.iov_len);
		if (used < 0)
			return -1;
		evbuffer_remove_buffer(from, to, (size_t)used);
	}
	return 0;
}

/* ---- ends --------------------------------------------------------------------------------- */

/* Before anything was said: an error page. Afterwards all that is left is to close. */
static void fail(struct ui_proxy *proxy, const char *why)
{
	struct http_request *request = proxy->request;

	tell_status(proxy, 502);
	if (proxy->has_answer)
		http_raw_end(request);
	else
		http_answer_error(request, 502, "no-answer",
				  "the program at %s does not answer: %s", proxy->address, why);
	free_proxy(proxy);
}

static void finish(struct ui_proxy *proxy)
{
	http_raw_end(proxy->request);
	free_proxy(proxy);
}

/* ---- the answer --------------------------------------------------------------------------- */

static void begin_answer(struct ui_proxy *proxy, const struct http_head *answer)
{
	struct evbuffer *output = http_raw_output(proxy->request);
	struct str head cleanup_str = {0};
	bool has_none =
		answer->status == 204 || answer->status == 304 || str_equal(proxy->method, "HEAD");

	ui_head_of_answer(&head, answer, proxy->target, proxy->host, &proxy->place);
	evbuffer_add(output, head.text, head.length);
	proxy->has_answer = true;
	tell_status(proxy, answer->status);
	if (answer->status == 101)
		proxy->question = proxy->answer = (struct body){.kind = BODY_ENDLESS};
	else if (has_none)
		proxy->answer = (struct body){.kind = BODY_LENGTH};
	else
		proxy->answer = body_of(answer->chunked, answer->content_length, true);
}

/* 1: the head of the answer is passed on; 0: it is not there yet; -1: failed, and freed. */
static int take_head(struct ui_proxy *proxy)
{
	struct evbuffer *input = proxy->wire.input;
	struct err err cleanup_err = {0};
	struct http_head head;

	while (!proxy->has_answer) {
		size_t have = evbuffer_get_length(input);
		const char *bytes = (const char *)evbuffer_pullup(input, -1);
		size_t length = have > 0 ? http_head_length(bytes, have, proxy->looked) : 0;
		proxy->looked = have;
		if (length == 0 && have < HEAD_CAP && !proxy->has_ended)
			return 0;
		if (length == 0 || http_head_parse_response(&head, bytes, length, &err) < 0) {
			fail(proxy, length > 0	       ? err_message(&err)
				    : have >= HEAD_CAP ? "its headers are too large"
						       : "it closed the connection");
			return -1;
		}
		evbuffer_drain(input, length);
		proxy->looked = 0;
		/* Others below 200 announce the answer only. */
		if (head.status >= 200 || (head.status == 101 && proxy->wants_upgrade))
			begin_answer(proxy, &head);
		http_head_finish(&head);
	}
	return 1;
}

/* Moves what can be moved, both ways. The proxy may be gone afterwards. */
static void go_on(struct ui_proxy *proxy)
{
	struct wire *wire = &proxy->wire;

	if (!proxy->is_connected)
		return;
	if (move(&proxy->question, http_raw_input(proxy->request), wire->output) < 0) {
		fail(proxy, "the request is badly chunked");
		return;
	}
	wire_flush(wire);
	if (take_head(proxy) < 0)
		return;
	if (proxy->has_answer &&
	    move(&proxy->answer, wire->input, http_raw_output(proxy->request)) < 0) {
		fail(proxy, "its answer is badly chunked");
		return;
	}
	wire_resume(wire);
	http_raw_go_on(proxy->request);
	bool is_over =
		proxy->has_answer && (is_whole(&proxy->answer) ||
				      (proxy->has_ended && evbuffer_get_length(wire->input) == 0));
	if (is_over)
		finish(proxy);
}

static void on_wire_changed(void *data)
{
	go_on(data);
}

static void on_wire_end(void *data, int error)
{
	struct ui_proxy *proxy = data;

	proxy->has_ended = true;
	wire_stop_reading(&proxy->wire);
	go_on(proxy);
}

static void on_browser_changed(void *data)
{
	go_on(data);
}

static void on_browser_gone(void *data)
{
	free_proxy(data);
}

/* ---- the question ------------------------------------------------------------------------- */

static void on_dialed(void *data, int fd, const struct err *err)
{
	struct ui_proxy *proxy = data;

	proxy->dial = NULL;
	if (fd < 0) {
		fail(proxy, err_message(err));
		return;
	}
	proxy->wire = (struct wire){
		.tls = proxy->tls ? tls_create(proxy->tls, NULL) : NULL,
		.input_cap = ON_THE_WAY,
		.on_input = on_wire_changed,
		.on_output = on_wire_changed,
		.on_end = on_wire_end,
		.data = proxy,
	};
	wire_init(&proxy->wire, proxy->base, fd);
	proxy->is_connected = true;
	evbuffer_add(proxy->wire.output, proxy->head.text, proxy->head.length);
	str_finish_secret(&proxy->head);
	go_on(proxy);
}

static void write_question(struct ui_proxy *proxy)
{
	const struct http_head *head = http_request_head(proxy->request);
	char *peer cleanup_free = http_request_peer(proxy->request);
	bool shows_token = http_request_access(proxy->request) == HTTP_ACCESS_ALL;

	proxy->wants_upgrade = ui_wants_upgrade(head);
	ui_head_of_question(&proxy->head, head, peer, shows_token, &proxy->place);
	proxy->question = body_of(head->chunked, head->content_length, false);
}

void ui_proxy_start(struct event_base *base, struct http_request *request,
		    const struct ui_place *place, size_t *count)
{
	struct ui_proxy *proxy = mem_alloc(sizeof(*proxy));
	struct err err cleanup_err = {0};

	proxy->base = base;
	proxy->request = request;
	proxy->count = count;
	(*count)++;
	proxy->prefix = mem_strdup(place->prefix);
	proxy->address = mem_strdup(place->address);
	proxy->host = mem_strdup(http_request_header(request, "Host"));
	proxy->target = mem_strdup(http_request_head(request)->target);
	proxy->method = mem_strdup(http_request_head(request)->method);
	proxy->base_path = mem_strdup(place->base);
	proxy->token = mem_strdup(place->identity ? NULL : place->token);
	proxy->orderer = mem_strdup(place->orderer);
	proxy->tls =
		place->is_sealed ? tls_context_create_named(place->identity, place->token) : NULL;
	proxy->place = (struct ui_place){.prefix = proxy->prefix,
					 .address = proxy->address,
					 .keep_path = place->keep_path,
					 .base = proxy->base_path,
					 .token = proxy->token,
					 .orderer = proxy->orderer,
					 .answered = place->answered,
					 .answered_data = place->answered_data};
	write_question(proxy);
	http_request_take_over(request, &(struct http_raw){.changed = on_browser_changed,
							   .closed = on_browser_gone,
							   .data = proxy});
	proxy->dial = dial_start(base, proxy->address, DIAL_MS, on_dialed, proxy, &err);
	if (!proxy->dial)
		fail(proxy, err_message(&err));
	else
		dial_demand_owner(proxy->dial, place->owner, place->listener_uids);
}
