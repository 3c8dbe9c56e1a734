/* What the portal answers out of its index. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/http_server.h"
#include "portal/portal_internal.h"

enum { LIMIT = 100, LIMIT_MAX = 1000, WORDS = 20, LIVE_ROWS = 1000 };

/* Empty is not asked for. */
static const char *asked(const struct http_request *request, const char *name)
{
	const char *text = http_request_query(request, name);

	return text && *text ? text : NULL;
}

static bool is_text(const struct portal_query *query)
{
	const char *const texts[] = {query->anything, query->user,  query->name, query->type,
				     query->state,    query->queue, query->tag};

	for (size_t i = 0; i < array_length(texts); i++)
		if (texts[i] && !str_is_utf8(texts[i], strlen(texts[i])))
			return false;
	return true;
}

/* One job stands for others: what is looked for may be any of these. */
static bool may_fold(const struct portal_query *query)
{
	return !query->anything && !query->name && !query->type && !query->state && !query->queue &&
	       !query->tag && query->from_ms == 0 && query->to_ms == 0;
}

/* -1: refused and answered. */
static int read_query(struct http_request *request, struct portal_query *query)
{
	const char *order = asked(request, "order");

	*query = (struct portal_query){
		.anything = asked(request, "q"),
		.user = asked(request, "user"),
		.name = asked(request, "name"),
		.type = asked(request, "type"),
		.state = asked(request, "state"),
		.queue = asked(request, "queue"),
		.tag = asked(request, "tag"),
		.sort = asked(request, "sort"),
		.ascending = str_equal(order, "asc"),
		.groups = str_equal(asked(request, "group"), "name"),
		.folds = str_equal(asked(request, "fold"), "1"),
		.counts = str_equal(asked(request, "counts"), "1"),
		.now_ms = clock_wall_ms(),
		.limit = LIMIT,
	};
	if ((asked(request, "from") &&
	     http_request_query_int(request, "from", 0, INT64_MAX, &query->from_ms) < 0) ||
	    (asked(request, "to") &&
	     http_request_query_int(request, "to", 0, INT64_MAX, &query->to_ms) < 0) ||
	    http_request_query_int(request, "offset", 0, INT32_MAX, &query->offset) < 0 ||
	    http_request_query_int(request, "limit", 1, LIMIT_MAX, &query->limit) < 0)
		return -1;
	query->folds &= may_fold(query);
	if (is_text(query) && (!query->sort || portal_is_sort(query->sort)) &&
	    (!order || query->ascending || str_equal(order, "desc")))
		return 0;
	http_answer_error(request, 400, "bad-request", "sort, order or a text to look for is none");
	return -1;
}

void portal_handle_jobs(void *data, struct http_request *request)
{
	struct portal *portal = data;
	struct portal_query query;
	struct portal_viewer viewer;
	struct str answer cleanup_str = {0};
	struct err err cleanup_err = {0};

	portal->requests++;
	if (read_query(request, &query) < 0)
		return;
	if (portal_find_viewer(portal, request, &viewer))
		query.viewer = &viewer;
	if (!portal->index || portal_index_list(portal->index, &query, &answer, &err) < 0)
		http_answer_error(request, 503, "not-ready", "the index of jobs: %s",
				  portal->index ? err_message(&err) : "is made anew");
	else
		http_answer_json_text(request, 200, answer.text, answer.length);
}

void portal_handle_words(void *data, struct http_request *request)
{
	struct portal *portal = data;
	struct portal_query query = {0};
	struct portal_viewer viewer;
	struct str_list values cleanup_str_list = {0};
	struct err err cleanup_err = {0};
	const char *of = asked(request, "of"), *part = asked(request, "q");

	if (!of || !portal_index_is_word(of) || (part && !str_is_utf8(part, strlen(part)))) {
		http_answer_error(request, 400, "bad-request",
				  "of is user, name, queue, tag or type, and q is text");
		return;
	}
	if (portal_find_viewer(portal, request, &viewer))
		query.viewer = &viewer;
	if (!portal->index || portal_index_words(portal->index, &query, of, part ? part : "", WORDS,
						 &values, &err) < 0) {
		http_answer_error(request, 503, "not-ready", "the index of jobs: %s",
				  portal->index ? err_message(&err) : "is made anew");
		return;
	}
	json_t *answer = json_object();
	json_set_list(answer, "values", &values);
	http_answer_json(request, 200, answer);
}

/* ---- Prometheus' text format -------------------------------------------------------------- */

static void add_state(void *data, const char *state, int64_t jobs)
{
	str_append_format(data, "tony_portal_jobs{state=\"%s\"} %" PRId64 "\n", state, jobs);
}

static void add_label(struct str *text, const char *value)
{
	for (; value && *value; value++)
		if (*value == '\n')
			str_append(text, "\\n");
		else
			str_append_format(text, strchr("\\\"", *value) ? "\\%c" : "%c", *value);
}

static void add_live(void *data, const char *state, const char *user, const char *queue,
		     int64_t jobs)
{
	str_append_format(data, "tony_portal_live_jobs{state=\"%s\",user=\"", state);
	add_label(data, user);
	str_append(data, "\",queue=\"");
	add_label(data, queue);
	str_append_format(data, "\"} %" PRId64 "\n", jobs);
}

static void add_value(struct str *text, const char *name, const char *type, const char *help,
		      int64_t value)
{
	str_append_format(text, "# HELP %s %s\n# TYPE %s %s\n%s %" PRId64 "\n", name, help, name,
			  type, name, value);
}

static int64_t resident_bytes(void)
{
	FILE *file cleanup_file = fopen("/proc/self/statm", "re");
	long total = 0, resident = 0;

	if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
		return 0;
	return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

void portal_handle_metrics(void *data, struct http_request *request)
{
	struct portal *portal = data;
	struct str text cleanup_str = {0};
	int64_t age = portal->index ? portal_index_age(portal->index) : 0;

	str_append(&text, "# HELP tony_portal_jobs Jobs by state\n"
			  "# TYPE tony_portal_jobs gauge\n");
	if (portal->index)
		portal_index_count(portal->index, add_state, &text, NULL);
	str_append(&text, "# HELP tony_portal_live_jobs Jobs that go on\n"
			  "# TYPE tony_portal_live_jobs gauge\n");
	if (portal->index)
		portal_index_live(portal->index, LIVE_ROWS, add_live, &text, NULL);
	add_value(&text, "tony_portal_index_age_milliseconds", "gauge",
		  "Since all was looked at last", age > 0 ? clock_wall_ms() - age : -1);
	add_value(&text, "tony_portal_requests_total", "counter", "Requests for jobs",
		  portal->requests);
	add_value(&text, "tony_portal_readers", "gauge", "Jobs that are open",
		  (int64_t)readers_count(portal->readers));
	add_value(&text, "tony_portal_resident_bytes", "gauge", "Memory of this process",
		  resident_bytes());
	http_answer_bytes(request, 200, "text/plain; version=0.0.4; charset=utf-8", text.text,
			  text.length);
}
