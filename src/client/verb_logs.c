#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "client/follow.h"
#include "client/log_source.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

struct logs_options {
	bool follow;
	struct str_list tasks;
	char *stream;
	char *since;
	char *grep;
	int64_t tail;
};

static const char *const streams[] = {"stdout", "stderr", "both", NULL};

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
	{.name = "stream",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct logs_options, stream),
	 .argument = "NAME",
	 .help = "only standard output or standard error",
	 .choices = streams},
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
		"Lines of several tasks are merged by time, each behind the name of its task "
		"(and \"stderr\" where it was written there). Logs of earlier attempts of a task "
		"come first.",
	.options = options,
	.option_count = array_length(options),
};

/* One file, with the line of it that is to be printed next. */
struct entry {
	char *label;
	struct log_source *source;
	struct log_line line;
	bool has_line;
};

struct logs {
	const struct logs_options *chosen;
	struct opened *opened;
	struct entry *entries;
	size_t count;
	struct str_list known; /* paths that have an entry */
	struct follow *follow;
	regex_t grep;
	bool greps;
	int64_t since_ms;
};

/* ---- options ------------------------------------------------------------------------------ */

static int parse_since(const char *text, int64_t *since_ms, struct err *err)
{
	int64_t ago;
	struct tm moment = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &moment);
	if (rest && (*rest == '\0' || strcmp(rest, "Z") == 0 || *rest == '.')) {
		*since_ms = (int64_t)timegm(&moment) * 1000;
		return 0;
	}
	if (str_parse_duration(text, 1000, &ago) < 0)
		return err_set(err, ERR_USAGE,
			       "--since: \"%s\" is neither a time ago nor a moment; write 5m or "
			       "2026-11-21T06:14:11Z",
			       text);
	*since_ms = clock_wall_ms() - ago;
	return 0;
}

static int apply_options(struct logs *logs, struct err *err)
{
	const struct logs_options *chosen = logs->chosen;
	if (chosen->since && parse_since(chosen->since, &logs->since_ms, err) < 0)
		return -1;
	if (!chosen->grep)
		return 0;
	int bad = regcomp(&logs->grep, chosen->grep, REG_EXTENDED | REG_NOSUB);
	if (bad) {
		char why[128];
		regerror(bad, &logs->grep, why, sizeof(why));
		return err_set(err, ERR_USAGE, "--grep: \"%s\": %s", chosen->grep, why);
	}
	logs->greps = true;
	return 0;
}

static bool is_chosen(const struct logs *logs, const char *type, const char *task)
{
	const struct str_list *tasks = &logs->chosen->tasks;
	return tasks->count == 0 || str_list_has(tasks, task) || str_list_has(tasks, type);
}

