#include "portal/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "portal/comparison.h"

#define TIMEOUT_MS 30000

/* In this order; the last two of each type in turn. */
enum step { STEP_JOB, STEP_CONFIG, STEP_ENVIRONMENT, STEP_METRICS };

struct compare {
	struct http_request *request;
	bool as_csv;
	size_t count, done; /* runs */
	struct compare_run {
		struct compare *compare;
		struct http_client *client;
		enum step step;
		size_t type;
		json_t *run; /* as comparison.h has it */
	} runs[COMPARISON_MOST];
};

static void free_compare(struct compare *compare)
{
	for (size_t i = 0; i < compare->count; i++) {
		http_client_destroy(compare->runs[i].client);
		json_decref(compare->runs[i].run);
	}
	free(compare);
}

static void answer(struct compare *compare)
{
	json_t *runs cleanup_json = json_array();
	struct str csv cleanup_str = {0};

	for (size_t i = 0; i < compare->count; i++)
		json_array_append(runs, compare->runs[i].run);
	json_t *comparison cleanup_json = comparison_make(runs);
	if (compare->as_csv) {
		comparison_to_csv(comparison, &csv);
		http_answer_header(compare->request, "Content-Disposition",
				   "attachment; filename=\"comparison.csv\"");
		http_answer_bytes(compare->request, 200, "text/csv; charset=utf-8", csv.text,
				  csv.length);
	} else {
		http_answer_json(compare->request, 200, json_incref(comparison));
	}
	free_compare(compare);
}

/* ---- asking ------------------------------------------------------------------------------- */

/* NULL: the job has no more types. */
static const char *type_of(const struct compare_run *run)
{
	const json_t *types = json_object_get(json_object_get(run->run, "job"), "types");

	return json_string_value(json_object_get(json_array_get(types, run->type), "name"));
}

static void put(struct compare_run *run, json_t *found)
{
	switch (run->step) {
	case STEP_JOB:
		json_object_set(run->run, "job", found);
		break;
	case STEP_CONFIG:
		json_object_set(run->run, "config", found);
		break;
	case STEP_ENVIRONMENT:
		json_object_set(json_object_get(run->run, "environment"), type_of(run), found);
		break;
	case STEP_METRICS:
		json_array_append(json_object_get(run->run, "metrics"), found);
		break;
	}
}

static void go_on(struct compare_run *run)
{
	if (run->step == STEP_METRICS) {
		run->step = STEP_ENVIRONMENT;
		run->type++;
	} else {
		run->step++;
	}
}

static void ask(struct compare_run *run);

/* Without a job and its configuration there is nothing to compare; the rest may be missing. */
static void on_answer(void *data, const struct http_response *response, const struct err *err)
{
	struct compare_run *run = data;
	struct compare *compare = run->compare;
	struct err flaw cleanup_err = {0};
	json_t *found cleanup_json = NULL;

	if (response &&
	    http_response_check(response->status, response->body, response->length, &flaw) == 0)
		found = json_parse(response->body, response->length, &flaw);
	if (!found && run->step < STEP_ENVIRONMENT) {
		http_answer_error(compare->request, 502, "no-answer", "%s",
				  err_message(response ? &flaw : err));
		free_compare(compare);
		return;
	}
	if (found)
		put(run, found);
	go_on(run);
	if (run->step < STEP_ENVIRONMENT || type_of(run))
		ask(run);
	else if (++compare->done == compare->count)
		answer(compare);
}

static void ask(struct compare_run *run)
{
	const char *type = run->step < STEP_ENVIRONMENT ? "" : type_of(run);
	char *path cleanup_free = run->step == STEP_JOB	     ? mem_strdup("/v1/job")
				  : run->step == STEP_CONFIG ? mem_strdup("/v1/config")
				  : run->step == STEP_ENVIRONMENT
					  ? mem_printf("/v1/environment?type=%s&marks=1", type)
					  : mem_printf("/v1/series?task=%s:0", type);

	http_client_start(run->client, &(struct http_question){.method = "GET",
							       .path = path,
							       .timeout_ms = TIMEOUT_MS,
							       .done = on_answer,
							       .data = run});
}

static void on_closed(void *data)
{
	free_compare(data);
}

void compare_start(struct event_base *base, struct http_request *request, const char *token,
		   const struct compare_side *sides, size_t count, bool as_csv)
{
	struct compare *compare = mem_alloc(sizeof(*compare));

	compare->request = request;
	compare->count = count;
	compare->as_csv = as_csv;
	http_request_hold(request, on_closed, compare);
	for (size_t i = 0; i < count; i++) {
		struct compare_run *run = &compare->runs[i];
		run->compare = compare;
		run->run = json_object();
		json_object_set_new(run->run, "summary",
				    json_parse(sides[i].summary, strlen(sides[i].summary), NULL));
		json_object_set_new(run->run, "environment", json_object());
		json_object_set_new(run->run, "metrics", json_array());
		run->client = http_client_create(base, sides[i].address, token, NULL);
		ask(run);
	}
}
