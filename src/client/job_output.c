#include "client/job_output.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/log_places.h"
#include "client/report.h"
#include "logs/job_logs.h"
#include "logs/live.h"
#include "logs/merge.h"
#include "logs/names.h"
#include "scheduler/state_dir.h"

#define REST_MS 5000

/* Told with every line of a log. */
struct label {
	char *text, *task, *log;
	const char *job; /* as of struct job_output_line */
	bool is_error;
	bool is_alone, is_only_stream; /* as of struct job_output_line */
	struct job_output_mark mark;
};

struct job_output {
	const struct job_output_choice *choice;
	struct opened *opened;
	struct follow *follow;
	job_output_visit *visit;
	void *data;
	struct log_merge *merge;
	struct job_output *first; /* whose the merge is: itself, or that of another job */
	bool has_live;		  /* it is first, and one of those in the merge has `live` */
	const char *job;	  /* the job's name where there are several; NULL: there are not */
	bool is_prepared;	  /* for the next turn */
	bool is_held;		  /* which is not at the end, though the job is */
	bool is_over;		  /* all that the job has written is here */
	struct map *added; /* names of logs that are in it, but for those that the AM sends */
	struct label **labels;
	size_t label_count;
	struct job_logs *logs;
	struct log_places *places; /* NULL: not read (yet), or not needed: they are here */
	struct log_live *live;	   /* NULL: not followed through the AM */
	struct http_target am;	   /* as it was at the last turn */
	struct err missing;	   /* the last log that was not there; another failure stays */
	struct losses {
		size_t logs;	     /* of which the end alone is left */
		int64_t kept, bytes; /* of these logs */
		char *first;	     /* of them, as errors name it */
		size_t containers;   /* of which nothing is left */
	} losses;
	size_t found;
	int64_t tail;	     /* as chosen, then -1: files that come later are told in full */
	bool names_tasks;    /* there is more than one */
	bool is_alone;	     /* of all programs there is one */
	bool is_only_stream; /* one stream of one task is asked for */
	bool has_files;	     /* add_files() was called */
	bool lacks_am;	     /* which alone has some of the logs, and is being replaced */
};

/* ---- what is asked for -------------------------------------------------------------------- */

/* Logs of tony's own programs, and not of the user's. */
static bool wants_own(const struct job_output_choice *choice)
{
	return choice->am || choice->executors.count > 0;
}

int job_output_check(const struct job_output_choice *choice, struct err *err)
{
	if (wants_own(choice) && (choice->tasks.count > 0 || choice->stream))
		return err_set(err, ERR_USAGE,
			       "--task and --stream are about the output of programs; leave them "
			       "out with --am and --executor");
	return 0;
}

static const struct str_list *named_tasks(const struct job_output_choice *choice)
{
	return wants_own(choice) ? &choice->executors : &choice->tasks;
}

static int check_tasks(const struct job_output *output, struct err *err)
{
	const struct str_list *tasks = named_tasks(output->choice);

	for (size_t i = 0; i < tasks->count; i++)
		if (opened_check_task(output->opened, tasks->items[i], err) < 0)
			return -1;
	/* Its node has it, and nobody tells when it grows. */
	if (output->choice->am && output->follow && !output->logs->are_here)
		return err_set(err, ERR_USAGE,
			       "--am: the log of an application master on a cluster cannot be "
			       "followed; leave out --follow");
	return 0;
}

static bool is_chosen(const struct job_output *output, const char *type, const char *task)
{
	const struct str_list *tasks = named_tasks(output->choice);

	if (tasks->count == 0)
		return !wants_own(output->choice);
	return str_list_has(tasks, task) || str_list_has(tasks, type);
}

static bool is_one_task(const struct job_output *output)
{
	const struct str_list *tasks = named_tasks(output->choice);

	if (output->choice->am)
		return tasks->count == 0;
	return output->opened->view->task_count == 1 ||
	       (tasks->count == 1 && strchr(tasks->items[0], ':'));
}

