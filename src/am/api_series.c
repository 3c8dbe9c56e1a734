#include <string.h>

#include "am/api_internal.h"
#include "base/mem.h"

enum { POINTS = 300, POINTS_MAX = 2000, SPARKLINE_POINTS = 32 };

/* All of one task. */
static void answer_task(struct api *api, struct http_request *request, const char *name)
{
	int64_t number = machine_find_task(api->host.machine, name), points = POINTS;
	struct str text cleanup_str = {0};

	if (number < 0) {
		http_answer_error(request, 404, "not-found", "this job has no task of that name");
		return;
	}
	if (http_request_query_int(request, "points", 1, POINTS_MAX, &points) < 0)
		return;
	str_append_format(&text, "{\"task\":\"%s\",", name);
	api_task_write_series(&api->tasks[number], (size_t)points, &text);
	str_append(&text, "}");
	http_answer_json_text(request, 200, text.text, text.length);
}

static void append_newest(const struct api *api, const struct api_rows *rows, size_t number,
			  struct str *text)
{
	const struct usage *usage = api->tasks[number].usage;
	struct str newest cleanup_str = {0};

	if (!usage ||
	    !usage_write_newest(usage, (enum usage_series)rows->what, SPARKLINE_POINTS, &newest))
		return;
	char *name cleanup_free = api_task_name(api, number);
	str_append_format(text, "\"%s\":%s", name, newest.text);
}

/* One of all tasks. */
static void answer_all(struct api *api, struct http_request *request)
{
	const char *name = http_request_query(request, "name");
	struct api_rows rows = {.what = name ? usage_find_series(name) : -1,
				.append = append_newest,
				.separator = ",",
				.rear = "}}"};

	if (rows.what < 0) {
		http_answer_error(request, 400, "bad-request",
				  name ? "name: is none of a series" : "name: is missing");
		return;
	}
	if (api_rows_page(api, request, &rows) < 0)
		return;
	char *front cleanup_free = mem_printf("{\"name\":\"%s\",\"tasks\":{", name);
	api_rows_answer(api, request, front, &rows);
}

void api_handle_series(void *data, struct http_request *request)
{
	const char *task = http_request_query(request, "task");
	int64_t all = 0;

	if (http_request_query_int(request, "all", 0, 1, &all) < 0)
		return;
	if (all)
		answer_all(data, request);
	else if (task)
		answer_task(data, request, task);
	else
		http_answer_error(request, 400, "bad-request", "task: is missing");
}
