/* The table, as a pure function of what is known of the job. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/live.h"
#include "client/report.h"
#include "client/use.h"
#include "client/work.h"
#include "framework/framework.h"

#define GREEN  "\033[32m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[0m"

enum {
	MIN_ROWS = 4,
	STATE_WIDTH = 10,
	TIME_WIDTH = 9,
	INDENT = 4,	/* of a line that goes on below */
	HEAD_ROWS = 10, /* above the tasks, most often fewer */
};

struct table {
	const struct job_view *view;
	const json_t *work;
	int64_t now_ms;
	struct live_size size;
	bool color;
	struct str *out;
	int left;  /* rows */
	int spare; /* rows for lines that are too long for one */
};

static const char *task_color(enum task_state state)
{
	switch (state) {
	case TASK_FAILED:
	case TASK_LOST:
		return RED;
	case TASK_RUNNING:
	case TASK_SUCCEEDED:
		return GREEN;
	default:
		return YELLOW;
	}
}

static const char *job_color(enum job_state state)
{
	if (state == JOB_FAILED || state == JOB_KILLED)
		return RED;
	return state == JOB_RUNNING || state == JOB_SUCCEEDED ? GREEN : YELLOW;
}

/* Bytes of `text` that fill at most `columns`: no character is cut in two. */
static size_t fit(const char *text, size_t columns)
{
	size_t bytes = 0;

	while (text[bytes] && text[bytes] != '\n') {
		bool starts = ((unsigned char)text[bytes] & 0xc0) != 0x80;
		if (starts && columns-- == 0)
			break;
		bytes++;
	}
	return bytes;
}

/* The `colored` bytes from `from` on are in `color`. */
static void add_row(struct table *table, const char *clean, size_t length, size_t from,
		    size_t colored, const char *color)
{
	if (table->left <= 0)
		return;
	table->left--;
	if (!table->color || !color || from + colored > length) {
		str_append_bytes(table->out, clean, length);
	} else {
		str_append_bytes(table->out, clean, from);
		str_append(table->out, color);
		str_append_bytes(table->out, clean + from, colored);
		str_append(table->out, PLAIN);
		str_append_bytes(table->out, clean + from + colored, length - from - colored);
	}
	str_append_char(table->out, '\n');
}

/* Where the terminal is narrow a line goes on below, or is cut for want of rows. */
static void add_line(struct table *table, const char *text, size_t from, size_t colored,
		     const char *color)
{
	char *clean cleanup_free = str_printable(text, strlen(text));
	size_t width = (size_t)table->size.columns;

	clean[strcspn(clean, "\n")] = '\0';
	size_t length = table->spare > 0 ? report_fold_at(clean, width) : fit(clean, width);
	add_row(table, clean, length, from, colored, color);
	for (const char *rest = clean + length; *rest && table->spare > 0 && width > 2 * INDENT;) {
		rest += strspn(rest, " ");
		table->spare--;
		length = table->spare > 0 ? report_fold_at(rest, width - INDENT)
					  : fit(rest, width - INDENT);
		char *line cleanup_free = mem_printf("%*s%.*s", INDENT, "", (int)length, rest);
		add_row(table, line, strlen(line), 0, 0, NULL);
		rest += length;
	}
}

static char *task_name(const struct job_view *view, size_t task)
{
	const struct task_view *shown = &view->tasks[task];

	return job_task_name(view->job, shown->type, shown->index);
}

static void add_head(struct table *table)
{
	const struct job_view *view = table->view;
	const char *state = job_state_name(view->state);
	int64_t end = view->ended_ms > 0 ? view->ended_ms : table->now_ms;
	int64_t lasted = end - view->job->submitted_ms;
	char *duration cleanup_free = str_format_duration(lasted > 0 ? lasted : 0);
	struct str line cleanup_str = {0};

	str_append_format(&line, "%s  ", view->job->id);
	size_t from = line.length;
	str_append_format(&line, "%s  %s", state, duration);
	if (view->epoch > 1)
		str_append_format(&line, "  cluster start %d", view->epoch);
	if (view->retries > 0)
		str_append_format(&line, "  retry %d of %d", view->retries, view->job->retry_count);
	str_append_format(&line, "  %s", view->job->name);
	add_line(table, line.text, from, strlen(state), job_color(view->state));
}

