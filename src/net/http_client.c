#include "net/http_client.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"
#include "net/address.h"
#include "net/dial.h"
#include "net/gzip.h"
#include "net/http_message.h"
#include "net/http_negotiate.h"
#include "net/socket_owner.h"
#include "net/tls.h"
#include "net/wire.h"

enum {
	INPUT_CAP = 256 * 1024,
	HEAD_CAP = 64 * 1024,
	CONNECT_TIMEOUT_MS = 20 * 1000,
	FILE_AT_ONCE = 64 * 1024, /* of a file's bytes that wait to be sent */
};

struct http_call {
	TAILQ_ENTRY(http_call) link;
	struct http_client *client;
	struct http_question question; /* its texts are owned */
	char *method, *path, *accept, *content_type, *authorization, *headers;
	struct http_negotiation *negotiation; /* NULL: none, or not sent yet */
	struct str body;
	struct event timer;
	int64_t end_ms; /* by timeout_ms; INT64_MAX: none */
};
TAILQ_HEAD(http_call_list, http_call);

/* How the end of the body in progress is told. */
enum framing { FRAMING_HEAD, FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_CLOSE };

struct http_client {
	struct event_base *base;
	char *address, *token;
	uid_t owner;			    /* of the server; SOCKET_OWNER_ANY */
	char *host;			    /* of `address` */
	struct tls_context *tls;	    /* borrowed; NULL: without TLS */
	struct tls_context *own_tls;	    /* of the token; NULL: none */
	struct http_negotiator *negotiator; /* borrowed; NULL: none */
	struct http_call_list calls;	    /* the first is on the wire when `is_busy` */
	struct dial *dial;		    /* NULL: not connecting */
	bool is_connected;		    /* `wire` holds a socket */
	bool is_busy;
	struct wire wire;
	struct event agreed; /* TLS is to be agreed on by now */
	struct event next;   /* sends the first call, from the loop */
	struct event again;  /* goes on with the answer, from the loop */
	bool is_paused;	     /* nobody takes the answer now */
	enum http_reach reach;

	size_t file_left; /* of the body on the wire: not read yet */

	/* The answer in progress. */
	enum framing framing;
	bool repeats; /* the call, after this answer */
	size_t looked;
	uint64_t left; /* FRAMING_LENGTH */
	struct http_chunks chunks;
	struct http_head head;
	struct gunzip *gunzip; /* NULL: it comes as it is */
	struct str body;
};

static void free_call(struct http_call *call)
{
	event_del(&call->timer);
	TAILQ_REMOVE(&call->client->calls, call, link);
	free(call->method);
	mem_free_secret(call->path); /* WebHDFS has tokens there */
	free(call->accept);
	free(call->content_type);
	mem_free_secret(call->authorization);
	free(call->headers);
	http_negotiation_destroy(call->negotiation);
	str_finish(&call->body);
	free(call);
}

static void disconnect(struct http_client *client)
{
	if (client->is_connected)
		wire_finish(&client->wire);
	gunzip_destroy(mem_steal(&client->gunzip));
	client->is_connected = false;
	client->is_busy = false;
	client->is_paused = false;
	event_del(&client->again);
	event_del(&client->agreed);
}

static void send_next(struct http_client *client)
{
	if (!TAILQ_EMPTY(&client->calls) && !client->is_busy)
		event_active(&client->next, EV_TIMEOUT, 0);
}

/* Ends `call` with what is told. Last thing of every event: the client may be gone afterwards. */
static void tell(struct http_call *call, const struct http_response *response,
		 const struct err *err)
{
	void (*done)(void *, const struct http_response *, const struct err *) =
		call->question.done;
	void *data = call->question.data;
	struct http_client *client = call->client;

	free_call(call);
	send_next(client);
	done(data, response, err);
}

