#include <inttypes.h>
#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_choice.h"
#include "client/job_output.h"
#include "client/line_print.h"
#include "client/live.h"
#include "client/moment.h"
#include "client/opened_jobs.h"
#include "client/other_tools.h"
#include "client/report.h"
#include "client/verbs.h"
#include "logs/regex.h"
#include "scheduler/am_calls.h"
#include "scheduler/removal.h"

#define AWAY_MS	       60000 /* for an AM that does not answer to be followed, or its end to be known */
#define LOOK_AGAIN_MS  250
#define GREET_MS       10000 /* for the AM of one of several jobs to answer, else it is left out */
#define FIRST_NEWS_MS  1000  /* of several jobs that are followed, for what their AMs know */
#define SEVERAL_MS     100   /* between two looks at jobs of which some are elsewhere */
#define RIPE_MS	       400   /* until a line that has no newline yet is shown */
#define EXPRESSION_MAX 4096  /* bytes; regcomp() needs more stack than there is for deep ones */

struct logs_options {
	struct job_output_choice output;
	struct str_list tags;
	bool follow;
	char *since;
	struct str_list expressions;
	bool ignore_case, count, json, raw, timestamps;
};

static const char *const stream_choices[] = {"stdout", "stderr", "both", NULL};

static const struct opt options[] = {
	OPT_ROW("follow", struct logs_options, follow, "go on until the job ends", .letter = 'f'),
	OPT_ROW("task", struct logs_options, output.tasks,
		"only this task, such as worker:1 or worker (all of them); may be repeated",
		.letter = 't', .argument = "TASK", .completion = OPT_COMPLETE_TASK),
	JOB_CHOICE_TAG(struct logs_options),
	OPT_ROW("am", struct logs_options, output.am,
		"print the log of the job's application master instead of the tasks' output"),
	OPT_ROW("executor", struct logs_options, output.executors,
		"print the log of the executor of this task, likewise; may be repeated",
		.argument = "TASK"),
	OPT_ROW("stream", struct logs_options, output.stream,
		"only standard output or only standard error", .argument = "NAME",
		.choices = stream_choices),
	OPT_ROW("since", struct logs_options, since,
		"only lines since then: 10s, 5m or 2h ago, or 2026-11-21T06:14:11Z",
		.argument = "TIME"),
	OPT_ROW("grep", struct logs_options, expressions,
		"only lines that match this extended regular expression; may be repeated: any of "
		"them",
		.argument = "REGEX"),
	OPT_ROW("ignore-case", struct logs_options, ignore_case,
		"with --grep: in upper and lower case", .letter = 'i'),
	OPT_ROW("count", struct logs_options, count,
		"with --grep: print how many lines match, and not the lines; with --follow once "
		"the job has ended",
		.letter = 'c'),
	OPT_ROW("tail", struct logs_options, output.tail,
		"begin with the last N lines of each file", .argument = "N", .min = 0,
		.max = INT64_MAX),
	OPT_ROW("timestamps", struct logs_options, timestamps,
		"before each line, when it was written: 2026-11-21T06:14:11.123Z, \"-\" where that "
		"is not known"),
	OPT_ROW("json", struct logs_options, json,
		"a JSON object for each line, with its task, log and time (docs/json.md)"),
	OPT_ROW("raw", struct logs_options, raw,
		"give a terminal every byte of a line, too; without it a terminal gets text and "
		"colours, and "
		"nothing else that it would obey"),
};

/* ---- what is asked for -------------------------------------------------------------------- */

struct logs {
	struct logs_options *chosen;
	int64_t found;	/* lines that are wanted */
	regex_t *greps; /* of the first expressions */
	size_t grep_count;
	struct log_search search; /* prepared; without a text: each line is tried */
	int64_t since_ms;
	struct line_printer printer;
	bool draws;	 /* an unfinished line is drawn on a terminal */
	bool has_unripe; /* such a line was begun just now */
	bool has_printed;
	struct opened_jobs jobs;     /* in one stream */
	bool are_several;	     /* that were asked for, also where one alone is left */
	struct job_output **outputs; /* of each, while they are printed */
	struct follow *changes;	     /* NULL: they are not followed */
};

