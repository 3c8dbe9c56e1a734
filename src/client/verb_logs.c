#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "client/follow.h"
#include "client/kept_logs.h"
#include "client/log_live.h"
#include "client/log_merge.h"
#include "client/moment.h"
#include "client/opened.h"
#include "client/other_tools.h"
#include "client/report.h"
#include "client/verbs.h"
#include "job/log_reader.h"
#include "scheduler/local_start.h"

#define REST_MS 5000

struct logs_options {
	bool follow;
	struct str_list tasks;
	struct str_list executors;
	bool am;
	char *stream;
	char *since;
	char *grep;
	int64_t tail;
};

static const char *const stream_choices[] = {"stdout", "stderr", "both", NULL};

static const struct opt options[] = {
	{.name = "follow",
	 .letter = 'f',
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct logs_options, follow),
	 .help = "go on until the job ends"},
	{.name = "task",
	 .letter = 't',
	 .kind = OPT_LIST,
	 .offset = offsetof(struct logs_options, tasks),
	 .argument = "TASK",
	 .help = "only this task, such as worker:1 or worker (all of them); may be repeated"},
	{.name = "am",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct logs_options, am),
	 .help = "print the log of the job's application master instead of the tasks' output"},
	{.name = "executor",
	 .kind = OPT_LIST,
	 .offset = offsetof(struct logs_options, executors),
	 .argument = "TASK",
	 .help = "print the log of the executor of this task, likewise; may be repeated"},
	{.name = "stream",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct logs_options, stream),
	 .argument = "NAME",
	 .help = "only standard output or only standard error",
	 .choices = stream_choices},
	{.name = "since",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct logs_options, since),
	 .argument = "TIME",
	 .help = "only lines since then: 10s, 5m or 2h ago, or 2026-11-21T06:14:11Z"},
	{.name = "grep",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct logs_options, grep),
	 .argument = "REGEX",
	 .help = "only lines that match this extended regular expression"},
	{.name = "tail",
	 .kind = OPT_NUMBER,
	 .offset = offsetof(struct logs_options, tail),
	 .argument = "N",
	 .help = "begin with the last N lines of each file",
	 .min = 0,
	 .max = INT64_MAX},
};

const struct opt_table verb_logs_options = {
	.verb = "logs",
	.usage = "tony logs [OPTIONS] [JOB]",
	.summary = "print what the tasks of a job have written",
	.description =
		"Lines are merged by time. Each stands behind the name of its task, if the job has "
		"several and not only one of them is asked for, and behind \"stderr\" where it "
		"was written there. --am and --executor print what tony's own programs wrote, for "
		"when a job or a task did not even start.",
	.options = options,
	.option_count = array_length(options),
	.elsewhere = other_tools_logs_options,
};

/* ---- what is asked for -------------------------------------------------------------------- */

struct logs {
	const struct logs_options *chosen;
	struct opened *opened;
	struct log_merge *merge;
	struct follow *follow;	/* NULL: the files as they are now */
	struct kept_logs *kept; /* NULL: they are files of this machine */
	struct err missing;	/* the first log that is not to be had */
	size_t found;		/* of the kept ones */
	struct log_live *live;	/* NULL: not followed through the AM */
	int64_t tail;		/* as chosen, then -1: files that come later are told in full */
	bool names_tasks;	/* there is more than one */
	regex_t grep;
	bool greps;
	int64_t since_ms;
};

static int compile_grep(struct logs *logs, struct err *err)
{
	int bad = regcomp(&logs->grep, logs->chosen->grep, REG_EXTENDED);

	if (bad) {
		char why[128];
		regerror(bad, &logs->grep, why, sizeof(why));
		return err_set(err, ERR_USAGE, "--grep: \"%s\": %s", logs->chosen->grep, why);
	}
	logs->greps = true;
	return 0;
}

/* Logs of tony's own programs, and not of the user's. */
static bool wants_own(const struct logs *logs)
{
	return logs->chosen->am || logs->chosen->executors.count > 0;
}

static int check_options(struct logs *logs, struct err *err)
{
	const struct logs_options *chosen = logs->chosen;

	if (wants_own(logs) && (chosen->tasks.count > 0 || chosen->stream))
		return err_set(err, ERR_USAGE,
			       "--task and --stream are about the output of programs; leave them "
			       "out with --am and --executor");
	if (chosen->since && moment_parse("--since", chosen->since, &logs->since_ms, err) < 0)
		return -1;
	return chosen->grep ? compile_grep(logs, err) : 0;
}

static const struct str_list *named_tasks(const struct logs *logs)
{
	return wants_own(logs) ? &logs->chosen->executors : &logs->chosen->tasks;
}