static void fail(struct http_call *call, enum err_kind kind, const char *text)
{
	struct http_client *client = call->client;
	struct err err cleanup_err = {0};

	err_set(&err, kind, "%s: %s", client->address, text);
	if (client->is_busy && call == TAILQ_FIRST(&client->calls))
		disconnect(client);
	tell(call, NULL, &err);
}

/* The answer is whole, or as much of it as was wanted. */
static void complete(struct http_client *client, bool may_keep)
{
	const struct err err = {0};
	struct str body cleanup_str = client->body;
	struct http_head head = client->head;

	client->body = (struct str){0};
	client->head = (struct http_head){0};
	client->is_busy = false;
	gunzip_destroy(mem_steal(&client->gunzip));
	/* Bytes behind the answer belong to nothing that was asked. */
	if (!may_keep || !head.keep_alive || evbuffer_get_length(client->wire.input) > 0 ||
	    client->file_left > 0 || wire_is_sending(&client->wire))
		disconnect(client); /* also when it came before all was said */
	if (client->repeats) {
		http_head_finish(&head);
		send_next(client);
		return;
	}
	struct http_response response = {head.status, str_text(&body), body.length,
					 http_head_find(&head, "Location"), &head};
	tell(TAILQ_FIRST(&client->calls), &response, &err);
	http_head_finish(&head);
}

static bool is_success(int status)
{
	return status >= 200 && status < 300;
}

/* Its framing says that this was all of the answer. */
static void end_answer(struct http_client *client, bool may_keep)
{
	if (client->gunzip && !gunzip_is_whole(client->gunzip))
		fail(TAILQ_FIRST(&client->calls), ERR_INPUT, "the compressed answer is cut off");
	else
		complete(client, may_keep);
}

/* False: the call has ended. */
static bool hand_on(void *data, const char *bytes, size_t length)
{
	struct http_client *client = data;
	struct http_call *call = TAILQ_FIRST(&client->calls);

	if (call->question.on_bytes && is_success(client->head.status)) {
		if (length == 0 || call->question.on_bytes(call->question.data, bytes, length))
			return true;
		complete(client, false);
		return false;
	}
	if (client->body.length + length > call->question.cap) {
		fail(call, ERR_INPUT, "the answer is too large");
		return false;
	}
	str_append_bytes(&client->body, bytes, length);
	return true;
}

static bool deliver(struct http_client *client, const char *bytes, size_t length)
{
	struct err err cleanup_err = {0};

	if (!client->gunzip)
		return hand_on(client, bytes, length);
	int result = gunzip_add(client->gunzip, bytes, length, hand_on, client, &err);
	if (result < 0)
		fail(TAILQ_FIRST(&client->calls), ERR_INPUT, err_message(&err));
	return result == 0;
}

/* With a body, if it was asked for. */
static bool is_compressed(const struct http_client *client, const struct http_head *head)
{
	const char *encoding = http_head_find(head, "Content-Encoding");

	return TAILQ_FIRST(&client->calls)->question.takes_gzip && encoding &&
	       strcasecmp(encoding, "gzip") == 0 &&
	       (client->framing != FRAMING_LENGTH || client->left > 0);
}

/* Takes the head. */
static void begin_body(struct http_client *client, const struct http_head *head)
{
	http_head_finish(&client->head);
	client->head = *head;
	client->chunks = (struct http_chunks){0};
	client->left = head->content_length > 0 ? (uint64_t)head->content_length : 0;
	if (head->status == 204 || head->status == 304)
		client->left = 0;
	if (head->chunked)
		client->framing = FRAMING_CHUNKED;
	else if (head->content_length >= 0 || head->status == 204 || head->status == 304)
		client->framing = FRAMING_LENGTH;
	else
		client->framing = FRAMING_CLOSE;
	if (is_compressed(client, head))
		client->gunzip = gunzip_create();
}

