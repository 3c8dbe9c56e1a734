#include "executor/headline.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "executor/aside.h"
#include "executor/handled.h"
#include "executor/launcher.h"
#include "executor/traceback.h"

#define NO_LINE TRACEBACK_NO_LINE

struct scan {
	const struct str_list *lines;
	struct traceback_list tracebacks;
	bool *told; /* of each line: it is a traceback's, or no reason of an end */
	int code;   /* the program exited with it; 0: a signal ended it */
};

struct found {
	size_t line;   /* NO_LINE: there is none */
	size_t prefix; /* of an exception */
};

/* ---- lines -------------------------------------------------------------------------------- */

/* "}", "^^^^": of something that began further up. */
static bool has_no_word(const char *line)
{
	while (*line && !isalnum((unsigned char)*line) && !((unsigned char)*line & 0x80))
		line++;
	return *line == '\0';
}

/* "------------" */
static bool is_rule(const char *line)
{
	return line[0] == '-' && strspn(line, "-") == strlen(line);
}

/* "I0000 00:00:1795255901.215822   11536 port.cc:153] ...": what Google's libraries tell all along,
 * information and warnings. Their errors begin with E or F. */
static bool is_chatter(const char *line)
{
	return (line[0] == 'I' || line[0] == 'W') && strspn(line + 1, "0123456789") == 4 &&
	       line[5] == ' ' && strstr(line, "] ");
}

/* The level stands in front of what is said: "2026-11-29 11:59:12,074 INFO epoch 3",
 * "INFO:root:epoch 3", "[DEBUG] x", "10:02 - train - INFO - x". */
static bool is_level(const char *line, const char *level)
{
	const char *at = strstr(line, level), *end = at ? at + strlen(level) : NULL;

	if (!at || (*end && !strchr(" :])|", *end)))
		return false;
	bool is_between =
		at - line >= 3 && str_starts_with(at - 3, " - ") && str_starts_with(end, " - ");
	/* Only a time, which may have a T and a Z, stands before it. */
	return is_between || strspn(line, "0123456789TZ \t-/:,.+[](|") >= (size_t)(at - line);
}

static bool is_information(const char *line)
{
	return is_level(line, "INFO") || is_level(line, "DEBUG");
}

/* "    | ": an exception group's, of which the message is no part. */
static bool is_bar(const char *line, size_t prefix)
{
	return strspn(line, " |+-") >= prefix;
}

/* A line that tells of no end: also the line of source that Python prints below a warning. */
static bool is_aside(const struct str_list *lines, size_t i)
{
	const struct aside *row = aside_find(lines->items[i]);

	return (row && (row->kind == ASIDE_LINE || row->kind == ASIDE_LAUNCHER)) ||
	       is_chatter(lines->items[i]) ||
	       (i > 0 && lines->items[i][0] == ' ' && strstr(lines->items[i - 1], "Warning: ") &&
		aside_find(lines->items[i - 1]));
}

