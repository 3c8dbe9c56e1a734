#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/advice.h"
#include "client/exit_code.h"
#include "client/job_answer.h"
#include "client/job_choice.h"
#include "client/live.h"
#include "client/opened_jobs.h"
#include "client/place.h"
#include "client/remedy.h"
#include "client/report.h"
#include "client/results.h"
#include "client/tokens_line.h"
#include "client/use.h"
#include "client/verbs.h"
#include "client/watch.h"
#include "client/work.h"
#include "scheduler/state_dir.h"

enum {
	STRAGGLERS_MAX = 5, /* that are told of above the table */
	MIB = 1 << 20,
};

struct status_options {
	bool watch, json;
	struct str_list tags;
};

static const struct opt options[] = {
	JOB_CHOICE_TAG(struct status_options),
	OPT_ROW("watch", struct status_options, watch,
		"go on until the job ends: a table that is drawn anew in a terminal, else lines",
		.letter = 'w'),
	OPT_ROW("json", struct status_options, json,
		"as JSON (docs/json.md), with what the application master knows beyond the table"),
};

/* ---- for people --------------------------------------------------------------------------- */

static char *age_of(int64_t from_ms, int64_t to_ms)
{
	return str_format_duration(to_ms > from_ms ? to_ms - from_ms : 0);
}

/* "4711 4712" of a task as JSON; NULL: there are none to see. */
static char *pids_of(const json_t *task)
{
	struct str_list words cleanup_str_list = {0};
	size_t i;
	json_t *pid;

	json_array_foreach(json_object_get(task, "pids"), i, pid)
	{
		str_list_add_format(&words, "%" JSON_INTEGER_FORMAT, json_integer_value(pid));
	}
	return words.count > 0 ? str_list_join(&words, " ") : NULL;
}

/* That of its last process, which may have ended; NULL: its program does not tell. */
static char *step_of(const struct task_view *task, const json_t *task_json)
{
	return task->started_ms > 0 ? use_step(json_object_get(task_json, "metrics")) : NULL;
}

/* Of its last process: in all once that has ended, else so far. -1: it is not known. */
static int64_t used_by(const struct task_view *task, const json_t *task_json, const char *member)
{
	const json_t *use = json_object_get(task_json, task->ended_ms > 0 ? "used" : "metrics");
	const json_t *value = json_object_get(use, member);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static char *cpu_time_of(const struct task_view *task, const json_t *task_json)
{
	int64_t ms = used_by(task, task_json, "cpu_ms");

	return ms >= 0 ? str_format_duration(ms) : NULL;
}

static char *peak_of(const struct task_view *task, const json_t *task_json)
{
	int64_t bytes = used_by(task, task_json, "max_pss_bytes");

	if (bytes <= 0) /* an older version's */
		bytes = used_by(task, task_json, "max_rss_bytes");
	return bytes > 0 ? str_format_mib((double)bytes / MIB) : NULL;
}

static void add_task(struct report_table *table, const struct job_view *view, size_t number,
		     const json_t *task_json, int64_t now)
{
	const struct task_view *task = &view->tasks[number];
	const json_t *use = json_object_get(task_json, "use");
	int64_t end = task->ended_ms > 0 ? task->ended_ms : now;

	report_table_take(table, job_task_name(view->job, task->type, task->index));
	report_table_take(table,
			  mem_printf("%s%s", task_state_name(task->state),
				     json_object_get(task_json, "straggler") ? ", straggler" : ""));
	report_table_take(table, mem_printf("%d", task->attempt));
	report_table_take(table, mem_printf("%d", task->epoch));
	report_table_take(table, task->port > 0 ? mem_printf("%s:%d", task->host, task->port)
						: mem_strdup(task->host));
	report_table_take(table, pids_of(task_json));
	report_table_take(table, task->started_ms > 0 ? age_of(task->started_ms, end) : NULL);
	report_table_take(table, use_cpu(use));
	report_table_take(table, cpu_time_of(task, task_json));
	report_table_take(table, use_memory(use, view->job->types[task->type].memory));
	report_table_take(table, peak_of(task, task_json));
	report_table_take(table, use_gpu(use));
	report_table_take(table, use_gpu_memory(use));
	report_table_take(table, step_of(task, task_json));
	report_table_take(table, task->cause.headline ? mem_printf("%s: %s", task->cause.text,
								   task->cause.headline)
						      : mem_strdup(task->cause.text));
}

static void print_tasks(const struct opened *opened, const json_t *tasks)
{
	static const char *const headings[] = {
		"TASK", "STATE",    "CONTAINER",  "CLUSTER START", "ADDRESS",
		"PIDS", "DURATION", "CPU",	  "CPU TIME",	   "MEMORY",
		"PEAK", "GPU",	    "GPU MEMORY", "STEP",	   "LAST FAILURE"};
	const struct job_view *view = opened->view;
	struct report_table table = {0};
	int64_t now = clock_wall_ms();

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < view->task_count; i++)
		if (!view->tasks[i].dormant)
			add_task(&table, view, i, json_array_get(tasks, i), now);
	report_table_print(&table);
	report_table_finish(&table);
}