static void add_labelled(struct table *table, const char *label, const char *text)
{
	char *line cleanup_free = mem_printf("%s %s", label, text);

	add_line(table, line, 0, 0, NULL);
}

static void add_cause(struct table *table)
{
	const struct job_view *view = table->view;
	const struct cause *cause = &view->cause;
	const char *text = cause->text ? cause->text : cause_kind_name(cause->kind);

	if (cause->kind == CAUSE_NONE || cause->kind == CAUSE_KILLED_BY_USER)
		return;
	char *who cleanup_free = view->cause_task >= 0 ? task_name(view, (size_t)view->cause_task)
						       : mem_strdup("the job");
	char *line cleanup_free = mem_printf("first failure: %s: %s", who, text);
	add_line(table, line, 0, strlen("first failure:"), RED);
	if (cause->headline)
		add_labelled(table, "  ", cause->headline);
}

/* The newest failure of any task; NULL: none failed. */
static const struct attempt_view *find_last_failure(const struct job_view *view, size_t *task)
{
	const struct attempt_view *last = NULL;

	for (size_t i = 0; i < view->task_count; i++) {
		for (size_t k = view->tasks[i].attempt_count; k-- > 0;) {
			const struct attempt_view *attempt = &view->tasks[i].attempts[k];
			if (attempt->cause.kind == CAUSE_NONE)
				continue;
			if (!last || attempt->ended_ms > last->ended_ms) {
				last = attempt;
				*task = i;
			}
			break;
		}
	}
	return last;
}

/* The job lives on after it: the reader sees for what it was tried again. */
static void add_last_failure(struct table *table)
{
	const struct job_view *view = table->view;
	size_t task;
	const struct attempt_view *last = find_last_failure(view, &task);

	if (!last || view->cause.kind != CAUSE_NONE || job_state_is_final(view->state))
		return;
	const struct cause *cause = &last->cause;
	int64_t since = table->now_ms - last->ended_ms;
	char *name cleanup_free = task_name(view, task);
	char *ago cleanup_free = str_format_duration(since > 0 ? since : 0);
	char *line cleanup_free =
		mem_printf("last failure, %s ago: %s: %s", ago, name,
			   cause->text ? cause->text : cause_kind_name(cause->kind));
	add_line(table, line, 0, strlen("last failure"), YELLOW);
	if (cause->headline)
		add_labelled(table, "  ", cause->headline);
}

static void add_elastic(struct table *table)
{
	for (size_t i = 0; i < table->view->job->type_count; i++) {
		char *line cleanup_free = live_elastic(table->view, i);
		if (line && !job_state_is_final(table->view->state))
			add_line(table, line, 0, 0, NULL);
	}
}

static void add_losses(struct table *table)
{
	struct str_list lines cleanup_str_list = {0};

	live_add_losses(table->view, &lines);
	for (size_t i = 0; i < lines.count; i++)
		add_line(table, lines.items[i], 0, 0, NULL);
}

static void add_uis(struct table *table)
{
	for (size_t i = 0; i < table->view->task_count; i++) {
		char *line cleanup_free = live_ui(table->view, i);
		if (line)
			add_line(table, line, 0, 0, NULL);
	}
}

static int name_width(const struct job_view *view)
{
	size_t width = 4;

	for (size_t i = 0; i < view->task_count; i++) {
		if (view->tasks[i].dormant)
			continue;
		char *name cleanup_free = task_name(view, i);
		width = strlen(name) > width ? strlen(name) : width;
	}
	return (int)width;
}

/* As live_task_detail(); and why it is a straggler, without its name. */
static char *detail_of(const struct table *table, size_t number, const char *name)
{
	const char *why = work_straggler(table->work, name);

	if (!why || table->view->tasks[number].state != TASK_RUNNING)
		return live_task_detail(table->view, number);
	why += str_starts_with(why, name) ? strlen(name) : 0;
	return mem_printf("straggler: %s", why + strspn(why, " "));
}