static struct opened *opened_at(const struct logs *logs, size_t job)
{
	return &logs->jobs.items[job].opened;
}

static int compile(struct logs *logs, const char *expression, struct err *err)
{
	if (strlen(expression) > EXPRESSION_MAX)
		return err_set(err, ERR_USAGE, "--grep: longer than %d bytes", EXPRESSION_MAX);
	regex_t *grep = &logs->greps[logs->grep_count];
	int bad = regcomp(grep, expression,
			  REG_EXTENDED | (logs->chosen->ignore_case ? REG_ICASE : 0));

	if (bad) {
		char why[128];
		regerror(bad, grep, why, sizeof(why));
		return err_set(err, ERR_USAGE, "--grep: \"%s\": %s", expression, why);
	}
	logs->grep_count++;
	return 0;
}

/* One of them is in each line that matches any of the expressions. NULL: it may be any line. */
static char *texts_of(const struct str_list *expressions)
{
	struct str_list all cleanup_str_list = {0};

	for (size_t i = 0; i < expressions->count; i++) {
		char *texts = log_regex_texts(expressions->items[i]);
		if (!texts)
			return NULL;
		str_list_take(&all, texts);
	}
	return str_list_join(&all, "\n");
}

static int compile_all(struct logs *logs, struct err *err)
{
	struct logs_options *chosen = logs->chosen;
	const struct str_list *expressions = &chosen->expressions;

	setlocale(LC_CTYPE, ""); /* characters are the user's: "." is a whole one, as for grep */
	logs->greps = mem_alloc(expressions->count * sizeof(regex_t));
	for (size_t i = 0; i < expressions->count; i++)
		if (compile(logs, expressions->items[i], err) < 0)
			return -1;
	chosen->output.search =
		(struct log_search){.text = texts_of(expressions), .any_case = chosen->ignore_case};
	logs->search = log_search_copy(&chosen->output.search);
	if (logs->search.text)
		log_search_prepare(&logs->search);
	return 0;
}

static int check_options(struct logs *logs, struct err *err)
{
	struct logs_options *chosen = logs->chosen;

	if (job_output_check(&chosen->output, err) < 0)
		return -1;
	if (chosen->since && moment_parse("--since", chosen->since, &logs->since_ms, err) < 0)
		return -1;
	if (chosen->json && chosen->count)
		return err_set(err, ERR_USAGE,
			       "--count and --json contradict: one prints a number, the other "
			       "lines; give one");
	if (chosen->json && chosen->timestamps)
		return err_set(err, ERR_USAGE,
			       "--json and --timestamps contradict: JSON has the times of all "
			       "lines; give one");
	if (chosen->json && chosen->raw)
		return err_set(err, ERR_USAGE,
			       "--json and --raw contradict: JSON has every byte escaped that is "
			       "no text; give one");
	logs->printer.is_escaped = !chosen->raw && isatty(STDOUT_FILENO);
	logs->printer.has_times = chosen->timestamps;
	logs->printer.stream = stdout;
	logs->draws = live_can_draw(stdout);
	if (chosen->expressions.count > 0)
		return compile_all(logs, err);
	if (chosen->ignore_case || chosen->count)
		return err_set(err, ERR_USAGE, "--%s: write --grep REGEX, too",
			       chosen->count ? "count" : "ignore-case");
	return 0;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Lines may have NULs. */
static bool has_match(const regex_t *grep, const char *text, size_t length)
{
#ifdef REG_STARTEND
	regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)length};

	return regexec(grep, text, 1, &range, REG_STARTEND) == 0;