/* `text` NULL: there is nothing to tell. */
static void print_fact(const char *name, const char *text)
{
	char *line cleanup_free = text ? mem_printf("%s: %s", name, text) : NULL;

	if (line)
		report_line(line);
}

static void print_splits(const json_t *work)
{
	const json_t *set;
	size_t i;

	json_array_foreach(json_object_get(work, "splits"), i, set)
	{
		char *name cleanup_free =
			mem_printf("data %s", json_string_value(json_object_get(set, "name")));
		char *text cleanup_free = work_splits_text(set);
		print_fact(name, text);
	}
}

static void print_work(const struct opened *opened)
{
	json_t *work cleanup_json = work_ask(opened);
	char *text cleanup_free = work_text(work);

	print_fact("progress", text);
	print_splits(work);
}

static void print_tokens(const struct opened *opened)
{
	json_t *tokens cleanup_json = tokens_ask(opened);
	char *text cleanup_free = tokens_text(tokens);

	print_fact("tokens", text);
}

static void print_stragglers(const json_t *tasks)
{
	size_t i, count = 0;
	json_t *task;

	json_array_foreach(tasks, i, task)
	{
		const char *text = json_string_value(
			json_object_get(json_object_get(task, "straggler"), "text"));
		if (!text || ++count > STRAGGLERS_MAX)
			continue;
		char *line cleanup_free = mem_printf("straggler: %s", text);
		report_line(line);
	}
	if (count > STRAGGLERS_MAX)
		printf("and %zu straggler%s more\n", count - STRAGGLERS_MAX,
		       str_plural(count - STRAGGLERS_MAX));
}

static void print_losses(const struct job_view *view)
{
	struct str_list lines cleanup_str_list = {0};

	live_add_losses(view, &lines);
	for (size_t i = 0; i < lines.count; i++)
		report_line(lines.items[i]);
}

static void print_elastic(const struct job_view *view)
{
	for (size_t i = 0; i < view->job->type_count; i++) {
		char *line cleanup_free = live_elastic(view, i);
		if (line && !view->is_final)
			report_line(line);
	}
}

static void print_remedy(const struct job_view *view)
{
	char *remedy cleanup_free = view->state == JOB_FAILED ? remedy_of(view) : NULL;

	if (!remedy)
		return;
	char *line cleanup_free = mem_printf("try: %s", remedy);
	report_line(line);
}

/* "code: commit 3de267a94c12 of main, with changes" */
static void print_code(const json_t *code)
{
	const char *commit = json_string_value(json_object_get(code, "commit"));
	const char *branch = json_string_value(json_object_get(code, "branch"));
	bool is_dirty = json_is_true(json_object_get(code, "dirty"));

	if (!commit)
		return;
	char *line cleanup_free =
		mem_printf("code: commit %.12s%s%s%s", commit, branch ? " of " : "",
			   branch ? branch : "", is_dirty ? ", with changes" : "");
	report_line(line);
}

static void print_results(const struct opened *opened)
{
	char *output cleanup_free = results_place(opened);
	struct err err cleanup_err = {0};

	if (!output)
		return;
	bool is_stored = results_are_stored(output);
	int fd cleanup_close = is_stored ? -1 : results_open(output, results_user(opened), &err);
	bool is_replaced = fd < 0 && err.kind == ERR_DENIED && !opened_is_others(opened);
	if (!is_replaced && !is_stored && !opened->view->job->results_dir &&
	    !results_are_in(output, results_user(opened)))
		return;
	char *line cleanup_free =
		mem_printf("results: %s", is_replaced ? err_message(&err) : output);
	report_line(line);
}