static bool is_one_program(const struct job_output *output)
{
	const struct job_view *view = output->opened->view;

	return !wants_own(output->choice) && view->task_count == 1 &&
	       view->job->types[view->tasks[0].type].processes == 1;
}

/* Its lines need no label, and may be told byte for byte. */
static bool is_one_stream(const struct job_output *output)
{
	const struct job_output_choice *choice = output->choice;
	const struct job_view *view = output->opened->view;

	if (!is_one_task(output) || !choice->stream || str_equal(choice->stream, "both"))
		return false;
	int64_t task = view->task_count == 1 ? 0 : job_find_task(view->job, choice->tasks.items[0]);

	return task >= 0 && view->job->types[view->tasks[task].type].processes == 1;
}

/* ---- labels ------------------------------------------------------------------------------- */

/* `log` is NULL for the AM's, which has no other. */
static struct label *label_create(const struct job_output *output, const char *log,
				  const char *task)
{
	bool says_log =
		log && !output->is_only_stream &&
		(wants_own(output->choice) ? output->names_tasks : !str_equal(log, "stdout"));
	struct label *label = mem_alloc(sizeof(*label));
	struct str text = {0};

	if (output->job)
		str_append(&text, output->job);
	if (output->names_tasks)
		str_append_format(&text, "%s%s", text.length > 0 ? " " : "", task);
	if (says_log)
		str_append_format(&text, "%s%s", text.length > 0 ? " " : "", log);
	if (text.length > 0)
		str_append(&text, "| ");
	label->text = report_one_line(str_text(&text)); /* the job's name may be a stranger's */
	str_finish(&text);
	label->job = output->job ? output->opened->id : NULL;
	label->task = log ? mem_strdup(task) : NULL;
	label->log = mem_strdup(log ? log : task);
	label->is_error = log && str_starts_with(log, "stderr");
	label->is_alone = output->is_alone;
	label->is_only_stream = output->is_only_stream;
	return label;
}

/* As errors name a log; the caller frees. */
static char *name_log(const char *log, const char *task)
{
	return log ? mem_printf("%s of %s", log, task)
		   : mem_strdup("the log of the application master");
}

static void label_destroy(struct label *label)
{
	free(label->text);
	free(label->task);
	free(label->log);
	free(label);
}

static void add_source(struct job_output *output, struct log_source *source, struct label *label,
		       int64_t tail)
{
	output->labels =
		mem_realloc_array(output->labels, output->label_count + 1, sizeof(struct label *));
	output->labels[output->label_count++] = label;
	output->found++;
	log_merge_bind(output->merge, &output->is_over);
	log_merge_add(output->merge, source, label, tail);
}

/* ---- logs --------------------------------------------------------------------------------- */

/* Of a container. */
struct container_logs {
	struct log_place place;
	size_t task;
	const char *name; /* its */
};

static void note_cut(struct losses *losses, struct log_source *log, const char *name)
{
	if (log->cut == 0)
		return;
	if (losses->logs++ == 0)
		losses->first = mem_strdup(name);
	losses->kept += log_source_length(log);
	losses->bytes += log->cut;
}

/* Programs that have written nothing have no file here (yet), and none in a history. */
static bool is_empty(const struct job_output *output, const struct err *problem)
{
	return problem->kind == ERR_NOT_FOUND && !wants_own(output->choice) &&
	       (output->logs->are_here || output->logs->has_ends);
}

static void note_missing(struct job_output *output, const char *name, enum log_answer answer,
			 const struct err *problem)
{
	if (output->missing.kind != ERR_NONE && output->missing.kind != ERR_NOT_FOUND)
		return;
	char *text cleanup_free = log_answer_text(answer, name, problem);
	err_finish(&output->missing);
	err_set(&output->missing, problem->kind, "%s", text);
}