#else
	/* Where the C library has no such thing, characters that nobody asks for stand for them. */
	struct str copy cleanup_str = {0};

	str_append_bytes(&copy, text, length);
	for (size_t i = 0; i < copy.length; i++)
		copy.text[i] = copy.text[i] ? copy.text[i] : '\1';
	return regexec(grep, str_text(&copy), 0, NULL, 0) == 0;
#endif
}

static bool is_wanted(const struct logs *logs, const struct job_output_line *line)
{
	/* Expressions are tried on each piece of a long line, and times on the whole of it. */
	if (line->as_written.continues && logs->grep_count == 0)
		return !line->mark->is_passed_over;
	if (line->time_ms > 0 && line->time_ms < logs->since_ms)
		return false;
	/* Long lines cost an expression much. */
	if (logs->search.text && !log_search_finds(&logs->search, line->text, line->length))
		return false;
	for (size_t i = 0; i < logs->grep_count; i++)
		if (has_match(&logs->greps[i], line->text, line->length))
			return true;
	return logs->grep_count == 0;
}

/* Text has no NULs. Parts have what carriage returns overwrote, too: only the whole line tells. */
static void print_json(const struct logs *logs, const struct job_output_line *line)
{
	const struct log_line *written = &line->as_written;
	const bool is_part = logs->grep_count == 0 && (written->goes_on || written->continues);
	const char *bytes = is_part ? written->text : line->text;
	size_t length = is_part ? written->length : line->length;
	char *text cleanup_free = mem_alloc(length + 1);
	json_t *object cleanup_json = json_object();

	for (size_t i = 0; i < length; i++)
		text[i] = bytes[i] ? bytes[i] : ' ';
	if (line->time_ms > 0)
		json_set_int(object, "t", line->time_ms);
	json_set_text(object, "job", line->job);
	json_set_text(object, "task", line->task);
	json_set_text(object, "log", line->log);
	json_set_text(object, "text", text);
	if (is_part && written->goes_on)
		json_set_bool(object, "goes_on", true);
	if (memchr(bytes, '\0', length) || !str_is_utf8(bytes, length))
		json_set_bool(object, "changed", true);
	char *told cleanup_free = json_text(object);
	report_text(told);
}

/* A piece that an expression finds stands for itself: those around it may be missing. */
static struct job_output_line stand_alone(const struct job_output_line *piece)
{
	struct job_output_line line = *piece;

	line.as_written.goes_on = line.as_written.continues = false;
	line.as_written.has_newline = true;
	return line;
}

static void print_line(void *data, const struct job_output_line *line)
{
	struct logs *logs = data;

	line->mark->is_passed_over = !is_wanted(logs, line);
	if (line->mark->is_passed_over)
		return;
	logs->found += logs->grep_count > 0 || !line->as_written.continues;
	if (logs->chosen->count)
		return;
	logs->has_printed = true;
	logs->printer.is_exact =
		line->is_only_stream && !logs->printer.is_escaped && !logs->printer.has_times;
	const struct job_output_line found = logs->grep_count > 0 ? stand_alone(line) : *line;
	if (logs->chosen->json)
		print_json(logs, line);
	else
		line_print(&logs->printer, &found);
}

/* ---- lines that are not finished ---------------------------------------------------------- */

/* Most lines that were begun end at once, in a second write of their program: they are left alone
 * for a moment. */
static bool is_ripe(struct logs *logs, const struct job_output_line *line)
{
	struct job_output_mark *mark = line->mark;
	int64_t now = clock_monotonic_ms();

	if (mark->seen_ms == 0 || mark->offset != line->as_written.offset) {
		mark->offset = line->as_written.offset;
		mark->seen_ms = now;
	}
	const bool is_ripe = now - mark->seen_ms >= RIPE_MS;
	logs->has_unripe |= !is_ripe;
	return is_ripe;
}