static void print_job(const struct opened *opened, const json_t *tasks)
{
	const struct job_view *view = opened->view;
	int64_t end = view->ended_ms > 0 ? view->ended_ms : clock_wall_ms();
	char *age cleanup_free = age_of(view->job->submitted_ms, end);
	struct str head cleanup_str = {0};

	str_append_format(&head, "%s  %s  %s  %s %s", opened->id, view->job->name,
			  job_state_name(view->state), view->is_final ? "after" : "for", age);
	if (view->epoch > 1)
		str_append_format(&head, "  cluster start %d", view->epoch);
	report_line(head.text);
	if (view->job->rerun_of) {
		char *line cleanup_free = mem_printf("repeats: %s", view->job->rerun_of);
		report_line(line);
	}
	char *uses cleanup_free = str_list_join(&view->job->uses, ", ");
	print_fact("uses", view->job->uses.count > 0 ? uses : NULL);
	if (view->job->sweep && !job_is_sweep(view->job)) {
		char *line cleanup_free = mem_printf("trial: %lld of %s",
						     (long long)view->job->trial, view->job->sweep);
		report_line(line);
	}
	if (view->waiting && !view->is_final) {
		char *line cleanup_free = mem_printf("waiting: %s", view->waiting);
		report_line(line);
	}
	if (view->message)
		report_line(view->message);
	print_remedy(view);
	if (view->is_final && view->cause.kind == CAUSE_AM_FAILED)
		printf("see: tony logs %s --am\n", opened->id);
	print_losses(view);
	if (state_dir_is_cleared(opened->door.job_dir, false))
		report_line("its sources and logs were removed for their age (tony.jobs.max-age); "
			    "the history has the ends of its logs");
	print_elastic(view);
	print_work(opened);
	print_tokens(opened);
	print_stragglers(tasks);
	for (size_t i = 0; i < view->task_count; i++) {
		char *line cleanup_free = live_ui(view, i);
		if (line)
			report_line(line);
	}
	print_code(view->job->provenance);
	char *work cleanup_free = place_work(opened);
	if (work) {
		char *line cleanup_free = mem_printf("ran in: %s", work);
		report_line(line);
	}
	print_results(opened);
	if (view->tracking_page) {
		char *line cleanup_free = mem_printf("tracking: %s", view->tracking_page);
		report_line(line);
	}
	char *page cleanup_free = job_portal_page(view->job);
	if (page && view->is_final) {
		char *line cleanup_free = mem_printf("portal: %s", page);
		report_line(line);
	}
	putchar('\n');
}

/* ---- a sweep's trials --------------------------------------------------------------------- */

static char *text_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (json_is_real(value))
		return mem_printf("%.6g", json_real_value(value));
	if (json_is_integer(value))
		return mem_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return mem_strdup(json_string_value(value));
}

/* "lr=0.1 batch=64" */
static char *values_of(const json_t *trial)
{
	struct str text cleanup_str = {0};
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(trial, "parameters"), name, value)
	{
		str_append_format(&text, "%s%s=%s", text.length > 0 ? " " : "", name,
				  json_string_value(value));
	}
	return str_steal(&text);
}

static char *duration_of(const json_t *trial)
{
	int64_t from = json_integer_value(json_object_get(trial, "started_ms"));
	int64_t to = json_integer_value(json_object_get(trial, "ended_ms"));

	return from > 0 ? age_of(from, to > 0 ? to : clock_wall_ms()) : NULL;
}

static void add_trial(struct report_table *table, const json_t *trial)
{
	report_table_take(table, text_of(trial, "trial"));
	report_table_take(table, text_of(trial, "state"));
	report_table_take(table, text_of(trial, "job"));
	report_table_take(table, values_of(trial));
	report_table_take(table, json_is_true(json_object_get(trial, "nan"))
					 ? mem_strdup("NaN")
					 : text_of(trial, "value"));
	report_table_take(table, text_of(trial, "step"));
	report_table_take(table, duration_of(trial));
	report_table_take(table, text_of(trial, "text"));
}

static void print_best(const json_t *sweep)
{
	const json_t *best = json_object_get(sweep, "best");
	const char *metric = json_string_value(json_object_get(sweep, "metric"));
	const json_t *trial =
		json_array_get(json_object_get(sweep, "trials"), (size_t)json_integer_value(best));

	if (!best || !trial)
		return;
	char *value cleanup_free = text_of(trial, "value"), *values cleanup_free = values_of(trial);
	char *line cleanup_free = mem_printf("best so far: trial %d with %s: %s %s",
					     (int)json_integer_value(best), values, metric, value);
	report_line(line);
}