/* False: the call has ended. */
static bool negotiate(struct http_client *client)
{
	struct http_call *call = TAILQ_FIRST(&client->calls);
	struct err err cleanup_err = {0};

	client->repeats = false;
	if (!call->negotiation ||
	    http_negotiation_take(call->negotiation, &client->head, &client->repeats, &err) == 0)
		return true;
	client->repeats = false;
	fail(call, err.kind, err_message(&err));
	return false;
}

/* True: there may be more to take. */
static bool take_head(struct http_client *client)
{
	struct evbuffer *input = client->wire.input;
	size_t have = evbuffer_get_length(input);
	struct err err cleanup_err = {0};
	struct http_head head;

	const char *bytes = (const char *)evbuffer_pullup(input, -1);
	size_t length = http_head_length(bytes, have, client->looked);
	client->looked = have;
	if (length == 0 && have < HEAD_CAP)
		return false;
	if (length == 0) {
		fail(TAILQ_FIRST(&client->calls), ERR_INPUT, "the answer's headers are too large");
		return false;
	}
	if (http_head_parse_response(&head, bytes, length, &err) < 0) {
		fail(TAILQ_FIRST(&client->calls), ERR_INPUT, err_message(&err));
		return false;
	}
	client->looked = 0;
	evbuffer_drain(input, length);
	if (head.status < 200) { /* only announces the answer */
		http_head_finish(&head);
		return true;
	}
	begin_body(client, &head);
	if (!negotiate(client))
		return false;
	if (!TAILQ_FIRST(&client->calls)->question.is_status_enough)
		return true;
	complete(client, false);
	return false;
}

static bool take_chunked(struct http_client *client, const struct evbuffer_iovec *part)
{
	const char *data;
	size_t data_length;
	ssize_t used = http_chunks_next(&client->chunks, part->iov_base, part->iov_len, &data,
					&data_length);

	if (used < 0) {
		fail(TAILQ_FIRST(&client->calls), ERR_INPUT, "the answer is badly chunked");
		return false;
	}
	if (!deliver(client, data, data_length))
		return false;
	evbuffer_drain(client->wire.input, (size_t)used);
	if (client->chunks.state != CHUNKS_DONE)
		return true;
	end_answer(client, true);
	return false;
}

static bool take_plain(struct http_client *client, const struct evbuffer_iovec *part)
{
	size_t some = part->iov_len;

	if (client->framing == FRAMING_LENGTH && some > client->left)
		some = (size_t)client->left;
	if (!deliver(client, part->iov_base, some))
		return false;
	evbuffer_drain(client->wire.input, some);
	client->left -= client->framing == FRAMING_LENGTH ? some : 0;
	return true;
}

static bool take_body(struct http_client *client)
{
	struct evbuffer_iovec part;

	if (client->framing == FRAMING_LENGTH && client->left == 0) {
		end_answer(client, true);
		return false;
	}
	if (evbuffer_peek(client->wire.input, -1, NULL, &part, 1) < 1)
		return false;
	return client->framing == FRAMING_CHUNKED ? take_chunked(client, &part)
						  : take_plain(client, &part);
}

static bool take(struct http_client *client)
{
	return client->framing == FRAMING_HEAD ? take_head(client) : take_body(client);
}

static void start_timer(struct http_call *call)
{
	int64_t silence_ms = call->question.silence_ms;
	int64_t ms = call->end_ms == INT64_MAX ? INT64_MAX : call->end_ms - clock_monotonic_ms();

	if (silence_ms > 0 && silence_ms < ms)
		ms = silence_ms;
	if (ms < INT64_MAX)
		timer_start(&call->timer, ms > 0 ? ms : 0);
}

/* Of the call in progress. */
static void note_progress(struct http_client *client)
{
	struct http_call *call = TAILQ_FIRST(&client->calls);

	if (client->is_busy && call->question.silence_ms > 0)
		start_timer(call);
}

static void on_input(void *data)
{
	struct http_client *client = data;

	if (!client->is_busy) {
		disconnect(client);
		return;
	}
	note_progress(client);
	/* The call that ends this loop may have freed the client. */
	while (!client->is_paused && take(client))
		continue;
}