/* True: it is told as a piece. */
static bool show_begun(void *data, const struct job_output_line *line)
{
	struct logs *logs = data;

	if (!is_wanted(logs, line) || !is_ripe(logs, line))
		return false;
	if (logs->chosen->json || (line->is_only_stream && !logs->printer.has_times))
		return true;
	line_print_unfinished(&logs->printer, line);
	return false;
}

static void show_unfinished(struct logs *logs, struct job_output *output)
{
	struct job_output_line line;

	logs->has_unripe = false;
	if (logs->grep_count > 0 || logs->chosen->count)
		return;
	if (!logs->draws || logs->chosen->json || logs->chosen->raw)
		job_output_each_begun(output, show_begun);
	else if (job_output_begun(output, &line) && is_wanted(logs, &line))
		line_print_drawn(&logs->printer, &line);
	else
		line_print_hide(&logs->printer);
}

/* Else nobody would know a job that waits from one that is silent. */
static void tell_waiting(struct logs *logs, size_t job)
{
	struct opened *opened = opened_at(logs, job);
	char *waiting cleanup_free = opened_waiting(opened);

	if (!opened_note_waiting(opened, waiting) || !waiting)
		return;
	line_print_hide(&logs->printer);
	fflush(stdout);
	report_note("%s: %s", opened->id, waiting);
}

static bool is_over(const struct logs *logs, size_t job)
{
	return logs->jobs.items[job].is_over || opened_is_over(opened_at(logs, job));
}

/* When one of several jobs fails, the error is reported and the others go on. */
static int leave_alone(struct logs *logs, size_t job, struct err *err)
{
	struct opened_job *failed = &logs->jobs.items[job];

	if (logs->jobs.count == 1)
		return -1;
	opened_wrap(&failed->opened, err);
	line_print_hide(&logs->printer);
	fflush(stdout);
	if (!failed->is_over)
		opened_jobs_note(&logs->jobs, -1, err);
	failed->is_over = true;
	err_finish(err);
	return 0;
}

/* The same for a job that was there. */
static int leave_lost(struct logs *logs, size_t job, struct err *err)
{
	if (logs->jobs.count > 1 && err->kind == ERR_NOT_FOUND)
		removal_tell_gone(opened_at(logs, job)->id, err);
	return leave_alone(logs, job, err);
}

/* True in `is_final`: nothing more will come of any of them. */
static int read_all(struct logs *logs, bool *is_final, struct err *err)
{
	*is_final = true;
	for (size_t i = 0; i < logs->jobs.count; i++) {
		struct opened *opened = opened_at(logs, i);
		if (!logs->jobs.items[i].is_over && opened_read(opened, NULL, NULL, err) < 0 &&
		    leave_lost(logs, i, err) < 0)
			return -1;
		tell_waiting(logs, i);
		opened_rest(opened);
		*is_final &= is_over(logs, i);
	}
	return 0;
}

static int turn_all(struct logs *logs, bool is_last, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < logs->jobs.count && result == 0; i++)
		result = job_output_prepare(logs->outputs[i], !is_last, err);
	for (size_t i = 0; i < logs->jobs.count && result == 0; i++) {
		result = job_output_turn(logs->outputs[i], err);
		if (result < 0 && err->kind != ERR_UNREACHABLE)
			result = leave_alone(logs, i, err);
	}
	return result;
}

/* The AMs of several jobs are asked side by side meanwhile (opened.aside). */
static void await_more(struct logs *logs)
{
	int64_t wait_ms = logs->has_unripe ? RIPE_MS : INT64_MAX;
	bool is_one = logs->jobs.count == 1, asks = false;

	for (size_t i = 0; i < logs->jobs.count; i++) {
		wait_ms = opened_wait_ms(opened_at(logs, i), wait_ms);
		asks |= opened_at(logs, i)->aside.call != NULL;
	}
	if (is_one && job_output_wait(logs->outputs[0], wait_ms))
		return;
	for (size_t i = 0; !is_one && i < logs->jobs.count; i++)
		if (job_output_wait(logs->outputs[i], 0) && wait_ms > SEVERAL_MS)
			wait_ms = SEVERAL_MS;
	if (asks)
		am_calls_run(logs->jobs.calls, wait_ms);
	else
		follow_wait(logs->changes, wait_ms);
}