/* `opened` is taken; NULL: it is not to be had. */
static void add_opened(struct job_output *output, struct log_source *opened, const char *log,
		       const char *task, const struct err *problem)
{
	char *name cleanup_free = name_log(log, task);

	if (opened) {
		note_cut(&output->losses, opened, name);
		add_source(output, opened, label_create(output, log, task), output->tail);
	} else if (is_empty(output, problem)) {
		output->found++;
	} else {
		note_missing(output, name, output->logs->missing, problem);
	}
}

/* A log is opened once: one that is here is read on. */
static void add_once(struct job_output *output, const struct container_logs *of, const char *log)
{
	char *key cleanup_free = mem_printf("%s %d %s", of->name, of->place.attempt, log);
	char *file cleanup_free = log_file_name(log);
	struct err problem cleanup_err = {0};

	if (map_get(output->added, key))
		return;
	struct log_source *opened =
		output->logs->ops->open(output->logs, &of->place, file, &problem);
	if (opened)
		map_set(output->added, key, output);
	add_opened(output, opened, log, of->name, &problem);
}

/* While a task runs its AM knows best. */
static bool is_live(const struct job_output *output, const struct container_logs *of)
{
	const struct opened *opened = output->opened;

	return !output->logs->are_here && !opened_is_over(opened) &&
	       of->place.attempt >= opened->view->tasks[of->task].attempt;
}

/* Its executor exits within seconds; its node keeps what it wrote. */
static bool has_ended(const struct job_output *output, const struct container_logs *of)
{
	return output->opened->view->tasks[of->task].state >= TASK_SUCCEEDED;
}

static void add_live(struct job_output *output, const struct container_logs *of, const char *log,
		     int64_t tail)
{
	const struct log_search *search = &output->choice->search;
	struct log_source *source =
		output->live
			? log_live_follow(output->live, of->name, log, search)
			: log_live_present(&output->am, of->name, of->place.attempt, log, search);

	add_source(output, source, label_create(output, log, of->name), tail);
}

static void add_log(struct job_output *output, const struct container_logs *of, const char *log)
{
	bool runs = is_live(output, of);

	if (!runs || has_ended(output, of)) {
		add_once(output, of, log);
		if (runs && output->live) /* it may run once more */
			add_live(output, of, log, 0);
	} else if (output->live || output->opened->door.address) {
		add_live(output, of, log, output->tail);
	} else {
		output->lacks_am = true;
	}
}

static void follow_directory(struct job_output *output, const struct log_place *place)
{
	char *directory cleanup_free = output->follow && output->logs->are_here
					       ? output->logs->ops->directory(output->logs, place)
					       : NULL;

	if (directory)
		follow_add(output->follow, directory);
}

static void add_attempt(struct job_output *output, const struct container_logs *of, int processes)
{
	struct str_list names cleanup_str_list = {0};
	const char *stream = output->choice->stream;

	follow_directory(output, &of->place);
	if (output->logs->has_ends &&
	    of->place.attempt < output->opened->view->tasks[of->task].attempt) {
		output->losses.containers++;
		return;
	}
	if (wants_own(output->choice))
		str_list_add(&names, "executor");
	else
		log_names_add(&names, str_equal(stream, "both") ? NULL : stream, processes);
	for (size_t i = 0; i < names.count; i++)
		add_log(output, of, names.items[i]);
}

/* Of a task without a container. */
static void note_unstarted(struct job_output *output, const char *task)
{
	bool is_over = opened_is_over(output->opened);
	char *name cleanup_free = name_log("executor", task);
	struct err why cleanup_err = {0};

	err_set(&why, ERR_NOT_FOUND, "the task %s",
		is_over ? "never got a container" : "has not started");
	note_missing(output, name, is_over ? LOG_NO_SUCH : LOG_NOT_YET, &why);
}

/* As the journal has them now. */
static int read_places(struct job_output *output, struct err *err)
{
	struct log_places *places = log_places_read(output->opened, err);

	if (!places)
		return -1;
	log_places_destroy(output->places);
	output->places = places;
	return 0;
}