static int check_tasks(const struct logs *logs, struct err *err)
{
	const struct str_list *tasks = named_tasks(logs);

	for (size_t i = 0; i < tasks->count; i++)
		if (opened_check_task(logs->opened, tasks->items[i], err) < 0)
			return -1;
	/* Its node has it, and nobody tells when it grows. */
	if (logs->chosen->am && logs->chosen->follow && logs->opened->ops->logs)
		return err_set(err, ERR_USAGE,
			       "--am: the log of an application master on a cluster cannot be "
			       "followed; leave out --follow");
	return 0;
}

static bool is_chosen(const struct logs *logs, const char *type, const char *task)
{
	const struct str_list *tasks = named_tasks(logs);

	if (tasks->count == 0)
		return !wants_own(logs);
	return str_list_has(tasks, task) || str_list_has(tasks, type);
}

/* ---- files -------------------------------------------------------------------------------- */

/* What stands in front of every line; the caller frees. */
static char *make_label(const struct logs *logs, const char *log, const char *task)
{
	bool says_log = wants_own(logs) ? logs->names_tasks : !str_equal(log, "stdout");
	struct str label = {0};

	if (logs->names_tasks)
		str_append(&label, task);
	if (says_log)
		str_append_format(&label, "%s%s", label.length > 0 ? " " : "", log);
	if (label.length > 0)
		str_append(&label, "| ");
	return str_steal(&label);
}

/* A file of this machine. */
static void add_here(struct logs *logs, const char *path, const char *label, const char *name)
{
	if (fs_exists(path)) {
		logs->found++;
		log_merge_add(logs->merge, path, label, logs->tail);
	} else if (wants_own(logs) && logs->missing.kind == ERR_NONE) {
		err_set(&logs->missing, ERR_NOT_FOUND, "%s: there is no %s", name, path);
	}
}

/* The log of one attempt of a task. */
struct log_place {
	const char *directory; /* on this machine */
	size_t task;
	const char *task_name;
	int attempt;
};

/* `log` is what was opened (taken), or NULL for want of it. */
static void add_opened(struct logs *logs, struct job_log *log, const char *label, const char *name,
		       const struct err *problem)
{
	if (log) {
		logs->found++;
		log_merge_add_source(logs->merge, log_source_kept(log), label, logs->tail);
	} else if (logs->missing.kind == ERR_NONE || logs->missing.kind == ERR_NOT_FOUND) {
		err_finish(&logs->missing);
		err_set(&logs->missing, problem->kind, "%s: %s", name, err_message(problem));
	}
}

static void add_kept(struct logs *logs, const struct log_place *place, const char *log)
{
	struct err problem cleanup_err = {0};
	char *label cleanup_free = make_label(logs, log, place->task_name);
	char *name cleanup_free = mem_printf("%s of %s", log, place->task_name);
	char *file cleanup_free = log_file_name(log);

	add_opened(logs, kept_logs_open(logs->kept, place->task, place->attempt, file, &problem),
		   label, name, &problem);
}

/* While a task runs its AM knows best. */
static bool is_live(const struct logs *logs, const struct log_place *place)
{
	const struct opened *opened = logs->opened;

	return !opened->view->is_final && opened->door.address &&
	       place->attempt >= opened->view->tasks[place->task].attempt;
}

/* Its executor exits within seconds; its node keeps what it wrote. */
static bool has_ended(const struct logs *logs, const struct log_place *place)
{
	return logs->opened->view->tasks[place->task].state >= TASK_SUCCEEDED;
}

static void add_live(struct logs *logs, const struct log_place *place, const char *log,
		     int64_t tail)
{
	char *label cleanup_free = make_label(logs, log, place->task_name);
	struct log_source *source =
		logs->live ? log_live_follow(logs->live, place->task_name, log)
			   : log_live_present(&logs->opened->door, place->task_name, place->attempt,
					      log);

	logs->found++;
	log_merge_add_source(logs->merge, source, label, tail);
}

static void add_log(struct logs *logs, const struct log_place *place, const char *log)
{
	char *file cleanup_free = log_file_name(log);
	char *path cleanup_free = fs_join(place->directory, file);

	if (logs->kept && is_live(logs, place) && !has_ended(logs, place)) {
		add_live(logs, place, log, logs->tail);
	} else if (logs->kept) {
		add_kept(logs, place, log);
		if (logs->live && is_live(logs, place)) /* it may run once more */
			add_live(logs, place, log, 0);
	} else {
		char *label cleanup_free = make_label(logs, log, place->task_name);
		char *name cleanup_free = mem_printf("%s of %s", log, place->task_name);
		add_here(logs, path, label, name);
	}
}

