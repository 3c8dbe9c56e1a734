#include "portal/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "net/http_server.h"

#define TIMEOUT_MS 30000

struct compare {
	struct http_request *request;
	struct compare_half {
		struct compare *compare;
		struct http_client *client;
		json_t *summary, *config;
	} halves[2];
};

static void free_compare(struct compare *compare)
{
	for (size_t i = 0; i < array_length(compare->halves); i++) {
		http_client_destroy(compare->halves[i].client);
		json_decref(compare->halves[i].summary);
		json_decref(compare->halves[i].config);
	}
	free(compare);
}

/* ---- the difference ----------------------------------------------------------------------- */

static json_t *value_of(const json_t *config, const char *key)
{
	return json_object_get(json_object_get(config, key), "value");
}

static void add_difference(json_t *list, const char *key, json_t *a, json_t *b)
{
	if (a && b && json_equal(a, b))
		return;
	json_t *row = json_object();
	json_set_text(row, "key", key);
	json_object_set_new(row, "a", a ? json_incref(a) : json_null());
	json_object_set_new(row, "b", b ? json_incref(b) : json_null());
	json_array_append_new(list, row);
}

json_t *compare_configs(const json_t *a, const json_t *b)
{
	struct str_list keys cleanup_str_list = {0};
	json_t *list = json_array(), *value;
	const char *key;

	json_object_foreach((json_t *)a, key, value)
	{
		str_list_add(&keys, key);
	}
	json_object_foreach((json_t *)b, key, value)
	{
		if (!json_object_get(a, key))
			str_list_add(&keys, key);
	}
	str_list_sort(&keys);
	for (size_t i = 0; i < keys.count; i++)
		add_difference(list, keys.items[i], value_of(a, keys.items[i]),
			       value_of(b, keys.items[i]));
	return list;
}

/* ---- asking ------------------------------------------------------------------------------- */

static void answer(struct compare *compare)
{
	struct compare_half *a = &compare->halves[0], *b = &compare->halves[1];
	json_t *body = json_object(), *summaries = json_array();

	json_object_set_new(body, "config", compare_configs(a->config, b->config));
	json_array_append(summaries, a->summary);
	json_array_append(summaries, b->summary);
	json_object_set_new(body, "summary", summaries);
	http_answer_json(compare->request, 200, body);
	free_compare(compare);
}

static int take(struct compare_half *half, const struct http_response *response, struct err *err)
{
	if (http_response_check(response->status, response->body, response->length, err) < 0)
		return -1;
	half->config = json_parse(response->body, response->length, err);
	return half->config ? 0 : -1;
}

static void on_config(void *data, const struct http_response *response, const struct err *err)
{
	struct compare_half *half = data;
	struct compare *compare = half->compare;
	struct err flaw cleanup_err = {0};

	if (!response || take(half, response, &flaw) < 0) {
		http_answer_error(compare->request, 502, "no-answer", "%s",
				  err_message(response ? &flaw : err));
		free_compare(compare);
	} else if (compare->halves[0].config && compare->halves[1].config) {
		answer(compare);
	}
}

static void on_closed(void *data)
{
	free_compare(data);
}

void compare_start(struct event_base *base, struct http_request *request, const char *token,
		   const struct compare_side sides[2])
{
	struct compare *compare = mem_alloc(sizeof(*compare));

	compare->request = request;
	http_request_hold(request, on_closed, compare);
	for (size_t i = 0; i < array_length(compare->halves); i++) {
		struct compare_half *half = &compare->halves[i];
		half->compare = compare;
		half->summary = json_parse(sides[i].summary, strlen(sides[i].summary), NULL);
		half->client = http_client_create(base, sides[i].address, token, NULL);
		http_client_start(half->client, &(struct http_question){.method = "GET",
									.path = "/v1/config",
									.timeout_ms = TIMEOUT_MS,
									.done = on_config,
									.data = half});
	}
}
