#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/mem.h"

/* At a time; others have their turn after a few of them. */
enum { PIECE_BYTES = 8 * 1024 };

struct answer {
	const struct api *api;
	struct api_rows rows;
	char *front; /* NULL: it was written */
	char *name;  /* rows.name */
	bool any;    /* rows were written */
};

static void free_answer(void *data)
{
	struct answer *answer = data;

	free(answer->front);
	free(answer->name);
	free(answer);
}

static void append_row(struct answer *answer, struct str *text)
{
	struct api_rows *rows = &answer->rows;
	struct str row cleanup_str = {0};

	rows->append(answer->api, rows, rows->next++, &row);
	if (row.length == 0)
		return;
	str_append(text, answer->any ? rows->separator : "");
	str_append_bytes(text, row.text, row.length);
	answer->any = true;
}

static void fill(void *data, struct http_stream *stream)
{
	struct answer *answer = data;
	struct api_rows *rows = &answer->rows;
	struct str text cleanup_str = {0};

	if (answer->front)
		str_append(&text, answer->front);
	mem_replace(&answer->front, NULL);
	while (rows->next < rows->end && text.length < PIECE_BYTES)
		append_row(answer, &text);
	if (rows->next >= rows->end)
		str_append(&text, rows->rear);
	http_stream_write(stream, text.text, text.length);
	if (rows->next >= rows->end) {
		free_answer(answer);
		http_stream_end(stream);
	}
}

void api_rows_answer(const struct api *api, struct http_request *request, const char *front,
		     const struct api_rows *rows)
{
	struct answer *answer = mem_alloc(sizeof(*answer));

	answer->api = api;
	answer->rows = *rows;
	answer->front = mem_strdup(front);
	answer->rows.name = answer->name = mem_strdup(rows->name);
	http_answer_stream(
		request, rows->content_type ? rows->content_type : "application/json",
		&(struct http_stream_source){.fill = fill, .closed = free_answer, .data = answer});
}

int api_rows_page(const struct api *api, struct http_request *request, struct api_rows *rows)
{
	int64_t offset = 0, limit = API_PAGE_MAX;

	if (http_request_query_int(request, "offset", 0, JOB_MAX_TASKS, &offset) < 0 ||
	    http_request_query_int(request, "limit", 1, API_PAGE_MAX, &limit) < 0)
		return -1;
	rows->next = (size_t)offset;
	rows->end = (size_t)(offset + limit) < api->task_count ? (size_t)(offset + limit)
							       : api->task_count;
	return 0;
}