static struct container_logs container_of(const struct job_output *output, size_t number,
					  const char *name, int attempt)
{
	const struct task_view *task = &output->opened->view->tasks[number];
	struct container_logs of = {
		.place = {.type = output->opened->view->job->types[task->type].name,
			  .index = task->index,
			  .attempt = attempt},
		.task = number,
		.name = name};

	if (output->places)
		log_places_find(output->places, (int64_t)number, &of.place);
	return of;
}

static void add_task(struct job_output *output, size_t number)
{
	const struct job_view *view = output->opened->view;
	const struct task_view *task = &view->tasks[number];
	const struct job_type *type = &view->job->types[task->type];
	char *name cleanup_free = job_task_name(view->job, task->type, task->index);

	if (!is_chosen(output, type->name, name))
		return;
	int last = output->live && task->attempt == 0 ? 1 /* its first one will come */
						      : task->attempt;
	if (last == 0 && wants_own(output->choice))
		note_unstarted(output, name);
	for (int attempt = 1; attempt <= last; attempt++) {
		const struct container_logs of = container_of(output, number, name, attempt);
		add_attempt(output, &of, type->processes);
	}
}

/* Of a log of which the AM has sent nothing: nodes have what its containers wrote. */
static void add_missed_log(struct job_output *output, const struct log_missed *missed)
{
	const struct job_view *view = output->opened->view;
	size_t number = (size_t)job_find_task(view->job, missed->task);
	int last = missed->attempt > 0 ? missed->attempt : view->tasks[number].attempt;

	for (int attempt = missed->attempt > 0 ? last : 1; attempt <= last; attempt++) {
		const struct container_logs of =
			container_of(output, number, missed->task, attempt);
		add_once(output, &of, missed->log);
	}
}

static int add_missed(struct job_output *output, struct err *err)
{
	struct log_missed missed;
	bool is_known = false;

	while (log_live_take_missed(output->live, &missed)) {
		if (!is_known && read_places(output, err) < 0)
			return -1;
		is_known = true;
		add_missed_log(output, &missed);
	}
	return 0;
}

/* Each AM on a cluster had a container of its own; on one machine all write one file. */
static void add_am(struct job_output *output)
{
	const struct opened *opened = output->opened;
	int last = opened->view->am_attempt > opened->door.am_attempt ? opened->view->am_attempt
								      : opened->door.am_attempt;

	if (last < 1 || output->logs->are_here)
		last = 1;
	for (int attempt = 1; attempt <= last && !map_get(output->added, "am"); attempt++) {
		struct log_place place = {.attempt = attempt};
		struct err problem cleanup_err = {0};
		if (output->places)
			log_places_find(output->places, -1, &place);
		struct log_source *log = output->logs->ops->open_am(output->logs, &place, &problem);
		if (log && output->logs->are_here)
			map_set(output->added, "am", output);
		add_opened(output, log, NULL, "am", &problem);
	}
}