static void add_stream(struct logs *logs, const struct log_place *place, const char *stream,
		       int processes)
{
	const char *chosen = logs->chosen->stream;

	if (chosen && !str_equal(chosen, "both") && !str_equal(chosen, stream))
		return;
	add_log(logs, place, stream);
	for (int process = 1; process < processes; process++) {
		char *log cleanup_free = mem_printf("%s-%d", stream, process);
		add_log(logs, place, log);
	}
}

static void add_task(struct logs *logs, size_t number)
{
	const struct job *job = logs->opened->view->job;
	const struct task_view *task = &logs->opened->view->tasks[number];
	const struct job_type *type = &job->types[task->type];
	char *name cleanup_free = job_task_name(job, task->type, task->index);

	if (!is_chosen(logs, type->name, name))
		return;
	int last =
		logs->live && task->attempt == 0 ? 1 : task->attempt; /* its first one will come */
	if (last == 0 && wants_own(logs) && logs->missing.kind == ERR_NONE)
		err_set(&logs->missing, ERR_NOT_FOUND, "executor of %s: it never got a container",
			name);
	for (int attempt = 1; attempt <= last; attempt++) {
		char *directory cleanup_free =
			mem_printf("%s/containers/%s-%d-%d", logs->opened->door.job_dir, type->name,
				   task->index, attempt);
		const struct log_place place = {.directory = directory,
						.task = number,
						.task_name = name,
						.attempt = attempt};
		if (logs->follow)
			follow_add(logs->follow, directory);
		if (wants_own(logs)) {
			add_log(logs, &place, "executor");
			continue;
		}
		add_stream(logs, &place, "stdout", type->processes);
		add_stream(logs, &place, "stderr", type->processes);
	}
}

/* Each AM on a cluster had a container of its own; on one machine all write one file. */
static void add_am(struct logs *logs)
{
	const struct opened *opened = logs->opened;
	const char *label = logs->names_tasks ? "am| " : "";
	char *path cleanup_free = fs_join(opened->door.job_dir, LOCAL_AM_LOG);
	int last = opened->view->am_attempt > opened->door.am_attempt ? opened->view->am_attempt
								      : opened->door.am_attempt;

	if (!logs->kept) {
		add_here(logs, path, label, "the log of the application master");
		return;
	}
	for (int attempt = 1; attempt <= (last > 0 ? last : 1); attempt++) {
		struct err problem cleanup_err = {0};
		char *name cleanup_free = mem_printf("the log of application master %d", attempt);
		add_opened(logs, kept_logs_open_am(logs->kept, attempt, &problem), label, name,
			   &problem);
	}
}

/* The files of every attempt so far. */
static void add_files(struct logs *logs)
{
	const struct job_view *view = logs->opened->view;

	if (logs->chosen->am)
		add_am(logs);
	for (size_t i = 0; i < view->task_count; i++)
		add_task(logs, i);
	logs->tail = -1;
}

static bool is_one_task(const struct logs *logs)
{
	const struct str_list *tasks = named_tasks(logs);

	if (logs->chosen->am)
		return tasks->count == 0;
	return logs->opened->view->task_count == 1 ||
	       (tasks->count == 1 && strchr(tasks->items[0], ':'));
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool is_wanted(const struct logs *logs, const struct log_line *line)
{
	regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)line->length};

	if (line->time_ms > 0 && line->time_ms < logs->since_ms)
		return false;
	return !logs->greps || regexec(&logs->grep, line->text, 1, &range, REG_STARTEND) == 0;
}

static void print_lines(struct logs *logs, bool to_the_end)
{
	struct log_line line;
	const char *label;

	while (log_merge_next(logs->merge, to_the_end, &line, &label)) {
		if (!is_wanted(logs, &line))
			continue;
		fputs(label, stdout);
		fwrite(line.text, 1, line.length, stdout);
		putchar('\n');
	}
	fflush(stdout);
}

static int follow_logs(struct logs *logs, struct err *err)
{
	char *containers cleanup_free = fs_join(logs->opened->door.job_dir, "containers");

	for (;;) {
		follow_drain(logs->follow);
		follow_add(logs->follow, containers);
		if (opened_read(logs->opened, NULL, NULL, err) < 0)
			return -1;
		bool final = logs->opened->view->is_final;
		add_files(logs);
		print_lines(logs, final);
		if (final)
			return 0;
		follow_wait(logs->follow, opened_wait_ms(logs->opened, INT64_MAX));
		if (opened_look_for_am(logs->opened, err) < 0)
			return -1;
	}
}

/* Every file that is read stays open, with its index. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* What there is of kept logs is printed, even if some are not to be had; that one has left none is
 * worth mentioning only where none has. */
