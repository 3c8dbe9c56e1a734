/* Lines for those who read them later: what changed, and when. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/live.h"

enum { IDLE_MS = 1000 };

static const char *member(const json_t *record, const char *name)
{
	return json_string_value(json_object_get(record, name));
}

static void append_job(const struct job_view *view, const json_t *record, struct str *out)
{
	const char *to = member(record, "to");

	if (str_equal(to, member(record, "from"))) /* a note tells why its counters changed */
		return;
	str_append_format(out, "job %s", to ? to : "?");
	if (view->epoch > 1)
		str_append_format(out, " (cluster start %d)", view->epoch);
	if (to && str_equal(to, "reforming") && view->cause_task >= 0 && view->cause.text) {
		const struct task_view *task = &view->tasks[view->cause_task];
		str_append_format(out, ": %s:%d %s", view->job->types[task->type].name, task->index,
				  view->cause.text);
	}
}

static void append_ui(const struct job_view *view, const char *task, struct str *out)
{
	int64_t number = job_find_task(view->job, task);
	char *text cleanup_free = number < 0 ? NULL : live_ui(view, (size_t)number);

	if (text)
		str_append(out, text);
}

/* Single tasks are told when something went wrong; the summary counts the others. */
static void append_task(const struct job_view *view, const json_t *record, struct str *out)
{
	const char *task = member(record, "task"), *to = member(record, "to");
	const json_t *cause = json_object_get(record, "cause");
	const char *text = member(cause, "text"), *headline = member(cause, "headline");

	if (!task || !to)
		return;
	if (str_equal(to, member(record, "from"))) {
		append_ui(view, task, out);
		return;
	}
	if (!str_equal(to, "failed") && !str_equal(to, "lost"))
		return;
	str_append_format(out, "%s %s", task, to);
	if (text)
		str_append_format(out, ": %s", text);
	if (headline)
		str_append_format(out, ": %s", headline);
}

static void append_note(const json_t *record, struct str *out)
{
	const char *task = member(record, "task"), *text = member(record, "text");

	if (text)
		str_append_format(out, "%s%s%s", task ? task : "", task ? ": " : "", text);
}

static void append_record(const struct job_view *view, const json_t *record, struct str *out)
{
	const char *event = member(record, "ev"), *text = member(record, "text");

	if (str_equal(event, "job"))
		append_job(view, record, out);
	else if (str_equal(event, "task"))
		append_task(view, record, out);
	else if (str_equal(event, "note") || str_equal(event, "output") ||
		 str_equal(event, "checkpoints") || str_equal(event, "store"))
		append_note(record, out);
	else if (str_equal(event, "waiting") && text)
		str_append_format(out, "waiting: %s", text);
}

bool live_line_is_trouble(const struct job_view *view, const struct journal_line *line)
{
	json_t *record cleanup_json = journal_line_record(line, NULL);
	const char *to = member(record, "to");

	if (!str_equal(member(record, "ev"), "job"))
		return true;
	return str_equal(to, "reforming") || (str_equal(to, "running") && view->epoch > 1);
}

static bool copies_sources(const struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		for (size_t k = 0; k < job->types[i].files.count; k++)
			if (job->types[i].files.items[k].kind == JOB_FILE_CONTENT)
				return true;
	return false;
}

/* Gigabytes of sources take their time before programs run, and after it. */
static const char *explain_copies(const struct job_view *view)
{
	if (!copies_sources(view->job))
		return "";
	return view->state == JOB_FORMING     ? "; each task gets a copy of src_dir"
	       : view->state == JOB_FINISHING ? "; the copies of src_dir are removed"
					      : "";
}

char *live_idle(const struct job_view *view, int64_t now_ms)
{
	int64_t begun_ms =
		view->state_since_ms > 0 ? view->state_since_ms : view->job->submitted_ms;
	struct str tasks cleanup_str = {0};

	if (view->state == JOB_RUNNING || view->is_final || now_ms - begun_ms < IDLE_MS)
		return NULL;
	live_summary(view, &tasks);
	char *duration cleanup_free = str_format_duration(now_ms - begun_ms);
	return mem_printf("%s for %s: %s%s", job_state_name(view->state), duration,
			  str_text(&tasks), explain_copies(view));
}

char *live_stopping(const struct job_view *view)
{
	size_t count = 0;
	int64_t grace_ms = 0;

	for (size_t i = 0; i < view->task_count; i++) {
		const struct task_view *task = &view->tasks[i];
		int64_t type_ms = view->job->types[task->type].stop_grace_ms;
		if (task->state < TASK_LAUNCHING || task->state > TASK_STOPPING)
			continue;
		count++;
		grace_ms = type_ms > grace_ms ? type_ms : grace_ms;
	}
	if (count == 0)
		return mem_strdup("stopping the job");
	char *grace cleanup_free = str_format_duration(grace_ms);
	return mem_printf("stopping %zu task%s: SIGTERM now, SIGKILL after %s", count,
			  str_plural(count), grace);
}

void live_line(const struct job_view *view, const struct journal_line *line, struct str *out)
{
	struct str text cleanup_str = {0};
	json_t *record cleanup_json = journal_line_record(line, NULL);

	append_record(view, record, &text);
	if (text.length == 0)
		return;
	char *time cleanup_free = str_format_time(line->time_ms);
	char *clean cleanup_free = str_printable(text.text, text.length);
	clean[strcspn(clean, "\n")] = '\0';
	str_append_format(out, "%s %s\n", time, clean);
}
