#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "net/interrupt.h"

/* One call with a loop of its own. */
struct sync_call {
	struct event_base *base;
	struct tls_context *tls;	    /* NULL: without TLS */
	struct http_negotiator *negotiator; /* NULL: none */
	bool (*on_bytes)(void *data, const char *bytes, size_t length);
	void *data;
	int result;
	int status;
	struct str *response; /* may be NULL */
	struct err *err;
};

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct sync_call *call = data;

	return call->on_bytes(call->data, bytes, length);
}

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct sync_call *call = data;

	event_base_loopbreak(call->base);
	if (!response) {
		call->result = err_copy(call->err, err);
		return;
	}
	call->status = response->status;
	if (call->response)
		str_append_bytes(call->response, response->body, response->length);
}

static int run(struct sync_call *call, const struct http_target *target,
	       struct http_question *question)
{
	struct http_client *client;

	question->done = on_done;
	question->data = call;
	call->base = event_base_new();
	if (!call->base)
		return err_set_errno(call->err, "cannot make an event loop");
	client = http_client_create_for(call->base, target, call->err);
	if (client) {
		if (call->tls)
			http_client_use_tls(client, call->tls);
		http_client_use_negotiator(client, call->negotiator);
		http_client_start(client, question);
		if (!interrupt_dispatch(call->base))
			call->result = interrupt_set(call->err, target->address);
	} else {
		call->result = -1;
	}
	http_client_destroy(client);
	/* What was cancelled there ends here. */
	event_base_loop(call->base, EVLOOP_NONBLOCK);
	event_base_free(call->base);
	return call->result;
}

int http_call(const struct http_target *target, const char *method, const char *path,
	      const char *body, int64_t timeout_ms, int *status, struct str *response,
	      struct err *err)
{
	struct sync_call call = {.response = response, .err = err};
	struct http_question question = {
		.method = method,
		.path = path,
		.body = body,
		.body_length = body ? strlen(body) : 0,
		.timeout_ms = timeout_ms,
	};

	if (run(&call, target, &question) < 0)
		return -1;
	*status = call.status;
	return 0;
}

int http_ask(const char *address, struct tls_context *tls, const struct http_question *question,
	     int *status, struct err *err)
{
	struct sync_call call = {.tls = tls, .err = err};
	struct http_question asked = *question;

	asked.is_status_enough = true;
	if (run(&call, &(struct http_target){.address = address}, &asked) < 0)
		return -1;
	*status = call.status;
	return 0;
}

static int get(const struct http_site *site, struct sync_call *call, struct http_question *question)
{
	call->tls = site->tls;
	call->negotiator = site->negotiator;
	question->method = "GET";
	question->headers = site->headers;
	return run(call, &(struct http_target){.address = site->address}, question);
}

int http_stream(const struct http_site *site, const char *path, int64_t timeout_ms,
		bool (*consume)(void *data, const char *bytes, size_t length), void *data,
		struct err *err)
{
	struct str response cleanup_str = {0};
	struct sync_call call = {
		.on_bytes = consume, .data = data, .response = &response, .err = err};
	struct http_question question = {
		.path = path, .timeout_ms = timeout_ms, .on_bytes = on_bytes};

	return get(site, &call, &question) < 0
		       ? -1
		       : http_response_check(call.status, str_text(&response), response.length,
					     err);
}

int http_get(const struct http_site *site, const char *path, int64_t timeout_ms, size_t cap,
	     int *status, struct str *body, struct err *err)
{
	size_t before = body->length;
	struct sync_call call = {.response = body, .err = err};
	struct http_question question = {.path = path, .timeout_ms = timeout_ms, .cap = cap};

	if (get(site, &call, &question) < 0)
		return -1;
	if (!status)
		return http_response_check(call.status, str_text(body) + before,
					   body->length - before, err);
	*status = call.status;
	return 0;
}

static enum err_kind kind_of(int status, const char *code)
{
	switch (status) {
	case 400:
		return ERR_INPUT;
	case 401:
	case 403:
		return ERR_DENIED;
	case 404:
	case 410:
		return ERR_NOT_FOUND;
	case 409:
		return str_equal(code, "stale")	       ? ERR_STALE
		       : str_equal(code, "no-program") ? ERR_NOT_FOUND
						       : ERR_FAILED;
	case 503:
		return ERR_UNREACHABLE;
	default:
		return ERR_FAILED;
	}
}

int http_response_check(int status, const char *body, size_t length, struct err *err)
{
	if (status >= 200 && status < 300)
		return 0;
	json_t *json cleanup_json = json_parse(body, length, NULL);
	const json_t *error = json_object_get(json, "error");
	const char *code = json_string_value(json_object_get(error, "code"));
	const char *message = json_string_value(json_object_get(error, "message"));
	if (!message)
		return err_set(err, kind_of(status, code), "the answer is HTTP status %d", status);
	char *text cleanup_free = str_printable(message, strlen(message));
	return err_set(err, kind_of(status, code), "%s", text);
}
