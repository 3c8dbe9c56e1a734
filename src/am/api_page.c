/* The page behind a scheduler's link to the job: what state it is in, for whoever may see the link.
 * It needs no token, since the scheduler's proxy has none, and so it tells nothing that is the
 * user's own: no command, environment, address, log or message. */
#include "am/api_internal.h"

enum { ROWS_MAX = 1000 };

static void append_escaped(struct str *page, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			str_append(page, "&amp;");
		else if (*text == '<')
			str_append(page, "&lt;");
		else if (*text == '>')
			str_append(page, "&gt;");
		else if (*text == '"')
			str_append(page, "&quot;");
		else
			str_append_char(page, *text);
	}
}

static void append_counts(struct str *page, const struct job_view *view)
{
	str_append_format(page, "<p>%zu tasks", view->task_count);
	for (int state = 0; state < TASK_STATE_COUNT; state++) {
		if (view->tasks_in[state] > 0)
			str_append_format(page, ", %zu %s", view->tasks_in[state],
					  task_state_name((enum task_state)state));
	}
	str_append(page, "</p>\n");
}

static void append_tasks(struct str *page, const struct job_view *view)
{
	size_t shown = view->task_count < ROWS_MAX ? view->task_count : ROWS_MAX;

	str_append(page, "<table>\n<tr><th>task</th><th>state</th><th>attempt</th></tr>\n");
	for (size_t i = 0; i < shown; i++) {
		const struct task_view *task = &view->tasks[i];
		str_append_format(page, "<tr><td>%s:%d</td><td>%s</td><td>%d</td></tr>\n",
				  view->job->types[task->type].name, task->index,
				  task_state_name(task->state), task->attempt);
	}
	str_append(page, "</table>\n");
	if (shown < view->task_count)
		str_append_format(page, "<p>and %zu more</p>\n", view->task_count - shown);
}

void api_handle_page(void *data, struct http_request *request)
{
	const struct job_view *view = api_view(data, request);
	struct str page cleanup_str = {0};

	if (!view)
		return;
	str_append(&page, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
			  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			  "'none'; style-src 'unsafe-inline'\">\n"
			  "<meta http-equiv=\"refresh\" content=\"5\">\n<title>");
	append_escaped(&page, view->job->name);
	str_append(&page, "</title>\n<style>:root { color-scheme: light dark }\n"
			  "body { font: 16px/1.5 sans-serif; margin: 2em }\n"
			  "th, td { text-align: left; padding: 0 1em 0 0 }</style>\n<h1>");
	append_escaped(&page, view->job->name);
	str_append_format(&page, "</h1>\n<p>%s: %s, formation %d of the cluster</p>\n",
			  view->job->id, job_state_name(view->state), view->epoch);
	append_counts(&page, view);
	append_tasks(&page, view);
	str_append_format(&page,
			  "<p>For logs and causes: <code>tony status %s</code>, "
			  "<code>tony logs %s</code></p>\n</html>\n",
			  view->job->id, view->job->id);
	http_answer_bytes(request, 200, "text/html; charset=utf-8", page.text, page.length);
}