/* Keeps some of the file ready to be sent. False: the call has ended. */
static bool read_file(struct http_client *client)
{
	struct http_call *call = TAILQ_FIRST(&client->calls);
	char bytes[FILE_AT_ONCE];

	while (client->file_left > 0 && evbuffer_get_length(client->wire.output) < sizeof(bytes)) {
		size_t want = client->file_left < sizeof(bytes) ? client->file_left : sizeof(bytes);
		ssize_t got = read(call->question.body_fd, bytes, want);
		if (got <= 0) {
			fail(call, ERR_IO,
			     got < 0 ? strerror(errno) : "the file to be sent became shorter");
			return false;
		}
		evbuffer_add(client->wire.output, bytes, (size_t)got);
		client->file_left -= (size_t)got;
	}
	return true;
}

/* False: the call has ended. */
static bool tell_sent(struct http_client *client)
{
	struct http_call *call = TAILQ_FIRST(&client->calls);
	const struct http_question *question = &call->question;
	int64_t left = (int64_t)(client->file_left + evbuffer_get_length(client->wire.output));
	int64_t sent = (int64_t)question->body_length - left;

	if (!question->on_sent || question->on_sent(question->data, sent > 0 ? sent : 0))
		return true;
	fail(call, ERR_FAILED, "interrupted");
	return false;
}

static void on_output(void *data)
{
	struct http_client *client = data;

	note_progress(client);
	if (client->file_left > 0) {
		if (!read_file(client) || !tell_sent(client))
			return;
		wire_flush(&client->wire);
		/* When the socket took it all there is no event to come: others have their turn,
		 * then on. */
		if (client->file_left > 0 && evbuffer_get_length(client->wire.output) == 0)
			event_active(&client->wire.write_event, EV_WRITE, 0);
	}
	if (client->is_busy)
		tell_sent(client);
}

static void fail_wire(struct http_client *client, int error)
{
	struct err why cleanup_err = {0};

	wire_err(&client->wire, error, &why);
	fail(TAILQ_FIRST(&client->calls), why.kind, err_message(&why));
}

static void on_end(void *data, int error)
{
	struct http_client *client = data;

	if (client->is_busy && client->is_paused)
		event_del(&client->wire.read_event); /* it is told again once that is pending */
	else if (!client->is_busy)
		disconnect(client);
	else if (!error && client->framing == FRAMING_CLOSE)
		end_answer(client, false);
	else
		fail_wire(client, error);
}

/* Of a peer that accepts connections and says nothing. */
static void on_agreed(evutil_socket_t fd, short what, void *data)
{
	struct http_client *client = data;

	if (client->is_busy && !tls_is_open(client->wire.tls))
		fail(TAILQ_FIRST(&client->calls), ERR_UNREACHABLE, "it does not agree on TLS");
}

static void on_again(evutil_socket_t fd, short what, void *data)
{
	struct http_client *client = data;

	if (client->is_connected && client->is_busy)
		on_input(client);
}

static int64_t connect_ms(const struct http_call *call)
{
	return call && call->question.connect_ms > 0 ? call->question.connect_ms
						     : CONNECT_TIMEOUT_MS;
}

static void on_dialed(void *data, int fd, const struct err *err)
{
	struct http_client *client = data;
	struct http_call *call = TAILQ_FIRST(&client->calls);

	client->dial = NULL;
	if (fd < 0) {
		bool has_name = err->kind != ERR_NOT_FOUND;
		client->reach = has_name ? HTTP_REACH_SERVER : HTTP_REACH_NAME;
		if (call)
			fail(call, has_name ? err->kind : ERR_UNREACHABLE, err_message(err));
		return;
	}
	client->wire = (struct wire){
		.tls = client->tls ? tls_create(client->tls, client->host) : NULL,
		.input_cap = INPUT_CAP,
		.on_input = on_input,
		.on_output = on_output,
		.on_end = on_end,
		.data = client,
	};
	wire_init(&client->wire, client->base, fd);
	client->is_connected = true;
	if (client->tls)
		timer_start(&client->agreed, connect_ms(call));
	send_next(client);
}