static int check_missing(const struct logs *logs, struct err *err)
{
	const char *problem = log_merge_problem(logs->merge);

	if (problem)
		return err_set(err, ERR_INPUT, "%s", problem);
	if (logs->missing.kind == ERR_NONE ||
	    (logs->missing.kind == ERR_NOT_FOUND && logs->found > 0))
		return 0;
	return err_set(err, logs->missing.kind, "%s", err_message(&logs->missing));
}

/* The first command of a user who wonders about a job that never ran. */
static void point_to_am(const struct logs *logs)
{
	const struct job_view *view = logs->opened->view;

	if (!logs->chosen->am && view->cause.kind == CAUSE_AM_FAILED && view->am_pid == 0)
		fprintf(stderr, "tony: no task of %s ran; see: tony logs %s --am\n",
			logs->opened->id, logs->opened->id);
}

static int print_present(struct logs *logs, struct err *err)
{
	point_to_am(logs);
	add_files(logs);
	print_lines(logs, true);
	return check_missing(logs, err);
}

/* What the AM sends once the job has ended is not waited for longer than this. */
static void print_rest(struct logs *logs)
{
	int64_t end = clock_monotonic_ms() + REST_MS;

	for (int64_t left = REST_MS; left > 0; left = end - clock_monotonic_ms()) {
		print_lines(logs, false);
		if (!log_live_wait(logs->live, left))
			break;
	}
	print_lines(logs, true);
}

static int open_kept(struct logs *logs, struct err *err)
{
	logs->kept = kept_logs_create(logs->opened, err);
	return logs->kept ? 0 : -1;
}

/* Logs that only the AM sees. It is asked for those of all tasks at once, and sends each as its
 * containers come and go. */
static int follow_live(struct logs *logs, struct err *err)
{
	struct opened *opened = logs->opened;

	while (!opened->view->is_final && !opened->door.address) {
		follow_wait(logs->follow, opened_wait_ms(opened, INT64_MAX));
		char *given_up cleanup_free = opened_check_start(opened);
		if (given_up)
			fprintf(stderr, "tony: %s\n", given_up);
		if (opened_look_for_am(opened, err) < 0 || opened_read(opened, NULL, NULL, err) < 0)
			return -1;
	}
	if (open_kept(logs, err) < 0)
		return -1;
	if (open_kept(logs, err) < 0)
		return -1;
	if (opened->view->is_final)
		return print_present(logs, err);
	logs->live = log_live_create();
	add_files(logs);
	for (;;) {
		if (opened_read(opened, NULL, NULL, err) < 0)
			return -1;
		print_lines(logs, false);
		if (opened->view->is_final)
			break;
		log_live_ask(logs->live, &opened->door);
		int64_t wait_ms = opened_wait_ms(opened, INT64_MAX);
		if (!log_live_wait(logs->live, wait_ms))
			follow_wait(logs->follow, wait_ms);
		if (opened_look_for_am(opened, err) < 0)
			return -1;
	}
	print_rest(logs);
	return check_missing(logs, err);
}

/* Where the job's files are not on this machine. */
static int print_kept(struct logs *logs, struct err *err)
{
	if (logs->chosen->follow)
		return follow_live(logs, err);
	return open_kept(logs, err) < 0 ? -1 : print_present(logs, err);
}

static int print_logs(struct logs *logs, const struct str_list *operands, struct err *err)
{
	const char *id;

	if (report_one_operand(&verb_logs_options, operands, &id, err) < 0 ||
	    check_options(logs, err) < 0 || opened_find(logs->opened, id, err) < 0 ||
	    check_tasks(logs, err) < 0)
		return -1;
	raise_file_limit();
	logs->names_tasks = !is_one_task(logs);
	if (logs->chosen->follow) {
		logs->follow = follow_create();
		follow_add(logs->follow, logs->opened->door.job_dir);
	}
	if (logs->opened->ops->logs)
		return print_kept(logs, err);
	if (logs->follow)
		return follow_logs(logs, err);
	return print_present(logs, err);
}

int verb_logs(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct logs_options chosen = {.tail = -1};
	struct str_list operands cleanup_str_list = {0};
	struct opened opened cleanup_opened = {0};
	int code = 0;

	if (report_parse(&verb_logs_options, argc, argv, &chosen, &operands, &code)) {
		struct logs logs = {.chosen = &chosen,
				    .opened = &opened,
				    .merge = log_merge_create(),
				    .tail = chosen.tail};
		if (print_logs(&logs, &operands, &err) < 0)
			code = report_error(&err);
		log_merge_destroy(logs.merge);
		log_live_destroy(logs.live);
		kept_logs_destroy(logs.kept);
		err_finish(&logs.missing);
		follow_destroy(logs.follow);
		if (logs.greps)
			regfree(&logs.grep);
	}
	opt_finish(&verb_logs_options, &chosen);
	return code;
}
