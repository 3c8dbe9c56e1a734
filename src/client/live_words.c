/* Words about a job that the table, the lines and verbs share. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/live.h"
#include "framework/framework.h"

enum { LOSSES_MAX = 5 };

static void add_failed_notices(const struct job_view *view, struct str_list *lines)
{
	const json_t *notice;
	size_t i;

	json_array_foreach(view->notices, i,
			   notice) if (json_is_true(json_object_get(notice, "failed")))
		str_list_add_format(lines, "warning: %s: %s",
				    json_string_value(json_object_get(notice, "of")),
				    json_string_value(json_object_get(notice, "text")));
}

/* "...; trying again (for 3 m 05 s)"; of an ended job nobody tries. */
static void add_trouble(const struct job_view *view, const char *task, const char *text,
			int64_t since_ms, struct str_list *lines)
{
	char *lasts cleanup_free = str_format_duration(clock_wall_ms() - since_ms);
	char *how_long cleanup_free = view->is_final ? NULL : mem_printf(" (for %s)", lasts);

	str_list_add_format(lines, "warning: %s%s%s", task, text, how_long ? how_long : "");
}

void live_add_losses(const struct job_view *view, struct str_list *lines)
{
	size_t count = 0, troubled = 0;

	for (size_t i = 0; i < view->task_count; i++) {
		const struct task_view *task = &view->tasks[i];
		if (task->checkpoint_trouble && ++troubled == 1) {
			char *name cleanup_free = mem_printf(
				"%s:%d: ", view->job->types[task->type].name, task->index);
			add_trouble(view, name, task->checkpoint_trouble,
				    task->checkpoint_trouble_since_ms, lines);
		}
		if (task->lost.text && ++count <= LOSSES_MAX)
			str_list_add_format(lines, "warning: %s:%d: %s",
					    view->job->types[task->type].name, task->index,
					    task->lost.text);
	}
	if (count > LOSSES_MAX)
		str_list_add_format(lines, "warning: output of %zu task%s more was lost",
				    count - LOSSES_MAX, str_plural(count - LOSSES_MAX));
	if (troubled > 1)
		str_list_add_format(
			lines,
			"warning: the checkpoints of %zu task%s more cannot be stored or fetched",
			troubled - 1, str_plural(troubled - 1));
	if (view->store_trouble)
		add_trouble(view, "", view->store_trouble, view->store_trouble_since_ms, lines);
	add_failed_notices(view, lines);
	if (view->history_trouble)
		str_list_add_format(lines, "warning: %s", view->history_trouble);
}

size_t live_count(const struct job_view *view)
{
	size_t count = 0;

	for (size_t state = 0; state < TASK_STATE_COUNT; state++)
		count += view->tasks_in[state];
	return count;
}

/* "96 running, 3 launching"; the states that want attention first. */
void live_append_counts(const size_t counts[TASK_STATE_COUNT], struct str *out)
{
	static const enum task_state order[] = {
		TASK_FAILED,	 TASK_LOST,	 TASK_RUNNING,	 TASK_STOPPING,
		TASK_REGISTERED, TASK_LAUNCHING, TASK_ALLOCATED, TASK_REQUESTED,
		TASK_WAITING,	 TASK_SUCCEEDED, TASK_STOPPED,
	};
	const char *separator = "";

	for (size_t i = 0; i < array_length(order); i++) {
		if (counts[order[i]] == 0)
			continue;
		str_append_format(out, "%s%zu %s", separator, counts[order[i]],
				  task_state_name(order[i]));
		separator = ", ";
	}
}

void live_summary(const struct job_view *view, struct str *out)
{
	size_t count = live_count(view);

	str_append_format(out, "%zu task%s: ", count, str_plural(count));
	live_append_counts(view->tasks_in, out);
}

/* The types that must have started or ended before this one is asked for. */
static char *dependencies(const struct job *job, size_t type)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < job->types[type].dependency_count; i++) {
		const struct job_dependency *on = &job->types[type].dependencies[i];
		str_list_add_format(&names, "%s to %s", job->types[on->type].name,
				    on->on_start ? "start" : "succeed");
	}
	char *joined cleanup_free = str_list_join(&names, ", ");
	return *joined ? mem_printf("for %s", joined) : NULL;
}

static char *barrier(const struct job_view *view, const struct task_view *task)
{
	size_t missing = view->tasks_in[TASK_REQUESTED] + view->tasks_in[TASK_ALLOCATED] +
			 view->tasks_in[TASK_LAUNCHING] + view->tasks_in[TASK_STOPPING];

	if (view->state == JOB_RUNNING && !task->restarting &&
	    job_type_is_elastic(&view->job->types[task->type]))
		return mem_strdup("to be taken in");
	if (view->job->mode != JOB_MODE_GANG || missing == 0)
		return NULL;
	return mem_printf("for %zu more of the gang", missing);
}

char *live_elastic(const struct job_view *view, size_t type)
{
	const struct job_type *described = &view->job->types[type];

	if (!job_type_is_elastic(described))
		return NULL;
	return mem_printf("%s: %d wanted (%d to %d), %zu running", described->name,
			  view->types[type].wanted, described->min_instances,
			  described->max_instances, view->types[type].running);
}

char *live_ui(const struct job_view *view, size_t task)
{
	/* The one program of a job without task types may be a notebook as well. */
	bool is_single = framework_is_single_node(view->job);
	char *url cleanup_free = task_view_ui_url(&view->tasks[task]);

	return url ? mem_printf("%s  %s", is_single ? "Web interface" : "TensorBoard", url) : NULL;
}

char *live_task_detail(const struct job_view *view, size_t number)
{
	const struct task_view *task = &view->tasks[number];

	switch (task->state) {
	case TASK_WAITING:
		return dependencies(view->job, task->type);
	case TASK_REQUESTED:
		return mem_strdup("for a container");
	case TASK_LAUNCHING:
		return mem_strdup("for its executor");
	case TASK_REGISTERED:
		return barrier(view, task);
	case TASK_RUNNING:
		if (task->blames_peer)
			return mem_strdup("for word of its peers");
		if (!task->up)
			return mem_strdup("for its process");
		return task->port > 0 ? mem_printf("%s:%d", task->host, task->port) : NULL;
	case TASK_FAILED:
	case TASK_LOST:
		return mem_strdup(task->cause.text);
	default:
		return NULL;
	}
}