char *http_client_host(const char *address, bool is_tls)
{
	const char *port = is_tls ? ":443" : ":80";
	size_t length = strlen(address);

	return mem_strndup(address, str_ends_with(address, port) ? length - strlen(port) : length);
}

/* Bytes that were read from a file cannot be sent again. */
static void begin_negotiation(struct http_client *client, struct http_call *call)
{
	bool is_file = call->question.body_length > call->body.length;

	if (client->negotiator && !call->negotiation && !is_file)
		call->negotiation = http_negotiation_create(client->negotiator, client->address,
							    client->host, client->tls);
}

static void send_call(struct http_client *client, struct http_call *call)
{
	char *host cleanup_free = http_client_host(client->address, client->tls);
	struct evbuffer *output = client->wire.output;

	client->is_busy = true;
	client->reach = HTTP_REACH_SENT;
	client->framing = FRAMING_HEAD;
	client->looked = 0;
	str_truncate(&client->body, 0);
	evbuffer_add_printf(output, "%s %s HTTP/1.1\r\nHost: %s\r\n", call->method, call->path,
			    host);
	if (client->token)
		evbuffer_add_printf(output, "Authorization: Bearer %s\r\n", client->token);
	else if (call->authorization)
		evbuffer_add_printf(output, "Authorization: %s\r\n", call->authorization);
	begin_negotiation(client, call);
	if (call->negotiation)
		evbuffer_add_printf(output, "%s", http_negotiation_headers(call->negotiation));
	if (call->accept)
		evbuffer_add_printf(output, "Accept: %s\r\n", call->accept);
	if (call->content_type)
		evbuffer_add_printf(output, "Content-Type: %s\r\n", call->content_type);
	if (call->headers)
		evbuffer_add(output, call->headers, strlen(call->headers));
	if (call->question.takes_gzip)
		evbuffer_add_printf(output, "Accept-Encoding: gzip\r\n");
	if (call->question.is_last)
		evbuffer_add_printf(output, "Connection: close\r\n");
	if (call->question.body_length > 0 || strcmp(call->method, "GET") != 0)
		evbuffer_add_printf(output, "Content-Length: %zu\r\n", call->question.body_length);
	evbuffer_add(output, "\r\n", 2);
	evbuffer_add(output, call->body.text, call->body.length);
	client->file_left = call->question.body_length - call->body.length;
	wire_flush(&client->wire);
	if (client->file_left > 0)
		event_active(&client->wire.write_event, EV_WRITE, 0); /* on_output() */
}

static void on_next(evutil_socket_t fd, short what, void *data)
{
	struct http_client *client = data;
	struct http_call *call = TAILQ_FIRST(&client->calls);

	if (!call || client->is_busy || client->dial)
		return;
	if (client->is_connected) {
		send_call(client, call);
		return;
	}
	client->reach = HTTP_REACH_SERVER;
	client->dial = dial_start(client->base, client->address, connect_ms(call), on_dialed,
				  client, NULL);
	dial_demand_owner(client->dial, client->owner, NULL);
}

static void on_timeout(evutil_socket_t fd, short what, void *data)
{
	struct http_call *call = data;
	struct http_client *client = call->client;
	/* The loop's clock may be some ms behind. */
	bool is_end = call->question.silence_ms <= 0 || clock_monotonic_ms() >= call->end_ms;
	if (!is_end && client->is_paused && call == TAILQ_FIRST(&client->calls)) {
		start_timer(call); /* the silence is ours */
		return;
	}
	char *waited cleanup_free =
		str_format_duration(is_end ? call->question.timeout_ms : call->question.silence_ms);
	char *text cleanup_free = mem_printf("no answer within %s", waited);

	fail(call, ERR_UNREACHABLE, text);
}

