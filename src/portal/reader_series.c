/* The measurements that a store keeps: metrics.jsonl, a line for each attempt of a task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/series_text.h"
#include "portal/reader_internal.h"

enum { POINTS = 300, POINTS_MAX = 10000, SPARK_POINTS = 32, PAGE_MAX = 10000 };

static const char head[] = "{\"task\":\"";

FILE *reader_open_metrics(struct reader *reader, struct http_request *request, bool *answered)
{
	struct err err cleanup_err = {0};
	int fd = history_store_open_file(reader->store, &reader->record, HISTORY_METRICS,
					 HISTORY_FILE_CAP, &err);

	if (fd >= 0)
		return fdopen(fd, "r");
	*answered = err.kind != ERR_NOT_FOUND;
	if (*answered)
		reader_answer_failure(request, &err);
	return NULL;
}

json_t *reader_next_metrics(FILE *file, const char *task, char **line, size_t *size)
{
	char *begin cleanup_free = task ? mem_printf("%s%s\"", head, task) : mem_strdup(head);
	ssize_t length;

	while ((length = getline(line, size, file)) > 0) {
		if (!str_starts_with(*line, begin))
			continue;
		json_t *json = json_parse(*line, (size_t)length, NULL);
		if (json)
			return json;
	}
	return NULL;
}

static void thin_all(json_t *list, size_t points)
{
	json_t *series;
	size_t i;

	json_array_foreach(list, i, series)
	{
		series_thin_object(series, points);
	}
}

/* Of the last attempt that was measured. */
static void answer_task(struct reader *reader, struct http_request *request, int64_t points)
{
	const char *task = http_request_query(request, "task");
	json_t *answer = json_pack("{s:s, s:[], s:[]}", "task", task, "series", "user"), *found;
	bool answered = false;
	FILE *file cleanup_file = reader_open_metrics(reader, request, &answered);
	char *line cleanup_free = NULL;
	size_t size = 0;

	while (file && (found = reader_next_metrics(file, task, &line, &size))) {
		json_decref(answer);
		answer = found;
	}
	if (answered) {
		json_decref(answer);
		return;
	}
	json_object_del(answer, "attempt");
	thin_all(json_object_get(answer, "series"), (size_t)points);
	thin_all(json_object_get(answer, "user"), (size_t)points);
	http_answer_json(request, 200, answer);
}

/* {"last": 93.0, "v": [...]} of the series; NULL: the task has none. */
static json_t *spark_of(const json_t *line, const char *name)
{
	json_t *series;
	size_t i;

	json_array_foreach(json_object_get(line, "series"), i, series)
	{
		struct series_facts facts;
		double mean;
		if (!str_equal(json_string_value(json_object_get(series, "name")), name) ||
		    series_parse_facts(series, &facts, &mean) == 0)
			continue;
		json_t *spark = json_object();
		json_object_set_new(spark, "last", json_real(facts.last.value));
		series_thin_object(series, SPARK_POINTS);
		json_object_set(spark, "v", json_object_get(series, "v"));
		return spark;
	}
	return NULL;
}

static void answer_all(struct reader *reader, struct http_request *request, const char *name,
		       int64_t offset, int64_t limit)
{
	json_t *tasks = json_object(), *found;
	bool answered = false;
	FILE *file cleanup_file = reader_open_metrics(reader, request, &answered);
	char *line cleanup_free = NULL;
	size_t size = 0;

	while (file && (found = reader_next_metrics(file, NULL, &line, &size))) {
		const char *task = json_string_value(json_object_get(found, "task"));
		int64_t number = task ? job_find_task(reader->job, task) : -1;
		json_t *spark =
			number >= offset && number - offset < limit ? spark_of(found, name) : NULL;
		if (spark)
			json_object_set_new(tasks, task, spark);
		json_decref(found);
	}
	if (answered) {
		json_decref(tasks);
		return;
	}
	json_t *answer = json_object();
	json_set_text(answer, "name", name);
	json_object_set_new(answer, "tasks", tasks);
	http_answer_json(request, 200, answer);
}

void reader_handle_series(void *data, struct http_request *request)
{
	struct reader *reader = data;
	const char *name = http_request_query(request, "name");
	int64_t all = 0, points = POINTS, offset = 0, limit = PAGE_MAX;

	if (http_request_query_int(request, "all", 0, 1, &all) < 0 ||
	    http_request_query_int(request, "points", 1, POINTS_MAX, &points) < 0 ||
	    http_request_query_int(request, "offset", 0, JOB_MAX_TASKS, &offset) < 0 ||
	    http_request_query_int(request, "limit", 1, PAGE_MAX, &limit) < 0)
		return;
	if (all ? !name : !http_request_query(request, "task")) {
		http_answer_error(request, 400, "bad-request", "%s: is missing",
				  all ? "name" : "task");
		return;
	}
	if (!reader_open(reader, request))
		return;
	if (all)
		answer_all(reader, request, name, offset, limit);
	else if (job_find_task(reader->job, http_request_query(request, "task")) < 0)
		http_answer_error(request, 404, "not-found", "this job has no task of that name");
	else
		answer_task(reader, request, points);
}