static int look_for_ams(struct logs *logs, struct err *err)
{
	for (size_t i = 0; i < logs->jobs.count; i++) {
		struct opened *opened = opened_at(logs, i);
		if (is_over(logs, i))
			continue;
		char *given_up cleanup_free = opened_check_start(opened);
		if (given_up)
			report_note("%s", given_up);
		if (opened_look_for_am(opened, err) < 0 && leave_lost(logs, i, err) < 0)
			return -1;
	}
	return 0;
}

static int print_turns(struct logs *logs, struct err *err)
{
	bool is_final = true;

	for (;;) {
		if (logs->changes) {
			follow_drain(logs->changes);
			if (read_all(logs, &is_final, err) < 0)
				return -1;
		}
		int result = turn_all(logs, is_final, err);
		if (result == 0 && !is_final)
			show_unfinished(logs, logs->outputs[0]);
		fflush(stdout);
		if (result < 0 || is_final)
			return result;
		await_more(logs);
		if (look_for_ams(logs, err) < 0)
			return -1;
	}
}

/* The first command of a user who wonders about a job that never ran. */
static void point_to_am(const struct logs *logs)
{
	const struct opened *opened = opened_at(logs, 0);
	const struct job_view *view = opened->view;

	if (!logs->chosen->output.am && view->cause.kind == CAUSE_AM_FAILED && view->am_pid == 0)
		report_note("no task of %s ran; see: tony logs %s --am", opened->id, opened->id);
}

/* Prints what programs wrote that is in no log; whether there is any. */
static bool tell_losses(const struct job_view *view)
{
	struct str_list lines cleanup_str_list = {0};
	bool found = false;

	for (size_t i = 0; i < view->task_count && !found; i++)
		found = view->tasks[i].lost.text != NULL;
	if (found)
		live_add_losses(view, &lines);
	for (size_t i = 0; i < lines.count; i++)
		report_note("%s", lines.items[i]);
	return found;
}

/* Else nobody would know an empty log from a wrong command. */
static void tell_nothing(const struct logs *logs)
{
	const struct logs_options *chosen = logs->chosen;
	const struct job_output_choice *output = &chosen->output;
	const struct opened *opened = opened_at(logs, 0);
	const bool is_part = logs->greps || chosen->since || output->stream || output->am ||
			     output->tasks.count > 0 || output->executors.count > 0;

	if (logs->found > 0 || chosen->count || output->tail == 0)
		return;
	if (logs->jobs.count > 1)
		report_note("%zu jobs have written nothing that is asked for", logs->jobs.count);
	else if (!tell_losses(opened->view) || is_part)
		report_note("%s has written nothing%s%s", opened->id,
			    opened->view->is_final ? "" : " so far",
			    is_part ? " of what is asked for" : "");
}

/* ---- jobs --------------------------------------------------------------------------------- */

/* "tony logs worker:0", and the same behind the job. */
static int tell_task(const char *name, struct err *err)
{
	if (!opened_is_task(name))
		return -1;
	err_finish(err);
	return err_set(err, ERR_USAGE,
		       "\"%s\" is a task; write tony logs --task %s, and the job's name behind it "
		       "unless it is the newest",
		       name, name);
}

static int open_job(struct opened *opened, const char *word, void *data, struct err *err)
{
	(void)data;
	if (opened_find_any(opened, word, err) == 0)
		return 0;
	return word && err->kind == ERR_NOT_FOUND ? tell_task(word, err) : -1;
}

