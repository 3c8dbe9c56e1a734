/* tony top: what the tasks of a job use now. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/live.h"
#include "client/look.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/use.h"
#include "client/verbs.h"
#include "net/http_url.h"

enum {
	EVERY_MS = 2000,
	PAGE = 10000, /* tasks in an answer */
	HEAD_ROWS = 3,
};

struct top_options {
	char *sort, *number;
	bool once, json;
};

/* By what members of `use` each of them sorts. */
static const char *const orders[] = {"cpu", "memory", "gpu", "name", NULL};
static const char *const members[] = {"cpu_percent", "memory_bytes", "gpu_percent"};
enum { BY_CPU, BY_MEMORY, BY_GPU, BY_NAME };

static const struct opt options[] = {
	OPT_ROW("sort", struct top_options, sort, "what stands first: the most CPU (the default)",
		.letter = 's', .argument = "BY", .choices = orders),
	OPT_ROW("number", struct top_options, number,
		"show the newest value of this number that programs tell; loss is the default",
		.argument = "NAME"),
	OPT_ROW("once", struct top_options, once,
		"print the table once, with all tasks, as anywhere but in a terminal"),
	OPT_ROW("json", struct top_options, json, "print it once, as JSON (docs/json.md)"),
};

struct row {
	size_t task;
	const json_t *use; /* borrowed; NULL: not known */
	double value;	   /* that sorts; NAN: not known */
};

struct top {
	const struct top_options *chosen;
	struct opened *opened;
	int order;
	const char *number;
	json_t *uses; /* by task */
	struct row *rows;
	size_t count;
};

/* ---- asking ------------------------------------------------------------------------------- */

