/* Tokens by which the job's processes ask other services end some day. Others come from the job's
 * owner (tony renew), and go to each executor in the answer to its next beat. */
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "scheduler/scheduler.h"

/* Not over a network in the clear. */
static bool takes_tokens(const struct api *api)
{
	return api->host.job->tls || api->host.one_host;
}

/* 1: the job has them all. */
static int take(struct api *api, const char *text, struct err *err)
{
	size_t length;

	/* The last answer was lost. */
	if (str_equal(text, api->tokens.bytes))
		return 0;
	char *bytes = new_tokens_decode(text, &length, err);

	if (!bytes)
		return -1;
	int result = api->host.take_tokens(api->host.data, bytes, length, err);
	explicit_bzero(bytes, length);
	free(bytes);
	return result;
}

static int take_newer(struct api *api, const char *text, struct err *err)
{
	int result = take(api, text, err);

	return result > 0 ? err_set(err, ERR_INPUT,
				    "the job has these very tokens: get newer ones first")
			  : result;
}

static void keep(struct api *api, const struct new_tokens *tokens)
{
	new_tokens_copy(&api->tokens, tokens);
	for (size_t i = 0; i < api->task_count; i++)
		api_task_settle(&api->tasks[i]);
}

/* -1: `err`; the caller finishes `tokens`, whatever the result. The number is of the clock, since
 * an AM that follows may not know those that this one has given. */
static int read_body(const struct api *api, struct http_request *request, struct new_tokens *tokens,
		     struct err *err)
{
	size_t length;
	const char *text = http_request_body(request, &length);
	json_t *body cleanup_json = message_parse(text, length, err);
	int64_t now = clock_wall_ms();

	tokens->number = now > api->tokens.number ? now : api->tokens.number + 1;
	if (!body || json_read_text(body, "bytes", &tokens->bytes, err) < 0)
		return -1;
	return tokens->bytes && strlen(tokens->bytes) <= NEW_TOKENS_CAP
		       ? 0
		       : err_set(err, ERR_INPUT, "bytes: is no text of at most %d bytes",
				 NEW_TOKENS_CAP);
}

static void refuse(struct api *api, struct http_request *request, const struct err *err)
{
	bool is_over = err->kind == ERR_STALE, is_denied = err->kind == ERR_DENIED;

	api_audit(api, request, "renew", is_over ? "conflict" : "refused", err_message(err));
	if (err->kind == ERR_INPUT)
		api_answer_bad(request, err);
	else if (is_denied)
		http_answer_error(request, 403, "denied", "%s", err_message(err));
	else if (is_over)
		http_answer_error(request, 409, "conflict", "%s", err_message(err));
	else
		http_answer_error(request, 500, "failed", "%s", err_message(err));
}

void api_handle_tokens(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	struct new_tokens tokens = {0};

	if (!takes_tokens(api)) {
		api_audit(api, request, "renew", "conflict", NULL);
		http_answer_error(request, 409, "conflict",
				  "no tokens are taken in the clear (tony.application.tls)");
	} else if (read_body(api, request, &tokens, &err) < 0 ||
		   take_newer(api, tokens.bytes, &err) < 0) {
		refuse(api, request, &err);
	} else {
		keep(api, &tokens);
		api_audit(api, request, "renew", "done", NULL);
		api_answer_empty(request);
	}
	new_tokens_finish(&tokens);
}

/* Nobody renews what tony renew has brought: the ResourceManager knows the first ones alone. */
void api_handle_tokens_look(void *data, struct http_request *request)
{
	const struct api *api = data;
	struct scheduler_tokens tokens = {0};
	bool are_renewed;
	json_t *answer = json_object();

	api->host.look_at_tokens(api->host.data, &tokens, &are_renewed);
	char *first cleanup_free = tokens.first;
	are_renewed = are_renewed && !api->tokens.bytes;
	if (first) {
		json_set_text(answer, "first", first);
		json_set_int(answer, "issued_ms", tokens.issued_ms);
		json_set_int(answer, "ends_ms", tokens.ends_ms);
		json_set_int(answer, "good_until_ms",
			     scheduler_tokens_good_until(&tokens, are_renewed));
		json_set_text(answer, "renewed_by", are_renewed ? "scheduler" : "nobody");
	}
	http_answer_json(request, 200, answer);
}

void api_tokens_inherit(struct api *api, const struct new_tokens *tokens)
{
	struct err err cleanup_err = {0};

	if (!tokens->bytes || tokens->number <= api->tokens.number || !takes_tokens(api) ||
	    api->host.am_attempt == 1)
		return;
	if (take(api, tokens->bytes, &err) >= 0)
		keep(api, tokens);
	else
		log_error("the tokens that an executor has are not taken: %s", err_message(&err));
}