static void print_trials(const struct opened *opened)
{
	static const char *const headings[] = {"TRIAL", "STATE", "JOB",	     "PARAMETERS",
					       NULL,	"STEP",	 "DURATION", "NOTE"};
	json_t *sweep cleanup_json = advice_sweep(opened), *trial;
	const char *words[array_length(headings)];
	struct report_table table = {0};
	size_t i;

	if (!sweep)
		return;
	memcpy(words, headings, sizeof(words));
	const char *metric = json_string_value(json_object_get(sweep, "metric"));
	words[4] = metric ? metric : "VALUE";
	putchar('\n');
	print_best(sweep);
	report_table_begin(&table, words, array_length(words));
	json_array_foreach(json_object_get(sweep, "trials"), i, trial)
	{
		add_trial(&table, trial);
	}
	report_table_print(&table);
	report_table_finish(&table);
}

/* As of a status that is asked for once, the exit code tells nothing of the job's end. */
static int watch(struct opened *opened, struct err *err)
{
	const struct watch_options how = {.stream = stdout, .timeout_ms = -1};
	int code = watch_job(opened, &how, err);

	return code >= 0 && opened->view->is_final ? EXIT_CODE_OK : code;
}

struct showing {
	const struct status_options *chosen;
	json_t *answers; /* NULL: one job alone is shown, as it is */
	bool has_shown;
};

static void show(struct showing *showing, struct opened *opened)
{
	if (showing->answers) {
		json_array_append_new(showing->answers, job_answer(opened));
	} else if (showing->chosen->json) {
		report_json(job_answer(opened));
	} else {
		json_t *tasks cleanup_json = job_answer_tasks(opened);
		if (showing->has_shown)
			putchar('\n');
		print_job(opened, tasks);
		print_tasks(opened, tasks);
		print_trials(opened);
	}
	showing->has_shown = true;
	struct err cut cleanup_err = {0};
	if (opened_check_record(opened, &cut) < 0) {
		fflush(stdout);
		report_note("%s", err_message(&cut));
	}
}

static int open_job(struct opened *opened, const char *word, void *data, struct err *err)
{
	(void)data;
	return opened_find_any(opened, word, err);
}

static void show_all(struct showing *showing, struct opened_jobs *jobs)
{
	opened_jobs_greet(jobs, false, WORK_TIMEOUT_MS);
	for (size_t i = 0; i < jobs->count; i++) {
		struct err err cleanup_err = {0};
		if (jobs->items[i].is_over)
			continue;
		if (showing->chosen->watch)
			opened_jobs_note(jobs, watch(&jobs->items[i].opened, &err), &err);
		else
			show(showing, &jobs->items[i].opened);
	}
}

static int check_options(const struct status_options *chosen, const struct job_choice *choice,
			 struct err *err)
{
	if (chosen->watch && chosen->json)
		return err_set(
			err, ERR_USAGE,
			"--watch is for people; with --json see tony events --follow --json");
	if (chosen->watch && job_choice_is_list(choice))
		return err_set(err, ERR_USAGE,
			       "--watch shows one job; for several see tony list --watch");
	return 0;
}

static int show_jobs(void *data, const struct verb_call *call, struct err *err)
{
	const struct status_options *chosen = data;
	const struct job_choice choice = {&verb_status.options, call->operands, &chosen->tags,
					  false};
	struct showing showing = {.chosen = chosen};
	struct opened_jobs opened cleanup_opened_jobs = {0};
	struct str_list jobs cleanup_str_list = {0};

	if (check_options(chosen, &choice, err) < 0 || job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	if (chosen->json && job_choice_is_list(&choice))
		showing.answers = json_array();
	opened_jobs_find(&opened, &jobs, open_job, NULL);
	show_all(&showing, &opened);
	if (showing.answers)
		report_json(showing.answers);
	return opened.code;
}

const struct verb verb_status = {
	.options =
		{
			.verb = "status",
			.usage = "tony status [OPTIONS] [JOB...]",
			.summary = "show the state of jobs and of their tasks",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct status_options),
	.run = show_jobs,
};