static bool has_one_of(const char *line, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* "Error in f(x) : no data" */
static bool begins_error_of_r(const char *line)
{
	return str_starts_with(line, "Error in ") && strchr(line, ':');
}

static bool speaks_of_error(const char *line)
{
	static const char *const words[] = {
		"terminate called",
		"Segmentation fault",
		"error:",
		"Error:",
		"ERROR",
		"fatal:",
		"Fatal",
		"FATAL",
		"Assertion",
		"Aborted",
		"command not found",
		"not found",
		"No such file",
		"Permission denied",
		"out of memory",
		"Address already in use",
	};

	return has_one_of(line, words, array_length(words)) || begins_error_of_r(line);
}

/* ---- what is looked for ------------------------------------------------------------------- */

/* Nor does the line above, as a rule a logger's, tell of the end. */
static void find_handled(struct scan *scan, int code)
{
	for (size_t k = 0; k < scan->tracebacks.count; k++) {
		struct traceback *traceback = &scan->tracebacks.items[k];
		if (traceback->of != TRACEBACK_PROGRAM ||
		    !handled_is(scan->lines, scan->told, traceback, code))
			continue;
		traceback->of = TRACEBACK_HANDLED;
		if (traceback->first > 0)
			scan->told[traceback->first - 1] = true;
	}
}

/* `code`: as for handled_is(). */
static void begin_scan(struct scan *scan, const struct str_list *lines, int code)
{
	*scan = (struct scan){.lines = lines, .code = code};
	traceback_find(lines, &scan->tracebacks);
	scan->told = mem_alloc_array(lines->count, sizeof(*scan->told));
	for (size_t i = 0; i < lines->count; i++)
		scan->told[i] = is_aside(lines, i);
	for (size_t k = 0; k < scan->tracebacks.count; k++) {
		const struct traceback *traceback = &scan->tracebacks.items[k];
		for (size_t i = traceback->first; i <= traceback->last; i++)
			if (traceback_has(traceback, lines, i))
				scan->told[i] = true;
	}
	find_handled(scan, code);
}

static void finish_scan(struct scan *scan)
{
	traceback_list_finish(&scan->tracebacks);
	free(scan->told);
}

/* The exception, or the first one of its chain, is a wrapper's: what it says is that a child
 * failed. */
static bool is_wrapper(const struct scan *scan, size_t number)
{
	while (number != TRACEBACK_NONE) {
		const struct traceback *traceback = &scan->tracebacks.items[number];
		const char *line = scan->lines->items[traceback->exception];
		if (launcher_is_wrapper(line + traceback->prefix))
			return true;
		number = traceback->cause;
	}
	return false;
}

/* Of an exception group the first one led to the others, as a rule. */
static size_t find_first_of_group(const struct scan *scan, size_t number, bool of_wrapper)
{
	const struct traceback_list *list = &scan->tracebacks;
	const struct traceback *last = &list->items[number];
	size_t first = number;

	if (last->prefix == 0 || !is_bar(scan->lines->items[last->exception], last->prefix))
		return number;
	for (size_t i = number; i-- > 0 && list->items[i].prefix == last->prefix;) {
		for (size_t k = list->items[i].exception; k < list->items[i + 1].first; k++)
			if (strstr(scan->lines->items[k], "Exception Group "))
				return first;
		if (list->items[i].of == last->of && is_wrapper(scan, i) == of_wrapper)
			first = i;
	}
	return first;
}

static struct found find_traceback(const struct scan *scan, enum traceback_of of, bool of_wrapper)
{
	for (size_t i = scan->tracebacks.count; i-- > 0;) {
		const struct traceback *traceback = &scan->tracebacks.items[i];
		if (traceback->of != of || is_wrapper(scan, i) != of_wrapper)
			continue;
		traceback = &scan->tracebacks.items[find_first_of_group(scan, i, of_wrapper)];
		return (struct found){traceback->exception, traceback->prefix};
	}
	return (struct found){.line = NO_LINE};
}

static struct found find_of_program(const struct scan *scan)
{
	return find_traceback(scan, TRACEBACK_PROGRAM, false);
}

static struct found find_of_other(const struct scan *scan)
{
	return find_traceback(scan, TRACEBACK_OTHER, false);
}

static struct found find_ignored(const struct scan *scan)
{
	return find_traceback(scan, TRACEBACK_IGNORED, false);
}

/* The last one that `fits`. */
static struct found find_line(const struct scan *scan, bool (*fits)(const char *line))
{
	for (size_t i = scan->lines->count; i-- > 0;)
		if (!scan->told[i] && fits(scan->lines->items[i]))
			return (struct found){.line = i};
	return (struct found){.line = NO_LINE};
}

static bool is_bare_exception(const char *line)
{
	return traceback_is_exception(line) && !launcher_is_wrapper(line);
}

static struct found find_bare(const struct scan *scan)
{
	return find_line(scan, is_bare_exception);
}

static struct found find_wrapper(const struct scan *scan)
{
	struct found found = find_traceback(scan, TRACEBACK_PROGRAM, true);

	return found.line == NO_LINE ? find_line(scan, launcher_is_wrapper) : found;
}

static struct found find_error(const struct scan *scan)
{
	return find_line(scan, speaks_of_error);
}

static bool has_word(const char *line)
{
	return !has_no_word(line) && !is_information(line);
}

static struct found find_last(const struct scan *scan)
{
	return find_line(scan, has_word);
}

static bool speaks_of_failure(const char *line)
{
	static const char *const words[] = {"error",  "fail",	 "could not", "cannot",	 "can't",
					    "unable", "missing", "not found", "no such", "invalid"};

	return str_has_any_nocase(line, words, array_length(words));
}

/* sys.exit("could not ..."): Python prints the words and exits with 1. A thread or a child that
 * failed before did not end the program. */
static struct found find_parting_words(const struct scan *scan)
{
	struct found other = find_of_other(scan), last = find_last(scan);
	size_t i = scan->lines->count;

	while (i > 0 && str_is_blank(scan->lines->items[i - 1]))
		i--;
	bool is_parting = scan->code == 1 && other.line != NO_LINE && last.line != NO_LINE &&
			  last.line > other.line && last.line == i - 1 &&
			  speaks_of_failure(scan->lines->items[last.line]);
	return is_parting ? last : (struct found){.line = NO_LINE};
}

/* The words of native code with which it ends a process. The watchdog's first line tells which
 * operation it was; of all others the last line counts, for a program may have survived those
 * before. */
static struct found find_fatal(const struct scan *scan)
{
	static const char *const watchdog[] = {"Watchdog caught collective operation timeout",
					       "watchdog thread terminated with exception",
					       "Heartbeat monitor timed out"};
	static const char *const words[] = {
		"what():",
		"CUDA error",
		"HIP error",
		"NCCL error",
		"Fatal Python error:",
		"panicked at",
		"panic:",
		"Check failed:",
		/* glibc, of the heap and the stack */
		"double free ",
		"free(): ",
		"malloc(): ",
		"realloc(): ",
		"munmap_chunk(): ",
		"malloc_consolidate(): ",
		"corrupted size vs. prev_size",
		"corrupted double-linked list",
		"*** stack smashing detected ***",
		"*** buffer overflow detected ***",
	};
	const struct str_list *lines = scan->lines;

	for (size_t i = 0; i < lines->count; i++)
		if (!scan->told[i] && has_one_of(lines->items[i], watchdog, array_length(watchdog)))
			return (struct found){.line = i};
	for (size_t i = lines->count; i-- > 0;)
		if (!scan->told[i] && has_one_of(lines->items[i], words, array_length(words)))
			return (struct found){.line = i};
	return (struct found){.line = NO_LINE};
}

/* Of a paragraph between two rules at the end, as Open MPI prints them, the first line. */
static struct found find_framed(const struct scan *scan)
{
	const struct str_list *lines = scan->lines;
	size_t i = lines->count, first = NO_LINE;

	while (i > 0 && str_is_blank(lines->items[i - 1]))
		i--;
	if (i == 0 || !is_rule(lines->items[i - 1]))
		return (struct found){.line = NO_LINE};
	while (--i > 0 && !is_rule(lines->items[i - 1]))
		if (!has_no_word(lines->items[i - 1]))
			first = i - 1;
	/* 0: its beginning has scrolled away */
	return (struct found){.line = i > 0 ? first : NO_LINE};
}

/* "Exception in thread "main" java.lang.X: ...", or the last cause that is named below. */
static struct found find_of_java(const struct scan *scan)
{
	const struct str_list *lines = scan->lines;
	struct found found = {.line = NO_LINE};

	for (size_t i = 0; i < lines->count; i++) {
		const char *line = lines->items[i];
		if (!scan->told[i] &&
		    (str_starts_with(line, "Exception in thread \"main\"") ||
		     (found.line != NO_LINE && str_starts_with(line, "Caused by: "))))
			found.line = i;
	}
	return found;
}

static struct found find_of_launcher(const struct scan *scan)
{
	const struct str_list *lines = scan->lines;

	for (size_t i = lines->count; i-- > 0;)
		if (aside_is(lines->items[i], ASIDE_LAUNCHER))
			return (struct found){.line = i};
	return (struct found){.line = NO_LINE};
}

/* ---- in which order ----------------------------------------------------------------------- */

typedef struct found finder(const struct scan *scan);

/* Of a program that ended by itself. */
enum { BY_ERROR = 6, BY_WRAPPER, BY_FRAMED, BY_LAST, BY_LAUNCHER, BY_IGNORED };
static finder *const by_exit[] = {
	find_of_program,
	find_bare,
	find_fatal,
	find_of_java,
	find_parting_words,
	find_of_other,
	[BY_ERROR] = find_error,
	[BY_WRAPPER] = find_wrapper,
	[BY_FRAMED] = find_framed,
	[BY_LAST] = find_last,
	[BY_LAUNCHER] = find_of_launcher,
	[BY_IGNORED] = find_ignored,
};

/* Of one that was ended: native code speaks right before it ends its process. */
static finder *const by_signal[] = {
	find_fatal, find_of_program, find_bare, find_of_other, find_error, find_wrapper,
};

/* The number in `finders` of the one that found something; `count`: none. */
static size_t find(const struct scan *scan, finder *const *finders, size_t count,
		   struct found *found)
{
	for (size_t i = 0; i < count; i++) {
		*found = finders[i](scan);
		if (found->line != NO_LINE)
			return i;
	}
	return count;
}

/* ---- messages of several lines ------------------------------------------------------------ */

/* PyTorch indents, others end the first line by a colon. Without one of these what follows is of
 * somebody else. */
static bool goes_on(const char *head, const char *next, bool is_first)
{
	if (traceback_has_paragraphs(head))
		return true;
	return !str_is_blank(next) &&
	       (!is_first || isspace((unsigned char)*next) || str_ends_with(head, ":"));
}

static bool ends_message(const struct str_list *lines, size_t i, const char *own)
{
	return strstr(own, traceback_head) || is_rule(own) || is_aside(lines, i) ||
	       aside_find(own) || handled_is_record(own) || (own[0] == '[' && own[1] != '[');
}

/* The lines of the message that begins at `first`, without what stands before each. */
static void collect_message(const struct str_list *lines, const struct found *found,
			    struct str_list *parts)
{
	const char *head = lines->items[found->line];

	bool lists_arguments = false; /* the last part of Keras' */

	str_list_add(parts, head + (is_bar(head, found->prefix) ? found->prefix : 0));
	for (size_t i = found->line + 1; i < lines->count; i++) {
		if (!traceback_begins_alike(lines->items[i], head, found->prefix))
			continue;
		const char *own = lines->items[i] + found->prefix;
		if (!goes_on(head, own, parts->count == 1) || ends_message(lines, i, own) ||
		    (lists_arguments && !isspace((unsigned char)*own)))
			return;
		lists_arguments = lists_arguments || str_starts_with(own, "Arguments received by ");
		str_list_add(parts, own);
	}
}

/* The first line, and of the others as many of the last as fit. */
static char *join_message(const struct str_list *parts)
{
	struct str text = {0};
	size_t length = strlen(parts->items[0]), from = parts->count;

	while (from > 1 && length + strlen(parts->items[from - 1]) < HEADLINE_CAP)
		length += strlen(parts->items[--from]) + 1;
	str_append(&text, parts->items[0]);
	if (from > 1 && from < parts->count)
		str_append(&text, " ...");
	for (size_t i = from; i < parts->count; i++) {
		const char *part = parts->items[i] + strspn(parts->items[i], " \t");
		if (*part)
			str_append_format(&text, " %s", part);
	}
	return str_steal(&text);
}

static char *take_message(const struct str_list *lines, const struct found *found)
{
	struct str_list parts cleanup_str_list = {0};

	collect_message(lines, found, &parts);
	return join_message(&parts);
}

/* Rust and R may tell on the next line what it was. */
static char *take_line(const struct scan *scan, size_t i)
{
	const char *line = scan->lines->items[i] + strspn(scan->lines->items[i], " |\t");
	const char *colon = strrchr(line, ':');
	bool goes_on_below = colon && str_is_blank(colon + 1) && i + 1 < scan->lines->count &&
			     !scan->told[i + 1] &&
			     (strstr(line, "panicked at") || begins_error_of_r(line));

	if (!goes_on_below)
		return mem_strdup(line);
	const char *next = scan->lines->items[i + 1] + strspn(scan->lines->items[i + 1], " \t");
	return mem_printf("%.*s %s", (int)(colon + 1 - line), line, next);
}

static char *take_text(const struct scan *scan, const struct found *found)
{
	const char *line = scan->lines->items[found->line];
	bool is_exception = scan->told[found->line] || traceback_is_exception(line);

	return is_exception && !aside_is(line, ASIDE_LAUNCHER) ? take_message(scan->lines, found)
							       : take_line(scan, found->line);
}

/* ------------------------------------------------------------------------------------------- */

/* A wrapper's or launcher's line that names the signal which ended its child: what the child had
 * said before need not be about that. */
static struct found find_signal(const struct scan *scan, int *signal)
{
	finder *const finders[] = {find_wrapper, find_of_launcher};
	struct found found = {.line = NO_LINE};

	for (size_t i = 0; i < array_length(finders); i++) {
		found = finders[i](scan);
		if (found.line != NO_LINE)
			*signal = launcher_signal_in(scan->lines->items[found.line]);
		if (*signal > 0)
			return found;
	}
	return (struct found){.line = NO_LINE};
}

/* The number of the finder; the count of all: nothing is found. */
static size_t find_by_exit(const struct str_list *lines, int code, struct headline *headline)
{
	struct scan scan;
	struct found found = {.line = NO_LINE};

	begin_scan(&scan, lines, code);
	size_t which = find(&scan, by_exit, array_length(by_exit), &found);
	if (which >= BY_ERROR) {
		struct found signalled = find_signal(&scan, &headline->signal);
		if (headline->signal > 0)
			found = signalled;
	}
	mem_replace(&headline->text, found.line != NO_LINE ? take_text(&scan, &found) : NULL);
	finish_scan(&scan);
	return which;
}

/* Nothing but what native code says is looked for above the listed lines: its stack frames, which
 * are many, stand below it. */
char *headline_of_signal(const struct str_list *listed, const struct str_list *all)
{
	const struct {
		const struct str_list *lines;
		size_t finders;
	} tries[] = {{listed, array_length(by_signal)}, {all, 1}};
	char *text = NULL;

	for (size_t i = 0; i < array_length(tries) && !text; i++) {
		struct scan scan;
		struct found found = {.line = NO_LINE};
		begin_scan(&scan, tries[i].lines, 0);
		find(&scan, by_signal, tries[i].finders, &found);
		text = found.line != NO_LINE ? take_text(&scan, &found) : NULL;
		finish_scan(&scan);
	}
	return text;
}

/* Of the rank that failed first, without the words of the others, which failed because of that, and
 * of torchrun about ranks that it started again. */
static void list_rank(const struct str_list *all, const struct launcher_report *report,
		      struct str_list *lines)
{
	for (size_t i = 0; i < report->begin; i++)
		if (!launcher_is_other_rank(report, all->items[i]) &&
		    !aside_is(all->items[i], ASIDE_LAUNCHER))
			str_list_add(lines, all->items[i]);
}

static void find_by_report(const struct str_list *all, const struct launcher_report *report,
			   struct headline *headline)
{
	struct str_list lines cleanup_str_list = {0};

	list_rank(all, report, &lines);
	if (report->signal == 0 && find_by_exit(&lines, report->exit_code, headline) >= BY_LAUNCHER)
		mem_replace(&headline->text, launcher_recorded(report, all));
	else if (report->signal > 0 && report->signal != SIGKILL)
		headline->text = headline_of_signal(&lines, &lines);
	headline->signal = report->signal;
	if (report->signal > 0 || !headline->text)
		headline->child = launcher_report_text(report);
}

void headline_find(const struct str_list *listed, const struct str_list *all, int code,
		   struct headline *headline)
{
	struct launcher_report report;

	*headline = (struct headline){0};
	if (launcher_find_report(all, &report)) {
		find_by_report(all, &report, headline);
		return;
	}
	size_t which = find_by_exit(listed, code, headline);
	if (headline->signal == 0 && (which == BY_WRAPPER || which >= BY_LAUNCHER))
		find_by_exit(all, code, headline);
	if (headline->signal > 0)
		headline->child = mem_printf("a program it ran was killed by signal %d (%s)",
					     headline->signal, proc_signal_name(headline->signal));
}

void headline_finish(struct headline *headline)
{
	free(headline->text);
	free(headline->child);
	*headline = (struct headline){0};
}