static int check_tasks(const struct logs *logs, struct err *err)
{
	for (size_t i = 0; i < logs->chosen->tasks.count; i++)
		if (opened_check_task(logs->opened, logs->chosen->tasks.items[i], err) < 0)
			return -1;
	return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

static void add_file(struct logs *logs, const char *directory, const char *file, const char *task)
{
	char *path cleanup_free = fs_join(directory, file);
	if (str_list_has(&logs->known, path) || !fs_exists(path))
		return;
	str_list_add(&logs->known, path);
	logs->entries = mem_realloc_array(logs->entries, logs->count + 1, sizeof(*logs->entries));
	struct entry *entry = &logs->entries[logs->count++];
	*entry = (struct entry){.source = log_source_create(path)};
	entry->label = str_equal(file, "stdout") ? mem_printf("%s| ", task)
						 : mem_printf("%s %s| ", task, file);
	if (logs->chosen->tail > 0)
		log_source_seek_tail(entry->source, logs->chosen->tail);
	if (logs->follow)
		follow_add(logs->follow, path);
}

static void add_streams(struct logs *logs, const char *directory, const char *task, int processes)
{
	const char *stream = logs->chosen->stream ? logs->chosen->stream : "both";
	if (logs->follow)
		follow_add(logs->follow, directory);
	for (int process = 0; process < processes; process++) {
		for (size_t i = 0; i < 2; i++) {
			if (!str_equal(stream, "both") && !str_equal(stream, streams[i]))
				continue;
			char *file cleanup_free =
				process == 0 ? mem_strdup(streams[i])
					     : mem_printf("%s-%d", streams[i], process);
			add_file(logs, directory, file, task);
		}
	}
}

/* The files of every attempt so far that are not known yet. */
static void add_files(struct logs *logs)
{
	const struct job_view *view = logs->opened->view;
	for (size_t i = 0; i < view->task_count; i++) {
		const struct task_view *task = &view->tasks[i];
		const struct job_type *type = &view->job->types[task->type];
		char *name cleanup_free = mem_printf("%s:%d", type->name, task->index);
		if (!is_chosen(logs, type->name, name))
			continue;
		for (int attempt = 1; attempt <= task->attempt; attempt++) {
			char *directory cleanup_free =
				mem_printf("%s/containers/%s-%d-%d", logs->opened->door.job_dir,
					   type->name, task->index, attempt);
			add_streams(logs, directory, name, type->processes);
		}
	}
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool is_wanted(const struct logs *logs, const struct log_line *line)
{
	if (line->time_ms > 0 && line->time_ms < logs->since_ms)
		return false;
	if (!logs->greps)
		return true;
	char *text cleanup_free = mem_strndup(line->text, line->length);
	return regexec(&logs->grep, text, 0, NULL, 0) == 0;
}

static void fetch(struct logs *logs, struct entry *entry, bool to_the_end)
{
	while (!entry->has_line &&
	       (entry->has_line = log_source_next(entry->source, to_the_end, &entry->line)))
		entry->has_line = is_wanted(logs, &entry->line);
}

static void print_lines(struct logs *logs, bool to_the_end)
{
	bool labels = logs->count > 1;
	for (;;) {
		struct entry *first = NULL;
		for (size_t i = 0; i < logs->count; i++) {
			struct entry *entry = &logs->entries[i];
			fetch(logs, entry, to_the_end);
			if (entry->has_line &&
			    (!first || entry->line.time_ms < first->line.time_ms))
				first = entry;
		}
		if (!first)
			break;
		if (labels)
			fputs(first->label, stdout);
		fwrite(first->line.text, 1, first->line.length, stdout);
		putchar('\n');
		first->has_line = false;
	}
	fflush(stdout);
}

static int follow_logs(struct logs *logs, struct err *err)
{
	for (;;) {
		follow_drain(logs->follow);
		if (opened_read(logs->opened, NULL, NULL, err) < 0 ||
		    opened_look_for_am(logs->opened, err) < 0)
			return -1;
		bool final = logs->opened->view->is_final;
		add_files(logs);
		print_lines(logs, final);
		if (final)
			return 0;
		follow_wait(logs->follow, INT64_MAX);
	}
}

static int print_logs(struct logs *logs, const char *id, struct err *err)
{
	if (opened_find(logs->opened, id, err) < 0 || check_tasks(logs, err) < 0 ||
	    apply_options(logs, err) < 0)
		return -1;
	if (!logs->chosen->follow) {
		add_files(logs);
		print_lines(logs, true);
		return 0;
	}
	logs->follow = follow_create();
	follow_add(logs->follow, logs->opened->journal_path);
	follow_add(logs->follow, logs->opened->door.job_dir);
	return follow_logs(logs, err);
}

static void finish(struct logs *logs)
{
	for (size_t i = 0; i < logs->count; i++) {
		free(logs->entries[i].label);
		log_source_destroy(logs->entries[i].source);
	}
	free(logs->entries);
	str_list_finish(&logs->known);
	follow_destroy(logs->follow);
	if (logs->greps)
		regfree(&logs->grep);
}

int verb_logs(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct logs_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	struct opened opened cleanup_opened = {0};
	struct logs logs = {.chosen = &chosen, .opened = &opened};
	const char *id;
	int code = 0;
	if (report_parse(&verb_logs_options, argc, argv, &chosen, &operands, &code) &&
	    (report_one_operand(&verb_logs_options, &operands, &id, &err) < 0 ||
	     print_logs(&logs, id, &err) < 0))
		code = report_error(&err);
	finish(&logs);
	opt_finish(&verb_logs_options, &chosen);
	return code;
}