/* For how long it is in its state; of a task that has ended, how long it ran. */
static char *duration_of(const struct task_view *task, int64_t now_ms)
{
	bool has_ended = task->state >= TASK_SUCCEEDED;
	int64_t from_ms = has_ended ? task->started_ms : task->state_since_ms;
	int64_t to_ms = has_ended ? task->ended_ms : now_ms;

	if (from_ms == 0 && has_ended)
		return mem_strdup("");
	return str_format_duration(from_ms > 0 && to_ms > from_ms ? to_ms - from_ms : 0);
}

static char *use_of(const struct table *table, const struct task_view *task, const char *name)
{
	return use_text(work_use(table->work, name), table->view->job->types[task->type].memory);
}

static void add_task(struct table *table, size_t number, int width)
{
	const struct task_view *task = &table->view->tasks[number];
	const char *state = task_state_name(task->state);
	char *name cleanup_free = task_name(table->view, number);
	char *duration cleanup_free = duration_of(task, table->now_ms);
	char *detail cleanup_free = detail_of(table, number, name);
	char *use cleanup_free = task->state == TASK_RUNNING ? use_of(table, task, name) : NULL;
	char *line cleanup_free =
		mem_printf("  %-*s  %-*s  %*s  %s%s%s", width, name, STATE_WIDTH, state, TIME_WIDTH,
			   duration, use ? use : "", use ? "  " : "", detail ? detail : "");
	size_t length = strlen(line);

	/* Half an address misleads. */
	if (task->state == TASK_RUNNING && task->port > 0 && length > (size_t)table->size.columns)
		length -= strlen(detail ? detail : "");
	while (length > 0 && line[length - 1] == ' ')
		length--;
	line[length] = '\0';
	add_line(table, line, (size_t)width + 4, strlen(state), task_color(task->state));
}

static void add_type(struct table *table, size_t type)
{
	const struct job_view *view = table->view;
	size_t counts[TASK_STATE_COUNT] = {0};
	struct str line cleanup_str = {0};

	for (size_t i = 0; i < view->task_count; i++)
		if (view->tasks[i].type == type && !view->tasks[i].dormant)
			counts[view->tasks[i].state]++;
	str_append_format(&line, "  %s  %d: ", view->job->types[type].name,
			  view->types[type].wanted);
	live_append_counts(counts, &line);
	add_line(table, line.text, 0, 0, NULL);
}

/* One line per type, then as many of the troubled tasks as there is room for, stragglers last. */
static void add_folded(struct table *table)
{
	const struct job_view *view = table->view;
	int width = name_width(view);

	for (size_t type = 0; type < view->job->type_count; type++)
		if (view->job->types[type].instances > 0)
			add_type(table, type);
	for (size_t i = 0; i < view->task_count && table->left > 0; i++)
		if (view->tasks[i].state == TASK_FAILED || view->tasks[i].state == TASK_LOST)
			add_task(table, i, width);
	for (size_t i = 0; i < view->task_count && table->left > 0; i++) {
		char *name cleanup_free = task_name(view, i);
		if (view->tasks[i].state == TASK_RUNNING && work_straggler(table->work, name))
			add_task(table, i, width);
	}
}

void live_table(const struct job_view *view, const json_t *work, int64_t now_ms,
		struct live_size size, bool color, struct str *out)
{
	struct table table = {.view = view,
			      .work = work,
			      .now_ms = now_ms,
			      .size = size,
			      .color = color,
			      .out = out};
	char *progress cleanup_free = work_text(work);

	table.left = size.rows < MIN_ROWS ? MIN_ROWS : size.rows;
	table.spare = table.left - HEAD_ROWS - (int)live_count(view);
	add_head(&table);
	if (view->waiting)
		add_labelled(&table, "waiting:", view->waiting);
	if (progress && view->state == JOB_RUNNING)
		add_labelled(&table, "progress:", progress);
	add_cause(&table);
	add_last_failure(&table);
	add_elastic(&table);
	add_losses(&table);
	add_uis(&table);
	if (live_count(view) > (size_t)(table.left > 0 ? table.left : 0)) {
		add_folded(&table);
		return;
	}
	int width = name_width(view);
	/* The rows that the head did not need. */
	table.spare = table.left - (int)live_count(view);
	for (size_t i = 0; i < view->task_count; i++)
		if (!view->tasks[i].dormant)
			add_task(&table, i, width);
}