/* Names are short; where two jobs have the same one, ids say which is which. */
static void name_jobs(const struct logs *logs)
{
	struct str_list names cleanup_str_list = {0};
	bool are_unique = true;

	for (size_t i = 0; i < logs->jobs.count; i++) {
		const char *name = opened_at(logs, i)->view->job->name;
		are_unique &= !str_list_has(&names, name);
		str_list_add(&names, name);
	}
	for (size_t i = 0; i < logs->jobs.count; i++)
		job_output_join(logs->outputs[i], logs->outputs[0],
				are_unique ? opened_at(logs, i)->view->job->name
					   : opened_at(logs, i)->id);
}

static int open_outputs(struct logs *logs, struct err *err)
{
	logs->found = 0;
	opened_jobs_drop_failed(&logs->jobs);
	for (size_t i = 0; i < logs->jobs.count;) {
		logs->outputs[i] = job_output_open(opened_at(logs, i), &logs->chosen->output,
						   logs->changes, print_line, logs, err);
		if (logs->outputs[i]) {
			i++;
			continue;
		}
		if (err->kind == ERR_USAGE || leave_alone(logs, i, err) < 0)
			return -1;
		opened_jobs_drop_failed(&logs->jobs);
	}
	if (logs->are_several)
		name_jobs(logs);
	return 0;
}

static void close_outputs(struct logs *logs)
{
	for (size_t i = 0; i < logs->jobs.count; i++)
		job_output_close(mem_steal(&logs->outputs[i]));
}

static bool is_one_away(const struct logs *logs)
{
	for (size_t i = 0; i < logs->jobs.count; i++)
		if (job_output_is_away(logs->outputs[i]))
			return true;
	return false;
}

/* Else its beginning would seem to be the log's. */
static void tell_cut(const struct job_output *output)
{
	char *losses cleanup_free = job_output_losses(output);

	if (losses)
		report_note("%s", losses);
}

/* 1: nothing was printed, since an AM does not answer, or a container ended meanwhile. */
static int try_outputs(struct logs *logs, struct err *err)
{
	if (open_outputs(logs, err) < 0)
		return -1;
	int result = print_turns(logs, err);
	if (result < 0 && !logs->has_printed && is_one_away(logs))
		result = 1;
	line_print_end(&logs->printer);
	fflush(stdout);
	for (size_t i = 0; result == 0 && i < logs->jobs.count; i++)
		tell_cut(logs->outputs[i]);
	return result;
}

/* An AM that was killed is followed by another one. When it has ended the job, its cluster has the
 * logs. */
static int look_again(struct opened *opened, struct err *err)
{
	struct err away cleanup_err = {0};

	if (opened_find_am(opened, &away) < 0 && away.kind != ERR_UNREACHABLE &&
	    away.kind != ERR_EXPIRED)
		return err_copy(err, &away);
	return opened_read(opened, NULL, NULL, err);
}

static int look_at_all_again(struct logs *logs, struct err *err)
{
	am_calls_run(logs->jobs.calls, LOOK_AGAIN_MS);
	for (size_t i = 0; i < logs->jobs.count; i++) {
		struct opened *opened = opened_at(logs, i);
		tell_waiting(logs, i);
		/* An end without a journal is its engine's word: the journal may have come. */
		if (!logs->jobs.items[i].is_over &&
		    (!opened->view->is_final || opened->view->sequence == 0) &&
		    look_again(opened, err) < 0 && leave_lost(logs, i, err) < 0)
			return -1;
		opened_rest(opened);
	}
	return 0;
}

static int print_outputs(struct logs *logs, struct err *err)
{
	int64_t until = clock_monotonic_ms() + AWAY_MS;

	for (;;) {
		int64_t begun = clock_monotonic_ms();
		int result = try_outputs(logs, err);
		int64_t now = clock_monotonic_ms();
		close_outputs(logs);
		if (now - begun > AWAY_MS) /* they were there, for hours maybe */
			until = now + AWAY_MS;
		if (result <= 0 || now >= until)
			return result == 0 ? 0 : -1;
		err_finish(err);
		if (look_at_all_again(logs, err) < 0)
			return -1;
	}
}