struct http_client *http_client_create(struct event_base *base, const char *address,
				       const char *token, struct err *err)
{
	char *host cleanup_free = NULL;
	int port = 0;

	if (net_address_split(address, &host, &port, err) < 0)
		return NULL;
	struct http_client *client = mem_alloc(sizeof(*client));
	client->base = base;
	client->address = mem_strdup(address);
	client->host = mem_steal(&host);
	client->token = mem_strdup(token);
	client->owner = token ? geteuid() : SOCKET_OWNER_ANY;
	TAILQ_INIT(&client->calls);
	event_assign(&client->next, base, -1, 0, on_next, client);
	event_assign(&client->again, base, -1, 0, on_again, client);
	event_assign(&client->agreed, base, -1, 0, on_agreed, client);
	return client;
}

void http_client_demand_owner(struct http_client *client, uid_t owner)
{
	client->owner = owner;
}

struct http_client *http_client_create_for(struct event_base *base,
					   const struct http_target *target, struct err *err)
{
	const char *shown = target->identity ? NULL : target->token;
	struct http_client *client = http_client_create(base, target->address, shown, err);

	if (!client)
		return NULL;
	if (target->token)
		client->owner = target->owner;
	if (target->is_sealed) {
		client->own_tls = tls_context_create_named(target->identity, target->token);
		client->tls = client->own_tls;
	}
	return client;
}

void http_client_use_tls(struct http_client *client, struct tls_context *tls)
{
	client->tls = tls;
}

void http_client_use_negotiator(struct http_client *client, struct http_negotiator *negotiator)
{
	client->negotiator = negotiator;
}

void http_client_destroy(struct http_client *client)
{
	if (!client)
		return;
	while (!TAILQ_EMPTY(&client->calls))
		free_call(TAILQ_FIRST(&client->calls));
	disconnect(client);
	if (client->dial)
		dial_cancel(client->dial);
	event_del(&client->next);
	str_finish(&client->body);
	http_head_finish(&client->head);
	tls_context_destroy(client->own_tls);
	free(client->address);
	free(client->host);
	mem_free_secret(client->token);
	free(client);
}

struct http_call *http_client_start(struct http_client *client,
				    const struct http_question *question)
{
	struct http_call *call = mem_alloc(sizeof(*call));

	call->client = client;
	call->question = *question;
	if (call->question.cap == 0)
		call->question.cap = HTTP_RESPONSE_CAP;
	call->method = mem_strdup(question->method);
	call->path = mem_strdup(question->path);
	call->accept = mem_strdup(question->accept);
	call->content_type = mem_strdup(question->content_type);
	call->authorization = mem_strdup(question->authorization);
	call->headers = mem_strdup(question->headers);
	if (question->body)
		str_append_bytes(&call->body, question->body, question->body_length);
	event_assign(&call->timer, client->base, -1, 0, on_timeout, call);
	call->end_ms =
		question->timeout_ms > 0 ? clock_monotonic_ms() + question->timeout_ms : INT64_MAX;
	start_timer(call);
	TAILQ_INSERT_TAIL(&client->calls, call, link);
	send_next(client);
	return call;
}

void http_client_cancel(struct http_call *call)
{
	struct http_client *client = call->client;

	if (client->is_busy && call == TAILQ_FIRST(&client->calls))
		disconnect(client);
	free_call(call);
	send_next(client);
}

bool http_client_is_connected(const struct http_client *client)
{
	return client->is_connected;
}

enum http_reach http_client_reach(const struct http_client *client)
{
	return client->reach;
}

void http_client_pause(struct http_client *client)
{
	client->is_paused = client->is_busy;
}

void http_client_resume(struct http_client *client)
{
	if (!client->is_paused)
		return;
	client->is_paused = false;
	/* What has come already goes first: reading on a full input would stop at once. */
	event_active(&client->again, EV_TIMEOUT, 0);
	wire_read_on(&client->wire);
}