/* The files of every attempt so far. */
static void add_files(struct job_output *output)
{
	const struct job_view *view = output->opened->view;

	follow_directory(output, NULL);
	if (output->choice->am)
		add_am(output);
	for (size_t i = 0; i < view->task_count; i++)
		add_task(output, i);
	output->tail = -1;
	output->has_files = true;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* A progress bar is written over itself: a terminal would show its last state. */
static void skip_overwritten(struct log_line *line)
{
	while (line->length > 0 && line->text[line->length - 1] == '\r')
		line->length--;
	const char *last = memrchr(line->text, '\r', line->length);
	if (!last)
		return;
	line->length -= (size_t)(last + 1 - line->text);
	line->text = last + 1;
}

static struct job_output_line describe(struct log_line line, struct label *label)
{
	struct job_output_line told = {.job = label->job,
				       .label = label->text,
				       .task = label->task,
				       .log = label->log,
				       .as_written = line,
				       .time_ms = line.time_ms,
				       .is_error = label->is_error,
				       .is_alone = label->is_alone,
				       .is_only_stream = label->is_only_stream,
				       .mark = &label->mark};

	skip_overwritten(&line);
	told.has_overwritten = line.text != told.as_written.text;
	told.text = line.text;
	told.length = line.length;
	return told;
}

static void visit_lines(struct job_output *output, bool to_the_end)
{
	struct log_line line;
	const void *label;
	bool is_first = true;

	while (log_merge_next(output->merge, to_the_end, &line, &label)) {
		const struct job_output_line told = describe(line, (struct label *)label);
		if (is_first && !output->first->has_live && log_merge_is_away(output->merge))
			return; /* all of them can still be read elsewhere */
		is_first = false;
		output->visit(output->data, &told);
	}
}

bool job_output_begun(struct job_output *output, struct job_output_line *told)
{
	struct log_line line;
	const void *label;

	if (!log_merge_begun(output->merge, &line, &label))
		return false;
	*told = describe(line, (struct label *)label);
	return told->length > 0;
}

void job_output_each_begun(struct job_output *output, job_output_visit_begun *visit)
{
	struct log_line line;
	const void *label;

	for (size_t log = 0; log_merge_each_begun(output->merge, &log, &line, &label); log++) {
		struct job_output_line told = describe(line, (struct label *)label);
		if (!visit(output->data, &told) || !log_merge_take_begun(output->merge, log, &line))
			continue;
		told = describe(line, (struct label *)label);
		output->visit(output->data, &told);
	}
}

/* What the AM sends once the job has ended is not waited for longer than this. */
static int visit_rest(struct job_output *output, struct err *err)
{
	int64_t end = clock_monotonic_ms() + REST_MS;

	log_live_conclude(output->live);
	for (int64_t left = REST_MS; left > 0; left = end - clock_monotonic_ms()) {
		visit_lines(output, false);
		if (!log_live_wait(output->live, left))
			break;
	}
	log_live_give_up(output->live);
	if (add_missed(output, err) < 0)
		return -1;
	visit_lines(output, true);
	return 0;
}

/* Some kept logs may be missing while others were told; a task that has left none is worth
 * mentioning only where none has. */
static int check_missing(const struct job_output *output, struct err *err)
{
	const char *problem = log_merge_problem(output->merge);

	if (problem)
		return err_set(err, job_output_is_away(output) ? ERR_UNREACHABLE : ERR_INPUT, "%s",
			       problem);
	if (output->missing.kind == ERR_NONE ||
	    (output->missing.kind == ERR_NOT_FOUND && output->found > 0))
		return 0;
	return err_copy(err, &output->missing);
}

/* Of a job that still runs the AM is asked for the logs of all tasks at once, and sends each as its
 * containers come and go. */
static int find_remote(struct job_output *output, bool is_last, struct err *err)
{
	if (read_places(output, err) < 0)
		return -1;
	if (!is_last) {
		output->live = log_live_create();
		output->first->has_live = true;
	}
	return 0;
}

/* Its first AM has begun to write a journal by then. */
static bool has_unread_journal(const struct job_output *output)
{
	const struct opened *opened = output->opened;

	return !output->logs->are_here && opened->view->sequence == 0 &&
	       (opened->door.am_attempt > 1 || opened->door.address);
}

static bool is_at_end(const struct job_output *output)
{
	return !output->follow || (opened_is_over(output->opened) && !output->is_held);
}

int job_output_prepare(struct job_output *output, bool others_go_on, struct err *err)
{
	const struct opened *opened = output->opened;

	output->is_held = others_go_on;
	output->is_over = opened_is_over(opened) && output->logs->are_here;
	const bool is_last = is_at_end(output);
	output->am = job_door_target(&opened->door);
	if (!output->logs->are_here && !output->places) {
		if (!is_last && !opened->door.address)
			return 0;
		if (find_remote(output, is_last, err) < 0)
			return -1;
	}
	if (!output->live || !output->has_files)
		add_files(output);
	if (!output->follow && has_unread_journal(output))
		output->lacks_am = true;
	output->is_prepared = true;
	if (output->lacks_am)
		return err_set(err, ERR_UNREACHABLE, "the job has no application master now");
	return 0;
}

int job_output_turn(struct job_output *output, struct err *err)
{
	if (!output->is_prepared && job_output_prepare(output, false, err) < 0)
		return -1;
	const bool is_last = is_at_end(output);
	output->is_prepared = false;
	if (is_last && output->live) {
		if (visit_rest(output, err) < 0)
			return -1;
	} else if (output->first == output) {
		visit_lines(output, is_last);
	}
	if (is_last)
		return check_missing(output, err);
	if (!output->live)
		return 0;
	log_live_ask(output->live, &output->am);
	return add_missed(output, err);
}

/* ---- what is not left --------------------------------------------------------------------- */

static void tell_cut(const struct losses *losses, struct str *text)
{
	char *kept cleanup_free = str_format_bytes(losses->kept);
	char *bytes cleanup_free = str_format_bytes(losses->kept + losses->bytes);

	if (losses->logs == 1)
		str_append_format(text, "of %s only the last %s of %s are left", losses->first,
				  kept, bytes);
	else
		str_append_format(text, "of %zu logs only the ends are left, %s of %s",
				  losses->logs, kept, bytes);
}

char *job_output_losses(const struct job_output *output)
{
	const struct losses *losses = &output->losses;
	bool is_cleared = state_dir_is_cleared(output->opened->door.job_dir, false);
	struct str text = {0};

	if (losses->logs == 0 && losses->containers == 0)
		return NULL;
	if (losses->logs > 0)
		tell_cut(losses, &text);
	if (losses->containers > 0)
		str_append_format(&text, "%sof %zu earlier container%s nothing is left",
				  losses->logs > 0 ? "; " : "", losses->containers,
				  losses->containers == 1 ? "" : "s");
	str_append(&text, is_cleared ? ": the rest was removed for its age (tony.jobs.max-age)"
			  : output->logs->has_ends || losses->containers > 0
				  ? ": the history has no more of the job"
				  : ": what stood before was rotated away "
				    "(tony.task.log-rotate-size, tony.task.log-keep)");
	return str_steal(&text);
}

/* ------------------------------------------------------------------------------------------- */

bool job_output_is_away(const struct job_output *output)
{
	return output->lacks_am || log_merge_is_away(output->merge);
}

bool job_output_wait(struct job_output *output, int64_t timeout_ms)
{
	return output->live && log_live_wait(output->live, timeout_ms);
}

/* ---- life --------------------------------------------------------------------------------- */

struct job_output *job_output_open(struct opened *opened, const struct job_output_choice *choice,
				   struct follow *follow, job_output_visit *visit, void *data,
				   struct err *err)
{
	struct job_output *output = mem_alloc(sizeof(*output));

	*output = (struct job_output){.choice = choice,
				      .opened = opened,
				      .follow = follow,
				      .visit = visit,
				      .data = data,
				      .merge = log_merge_create(),
				      .added = map_create(NULL),
				      .tail = choice->tail};
	output->first = output;
	output->names_tasks = !is_one_task(output);
	output->is_alone = is_one_program(output);
	output->is_only_stream = is_one_stream(output);
	output->logs = opened_logs(opened, err);
	if (output->logs && check_tasks(output, err) == 0)
		return output;
	job_output_close(output);
	return NULL;
}

void job_output_join(struct job_output *output, struct job_output *first, const char *name)
{
	output->job = name;
	output->is_alone = output->is_only_stream = false;
	if (output == first)
		return;
	log_merge_destroy(output->merge);
	output->merge = first->merge;
	output->first = first;
}

void job_output_close(struct job_output *output)
{
	if (!output)
		return;
	if (output->first == output)
		log_merge_destroy(output->merge);
	log_live_destroy(output->live);
	log_places_destroy(output->places);
	job_logs_destroy(output->logs);
	for (size_t i = 0; i < output->label_count; i++)
		label_destroy(output->labels[i]);
	free(output->labels);
	map_destroy(output->added);
	err_finish(&output->missing);
	free(output->losses.first);
	free(output);
}