/* A follower waits for an end, which a record that is cut does not have. */
static int check_ends(const struct logs *logs, struct err *err)
{
	for (size_t i = 0; logs->changes && i < logs->jobs.count; i++)
		if (opened_check_record(opened_at(logs, i), err) < 0)
			return -1;
	return 0;
}

static int print_jobs(struct logs *logs, struct err *err)
{
	if (logs->jobs.count == 1)
		point_to_am(logs);
	int result = print_outputs(logs, err);
	if (result == 0 && logs->chosen->count)
		printf("%" PRId64 "\n", logs->found);
	if (result == 0)
		tell_nothing(logs);
	for (size_t i = 0; logs->found == 0 && i < logs->jobs.count; i++)
		tell_waiting(logs, i);
	fflush(stdout);
	return result < 0 ? -1 : check_ends(logs, err);
}

static void find_jobs(struct logs *logs, const struct str_list *words)
{
	/* Nobody waits long with lines of others for an AM that says nothing. */
	if (logs->chosen->follow)
		logs->jobs.news_ms = FIRST_NEWS_MS;
	opened_jobs_find(&logs->jobs, words, open_job, NULL);
	logs->are_several = logs->jobs.count > 1;
	if (!logs->chosen->follow)
		opened_jobs_greet(&logs->jobs, true, GREET_MS);
	opened_jobs_drop_failed(&logs->jobs);
	logs->outputs = mem_alloc_array(logs->jobs.count, sizeof(struct job_output *));
	if (logs->chosen->follow)
		logs->changes = follow_create();
	for (size_t i = 0; logs->changes && i < logs->jobs.count; i++)
		follow_add(logs->changes, opened_at(logs, i)->door.job_dir);
}

static int print_logs(struct logs *logs, const struct str_list *operands, struct err *err)
{
	const struct job_choice choice = {&verb_logs.options, operands, &logs->chosen->tags, false};
	struct str_list words cleanup_str_list = {0};
	const char *last = operands->count > 0 ? operands->items[operands->count - 1] : NULL;

	if (operands->count > 1 && opened_is_task(last))
		return tell_task(last, err);
	if (check_options(logs, err) < 0 || job_choice_find(&choice, &words, err) < 0)
		return -1;
	find_jobs(logs, &words);
	if (logs->jobs.count == 0 || logs->jobs.code == EXIT_CODE_INTERRUPTED)
		return logs->jobs.code;
	return print_jobs(logs, err) < 0 ? -1 : logs->jobs.code;
}

static void finish(struct logs *logs)
{
	free(logs->outputs);
	follow_destroy(logs->changes);
	opened_jobs_finish(&logs->jobs);
	while (logs->grep_count > 0)
		regfree(&logs->greps[--logs->grep_count]);
	free(logs->greps);
	line_printer_finish(&logs->printer);
	log_search_finish(&logs->search);
	log_search_finish(&logs->chosen->output.search);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	struct logs logs = {.chosen = data};
	int result = print_logs(&logs, call->operands, err);
	/* As grep does. */
	const bool has_none = result == 0 && logs.grep_count > 0 && logs.found == 0;

	finish(&logs);
	return has_none ? EXIT_CODE_JOB_FAILED : result;
}

const struct verb verb_logs = {
	.options =
		{
			.verb = "logs",
			.usage = "tony logs [OPTIONS] [JOB...]",
			.summary = "print what the tasks of jobs have written",
			.description = "Lines are merged by time. Each stands behind the name of "
				       "its task, if the job has "
				       "several and not only one of them is asked for, and behind "
				       "\"stderr\" where it "
				       "was written there. --am and --executor print what tony's "
				       "own programs wrote, for "
				       "when a job or a task did not even start.",
			.options = options,
			.option_count = array_length(options),
			.elsewhere = other_tools_logs_options,
		},
	.size = sizeof(struct logs_options),
	.defaults = &(const struct logs_options){.output.tail = -1},
	.run = run,
};