/* -1: the application master does not answer. */
static int ask_uses(struct top *top, struct err *err)
{
	struct str name cleanup_str = {0};

	http_url_encode(&name, top->number, "");
	for (size_t offset = 0; offset < top->opened->view->task_count; offset += PAGE) {
		char *path cleanup_free =
			mem_printf("/v1/use?number=%s&offset=%zu", name.text, offset);
		json_t *answer cleanup_json = opened_ask(top->opened, "GET", path, NULL, err);
		if (!answer)
			return -1;
		json_object_update(top->uses, json_object_get(answer, "tasks"));
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct row *first = a, *second = b;
	bool known = !isnan(first->value), other = !isnan(second->value);

	if (known != other)
		return known ? -1 : 1;
	if (known && first->value != second->value)
		return first->value > second->value ? -1 : 1;
	return (first->task > second->task) - (first->task < second->task);
}

static void sort(struct top *top)
{
	const struct job_view *view = top->opened->view;

	free(top->rows);
	top->rows = mem_alloc_array(view->task_count, sizeof(*top->rows));
	top->count = 0;
	for (size_t i = 0; i < view->task_count; i++) {
		if (view->tasks[i].dormant)
			continue;
		char *name cleanup_free =
			job_task_name(view->job, view->tasks[i].type, view->tasks[i].index);
		const json_t *use = json_object_get(top->uses, name);
		const json_t *value =
			top->order == BY_NAME ? NULL : json_object_get(use, members[top->order]);
		top->rows[top->count++] = (struct row){
			.task = i,
			.use = use,
			.value = json_is_number(value) ? json_number_value(value) : NAN,
		};
	}
	qsort(top->rows, top->count, sizeof(*top->rows), compare);
}

/* An AM that follows another may have another address. */
static int ask(void *data, struct err *err)
{
	struct top *top = data;
	struct opened *opened = top->opened;
	struct err silence cleanup_err = {0};
	enum look_result result = LOOK_ALL;

	if (opened_look_for_am(opened, err) < 0 || opened_read(opened, NULL, NULL, err) < 0)
		return -1;
	json_object_clear(top->uses);
	if (opened_is_over(opened)) {
		result = LOOK_LAST;
	} else if (ask_uses(top, &silence) < 0) {
		log_warning("the application master of %s does not answer: %s", opened->id,
			    err_message(&silence));
		if (opened_find_am(opened, err) < 0)
			return -1;
		result = LOOK_PART;
	}
	sort(top);
	return result;
}

/* ---- telling ------------------------------------------------------------------------------ */

static double sum(const struct top *top, const char *member)
{
	double total = NAN;

	for (size_t i = 0; i < top->count; i++) {
		const json_t *value = json_object_get(top->rows[i].use, member);
		if (json_is_number(value))
			total = (isnan(total) ? 0 : total) + json_number_value(value);
	}
	return total;
}

static void append_head(const struct top *top, struct str *out)
{
	const struct job_view *view = top->opened->view;
	int64_t end = view->ended_ms > 0 ? view->ended_ms : clock_wall_ms();
	int64_t lasted = end - view->job->submitted_ms;
	char *age cleanup_free = str_format_duration(lasted > 0 ? lasted : 0);
	json_t *use cleanup_json = json_object();

	for (int i = BY_CPU; i <= BY_MEMORY; i++) {
		double total = sum(top, members[i]);
		if (!isnan(total))
			json_object_set_new(use, members[i], json_real(total));
	}
	char *used cleanup_free = use_text(use, 0);
	char *name cleanup_free = report_one_line(view->job->name);
	str_append_format(out, "%s  %s  %s  %s\n", top->opened->id, job_state_name(view->state),
			  age, name);
	live_summary(view, out);
	str_append_format(out, "%s%s\n", used ? "; in all " : "", used ? used : "");
}

static char *number_text(const json_t *use, const char *member, const char *format)
{
	const json_t *value = json_object_get(use, member);

	return json_is_number(value) ? mem_printf(format, json_number_value(value)) : NULL;
}

static char *own_number(const json_t *use)
{
	return json_is_true(json_object_get(use, "nan")) ? mem_strdup("NaN")
							 : number_text(use, "number", "%.4g");
}

static void add_row(const struct top *top, const struct row *row, struct report_table *table)
{
	const struct job_view *view = top->opened->view;
	const struct task_view *task = &view->tasks[row->task];

	report_table_take(table, job_task_name(view->job, task->type, task->index));
	report_table_add(table, task_state_name(task->state));
	report_table_take(table, use_cpu(row->use));
	report_table_take(table, use_memory(row->use, view->job->types[task->type].memory));
	report_table_take(table, use_gpu(row->use));
	report_table_take(table, use_gpu_memory(row->use));
	report_table_take(table, use_step(row->use));
	report_table_take(table, number_text(row->use, "steps_per_s", "%.3g/s"));
	report_table_take(table, own_number(row->use));
	report_table_add(table, task->host);
}

static void append_table(const struct top *top, size_t count, size_t width, struct str *out)
{
	char *number cleanup_free = mem_strdup(top->number);
	struct report_table table = {0};

	for (char *c = number; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	const char *const headings[] = {"TASK",	      "STATE", "CPU",  "MEMORY", "GPU",
					"GPU MEMORY", "STEP",  "RATE", number,	 "NODE"};
	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < count; i++)
		add_row(top, &top->rows[i], &table);
	report_table_format(&table, width, out);
	report_table_finish(&table);
}

static void draw(void *data, struct live_size size, struct str *out)
{
	const struct top *top = data;
	size_t room = size.rows > HEAD_ROWS + 1 ? (size_t)size.rows - HEAD_ROWS : 1;
	size_t shown = top->count > room ? room - 1 : top->count;

	append_head(top, out);
	append_table(top, shown, (size_t)size.columns, out);
	if (shown < top->count)
		str_append_format(out, "... and %zu task%s more\n", top->count - shown,
				  str_plural(top->count - shown));
}

static json_t *row_json(const struct top *top, const struct row *row)
{
	const struct job_view *view = top->opened->view;
	const struct task_view *task = &view->tasks[row->task];
	char *name cleanup_free = job_task_name(view->job, task->type, task->index);
	json_t *object = json_object();

	json_set_text(object, "task", name);
	json_set_text(object, "state", task_state_name(task->state));
	json_set_text(object, "host", task->host);
	json_set_int(object, "memory_mib", view->job->types[task->type].memory);
	if (row->use)
		json_object_set_new(object, "use", json_deep_copy(row->use));
	return object;
}

static void print_json(const struct top *top)
{
	json_t *object = json_object(), *tasks = json_array();

	json_set_text(object, "id", top->opened->id);
	json_set_text(object, "state", job_state_name(top->opened->view->state));
	for (size_t i = 0; i < top->count; i++)
		json_array_append_new(tasks, row_json(top, &top->rows[i]));
	json_object_set_new(object, "tasks", tasks);
	report_json(object);
}

static int print_once(struct top *top, struct err *err)
{
	struct str text cleanup_str = {0};

	if (ask(top, err) < 0)
		return -1;
	if (top->chosen->json) {
		print_json(top);
	} else {
		append_head(top, &text);
		append_table(top, top->count, report_width(stdout), &text);
		fputs(text.text, stdout);
	}
	return EXIT_CODE_OK;
}

static int show(void *data, const struct verb_call *call, struct err *err)
{
	const struct top_options *chosen = data;
	struct top top = {
		.chosen = chosen,
		.opened = call->opened,
		.number = chosen->number ? chosen->number : "loss",
		.uses = json_object(),
	};
	const struct look_options how = {
		.every_ms = EVERY_MS, .ask = ask, .draw = draw, .data = &top};

	while (chosen->sort && !str_equal(orders[top.order], chosen->sort))
		top.order++;
	bool is_live = live_can_draw(stdout) && !chosen->once && !chosen->json;
	int code = is_live ? look_again(&how, err) : print_once(&top, err);
	if (code == EXIT_CODE_OK && opened_check_record(top.opened, err) < 0)
		code = -1;
	free(top.rows);
	json_decref(top.uses);
	return code;
}

const struct verb verb_top = {
	.options =
		{
			.verb = "top",
			.usage = "tony top [OPTIONS] [JOB]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "show what the tasks of a job use now",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct top_options),
	.operands = VERB_JOB_ANY,
	.run = show,
};
