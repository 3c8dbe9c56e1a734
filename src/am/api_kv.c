/* The rendezvous store, which outlives an AM where it has a file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "am/api_internal.h"
#include "base/log.h"
#include "base/mem.h"

void api_kv_open(struct api *api, const char *path)
{
	struct err err cleanup_err = {0};

	api->kv = kv_create(KV_TOTAL_MAX);
	api->kv_path = mem_strdup(path);
	if (path)
		api->kv_file = kv_file_open(path, api->kv, &err);
	if (err.kind != ERR_NONE)
		log_warning("the rendezvous store is not kept: %s", err_message(&err));
}

void api_kv_close(struct api *api)
{
	kv_file_close(api->kv_file);
	kv_destroy(api->kv);
	free(api->kv_path);
}

/* What is not whole is worse than nothing: an AM that follows then begins with an empty store. */
static void keep(struct api *api, bool is_put, const char *key, const void *value, size_t length)
{
	struct kv_change change = {.is_put = is_put, .value = value, .length = length};
	struct err err cleanup_err = {0};

	if (!api->kv_file)
		return;
	memcpy(change.key, key, strlen(key) + 1);
	if (kv_file_add(api->kv_file, &change, api->kv, &err) == 0)
		return;
	log_warning("the rendezvous store is not kept any more: %s", err_message(&err));
	kv_file_close(api->kv_file);
	api->kv_file = NULL;
	unlink(api->kv_path);
}

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
	enum kv_result result = kv_put(api->kv, key, value, length);

	if (result == KV_OK)
		keep(api, true, key, value, length);
	answer(request, result);
}

void api_handle_kv_get(void *data, struct http_request *request)
{
	const struct api *api = data;
	const void *value;
	size_t length;
	enum kv_result result =
		kv_get(api->kv, http_request_parameter(request, "key"), &value, &length);

	if (result == KV_OK)
		http_answer_bytes(request, 200, "application/octet-stream", value, length);
	else
		answer(request, result);
}

void api_handle_kv_delete(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *key = http_request_parameter(request, "key");
	enum kv_result result = kv_delete(api->kv, key);

	if (result == KV_OK)
		keep(api, false, key, NULL, 0);
	answer(request, result);
}
