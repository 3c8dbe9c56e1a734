/* The rendezvous store, which outlives an AM where it has a file. A GET may wait for a value. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/crc32c.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/timer.h"

enum { WAIT_MAX_MS = 60000 };

/* A GET that is held until the key has another value. */
struct api_kv_waiter {
	LIST_ENTRY(api_kv_waiter) link;
	struct api *api;
	struct http_request *request;
	char *key, *known; /* what its caller has: an ETag; NULL: nothing */
	struct event *over;
};

/* All of a key. */
LIST_HEAD(waiters, api_kv_waiter);

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

/* ---- waiting ------------------------------------------------------------------------------ */

static void waiter_destroy(struct api_kv_waiter *waiter)
{
	struct api *api = waiter->api;
	struct waiters *all = map_get(api->kv_waiters, waiter->key);

	LIST_REMOVE(waiter, link);
	if (LIST_EMPTY(all))
		map_remove(api->kv_waiters, waiter->key);
	event_free(waiter->over);
	free(waiter->key);
	free(waiter->known);
	free(waiter);
}

/* Of a value, by which a caller knows it again. */
static char *make_etag(const void *value, size_t length)
{
	return mem_printf("\"%08" PRIx32 "-%zu\"", crc32c(value, length), length);
}

/* True: answered, and the request is gone. With `is_over` whatever the store has. */
static bool answer_get(struct api *api, struct http_request *request, const char *key,
		       const char *known, bool is_over)
{
	const void *value;
	size_t length;
	enum kv_result result = kept_kv_get(api->kv, key, &value, &length);
	char *etag cleanup_free = result == KV_OK ? make_etag(value, length) : NULL;
	bool is_known = etag && known && strstr(known, etag);

	if (!is_over && (is_known || result == KV_NO_SUCH_KEY))
		return false;
	if (etag)
		http_answer_header(request, "ETag", etag);
	if (result == KV_OK)
		http_answer_bytes(request, is_known ? 304 : 200, "application/octet-stream", value,
				  length);
	else
		answer(request, result);
	return true;
}

static void answer_waiter(struct api_kv_waiter *waiter, bool is_over)
{
	if (answer_get(waiter->api, waiter->request, waiter->key, waiter->known, is_over))
		waiter_destroy(waiter);
}

static void on_over(evutil_socket_t fd, short what, void *data)
{
	answer_waiter(data, true);
}

static void on_closed(void *data)
{
	waiter_destroy(data);
}

static void hold(struct api *api, struct http_request *request, const char *key, const char *known,
		 int64_t wait_ms)
{
	struct api_kv_waiter *waiter = mem_alloc(sizeof(*waiter));
	struct waiters *all = map_get(api->kv_waiters, key);

	if (!all) {
		all = mem_alloc(sizeof(*all));
		LIST_INIT(all);
		map_set(api->kv_waiters, key, all);
	}
	*waiter = (struct api_kv_waiter){.api = api,
					 .request = request,
					 .key = mem_strdup(key),
					 .known = mem_strdup(known),
					 .over = evtimer_new(api->base, on_over, waiter)};
	LIST_INSERT_HEAD(all, waiter, link);
	timer_start(waiter->over, wait_ms);
	http_request_hold(request, on_closed, waiter);
}

/* The last waiter takes the list with it. */
static void answer_waiters(struct waiters *all, bool is_over)
{
	struct api_kv_waiter *waiter = all ? LIST_FIRST(all) : NULL;

	while (waiter) {
		struct api_kv_waiter *next = LIST_NEXT(waiter, link);
		answer_waiter(waiter, is_over);
		waiter = next;
	}
}

void api_kv_conclude(struct api *api)
{
	const char *key;
	void *all;

	for (;;) {
		size_t cursor = 0;
		if (!map_next(api->kv_waiters, &cursor, &key, &all))
			return;
		answer_waiters(all, true);
	}
}

/* ------------------------------------------------------------------------------------------- */

void api_handle_kv_put(void *data, struct http_request *request)
{
	struct api *api = data;
	size_t length;
	const char *value = http_request_body(request, &length);
	char *key cleanup_free = mem_strdup(http_request_parameter(request, "key"));
	enum kv_result result = kept_kv_put(api->kv, key, value, length);

	answer(request, result);
	if (result == KV_OK)
		answer_waiters(map_get(api->kv_waiters, key), false);
}

void api_handle_kv_get(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *key = http_request_parameter(request, "key");
	const char *known = http_request_header(request, "If-None-Match");
	int64_t wait_ms = 0;

	if (http_request_query_int(request, "wait", 0, WAIT_MAX_MS, &wait_ms) < 0)
		return;
	if (!answer_get(api, request, key, known, wait_ms == 0 || api->concluded))
		hold(api, request, key, known, wait_ms);
}

void api_handle_kv_delete(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *key = http_request_parameter(request, "key");

	answer(request, kept_kv_delete(api->kv, key));
}
