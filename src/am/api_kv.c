/* The rendezvous store, which outlives an AM where it has a file. */
#include "am/api_internal.h"

static void answer(struct http_request *request, enum kv_result result)
{
	switch (result) {
	case KV_OK:
		api_answer_empty(request);
		break;
	case KV_NO_SUCH_KEY:
		http_answer_error(request, 404, "not-found", "the store has no such key");
		break;
	case KV_BAD_KEY:
		http_answer_error(request, 400, "bad-request", "the key has not 1 to %d bytes",
				  KV_KEY_MAX);
		break;
	case KV_TOO_LARGE:
		http_answer_error(request, 413, "too-large", "the value is over 1 MiB");
		break;
	case KV_FULL:
		http_answer_error(request, 413, "too-large", "the store is full (64 MiB)");
		break;
	}
}

void api_handle_kv_put(void *data, struct http_request *request)
{
	struct api *api = data;
	size_t length;
	const char *value = http_request_body(request, &length);
	const char *key = http_request_parameter(request, "key");

	answer(request, kept_kv_put(api->kv, key, value, length));
}

void api_handle_kv_get(void *data, struct http_request *request)
{
	const struct api *api = data;
	const void *value;
	size_t length;
	enum kv_result result =
		kept_kv_get(api->kv, http_request_parameter(request, "key"), &value, &length);

	if (result == KV_OK)
		http_answer_bytes(request, 200, "application/octet-stream", value, length);
	else
		answer(request, result);
}

void api_handle_kv_delete(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *key = http_request_parameter(request, "key");

	answer(request, kept_kv_delete(api->kv, key));
}
